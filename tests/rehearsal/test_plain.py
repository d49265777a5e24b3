"""Plain rehearsals: both learners with three holders, the Python call, and what they refuse."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import polars
import pytest

import vertwin
from vertwin import agreement as agreements
from vertwin.errors import UserError
from vertwin.rehearsal import town_files
from vertwin.rehearsal.receipt import WATERMARK

THREE = Path(__file__).resolve().parents[2] / "examples" / "three"


@pytest.fixture(scope="module")
def tables():
    return dict(town_files.make_three(people=1500))


@pytest.mark.parametrize("learner", ["agreement.toml", "dpvi.toml"])
def test_three_holders_give_one_watermarked_release_that_can_be_sampled(tables, learner):
    release = vertwin.rehearse(THREE / learner, tables)
    assert release.watermark == WATERMARK
    rows = release.sample(500, seed=1)
    assert rows.num_rows == 500
    assert rows.column_names == [column.name for column in release.columns]


def test_frames_of_other_libraries_give_the_same_columns(tables):
    frames = {
        "clinic": tables["clinic"].to_pandas(),
        "insurer": polars.from_arrow(tables["insurer"]),
        "register": tables["register"],
    }
    terms = agreements.load(THREE / "agreement.toml")
    quick = replace(terms, learner=replace(terms.learner, components=3, restarts=1))
    release = vertwin.rehearse(quick, frames)
    measured = release.marginal("sex")
    truth = np.unique(tables["clinic"]["sex"].to_numpy(zero_copy_only=False), return_counts=True)[1]
    assert np.abs(np.sort(measured.counts) - np.sort(truth)).max() < 8 * measured.standard_deviation


def test_every_partys_faults_are_told_at_once(tables):
    wrong = tables | {"clinic": tables["clinic"].drop(["sex"]), "judge": tables["clinic"]}
    del wrong["insurer"]
    with pytest.raises(UserError) as caught:
        vertwin.rehearse(THREE / "agreement.toml", wrong)
    assert sorted(caught.value.codes) == ["E256", "E721", "E721"]


def test_importing_and_rehearsing_leave_the_callers_jax_alone(tables):
    """x64 is switched on inside the engine's and learners' own computations only."""
    import jax

    before = jax.config.jax_enable_x64
    vertwin.rehearse(THREE / "dpvi.toml", tables)
    assert jax.config.jax_enable_x64 == before
