"""An analyst needs the base installation alone: on the party's Python, and on a later one."""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path

import pytest
from installation.environments import environment, later_interpreter, run

HERE = Path(__file__).resolve().parent
VECTORS = sorted(str(path) for path in (HERE.parent / "vectors").glob("*.vertwin"))


def analyst(interpreter: str, version: str) -> None:
    found = json.loads(run(environment(interpreter, version), str(HERE / "analyst.py"), *VECTORS))
    print(found)
    assert found["present"] + found["loaded"] == [], "the base installation brings what only a party needs"
    assert found["python"].startswith(version)
    assert f".venv-base-{version}" in found["from"]
    assert found["numpy"].startswith("2."), "the development environment has NumPy 1.26; the analyst's has NumPy 2"
    assert found["rows"] == 70_000 * len(VECTORS) > 0
    assert found["signed"] >= 2, "the signatures of a release are checked in the base installation"
    assert found["import_seconds"] < 1.0


def test_the_analysts_path_in_the_base_installation() -> None:
    analyst(sys.executable, f"{sys.version_info.major}.{sys.version_info.minor}")


def test_the_analysts_path_on_a_later_python() -> None:
    found = later_interpreter()
    if found is None:
        sentence = (
            "NO SECOND INTERPRETER: no Python 3.12, 3.13 or 3.14 here, so the analyst's path was tried on one only"
        )
        print(f"\n{'!' * 100}\n{sentence}\n{'!' * 100}", file=sys.__stderr__, flush=True)
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            warnings.warn(sentence, stacklevel=1)
        pytest.skip(sentence)
    analyst(*found)
