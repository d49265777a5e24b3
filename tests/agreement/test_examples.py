"""The agreements for the Adult data: sizes as in the benchmarks, settings as in the paper."""

from __future__ import annotations

from pathlib import Path

import pytest

from vertwin.agreement import Dpvi, MeasureOnce, load
from vertwin.domains import Missing

ADULT = Path(__file__).parents[2] / "examples" / "adult"


@pytest.mark.parametrize("name", ["measure_once", "dpvi"])
def test_the_split_has_90_and_50_cells(name: str) -> None:
    agreement = load(ADULT / f"{name}.toml")
    assert [party.name for party in agreement.holders] == ["demographics", "finances"]
    sizes = [sum(column.domain.size for column in agreement.columns_of(party.name)) for party in agreement.holders]
    assert sizes == [90, 50]
    assert all(column.domain.missing is Missing.REFUSE for column in agreement.columns)
    assert {column.name: column.domain.size for column in agreement.columns} == {
        "age": 13, "education_num": 16, "marital_status": 7, "relationship": 6, "race": 5, "sex": 2,
        "native_country": 41, "workclass": 7, "occupation": 14, "hours_per_week": 13, "capital_gain": 7,
        "capital_loss": 7, "income": 2,
    }  # fmt: skip


def test_measure_once() -> None:
    agreement = load(ADULT / "measure_once.toml")
    assert agreement.learner == MeasureOnce(variances="equal")
    assert agreement.targets() == {"analyst": 1.0}
    assert (agreement.privacy.delta, agreement.privacy.adjacency) == (1e-6, "replace_one")
    assert agreement.protocol == "cheetah"


def test_dpvi_has_the_papers_sizes() -> None:
    agreement = load(ADULT / "dpvi.toml")
    assert isinstance(agreement.learner, Dpvi)
    assert (agreement.learner.components, agreement.learner.steps, agreement.learner.batch) == (20, 20000, 100)
    assert (agreement.learner.bound.clipping_threshold, agreement.privacy.sigma) == (1.0, 2.042)
    assert (agreement.learner.sampling, agreement.learner.aggregator, agreement.protocol) == (
        "epochs",
        "helper",
        "aby3",
    )
    beta = [column.name for column in agreement.columns if column.family == "beta"]
    assert beta == ["age", "hours_per_week"]
