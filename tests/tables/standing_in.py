"""A small stand-in for an agreement: what reading, linking and encoding ask of one, and nothing more."""

from __future__ import annotations

from dataclasses import dataclass

from vertwin.domains import Binary, Category, Count, Domain, Edges, EqualWidth, Real


@dataclass(frozen=True)
class Column:
    name: str
    domain: Domain
    party: str = "clinic"
    family: str | None = None


@dataclass(frozen=True)
class Linkage:
    kind: str = "aligned"
    keys: tuple[str, ...] = ()


@dataclass(frozen=True)
class Party:
    name: str
    rows_at_most: int | None = None


@dataclass(frozen=True)
class Agreement:
    columns: tuple[Column, ...]
    linkage: Linkage = Linkage()
    rows_at_most: int | None = None

    def columns_of(self, party: str) -> tuple[Column, ...]:
        return tuple(column for column in self.columns if column.party == party)

    def party(self, name: str) -> Party:
        return Party(name, self.rows_at_most)


COLUMNS = (
    Column("age", Count((0, 120), Edges((0, 18, 40, 65, 120)))),
    Column("smokes", Binary(("no", "yes"), missing="marginal")),
    Column("ward", Category(("A", "B", "007"), missing="category")),
    Column("bmi", Real((10, 60), EqualWidth(5))),
)
ALIGNED = Agreement(COLUMNS)
EXACT = Agreement(COLUMNS, Linkage("exact", ("person_id",)))
HEADER = "person_id,age,smokes,ward,bmi\n"
ROWS = ("p1,30,no,A,22.5", "p2,71,yes,007,31", "p3,5,,B,15.0", "p4,44,yes,,28.1")
