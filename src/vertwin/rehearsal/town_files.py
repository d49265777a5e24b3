"""The town as files: what the clinic and the insurer each have, as untidy as two organisations' tables are.

Two pairs of the same people. `clinic` and `insurer` are what they would really bring: each misses some people, is in
an order of its own, and the insurer spells some names and birth dates wrongly, so that linkage has something to do.
`clinic_aligned` and `insurer_aligned` are the people whom both have, row by row the same person: what a linkage would
give, and what is shared until there is one. A third pair of tables, of three organisations, is smaller.

Person numbers, names and birth dates are made up from public lists: whoever carries one does not exist.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from types import MappingProxyType
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet

from vertwin.rehearsal import town

IDENTIFIERS: Final = ("person_id", "first_name", "last_name", "birth_date")
TODAY: Final = date(2025, 12, 31)  # ages are full years on this day
MISSED_BY_CLINIC: Final = 0.05
MISSED_BY_INSURER: Final = 0.04
MISSPELT: Final = 0.06  # of the insurer's people, in one of first name, last name, birth date
THREE_PEOPLE: Final = 4_000
THREE_SPLIT: Final = MappingProxyType(
    {
        "clinic": ("sex", "smoker", "severity", "visits"),
        "insurer": ("plan", "claims"),
        "register": ("age", "employment", "income_band"),
    }
)

_FIRST_NAMES = {
    "female": (
        "Ada Aino Alma Anja Bella Clara Dora Edith Eeva Elin Ella Emma Freja Greta Hanna Helmi Ida Inga Iris Jana "
        "Johanna Kaisa Karin Laila Lea Lena Lilja Linda Maija Maria Marta Mia Mila Nadia Nea Nora Olga Petra Rosa "
        "Sanna Sara Selma Sofia Stella Tuuli Ulla Vera Viola Wilma Zoe"
    ),
    "male": (
        "Aaro Aleksi Anton Arne Axel Bruno Carl Daniel David Eero Eino Elias Emil Erik Felix Georg Hannes Henrik Hugo "
        "Ivar Jakob Jan Joel Johan Jonas Karl Kasper Lars Lauri Leo Liam Lukas Magnus Martin Matti Max Mikko Niklas "
        "Nils Oliver Oskar Otto Pekka Rasmus Robin Simon Sven Teemu Tomas Viktor"
    ),
}
_LAST_NAMES = (
    "Aalto Ahlberg Andersen Bakker Baumann Berg Bergman Bjork Brandt Carlsson Dahl Dietrich Ekholm Eklund Engel Falk "
    "Fischer Forsberg Frank Gran Haapala Hakala Hansen Harju Heino Hell Holm Huber Iversen Jansen Jensen Jokela Kallio "
    "Kangas Karlsson Keller Kivi Koch Korhonen Koski Kramer Laine Lang Larsen Lehto Lind Lindholm Lund Maki Malm Meyer "
    "Moller Niemi Nilsen Nord Nyberg Olsen Oksanen Palm Pohja Quist Rantala Rask Richter Rinne Roos Saari Salmi Salo "
    "Sand Schmitt Sjoberg Sorensen Stein Strand Sund Suomi Tamm Toivonen Uotila Vainio Vang Virta Vogel Wagner Wall "
    "Weber Wik Winter Ylinen Zeller"
)


@dataclass(frozen=True)
class Town:
    """Both pairs of tables, and the people behind them as they are (nothing missing)."""

    clinic: pa.Table
    insurer: pa.Table
    clinic_aligned: pa.Table
    insurer_aligned: pa.Table
    people: pa.Table

    @property
    def aligned(self) -> Mapping[str, pa.Table]:
        """The pair that can be shared without linkage, by party."""
        return {"clinic": self.clinic_aligned, "insurer": self.insurer_aligned}

    @property
    def tables(self) -> Mapping[str, pa.Table]:
        """Every table, by the name of its file."""
        return {
            "clinic": self.clinic,
            "insurer": self.insurer,
            "clinic_aligned": self.clinic_aligned,
            "insurer_aligned": self.insurer_aligned,
        }


def make(people: int = town.PEOPLE, seed: int = town.SEED) -> Town:
    """The town's tables. The same numbers give the same tables, byte for byte."""
    draw = town.Streams(seed)
    everyone = town.population(people, seed)
    full = _identified(everyone, town.recorded(everyone, seed), draw)
    misspelt = _misspell(full, draw)
    by_clinic = draw.uniform("missed by clinic", people) >= MISSED_BY_CLINIC
    by_insurer = draw.uniform("missed by insurer", people) >= MISSED_BY_INSURER
    clinic = full.select([*IDENTIFIERS, *town.CLINIC_COLUMNS])
    insurer = misspelt.select([*IDENTIFIERS, *town.INSURER_COLUMNS])
    both = np.flatnonzero(by_clinic & by_insurer)
    return Town(
        clinic=clinic.take(pa.array(draw.of("clinic's order").permutation(np.flatnonzero(by_clinic)))),
        insurer=insurer.take(pa.array(draw.of("insurer's order").permutation(np.flatnonzero(by_insurer)))),
        clinic_aligned=clinic.take(pa.array(both)),
        insurer_aligned=insurer.take(pa.array(both)),
        people=everyone,
    )


