"""The lines of the file: a vector of format 1 that every later version reads, and what stands in a line."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from vertwin.ledger.chain import Head, is_cut_off, make_line, read_lines
from vertwin.ledger.entries import KINDS, Budget, Opened
from vertwin.ledger.history import History

VECTOR = Path(__file__).parent / "format_1.jsonl"
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def test_a_ledger_of_format_1_is_read_for_ever():
    content = VECTOR.read_bytes()
    lines, tail = read_lines(content)
    history = History(lines)
    assert tail == b""
    assert {line.entry.kind for line in lines} == KINDS
    assert b"".join(line.encode() for line in lines) == content
    assert history.head == Head(19, "a2365bc196cda61283e58c1fead108d10d1f498414d79da111cc7fab499cab52")
    balances = {balance.viewer: (balance.epsilon, balance.budget) for balance in history.balances()}
    assert balances["analyst"] == (pytest.approx(1.994526900697, rel=1e-9), 3.0)
    assert balances["insurer"] == (pytest.approx(2.20411863333, rel=1e-9), 4.5)
    assert [attempt.counted for attempt in history.attempts] == [True, False, True]


def test_a_line_names_the_one_before():
    first = make_line(None, NOON, Opened(1, "town", "clinic"), bytes(16))
    second = make_line(first.head, NOON, Budget((), False, 1.0, 1e-6), bytes(16))
    assert (second.count, second.previous) == (2, first.digest)
    assert read_lines(first.encode() + second.encode())[0] == (first, second)
    other = make_line(first.head, NOON, Budget((), False, 1.0, 1e-6), bytes(15) + b"\1")
    assert other.digest != second.digest


def test_every_beginning_of_a_line_can_be_what_a_crash_left():
    line = make_line(Head(4, "a" * 64), NOON, Budget((), False, 1.0, 1e-6), bytes(16)).encode()
    for size in range(len(line) - 1):
        assert is_cut_off(line[:size], 5)
        assert is_cut_off(line[:size] + b"\0\0", 5)
        assert size < 21 or not is_cut_off(line[:size], 6)
    assert not is_cut_off(b"\x80", 5)
