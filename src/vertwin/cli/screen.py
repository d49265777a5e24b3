"""Everything that is printed. Rules: results go to stdout; news and complaints to stderr; a complaint is code,
sentence, hint; no cell of a private table ever comes here; a long step shows that it lives.
"""

from __future__ import annotations

import sys
import time
from dataclasses import replace

from rich.console import Console
from rich.table import Table

from vertwin.errors import CODES, UserError
from vertwin.privacy.statement import rounded_up
from vertwin.release import Statement


def say(text: str) -> None:
    """A result."""
    sys.stdout.write(text + "\n")


def note(text: str) -> None:
    """News: what happens, where files are."""
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


def complain(error: UserError) -> None:
    for fault in error.faults:
        advised = fault if fault.hint else replace(fault, hint=CODES[fault.code].advice)
        note(f"error {advised}")
    if len(error.faults) > 1:
        note(f"{len(error.faults)} faults")


class News:
    """The progress of a run: a line when a party enters or ends a stage, a counter in place where one can be shown."""

    def __init__(self) -> None:
        self._start = time.monotonic()
        self._seen: set[tuple[str, str, str]] = set()
        self._live = sys.stderr.isatty()
        self._open = False

    def __call__(self, party: str, stage: str, done: float, remark: str) -> None:
        seconds = time.monotonic() - self._start
        key = (party, stage, remark if done in (0.0, 1.0) else "")
        if done in (0.0, 1.0):
            if key not in self._seen:
                self._seen.add(key)
                self._clear()
                note(f"  {seconds:5.1f} s  {party:<14} {stage}: {remark}")
        elif self._live:
            left = (1 - done) / done * seconds
            sys.stderr.write(f"\r  {seconds:5.1f} s  {party:<14} {stage}: {done:4.0%}, about {left:.0f} s left  ")
            sys.stderr.flush()
            self._open = True

    def _clear(self) -> None:
        if self._open:
            sys.stderr.write("\r" + " " * 78 + "\r")
            self._open = False


def viewers(statement: Statement) -> None:
    """Who could learn how much about one person's values: one row per viewer."""
    if not statement.promises:
        say(statement.text)
        return
    table = Table(title="privacy of one person's values, by viewer", title_justify="left")
    for heading in ("viewer", "epsilon", "delta", "adjacency"):
        table.add_column(heading, justify="left" if heading in ("viewer", "adjacency") else "right")
    for promise in statement.promises:
        shown = "no promise" if promise.epsilon is None else rounded_up(promise.epsilon, 3)
        table.add_row(promise.viewer, shown, f"{promise.delta:g}", promise.adjacency)
    show(table)


def show(table: Table) -> None:
    Console(file=sys.stdout, width=110 if not sys.stdout.isatty() else None, highlight=False).print(table)
