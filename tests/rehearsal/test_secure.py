"""Secure rehearsals: the same tables as the plain twin, and no process, file or hang left behind by a fault."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from unsafe_entropy import UnsafeSeededEntropy

from vertwin import agreement as agreements
from vertwin import rehearsal
from vertwin.errors import UserError
from vertwin.rehearsal import secure, town_agreements, town_files

REPOSITORY = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def town():
    return dict(town_files.make(people=2000).aligned)


def terms(learner="measure_once", **changes):
    parsed = agreements.parse(town_agreements.agreement_text(learner))
    return replace(parsed, learner=replace(parsed.learner, **changes))


def run(agreement, tables, secure, progress=lambda *_: None):
    entropies = {party.name: UnsafeSeededEntropy(party.name) for party in agreement.parties}
    return rehearsal.run(agreement, tables, secure=secure, progress=progress, entropies=entropies)


def test_measure_once_gives_the_same_tables_in_the_clear_and_under_cheetah(town):
    agreement = terms(components=4, restarts=1)
    plain, real = (run(agreement, town, secure) for secure in (False, True))
    assert len(plain.tables) == len(real.tables) == 91
    for a, b in zip(plain.tables, real.tables, strict=True):
        assert (a.columns, a.owners, a.noise) == (b.columns, b.owners, b.noise)
        np.testing.assert_array_equal(a.counts, b.counts)


def test_three_holders_measure_once_with_three_secure_products():
    agreement = agreements.load(REPOSITORY / "examples" / "three" / "agreement.toml")
    agreement = replace(agreement, learner=replace(agreement.learner, components=4, restarts=1))
    tables = dict(town_files.make_three(people=500))
    plain, real = (run(agreement, tables, secure) for secure in (False, True))
    for a, b in zip(plain.tables, real.tables, strict=True):
        np.testing.assert_array_equal(a.counts, b.counts)
    across = {table.owners for table in real.tables if len(table.owners) == 2}
    assert len(across) == 3


class Recorded(secure._Party):
    started: ClassVar[list[Recorded]] = []

    def __init__(self, name, assignment):
        super().__init__(name, assignment)
        Recorded.started.append(self)


@pytest.fixture
def recorded(monkeypatch):
    monkeypatch.setattr(secure, "_Party", Recorded)
    Recorded.started = []
    return Recorded.started


def rehearsal_folders() -> set[str]:
    return {name for name in os.listdir(tempfile.gettempdir()) if name.startswith("vertwin-")}


@pytest.mark.parametrize("fault", [signal.SIGKILL, signal.SIGTERM])
def test_a_party_killed_in_mid_run_is_one_clear_error_and_leaves_nothing(town, recorded, fault):
    before = rehearsal_folders()

    def progress(party, stage, done, note):
        if party == "clinic" and stage == "product" and done == 0.0:
            insurer = next(process for process in recorded if process.name == "insurer")
            os.kill(insurer.process.pid, fault)

    start = time.monotonic()
    with pytest.raises(UserError) as caught:
        run(terms(), town, True, progress)
    assert time.monotonic() - start < 30
    assert caught.value.codes == ("E402",)
    assert '"insurer"' in str(caught.value)
    assert all(process.process.poll() is not None for process in recorded)
    assert rehearsal_folders() == before


def test_a_partys_own_fault_is_what_is_told_not_that_others_lost_it(town, recorded):
    """The tables have different numbers of rows: both parties find it, and it is told once."""
    uneven = town | {"clinic": town["clinic"].slice(0, 100)}
    with pytest.raises(UserError) as caught:
        run(terms(), uneven, True)
    assert caught.value.codes == ("E270",)
    assert all(process.process.poll() is not None for process in recorded)


def children_of(process: int) -> set[int]:
    listing = subprocess.run(["ps", "-eo", "pid=,ppid="], capture_output=True, text=True, check=True).stdout
    pairs = [tuple(map(int, line.split())) for line in listing.splitlines()]
    found, fresh = set(), {process}
    while fresh:
        fresh = {pid for pid, parent in pairs if parent in fresh} - found
        found |= fresh
    return found


def in_the_product(process) -> set[int]:
    """Wait until the parties and their engines are at work: two parties, two engines."""
    for line in process.stderr:
        if "product: with" in line:
            break
    deadline = time.monotonic() + 20
    while len(children := children_of(process.pid)) < 4 and time.monotonic() < deadline:
        time.sleep(0.05)
    assert len(children) >= 4
    return children


def test_ctrl_c_ends_every_process(tmp_path):
    command = [sys.executable, "-m", "vertwin", "demo", "--out", str(tmp_path / "demo")]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    assert process.stderr is not None
    children = in_the_product(process)
    process.send_signal(signal.SIGINT)
    assert process.wait(20) == 130
    assert "interrupted" in process.stderr.read()
    process.stderr.close()
    deadline = time.monotonic() + 10
    while any(alive(child) for child in children) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not any(alive(child) for child in children)
    assert not (tmp_path / "demo" / "town.vertwin").exists()


def test_processes_do_not_outlive_a_coordinator_that_is_killed(tmp_path):
    command = [sys.executable, "-m", "vertwin", "demo", "--out", str(tmp_path / "demo")]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
    assert process.stderr is not None
    children = in_the_product(process)
    process.kill()
    process.wait(10)
    process.stderr.close()
    deadline = time.monotonic() + 10
    while any(alive(child) for child in children) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not any(alive(child) for child in children)


def alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    with open(f"/proc/{process}/stat") as stat:
        return stat.read().rsplit(")", 1)[1].split()[0] != "Z"


def test_a_partys_own_bug_is_told_without_its_text(town, recorded):
    from secure_functions import BrokenEntropy

    agreement = terms()
    with pytest.raises(UserError) as caught:
        rehearsal.run(
            agreement, town, secure=True, progress=lambda *_: None, entropies=dict.fromkeys(town, BrokenEntropy())
        )
    assert caught.value.codes == ("E499",)
    assert "secret detail" not in str(caught.value)
