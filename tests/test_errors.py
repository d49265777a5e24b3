"""Errors: how they read, how they add up, and that every code of the table is caused by some test."""

from __future__ import annotations

from pathlib import Path

import pytest

from vertwin.errors import CODES, Fault, Faults, UserError, user_error

TESTS = Path(__file__).parent


def test_an_error_is_code_place_sentence_hint():
    error = user_error("E250", "there is no such file", "look again", "clinic.csv")
    assert str(error) == "E250 clinic.csv: there is no such file\n  hint: look again"
    assert error.exit_status == 2


def test_the_machines_fault_decides_the_exit_status():
    assert UserError([Fault("E250", "a"), Fault("E301", "b")]).exit_status == 3


def test_all_faults_are_raised_at_once_or_none():
    faults = Faults()
    faults.raise_if_any()
    faults.add("E250", "one")
    faults.extend([Fault("E251", "two")])
    with pytest.raises(UserError) as caught:
        faults.raise_if_any()
    assert caught.value.codes == ("E250", "E251")


def test_a_code_outside_the_table_is_our_bug():
    with pytest.raises(AssertionError):
        Fault("E999", "x")


def test_every_code_is_caused_by_a_test_or_shown_in_a_transcript():
    said = "\n".join(path.read_text() for path in TESTS.rglob("*") if path.suffix in (".py", ".txt"))
    untested = sorted(code for code in CODES if code not in said)
    assert untested == []
