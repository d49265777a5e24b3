"""Linkage by keys: the same people row by row at both parties, and nothing but keyed hashes comes to the matcher."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from conftest import in_threads
from hypothesis import given, settings
from hypothesis import strategies as st
from tables.standing_in import COLUMNS, EXACT, Agreement, Linkage
from unsafe_entropy import UnsafeSeededEntropy

from vertwin import agreement as agreements
from vertwin.engine.matching import Matcher, PlainMatcher, PlainMatchingHub
from vertwin.errors import UserError
from vertwin.linkage import link
from vertwin.linkage.exact import hashed_keys, in_order
from vertwin.rehearsal import town_files
from vertwin.rehearsal.links import queue_links
from vertwin.rehearsal.session import RehearsalSession
from vertwin.rehearsal.town_agreements import agreement_text
from vertwin.tables import read

PARTIES = ("clinic", "insurer")
NO_ENGINE: Any = None


def sessions(holders: tuple[str, ...] = PARTIES, helper: str | None = None) -> dict[str, RehearsalSession]:
    everyone = holders + ((helper,) if helper else ())
    links, hub = queue_links(everyone), PlainMatchingHub(holders)
    return {
        name: RehearsalSession(
            name,
            holders,
            helper,
            NO_ENGINE,
            PlainMatcher(hub, name),
            UnsafeSeededEntropy(name),
            links[name],
            lambda *_: None,
        )
        for name in everyone
    }


def at_every_party(tables: dict[str, Any], parties: dict[str, RehearsalSession]) -> dict[str, Any]:
    """What each party gets, or the codes that it is stopped with."""

    def party(name: str) -> Any:
        try:
            return link(tables[name], parties[name])
        except UserError as error:
            parties[name].link.abandon()  # type: ignore[attr-defined]
            parties[name].matcher._hub.abandon(name)  # type: ignore[attr-defined]
            return error.codes

    return in_threads({name: lambda name=name: party(name) for name in parties}, 30)


def table(keys: dict[str, list[Any]], marks: list[int] | None = None, agreement: Any = None) -> Any:
    """Rows with these keys; the columns are the same everywhere, `age` carries a mark to know the row again."""
    rows = len(next(iter(keys.values())))
    plain = {"age": marks or [1] * rows, "smokes": ["no"] * rows, "ward": ["A"] * rows, "bmi": [20.0] * rows}
    terms = agreement or Agreement(COLUMNS, Linkage("exact", tuple(keys)))
    return read(pa.table(keys | plain), terms, "clinic")


def column(linked: Any, name: str = "age") -> list[Any]:
    return [value for batch in linked.batches() for value in batch.column(name).to_pylist()]


def everything(linked: Any) -> pa.Table:
    return pa.Table.from_batches(list(linked.batches()))


people = st.lists(st.tuples(st.text("ab1:", min_size=1, max_size=3), st.integers(0, 3)), min_size=1, unique=True)


@settings(deadline=None, max_examples=60)
@given(people, people)
def test_row_i_is_the_same_person_at_both_parties(left: list[tuple[str, int]], right: list[tuple[str, int]]) -> None:
    sides = dict(zip(PARTIES, (left, right), strict=True))
    tables = {
        name: table(
            {"name": [a for a, _ in side], "number": [b for _, b in side]}, [row % 120 for row in range(len(side))]
        )
        for name, side in sides.items()
    }
    parties = sessions()
    linked = at_every_party(tables, parties)
    common = set(left) & set(right)
    if not common:
        assert set(linked.values()) == {("E272",)}
        return
    assert {session.rows for session in parties.values()} == {len(common)}
    found = [[side[row] for row in column(linked[name])] for name, side in sides.items()]
    assert found[0] == found[1]
    assert sorted(found[0]) == sorted(common)


def test_the_towns_own_tables_give_what_the_aligned_pair_is() -> None:
    town = town_files.make(people=2000)
    terms = agreements.parse(agreement_text(linked=True))
    sources = {"clinic": town.clinic, "insurer": town.insurer}
    tables = {name: read(source, terms, name) for name, source in sources.items()}
    linked = at_every_party(tables, sessions())
    names = {name: [column.name for column in terms.columns_of(name)] for name in PARTIES}
    sides = [everything(linked[name]).select(names[name]).to_pylist() for name in PARTIES]
    aligned = [town.aligned[name].select(names[name]).to_pylist() for name in PARTIES]
    assert rows_of(sides) == rows_of(aligned)
    assert sides[0] != aligned[0]  # in an order that is neither table's
    assert repr(linked["clinic"]) == "LinkedTable(7 columns, rows hidden)"


def rows_of(sides: list[list[dict[str, Any]]]) -> Counter[tuple[str, ...]]:
    """How often each row of both parties together occurs."""
    return Counter(
        tuple(f"{name} {value!r}" for side in row for name, value in side.items()) for row in zip(*sides, strict=True)
    )


def test_a_helper_is_told_the_number_of_people() -> None:
    parties = sessions(helper="dealer")
    tables = {"clinic": table({"id": [1, 2, 3]}), "insurer": table({"id": [3, 4, 1]}), "dealer": None}
    assert at_every_party(tables, parties)["dealer"] is None
    assert parties["dealer"].rows == 2


def test_three_holders_are_refused() -> None:
    parties = sessions(("clinic", "insurer", "register"))
    ends = at_every_party({name: table({"id": [1]}) for name in parties}, parties)
    assert set(ends.values()) == {("E610",)}


def test_keys_are_compared_as_text_however_they_are_stored() -> None:
    tables = {
        "clinic": table({"id": [17, 18, 19], "born": ["2000-01-31", "2000-02-01", "2000-02-02"]}, [0, 1, 2]),
        "insurer": table(
            {"id": ["018", " 17 ", "19"], "born": pa.array([10988, 10987, 10989], pa.date32())}, [0, 1, 2]
        ),
    }
    linked = at_every_party(tables, sessions())
    sides = dict(zip(column(linked["clinic"]), column(linked["insurer"]), strict=True))
    assert sides == {0: 1, 2: 2}


class Watching(Matcher):
    """Sees what every matcher sees, and can disturb it."""

    def __init__(self, inner: Matcher, disturb: Any = None) -> None:
        self.inner, self.disturb, self.seen = inner, disturb, []

    def intersect(self, keys: Any) -> Any:
        self.seen.append(keys)
        rows = self.inner.intersect(keys)
        return rows if self.disturb is None else self.disturb(rows)


def watched(disturb: Any = None) -> tuple[dict[str, RehearsalSession], Watching]:
    parties = sessions()
    watching = parties["clinic"].matcher = Watching(parties["clinic"].matcher, disturb)
    watching._hub = watching.inner._hub  # type: ignore[attr-defined]
    return parties, watching


@pytest.mark.parametrize("disturb", [lambda rows: rows[::-1], lambda rows: rows[:-1], lambda rows: rows[:0]])
def test_parties_that_linked_differently_stop(disturb: Any) -> None:
    parties, _ = watched(disturb)
    ends = at_every_party({name: table({"id": [1, 2, 3, 4]}) for name in PARTIES}, parties)
    assert set(ends.values()) == {("E273",)}


def test_the_matcher_sees_hashes_that_are_new_in_every_run() -> None:
    seen = []
    for run in range(2):
        parties, watching = watched()
        parties["insurer"].entropy = UnsafeSeededEntropy(f"insurer {run}")
        at_every_party({name: table({"id": [1, 2, 3]}) for name in PARTIES}, parties)
        seen += watching.seen[0].tolist()
    assert len(set(seen)) == 6
    assert all(len(key) == 32 and set(key) <= set(b"0123456789abcdef") for key in seen)


def test_the_parts_of_a_key_stay_apart() -> None:
    keys = {"a": ["a1", "a", "a1:", "a"], "b": ["b", "1b", "b", ":b"]}
    assert len(set(hashed_keys(table(keys), b"key").tolist())) == 4


@pytest.mark.parametrize("ids", ["1,2,2", "1,2,"])
def test_keys_that_changed_since_the_check(tmp_path: Any, ids: str) -> None:
    """Duplicates and gaps were refused by the check; they would end the matching's process."""
    path = tmp_path / "clinic.csv"
    rest = ",30,no,A,20.0\n"
    path.write_text("person_id,age,smokes,ward,bmi\n" + rest.join(["1", "2", "3", ""]))
    checked = read(path, EXACT, "clinic")
    path.write_text("person_id,age,smokes,ward,bmi\n" + rest.join([*ids.split(","), ""]))
    with pytest.raises(UserError) as caught:
        hashed_keys(checked, b"key")
    assert caught.value.codes == ("E261",)


