"""Aligned tables: equal numbers of rows go on, unequal ones stop everyone; kinds that are not built are refused."""

from __future__ import annotations

import dataclasses
import time
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from tables.standing_in import ALIGNED, COLUMNS, Linkage

from vertwin.engine.link import Link
from vertwin.errors import UserError
from vertwin.linkage import link
from vertwin.tables import read


class QueueLink(Link):
    """A link whose messages wait in memory, and are kept for the test to read."""

    def __init__(self, me: str, everyone: tuple[str, ...], sent: dict[tuple[str, str], deque[bytes]]) -> None:
        self.me, self.everyone, self._sent = me, everyone, sent

    def send(self, to: str, payload: bytes) -> None:
        self._sent[self.me, to].append(payload)

    def receive(self, from_: str) -> bytes:
        deadline = time.monotonic() + 10
        while not self._sent[from_, self.me]:
            assert time.monotonic() < deadline, "no message came"
            time.sleep(0.001)
        return self._sent[from_, self.me].popleft()

    def check(self) -> None:
        pass


def table(rows: int, agreement: Any = ALIGNED) -> Any:
    columns = {"age": [30] * rows, "smokes": ["no"] * rows, "ward": ["A"] * rows, "bmi": [20.0] * rows}
    return read(pa.table({"person_id": [f"p{row}" for row in range(rows)]} | columns), agreement, "clinic")


def sessions(*holders: str, helper: str | None = None) -> dict[str, Any]:
    everyone = holders + ((helper,) if helper else ())
    sent: dict[tuple[str, str], deque[bytes]] = {(a, b): deque() for a in everyone for b in everyone}
    return {
        name: SimpleNamespace(
            me=name, holders=holders, helper=helper, everyone=everyone, link=QueueLink(name, everyone, sent), rows=0
        )
        for name in everyone
    }


def at_every_party(tables: dict[str, Any], parties: dict[str, Any]) -> dict[str, Any]:
    """What each party gets, or what it is stopped with."""
    with ThreadPoolExecutor(len(parties)) as pool:
        ends = {name: pool.submit(link, tables[name], parties[name]) for name in parties}
    return {name: end.exception() or end.result() for name, end in ends.items()}


def test_equal_tables_go_on_at_every_party() -> None:
    parties = sessions("clinic", "insurer", "register", helper="dealer")
    tables = dict.fromkeys(parties, table(7)) | {"dealer": None}
    linked = at_every_party(tables, parties)
    assert {session.rows for session in parties.values()} == {7}
    assert linked.pop("dealer") is None
    for mine in linked.values():
        assert repr(mine) == "LinkedTable(4 columns, rows hidden)"
        assert (mine.rows, mine.columns) == (7, COLUMNS)
        assert sum(batch.num_rows for batch in mine.batches()) == 7
        assert next(mine.batches()).schema.names == ["age", "smokes", "ward", "bmi"]


def test_unequal_tables_stop_every_party() -> None:
    parties = sessions("clinic", "insurer", helper="dealer")
    tables = {"clinic": table(7), "insurer": table(6), "dealer": None}
    for error in at_every_party(tables, parties).values():
        assert isinstance(error, UserError) and error.codes == ("E270",)
        assert "not aligned" in str(error) and "clinic: 7, insurer: 6" in str(error)


def test_only_the_number_of_rows_leaves_a_party() -> None:
    clinic = sessions("clinic", "insurer")["clinic"]
    sent: dict[tuple[str, str], deque[bytes]] = {("clinic", "insurer"): deque(), ("insurer", "clinic"): deque()}
    clinic.link = QueueLink("clinic", ("clinic", "insurer"), sent)
    sent["insurer", "clinic"].append(b"linkage/aligned\0rows 3")
    link(table(3), clinic)
    assert list(sent["clinic", "insurer"]) == [b"linkage/aligned\0rows 3"]


@pytest.mark.parametrize("message", [b"", b"rows -3", b"rows 03", b"rows 3\n", b"rows " + b"9" * 40, b"\xff"])
def test_a_peer_that_sends_something_else(message: bytes) -> None:
    parties = sessions("clinic", "insurer")
    parties["insurer"].link.send("clinic", b"linkage/aligned\0" + message)
    with pytest.raises(UserError) as caught:
        link(table(3), parties["clinic"])
    assert caught.value.codes == ("E271",)


def test_kinds_that_are_not_built() -> None:
    fuzzy = dataclasses.replace(ALIGNED, linkage=Linkage("fuzzy"))
    with pytest.raises(UserError) as caught:
        link(table(3, fuzzy), sessions("clinic", "insurer")["clinic"])
    assert caught.value.codes == ("E610",)
