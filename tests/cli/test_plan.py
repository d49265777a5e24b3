"""vertwin plan: for people and for machines."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from vertwin.cli import main

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
ADULT = EXAMPLES / "adult" / "measure_once.toml"


def run(capsys, *arguments: object) -> tuple[int, str, str]:
    status = main(["plan", *map(str, arguments)])
    out, err = capsys.readouterr()
    return status, out, err


def test_for_machines(capsys):
    status, out, err = run(capsys, ADULT, "--rows", 30_162, "--json")
    assert (status, err) == (0, "")
    epsilons = {viewer["viewer"]: viewer["epsilon"] for viewer in json.loads(out)["viewers"]}
    assert 0.995 <= epsilons["analyst"] <= 1.0
    assert (epsilons["demographics"], epsilons["finances"]) == pytest.approx((1.080, 1.119), abs=0.01)


def test_for_people(capsys):
    status, out, err = run(capsys, EXAMPLES / "adult" / "measure_once_symmetric.toml", "--rows", 30_162)
    assert (status, err) == (0, "")
    for said in ("unit of privacy", "at most 54.8 % right", "the price of each target", "1.179", "digest of the plan"):
        assert said in out


def test_ways_to_sample_are_compared_for_dpvi(capsys):
    _, out, err = run(capsys, EXAMPLES / "adult" / "dpvi.toml", "--rows", 30_162)
    table = out[out.index("ways to sample") :]
    assert table.index("no sub-sampling") < table.index("disjoint epochs")
    assert "warning: epsilon" in err


def test_rows_default_to_what_the_parties_have_at_most(capsys):
    assert "for 32,561 rows" in run(capsys, ADULT)[1]


def test_without_any_number_of_rows(capsys, tmp_path):
    text = ADULT.read_text().replace("rows_at_most = 32561\n", "")
    path = tmp_path / "agreement.toml"
    path.write_text(text)
    status, _, err = run(capsys, path)
    assert status == 2 and "E707" in err and "--rows" in err
    status, _, err = run(capsys, path, "--rows", 0)
    assert status == 2 and "E707" in err


def test_a_target_that_cannot_be_met(capsys, tmp_path):
    path = tmp_path / "agreement.toml"
    text = ADULT.read_text().replace("analyst = 1.0", "analyst = 1e-12")
    path.write_text(text)
    status, _, err = run(capsys, path, "--rows", 30_162)
    assert status == 0 and "nothing will be learned" in err
    path.write_text(text.replace("delta = 1e-6", "delta = 1e-300"))
    status, _, err = run(capsys, path, "--rows", 30_162)
    assert status == 2 and "E704" in err