def test_rows_come_in_order_out_of_many_batches_of_every_storage() -> None:
    rows = 150_000
    order = np.random.default_rng(3).permutation(rows)[:140_000].astype(np.int64)
    wards = np.array(["A", "B", "007"])
    marks = np.arange(rows)
    ward = pa.chunked_array(
        [
            pa.array(wards[marks[start : start + 10_000] % 3][:: 1 if start % 20_000 else -1]).dictionary_encode()
            for start in range(0, rows, 10_000)
        ]
    )
    source = pa.table(
        {
            "person_id": marks,
            "age": marks % 120,
            "smokes": pa.array(np.array(["no", "yes"])[marks % 2]).cast(pa.string_view()),
            "ward": ward,
            "bmi": 10 + marks / rows * 50,
        }
    )
    given = pa.concat_tables([source.slice(start, 7_000) for start in range(0, rows, 7_000)])
    assert given["ward"].num_chunks > 2
    batches = list(in_order(read(given, EXACT, "clinic"), order))
    assert max(batch.num_rows for batch in batches) <= 65_536
    linked = pa.Table.from_batches(batches)
    for name in ("age", "smokes", "ward", "bmi"):
        values = np.array(source[name].to_pylist())
        assert linked[name].to_pylist() == values[order].tolist(), name


@pytest.mark.slow
def test_a_secure_rehearsal_of_the_towns_own_tables() -> None:
    """The whole way: processes, sockets, private set intersection, product, release."""
    from vertwin.rehearsal import run

    town, news = town_files.make(), []
    content = run(
        agreements.parse(agreement_text(linked=True)),
        {"clinic": town.clinic, "insurer": town.insurer},
        secure=True,
        progress=lambda *said: news.append(said),
    )
    assert content.watermark
    ends = {party: note for party, stage, done, note in news if (stage, done) == ("linkage", 1.0)}
    people = town.clinic_aligned.num_rows
    assert ends == {
        "clinic": f"{people} people in common with insurer",
        "insurer": f"{people} people in common with clinic",
    }
