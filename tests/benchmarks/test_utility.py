"""The benchmark of utility: the agreements it makes, its arithmetic, its last line."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import utility
from utility import Choice, agreement_for, noise_sd, summary

from vertwin.agreement import Dpvi, MeasureOnce
from vertwin.errors import user_error
from vertwin.planning import plan
from vertwin.privacy.closed_form import gaussian_delta


def test_measure_once_has_the_epsilon_adjacency_and_stages_that_were_asked_for() -> None:
    agreement = agreement_for(Choice("measure_once", 0.5, "add_remove", stages=2))
    assert isinstance(agreement.learner, MeasureOnce)
    assert (agreement.learner.variances, agreement.learner.stages) == ("equal", 2)
    assert dict(agreement.privacy.epsilon) == {"analyst": 0.5}
    assert (agreement.privacy.adjacency, agreement.privacy.delta) == ("add_remove", 1e-5)
    assert sum(column.domain.size for column in agreement.columns) == 140
    assert [party.name for party in agreement.holders] == ["demographics", "finances"]


def test_dpvi_at_its_best_is_categorical_and_full_batch() -> None:
    agreement = agreement_for(Choice("dpvi", 1.0, "replace_one"))
    assert isinstance(agreement.learner, Dpvi)
    assert (agreement.learner.sampling, agreement.learner.steps, agreement.learner.components) == ("none", 100, 20)
    assert not any(column.family == "beta" for column in agreement.columns)
    assert dict(agreement.privacy.epsilon) == {"analyst": 1.0}
    assert agreement.privacy.sigma is None


def test_dpvi_as_in_the_paper_has_its_sizes_and_its_noise() -> None:
    agreement = agreement_for(Choice("dpvi", 1.0, "add_remove", settings="paper"))
    assert isinstance(agreement.learner, Dpvi)
    assert (agreement.learner.sampling, agreement.learner.steps, agreement.learner.batch) == ("epochs", 20_000, 100)
    assert agreement.learner.bound.clipping_threshold == 1.0
    assert {column.name for column in agreement.columns if column.family == "beta"} == {"age", "hours_per_week"}
    assert agreement.privacy.sigma == 2.042


def test_what_the_product_refuses_ends_in_its_words(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(*_: Any) -> None:
        raise user_error("E705", "these minibatches go with replace_one only")

    monkeypatch.setattr(utility.adult, "load", lambda: None)
    monkeypatch.setattr(utility, "measure", refuse)
    assert utility.main(["--learner", "dpvi", "--settings", "paper", "--adjacency", "add_remove"]) == 2
    assert "E705" in capsys.readouterr().err


def test_settings_that_a_learner_does_not_have_are_refused() -> None:
    with pytest.raises(SystemExit, match="not ones of measure_once"):
        agreement_for(Choice("measure_once", 1.0, "add_remove", settings="paper"))


@pytest.mark.parametrize(("adjacency", "moved"), [("add_remove", 1.0), ("replace_one", 2.0)])
def test_the_noise_of_full_batch_steps_gives_the_epsilon(adjacency: str, moved: float) -> None:
    """T releases, each moved by `moved` at noise sigma, are one that is moved by sqrt(T) as much."""
    sigma = plan(agreement_for(Choice("dpvi", 1.0, adjacency)), 30_162).mechanism.sigma  # type: ignore[union-attr]
    assert gaussian_delta(moved * math.sqrt(100) / sigma, 1.0) <= 1e-5
    assert gaussian_delta(moved * math.sqrt(100) / sigma, 1.0) == pytest.approx(1e-5, rel=0.01)


def test_the_noise_of_a_cell_is_over_tables_of_two_columns() -> None:
    tables = [
        SimpleNamespace(columns=("a",), variance=Fraction(100)),
        SimpleNamespace(columns=("a", "b"), variance=9.0),
        SimpleNamespace(columns=("a", "c"), variance=25.0),
    ]
    release: Any = SimpleNamespace(content=SimpleNamespace(tables=tables))
    assert noise_sd(release) == pytest.approx(math.sqrt(17))
    release.content.tables = []
    assert noise_sd(release) is None


def test_the_last_line_holds_means_and_what_was_chosen() -> None:
    runs = [{"nll": 13.0, "peak_mb": 400.0, "noise_sd": None}, {"nll": 14.0, "peak_mb": 500.0, "noise_sd": None}]
    found = json.loads(json.dumps(summary(Choice("dpvi", 1.0, "add_remove"), runs)))
    assert found["nll"] == 13.5
    assert found["peak_mb"] == 500.0
    assert found["noise_sd"] is None
    assert found["sd"] == {"nll": 0.70711}
    assert (found["adjacency"], found["delta"], found["epsilon"], found["seeds"]) == ("add_remove", 1e-5, 1.0, 2)
    assert summary(Choice("dpvi", 1.0, "add_remove", settings="paper"), runs)["epsilon"] is None


def test_a_run_is_scored_on_the_mixture_and_on_synthetic_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """A release that draws the test rows themselves is off by nothing."""
    agreement = agreement_for(Choice("measure_once", 1.0, "add_remove"))
    rng = np.random.default_rng(0)
    codes = np.stack([rng.integers(0, column.domain.size, 400) for column in agreement.columns], axis=1)
    test = pa.table({column.name: column.domain.decode(codes[:, j], rng) for j, column in enumerate(agreement.columns)})
    asked: list[tuple[int, int]] = []

    def sample(rows: int, seed: int) -> pa.Table:
        asked.append((rows, seed))
        return test

    monkeypatch.setattr(utility.metrics, "negative_log_likelihood", lambda *_: 1.5)
    content = SimpleNamespace(twin=None, tables=[])
    release: Any = SimpleNamespace(agreement=agreement, content=content, sample=sample)
    found = utility.score(release, test, rows=400, seed=3)
    assert asked == [(400, 3)]
    assert found["nll"] == 1.5
    assert found["tv1"] == found["tv2"] == found["tv2_cross"] == found["tv3"] == 0.0
    assert {"gb_auc", "lr_auc"} <= found.keys()


def test_without_the_data_it_says_where_to_get_them(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(utility.adult.VARIABLE, str(tmp_path))
    monkeypatch.setattr(utility.adult, "FILLED", tmp_path / "none")
    assert utility.main(["--learner", "measure_once"]) == 2
    assert "make adult FROM=" in capsys.readouterr().err