def make_three(people: int = THREE_PEOPLE, seed: int = town.SEED) -> Mapping[str, pa.Table]:
    """The aligned tables of three organisations about one smaller town: clinic, insurer and a public register."""
    everyone = town.population(people, seed)
    full = _identified(everyone, town.recorded(everyone, seed), town.Streams(seed))
    return {party: full.select(["person_id", *columns]) for party, columns in THREE_SPLIT.items()}


def write(tables: Mapping[str, pa.Table], folder: Path) -> tuple[Path, ...]:
    """Each table as CSV and as Parquet in `folder`, which is made where it is missing. Returns the paths written."""
    folder.mkdir(parents=True, exist_ok=True)
    written: list[Path] = []
    for name, table in tables.items():
        csv, parquet = folder / f"{name}.csv", folder / f"{name}.parquet"
        pyarrow.csv.write_csv(table, csv, pyarrow.csv.WriteOptions(quoting_style="needed"))
        pyarrow.parquet.write_table(table, parquet)
        written += [csv, parquet]
    return tuple(written)


def _identified(everyone: pa.Table, on_file: pa.Table, draw: town.Streams) -> pa.Table:
    """Who each row is: a number that says nothing, a name, a birth date that agrees with the age."""
    n = everyone.num_rows
    numbers = draw.of("person number").permutation(n)
    sex = everyone["sex"].to_pylist()
    first_at = draw.uniform("first name", n)
    first = {which: names.split() for which, names in _FIRST_NAMES.items()}
    last = _LAST_NAMES.split()
    last_at = np.floor(len(last) * draw.uniform("last name", n) ** 1.5).astype(int)  # some names are common
    days = np.floor(365 * draw.uniform("birthday", n)).astype(int)
    births = [
        date(TODAY.year - age, 1, 1) + timedelta(days=int(day))
        for age, day in zip(everyone["age"].to_pylist(), days, strict=True)
    ]
    identifiers = {
        "person_id": pa.array([f"P{number:06d}" for number in numbers]),
        "first_name": pa.array([first[who][int(at * len(first[who]))] for who, at in zip(sex, first_at, strict=True)]),
        "last_name": pa.array([last[at] for at in last_at]),
        "birth_date": pa.array(births, pa.date32()),
    }
    return pa.table({**identifiers, **{name: on_file[name] for name in on_file.column_names}})


def _misspell(full: pa.Table, draw: town.Streams) -> pa.Table:
    """A few people with one slip each: two letters swapped, one dropped, or day and month of birth exchanged."""
    n = full.num_rows
    slips = np.flatnonzero(draw.uniform("misspelt", n) < MISSPELT)
    kinds = draw.of("kind of slip").integers(0, 4, size=len(slips))
    places = draw.uniform("place of slip", len(slips))
    columns = {name: full[name].to_pylist() for name in ("first_name", "last_name", "birth_date")}
    for row, kind, place in zip(slips.tolist(), kinds.tolist(), places.tolist(), strict=True):
        if kind < 2:
            name = ("first_name", "last_name")[kind]
            columns[name][row] = _slip(columns[name][row], place)
        elif kind == 2:
            columns["birth_date"][row] = _exchange(columns["birth_date"][row])
        else:
            columns["birth_date"][row] += timedelta(days=1 + int(3 * place))
    for name, values in columns.items():
        full = full.set_column(full.column_names.index(name), name, pc.cast(pa.array(values), full[name].type))
    return full


def _slip(name: str, place: float) -> str:
    at = 1 + int(place * (len(name) - 2))
    swapped = name[:at] + name[at + 1 : at + 2] + name[at] + name[at + 2 :]
    return swapped if swapped != name and place < 0.6 else name[:at] + name[at + 1 :]


def _exchange(birth: date) -> date:
    """Day and month written the wrong way round, where that is a date at all and another one."""
    if birth.day <= 12 and birth.day != birth.month:
        return birth.replace(month=birth.day, day=birth.month)
    return birth.replace(year=birth.year - 1) if (birth.month, birth.day) != (2, 29) else birth.replace(day=28)
