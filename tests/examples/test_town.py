"""The embedded example: what it promises to be, and that the files under examples/ are what it makes."""

from __future__ import annotations

import dataclasses
import runpy
from datetime import date
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from vertwin import agreement as agreements
from vertwin.agreement import Agreement, Dpvi, MeasureOnce
from vertwin.domains import Missing
from vertwin.rehearsal import town, town_files
from vertwin.rehearsal.town_agreements import agreement_text
from vertwin.report.kept import compare

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@pytest.fixture(scope="module")
def made() -> town_files.Town:
    return town_files.make()


@pytest.fixture(scope="module")
def agreement() -> Agreement:
    return agreements.parse(agreement_text("measure_once"))


@pytest.fixture(scope="module")
def truth() -> pa.Table:
    return town.truth(60_000)


def test_the_same_people_every_time(made: town_files.Town) -> None:
    again = town_files.make()
    assert all(again.tables[name].equals(table) for name, table in made.tables.items())
    assert not town_files.make(seed=town.SEED + 1).clinic_aligned.equals(made.clinic_aligned)


def test_each_side_misses_some_people_and_has_its_own_order(made: town_files.Town) -> None:
    assert made.people.num_rows == 20_000
    clinic, insurer = made.clinic["person_id"].to_pylist(), made.insurer["person_id"].to_pylist()
    assert len(set(clinic)) == len(clinic) == pytest.approx(19_000, abs=150)
    assert len(set(insurer)) == len(insurer) == pytest.approx(19_200, abs=150)
    both = set(clinic) & set(insurer)
    assert set(clinic) - both
    assert set(insurer) - both
    shared = [[person for person in side if person in both] for side in (clinic, insurer)]
    agreeing = np.mean([left == right for left, right in zip(*shared, strict=True)])
    assert agreeing < 0.01


def test_the_aligned_pair_is_what_a_linkage_would_give(made: town_files.Town) -> None:
    left, right = made.clinic_aligned, made.insurer_aligned
    assert left["person_id"].equals(right["person_id"])
    both = set(made.clinic["person_id"].to_pylist()) & set(made.insurer["person_id"].to_pylist())
    assert set(left["person_id"].to_pylist()) == both
    in_clinic = {row["person_id"]: row for row in made.clinic.slice(0, 500).to_pylist()}
    same = [row for row in left.to_pylist() if row["person_id"] in in_clinic]
    assert all(in_clinic[row["person_id"]] == row for row in same)


def test_the_insurer_misspells_a_few_names_and_birth_dates(made: town_files.Town) -> None:
    left, right = made.clinic_aligned, made.insurer_aligned
    differs = [
        np.array([a != b for a, b in zip(left[name].to_pylist(), right[name].to_pylist(), strict=True)])
        for name in ("first_name", "last_name", "birth_date")
    ]
    assert np.mean(np.any(differs, axis=0)) == pytest.approx(town_files.MISSPELT, abs=0.008)
    assert all(0.01 < column.mean() < 0.04 for column in differs)
    assert max(sum(row) for row in zip(*differs, strict=True)) == 1  # one slip a person at most
    assert all(right["first_name"].to_pylist())


def test_the_clinics_birth_dates_agree_with_the_ages(made: town_files.Town) -> None:
    today = town_files.TODAY
    for born, age in zip(made.clinic["birth_date"].to_pylist()[:2000], made.clinic["age"].to_pylist(), strict=False):
        assert isinstance(born, date)
        assert today.year - born.year - ((today.month, today.day) < (born.month, born.day)) == age


@pytest.mark.parametrize("learner", ["measure_once", "dpvi"])
def test_every_value_lies_in_its_declared_domain(made: town_files.Town, learner: str, truth: pa.Table) -> None:
    terms = agreements.parse(agreement_text(learner))  # pyright: ignore[reportArgumentType]
    for column in terms.columns:
        for table in (made.tables[column.party], made.aligned[column.party], truth):
            encoded = column.domain.encode(table[column.name])
            assert not encoded.faults, column.name
            assert set(np.unique(encoded.codes)) >= set(range(column.domain.size)), f"{column.name}: a code unused"


def test_all_types_and_all_ways_of_missing_occur(made: town_files.Town, agreement: Agreement) -> None:
    assert {column.domain.kind for column in agreement.columns} == {"binary", "category", "ordinal", "count", "real"}
    assert {column.domain.missing for column in agreement.columns} == set(Missing)
    for column in agreement.columns:
        blank = made.aligned[column.party][column.name].null_count
        assert (blank > 500) == (column.domain.missing is not Missing.REFUSE), column.name
    zeros = np.mean(made.clinic["visits"].to_numpy() == 0)
    assert 0.3 < zeros < 0.6
    cost = made.insurer["yearly_cost"].to_numpy()
    assert np.quantile(cost, 0.99) > 20 * np.median(cost)


