"""Receipts: who may issue them, and that nothing opens without the right one."""

from __future__ import annotations

import ast
from pathlib import Path

import numpy as np
import pytest

import vertwin
from vertwin.engine import Input, Program, Settings, Shares
from vertwin.engine.plain import PlainEngine, PlainHub
from vertwin.ledger import Receipt
from vertwin.rehearsal.receipt import WATERMARK, issue

SOURCE = Path(vertwin.__file__).parent


def test_only_the_ledger_and_the_rehearsal_can_define_a_receipt():
    with pytest.raises(TypeError, match="may not issue receipts"):

        class Forged(Receipt):
            @property
            def covers(self) -> str:
                return "everything"

            @property
            def watermark(self) -> None:
                return None


def test_only_rehearsal_modules_import_the_receipt_of_rehearsals():
    importers = set()
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module == "vertwin.rehearsal.receipt":
                importers.add(path.relative_to(SOURCE).parts[0])
    assert importers == {"rehearsal"}


def test_a_rehearsals_receipt_marks_what_comes_of_it():
    assert issue(Shares("p", 1, 1, ())).watermark == WATERMARK


@pytest.fixture
def run() -> tuple[PlainEngine, Shares, Shares]:
    """Two runs of one program by a single engine that plays both nodes."""
    hub = PlainHub()
    program = Program(
        "secure_functions:inverse_roots", (Input("x", None, (2,), "float64"),), Settings("cheetah", 64, 18, ("a", "b"))
    )
    shares = []
    from conftest import in_threads

    engines = {name: PlainEngine(hub, name, WATERMARK) for name in ("a", "b")}
    for _ in range(2):
        held = in_threads({n: lambda n=n: engines[n].run(program, {"x": np.array([1.0, 4.0])}) for n in engines})
        shares.append(held["a"])
    return engines["a"], shares[0], shares[1]


def test_shares_open_with_their_own_receipt_only(run):
    engine, first, second = run
    opened = engine.reveal(first, issue(first), ("a",))
    assert opened is not None
    np.testing.assert_allclose(opened[0], [1.0, 0.5], atol=2**-18)
    with pytest.raises(ValueError, match="another run"):
        engine.reveal(second, issue(first), ("a",))
    with pytest.raises(TypeError, match="needs a Receipt"):
        engine.reveal(second, None, ("a",))  # type: ignore[arg-type]
    assert engine.reveal(second, issue(second), ("b",)) is None


def test_shares_say_nothing_about_what_they_hold(run):
    _, first, _ = run
    assert repr(first) == "Shares(1 outputs of attempt 1, contents hidden)"


def test_a_rehearsals_receipt_opens_nothing_in_an_engine_of_a_real_run(run):
    """Engines know what everything they compute will carry; a receipt of another kind does not fit."""
    from vertwin.engine.base import check_receipt

    _, first, _ = run
    check_receipt(first, issue(first), WATERMARK)
    with pytest.raises(ValueError, match="another kind of run"):
        check_receipt(first, issue(first), None)
