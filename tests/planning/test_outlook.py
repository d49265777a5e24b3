from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from vertwin import agreement as agreements
from vertwin.agreement import Privacy, Targets
from vertwin.planning import look_ahead

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
ADULT = agreements.load(EXAMPLES / "adult" / "measure_once.toml")
PAPER = agreements.load(EXAMPLES / "adult" / "dpvi.toml")


def test_everything_a_machine_may_ask_for():
    found = json.loads(json.dumps(look_ahead(ADULT, 30_162).as_json(), allow_nan=False))
    assert {viewer["viewer"] for viewer in found["viewers"]} == {"analyst", "demographics", "finances"}
    for viewer in found["viewers"]:
        assert {"viewer", "epsilon", "delta", "adjacency", "assumptions"} <= viewer.keys()
        assert isinstance(viewer["epsilon"], float)
    assert [kind["tables"] for kind in found["noise"]["tables"]] == [28, 21, 42]
    assert found["cheating"][0] == {
        "holder": "demographics",
        "viewer": "analyst",
        "epsilon": pytest.approx(1.227, abs=1e-3),
    }
    assert found["warnings"] == []
    assert found["cost"]["minutes"] < 0.2 and 30e6 < found["cost"]["bytes"] < 80e6
    assert [section["title"] for section in found["statement"]][:3] == [
        "unit of privacy",
        "adjacency",
        "epsilon and delta",
    ]


def test_a_viewer_without_a_promise_is_null_with_its_reason():
    found = look_ahead(PAPER, 30_162).as_json()
    assert {viewer["viewer"] for viewer in found["coalitions"]} == {"demographics+helper", "finances+helper"}
    assert all(viewer["epsilon"] is None and "no promise" in viewer["assumptions"][0] for viewer in found["coalitions"])
    assert [form["sampling"] for form in found["sampling"]] == ["none", "poisson_hidden", "epochs", "poisson"]


def warnings(agreement, rows=30_162):
    return " / ".join(look_ahead(agreement, rows).warnings)


def test_warnings():
    assert "above one over the number of rows" in warnings(
        replace(ADULT, privacy=Privacy(1e-4, epsilon=Targets({"analyst": 1.0})))
    )
    assert "promises next to nothing" in warnings(PAPER)
    assert "has at most 32561" in warnings(ADULT, 40_000)
    learner = replace(ADULT.learner, variances="best")
    lonely = replace(ADULT, learner=learner, privacy=Privacy(1e-6, epsilon=Targets({"finances": 1.0})))
    assert "no target is given towards demographics" in warnings(lonely)


def test_without_a_target_towards_a_party_sampling_is_not_compared():
    terms = replace(PAPER, privacy=Privacy(1e-6, epsilon=Targets({"analyst": 10.0})))
    assert look_ahead(terms, 30_162).forms == ()


def test_dpvi_takes_longer_than_one_product():
    once, steps = look_ahead(ADULT, 30_162).cost, look_ahead(PAPER, 30_162).cost
    assert steps.rounds == 90 * 20_000 and steps.minutes > 100 * once.minutes