def test_what_is_said_of_the_town_is_true(agreement: Agreement, truth: pa.Table) -> None:
    kept = compare(truth, truth, agreement, people=20_000, interactions=[town.INTERACTION.columns])
    strengths = {pair.columns: pair for pair in kept.pairs}
    for dependency in town.DEPENDENCIES:
        assert strengths[dependency.columns].truth > 0.09, dependency
        parties = {column.party for column in agreement.columns if column.name in dependency.columns}
        assert parties == {"clinic", "insurer"}
    assert any(not pair.is_real for pair in kept.pairs)  # and some columns have nothing to do with each other
    by_smoking = {pair.among: pair for pair in kept.interactions}
    smokers, others = by_smoking["smoker", "yes"], by_smoking["smoker", "no"]
    assert smokers.correlation_truth is not None
    assert others.correlation_truth is not None
    assert smokers.correlation_truth > others.correlation_truth + 0.15
    assert smokers.truth > 1.5 * others.truth


def test_the_interaction_is_more_than_its_two_halves(truth: pa.Table) -> None:
    """Among the young smoking costs next to nothing, among the old several times as much: no product of two effects."""
    cost = np.log(truth["yearly_cost"].to_numpy())
    age, smokes = truth["age"].to_numpy(), np.array(truth["smoker"].to_pylist()) == "yes"
    extra = [cost[smokes & part].mean() - cost[~smokes & part].mean() for part in (age < 40, age > 60)]
    assert extra[0] < 0.25
    assert extra[1] > 1.0


def test_the_truth_is_of_other_people_by_the_same_law(made: town_files.Town, agreement: Agreement) -> None:
    truth = town.truth(20_000)
    assert not truth["age"].equals(made.people["age"])
    assert truth["income_band"].null_count == 0  # missing by chance alone: what it would have been is the truth
    assert truth["bmi"].null_count > 0
    files = {name: made.aligned[party][name] for party in made.aligned for name in made.aligned[party].column_names}
    on_file = pa.table({column.name: files[column.name] for column in agreement.columns})
    kept = compare(on_file, truth, agreement)
    assert all(column.distance < 3.5 * column.floor for column in kept.columns)
    assert kept.strength_kept == pytest.approx(1.0, abs=0.05)


def test_the_script_writes_every_table_and_the_agreements(tmp_path: Path, made: town_files.Town) -> None:
    main = runpy.run_path(str(EXAMPLES / "town" / "make_town.py"))["main"]
    main(["--out", str(tmp_path)])
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {f"{name}.{kind}" for name in made.tables for kind in ("csv", "parquet")} | {
        "agreement.toml",
        "agreement_linked.toml",
        "dpvi.toml",
    }
    for name, table in made.tables.items():
        assert pyarrow.parquet.read_table(tmp_path / f"{name}.parquet").equals(table)
        read = pyarrow.csv.read_csv(
            tmp_path / f"{name}.csv", convert_options=pyarrow.csv.ConvertOptions(strings_can_be_null=True)
        )
        assert read.num_rows == table.num_rows
        assert {n: read[n].null_count for n in read.column_names} == {
            n: table[n].null_count for n in table.column_names
        }


@pytest.mark.parametrize(("file", "learner"), [("agreement.toml", "measure_once"), ("dpvi.toml", "dpvi")])
def test_the_agreements_under_examples_are_those_of_the_demo(file: str, learner: str) -> None:
    text = (EXAMPLES / "town" / file).read_text(encoding="utf-8")
    assert text == agreement_text(learner)  # pyright: ignore[reportArgumentType]


def test_the_linked_agreement_differs_by_linkage_and_name_alone(agreement: Agreement) -> None:
    text = (EXAMPLES / "town" / "agreement_linked.toml").read_text(encoding="utf-8")
    assert text == agreement_text("measure_once", linked=True)
    linked = agreements.parse(text)
    assert linked.linkage.keys == ("person_id",)
    assert dataclasses.replace(linked, linkage=agreement.linkage, name=agreement.name) == agreement


def test_the_two_agreements_differ_by_learner_alone(agreement: Agreement) -> None:
    dpvi = agreements.parse(agreement_text("dpvi"))
    assert isinstance(agreement.learner, MeasureOnce)
    assert isinstance(dpvi.learner, Dpvi)
    assert (agreement.protocol, dpvi.protocol) == ("cheetah", "aby3")
    assert dpvi.helper is not None
    assert [column.domain for column in dpvi.columns] == [column.domain for column in agreement.columns]
    assert [column.name for column in dpvi.columns if column.family == "beta"] == ["age"]
