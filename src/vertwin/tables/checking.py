"""The check of a party's table: one streaming pass finds every fault, before anyone else is called.

Formal guarantees:
- Nothing that is raised holds a cell: a fault names a declared column, row numbers and a rule. (Names that the table
  has and the agreement has not are not named either: in a file without a line of names they are cells.)
- Memory is bounded by one batch and, where people are linked by keys, by about 100 bytes a row (16 of a hash).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from vertwin.domains import Encoded
from vertwin.errors import Fault, Faults, UserError
from vertwin.tables.faulty_rows import ROWS_NAMED, FaultyRowTally, rows_in_words
from vertwin.tables.linkage_keys import PersonCheck, accepts_key
from vertwin.tables.opening import open_source
from vertwin.tables.source import BrokenRows, Source
from vertwin.tables.table import Table

if TYPE_CHECKING:
    from vertwin.agreement import Agreement, Column


def read(source: Any, agreement: Agreement, party: str) -> Table:
    """Check this party's table (a Source, a path or a data frame) against the agreement; raise all its faults."""
    source = open_source(source)
    faults = Faults()
    columns, keys = agreement.columns_of(party), tuple(agreement.linkage.keys)
    assert columns or keys, "a holder has columns"
    wanted = list(dict.fromkeys([*(column.name for column in columns), *keys]))
    readable = _check_names(source, wanted, faults)
    readable = _check_types(source, columns, keys, readable, faults)
    rows = _check_rows(source, [column for column in columns if column.name in readable], keys, readable, faults)
    _check_number(source, rows, agreement.party(party).rows_at_most, faults)
    faults.raise_if_any()
    return Table(party, columns, agreement.linkage, rows, source)


def _check_names(source: Source, wanted: list[str], faults: Faults) -> list[str]:
    """The wanted columns that are there, once each."""
    names = source.names
    for name in wanted:
        if name not in names:
            sentence = "the agreement names this column, and the table does not have it"
            faults.add("E256", sentence, _advice(names, name), _place(source, name))
        elif names.count(name) > 1:
            faults.add("E255", f"{names.count(name)} columns of the table have this name", place=_place(source, name))
    return [name for name in wanted if names.count(name) == 1]


def _advice(names: tuple[str, ...], name: str) -> str:
    """Only a name that differs by case and spaces is given away: it is the declared name again."""
    if any(other.strip().lower() == name.lower() for other in names):
        return "It has one that differs only in capital letters or spaces."
    return "The names of columns stand in the table's first line, written as in the agreement."


def _check_types(
    source: Source, columns: tuple[Column, ...], keys: tuple[str, ...], readable: list[str], faults: Faults
) -> list[str]:
    """The readable columns that are stored in a way that their domain (as keys: anyone) can read."""
    domains = {column.name: column.domain for column in columns}
    good: list[str] = []
    for name, kind in source.types(readable).items():
        if kind is None:
            faults.add("E201", "mixes kinds of values, so that it cannot be read", place=_place(source, name))
        elif name in domains and not domains[name].accepts(kind):
            sentence = f"stored as {kind}, and a {domains[name].kind} cannot be read from that"
            faults.add("E201", sentence, place=_place(source, name))
        elif name in keys and not accepts_key(kind):
            faults.add("E201", f"stored as {kind}, which is no key", place=_place(source, name))
        else:
            good.append(name)
    return good


def _check_rows(
    source: Source, columns: list[Column], keys: tuple[str, ...], readable: list[str], faults: Faults
) -> int:
    """Stream the readable columns once; gives the number of rows, broken ones included."""
    if not readable:
        return -1
    broken, tally = BrokenRows(), FaultyRowTally()
    persons = PersonCheck(keys, source.name) if keys and set(keys) <= set(readable) else None
    rows = 0
    unreadable: tuple[Fault, ...] = ()
    try:
        for batch in source.batches(readable, broken):
            for column in columns:
                _tally(tally, column.domain.encode(batch.column(column.name)), _place(source, column.name), rows)
            if persons is not None:
                persons.add(batch, rows, tally)
            rows += batch.num_rows
    except UserError as error:
        unreadable = error.faults
    faults.extend(unreadable)
    if broken.numbers:
        where = rows_in_words(broken.numbers[:ROWS_NAMED], len(broken.numbers))
        faults.add("E254", f"another number of fields than the first line has: {where}", place=source.name)
    faults.extend(tally.faults(broken))
    if persons is not None:
        faults.extend(persons.faults(broken))
    return -1 if unreadable else rows + len(broken.numbers)


def _tally(tally: FaultyRowTally, encoded: Encoded, place: str, first_row: int) -> None:
    for rule in encoded.faulty:
        rows = (rule.rows[:ROWS_NAMED] + first_row).tolist()
        tally.add(place, rule.code, rule.why, rows, len(rule.rows))


def _check_number(source: Source, rows: int, rows_at_most: int | None, faults: Faults) -> None:
    """`rows` is -1 where the table could not be read to its end."""
    if rows == 0:
        faults.add("E257", "the table has no rows", place=source.name)
    if rows_at_most is not None and rows > rows_at_most:
        faults.add("E258", f"the table has more than the {rows_at_most} rows that were agreed", place=source.name)


def _place(source: Source, column: str) -> str:
    return f'{source.name}, column "{column}"'
