"""Importing does nothing: no engine, no numerical library, no work. Each case is a fresh interpreter."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

HEAVY = ("jax", "jaxlib", "spu", "numpyro", "optax", "dp_accounting", "numpy", "pyarrow", "pydantic", "rich", "typer")
PARTYS = ("jax", "jaxlib", "spu", "numpyro", "optax", "dp_accounting", "scipy", "pandas", "polars")


def loaded(statement: str, watched: tuple[str, ...]) -> tuple[list[str], float]:
    script = (
        "import json, sys, time; start = time.perf_counter()\n"
        f"{statement}\n"
        "seconds = time.perf_counter() - start\n"
        f"print(json.dumps([[name for name in {watched!r} if name in sys.modules], seconds]))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert (done.stdout.count("\n"), done.stderr) == (1, ""), "importing prints nothing"
    names, seconds = json.loads(done.stdout)
    return names, seconds


def test_import_vertwin_loads_nothing_heavy() -> None:
    names, seconds = loaded("import vertwin", HEAVY)
    print(f"import vertwin: {seconds * 1000:.1f} ms")
    assert names == []
    assert seconds < 0.5


@pytest.mark.parametrize("statement", ["from vertwin import open_release", "import vertwin.release"])
def test_opening_a_release_loads_nothing_of_a_party(statement: str) -> None:
    names, seconds = loaded(statement, PARTYS)
    print(f"{statement}: {seconds * 1000:.0f} ms")
    assert names == []
    assert seconds < 3.0


@pytest.mark.parametrize(
    "module", ["vertwin.errors", "vertwin.domains", "vertwin.agreement", "vertwin.privacy.closed_form"]
)
def test_the_base_layers_load_nothing_of_a_party(module: str) -> None:
    assert loaded(f"import {module}", PARTYS)[0] == []


def test_importing_changes_no_global_state() -> None:
    statement = (
        "import logging, warnings, signal, threading; "
        "before = (list(logging.root.handlers), list(warnings.filters), signal.getsignal(signal.SIGINT)); "
        "import vertwin, vertwin.release; "
        "after = (list(logging.root.handlers), list(warnings.filters), signal.getsignal(signal.SIGINT)); "
        "assert before[0] == after[0] and before[2] == after[2], 'handlers'; "
        "assert threading.active_count() == 1, 'threads'"
    )
    loaded(statement, ())
