"""Exact linkage: people are found by keys that name them, written alike at two parties, through a private intersection.

The keys leave the table only as hashes under a key of this run, which both parties make together and nobody keeps; the
order of people is the order of these hashes. What the parties learn of each other: how many rows each has, and which
of its own people the other has too. That somebody is in both tables is not hidden between them; towards everybody
else it is, but for the number of people.

Keys are compared as text: "001" is not "1", and capital letters are not small ones. Spaces at the ends do not count
(`vertwin.tables.linkage_keys`).
"""

from __future__ import annotations

import hmac
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from vertwin.engine.matching import HASH_CHARACTERS, Hashes
from vertwin.engine.matching_key import joint_key
from vertwin.errors import UserError, user_error
from vertwin.linkage.linked_table import LinkedTable
from vertwin.tables import BATCH_ROWS

if TYPE_CHECKING:
    from vertwin.engine.session import Session
    from vertwin.tables import Table

_TOPIC: Final = "linkage/exact"
_arrow: Any = pa  # pyarrow has no type information


def link_by_keys(table: Table, session: Session) -> LinkedTable:
    """This party's rows of the people whom the other holder has too, in an order that is the same at both.

    COST: five messages of some bytes, and the matcher's own. Memory: the matched rows once, while they are streamed.
    Formal guarantees:
    - Nothing that depends on a column which is no key leaves the party.
    - The parties' orders are compared before anything is computed on them: row i is the same key at both, or all stop.
    """
    if len(session.holders) != 2:
        sentence = f"linkage by keys between {len(session.holders)} holders of data is not built yet"
        raise user_error("E610", sentence, place="[linkage]")
    (peer,) = set(session.holders) - {session.me}
    session.progress("linkage", 0.0, f"finding the people in common with {peer}")
    key = joint_key(session.link, session.entropy, _TOPIC, session.holders)
    hashes = hashed_keys(table, key)
    rows = session.matcher.intersect(hashes)
    _check_order(hashes[rows], key, peer, session)
    if len(rows) == 0:
        raise user_error(
            "E272",
            f"no person is in the tables of both {session.me} and {peer}",
            "Compare how both write the keys: leading zeros, capital letters, dates as 2026-01-31.",
            f"[linkage] keys = {', '.join(table.linkage.keys)}",
        )
    session.progress("linkage", 1.0, f"{len(rows)} people in common with {peer}")
    return LinkedTable(table.party, table.columns, len(rows), lambda: in_order(table, rows))


def hashed_keys(table: Table, key: bytes) -> Hashes:
    """The hash of every row's keys, each part with its length before it: ("a1", "b") is not ("a", "1b")."""
    columns: Any = table.keys()
    assert columns is not None, "an agreement that links by keys names them"
    texts = cast("list[list[str | None]]", [column.to_pylist() for column in columns.columns])
    digests = bytearray()
    for parts in zip(*texts, strict=True):
        if None in parts:
            raise _changed(table)
        plain = [cast(str, part).encode() for part in parts]
        framed = b"".join(b"%d:%b" % (len(part), part) for part in plain)
        digests += hmac.digest(key, framed, "sha256")[: HASH_CHARACTERS // 2]
    hashes = np.frombuffer(digests.hex().encode(), dtype=f"S{HASH_CHARACTERS}")
    if len(np.unique(hashes)) != columns.num_rows:
        raise _changed(table)
    return hashes


def in_order(table: Table, rows: NDArray[np.int64]) -> Iterator[Any]:
    """The given rows of the table as record batches. One pass over it; only these rows are held."""
    wanted = np.sort(rows)
    first, kept = 0, []
    for batch in table.batches():
        start, stop = np.searchsorted(wanted, [first, first + batch.num_rows])
        kept.append(_with_long_texts(batch).take(_arrow.array(wanted[start:stop] - first)))
        first += batch.num_rows
    gathered = _arrow.Table.from_batches(kept).unify_dictionaries().combine_chunks()
    del kept
    places = np.searchsorted(wanted, rows)
    for start in range(0, len(rows), BATCH_ROWS):
        yield from gathered.take(_arrow.array(places[start : start + BATCH_ROWS])).combine_chunks().to_batches()


def _with_long_texts(batch: Any) -> Any:
    """Texts with offsets of 64 bits: two billion letters of one column fit into one array, and views can be taken."""
    for place, field in enumerate(batch.schema):
        if _arrow.types.is_string(field.type) or _arrow.types.is_string_view(field.type):
            long = batch.column(place).cast(_arrow.large_string())
            batch = batch.set_column(place, field.name, long)
    return batch


def _check_order(ordered: Hashes, key: bytes, peer: str, session: Session) -> None:
    """Both parties have the same people in the same order: what is compared is a keyed digest of all of them."""
    mine = hmac.digest(key, b"order" + ordered.tobytes(), "sha256")
    theirs = session.link.exchange(f"{_TOPIC}/order", mine, session.holders)[peer]
    if not hmac.compare_digest(mine, theirs):
        raise user_error("E273", f"{peer} found other people in common, or has them in another order")


def _changed(table: Table) -> UserError:
    return user_error("E261", "the keys are not what they were when they were checked", place=table.place)
