"""Two organisations in two terminals: TLS, linkage, ledgers, one signed release; and a crash in between."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from vertwin import agreement as agreements
from vertwin.cli import main
from vertwin.errors import UserError
from vertwin.ledger.events import gaussian_composer
from vertwin.ledger.ledger import read_history
from vertwin.parties import State
from vertwin.rehearsal import town_agreements, town_files
from vertwin.rehearsal.two_terminals import reserved_ports, run_all, set_up
from vertwin.release import open_release, verify

PARTIES = ("clinic", "insurer")


@pytest.fixture
def terminals(tmp_path: Path):
    """A small town's two tables, each at its party, with everything that docs/parties.md asks for."""
    made = town_files.make(people=1500)
    town_files.write({"clinic": made.clinic, "insurer": made.insurer}, tmp_path / "data")
    terms = agreements.parse(town_agreements.agreement_text(linked=True))
    terms = replace(terms, learner=replace(terms.learner, components=3, restarts=1))
    with reserved_ports(2) as ports:
        tables = {name: tmp_path / "data" / f"{name}.csv" for name in PARTIES}
        yield set_up(terms, tables, dict(zip(PARTIES, ports, strict=True)), tmp_path)


def ledger_of(terminal):
    return read_history(State(terminal.state).data_set("town-2026", terminal.name))


def kinds_of(terminal) -> list[str]:
    lines = (State(terminal.state).data_set("town-2026", terminal.name) / "ledger.jsonl").read_text().splitlines()
    return [
        kind for line in lines for kind in ("linked", "spent", "exchange", "sealed", "closed") if f'"{kind}"' in line
    ]


def test_one_release_at_both_signed_by_both_and_counted_by_both(terminals, capsys):
    told: list[str] = []
    run_all(terminals, told.append)
    first, second = (terminal.release.read_bytes() for terminal in terminals)
    assert first == second
    verified = verify(terminals[0].release)
    assert [signer.party for signer in verified.signers] == list(PARTIES)
    release = open_release(terminals[0].release)
    assert release.watermark is None
    assert release.sample(100).num_rows == 100
    for terminal in terminals:
        assert kinds_of(terminal) == ["linked", "linked", "spent", "exchange", "sealed", "closed"]
        pending = State(terminal.state).data_set("town-2026", terminal.name) / "pending"
        assert list(pending.iterdir()) == []
    assert main(["verify", str(terminals[1].release)]) == 0
    assert main(["ledger", "town-2026", "--state", str(terminals[0].state)]) == 0
    assert "released" in capsys.readouterr().out
    # A rehearsal of the same agreement on one of the machines is listed there, and counts nothing.
    data = [part for terminal in terminals for part in ("--data", f"{terminal.name}={terminal.table}")]
    before = ledger_of(terminals[0]).balances(gaussian_composer)
    rehearsed = [str(terminals[0].agreement), *data, "-o", str(terminals[0].release) + ".try.vertwin"]
    assert main(["rehearse", *rehearsed, "--state", str(terminals[0].state)]) == 0
    assert len(ledger_of(terminals[0]).rehearsals) == 1
    assert ledger_of(terminals[0]).balances(gaussian_composer) == before
    people = {row for line in told if "people in common" in line for row in line.split() if row.isdigit()}
    assert people, "the linkage was told"


def start(terminal):
    """One party's process, and a thread that keeps what it says."""
    process = subprocess.Popen(
        [sys.executable, "-m", "vertwin", *terminal.command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    told: list[str] = []

    def listen() -> None:
        assert process.stderr is not None
        for line in process.stderr:
            told.append(line)

    reader = threading.Thread(target=listen, daemon=True)
    reader.start()
    return process, told, reader


def finish(started, seconds=60):
    for process, _, reader in started:
        try:
            process.wait(seconds)
        finally:
            if process.poll() is None:
                process.kill()
                process.wait(10)
        reader.join(10)
        process.stderr.close()


@pytest.mark.parametrize("moment", ["spent and stored", "every party has stored"])
def test_a_party_killed_while_shares_are_exchanged_and_the_same_command_finishes_it(terminals, moment):
    """kill -9 at the ledger's most delicate steps: whatever was stored, one release comes of it, spent once."""
    started = [start(terminal) for terminal in terminals]
    clinic, told, _ = started[0]
    deadline = time.monotonic() + 60
    while not any(moment in line for line in told) and time.monotonic() < deadline and clinic.poll() is None:
        time.sleep(0.002)
    os.kill(clinic.pid, signal.SIGKILL)
    finish(started, 40)
    if terminals[1].release.exists():  # the insurer was done before it could notice
        terminals[1].release.unlink()
    resumed: list[str] = []
    run_all(terminals, resumed.append)
    assert terminals[0].release.read_bytes() == terminals[1].release.read_bytes()
    verify(terminals[0].release)
    for terminal in terminals:
        spent = [attempt for attempt in ledger_of(terminal).attempts if not attempt.forgotten]
        assert len(spent) == 1, "counted once"
        assert spent[0].release is not None
    if moment == "every party has stored":
        assert any("nothing is computed or drawn again" in line for line in resumed)


def test_a_run_past_the_budget_is_refused_before_anyone_is_called(terminals, capsys):
    clinic = terminals[0]
    state = ["--as", "clinic", "--state", str(clinic.state)]
    State(clinic.state).data_set("town-2026", "clinic")
    budget = ["ledger", "budget", "town-2026", "--viewer", "analyst", "--epsilon", "0.5", "--delta", "1e-6", *state]
    status = main(budget)
    if status != 0:  # no ledger yet: the first run begins it
        run_all(terminals, lambda _: None)
        assert main(budget) == 0
    capsys.readouterr()
    start_time = time.monotonic()
    assert main(clinic.command) == 2
    assert "E550" in capsys.readouterr().err
    assert time.monotonic() - start_time < 20


@pytest.mark.parametrize("text", ["dpvi", "stages", "three"])
def test_what_run_does_not_take_yet_is_refused_with_its_reason(tmp_path, capsys, text):
    examples = Path(__file__).resolve().parents[2] / "examples"
    path = tmp_path / "agreement.toml"
    if text == "stages":
        terms = agreements.load(examples / "town" / "agreement.toml")
        path.write_text(agreements.dumps(replace(terms, learner=replace(terms.learner, stages=2))))
    else:
        name = {"dpvi": "town/dpvi.toml", "three": "three/agreement.toml"}[text]
        path.write_text((examples / name).read_text())
    assert main(["run", str(path), "--as", "clinic", "--data", "x.csv", "--state", str(tmp_path)]) == 2
    assert "E612" in capsys.readouterr().err


def test_parties_that_hold_different_releases_sign_nothing():
    """As on two machines whose mathematics differ in a last bit: one clear error, before any signature."""
    from types import SimpleNamespace

    from conftest import in_threads

    from vertwin import rehearsal
    from vertwin.cli.run import _signed_by_all
    from vertwin.errors import UserError
    from vertwin.rehearsal.links import queue_links

    terms = agreements.parse(town_agreements.agreement_text())
    terms = replace(terms, learner=replace(terms.learner, components=2, restarts=1))
    tables = dict(town_files.make(people=600).aligned)
    content = rehearsal.run(terms, tables, secure=False, progress=lambda *_: None)
    contents = dict(zip(PARTIES, (content, replace(content, notes=("another",))), strict=True))
    links = queue_links(PARTIES)
    codes = []

    def party(name):
        try:
            _signed_by_all(contents[name], None, SimpleNamespace(me=name, link=links[name], everyone=PARTIES))
        except UserError as error:
            codes.append(error.codes)

    in_threads({name: lambda name=name: party(name) for name in PARTIES})
    assert codes == [("E418",), ("E418",)]


def test_an_unfinished_run_is_not_finished_with_other_tables(terminals, capsys):
    """Cut off in the exchange, then one table loses people: a coded error that names the way out, at both."""
    started = [start(terminal) for terminal in terminals]
    told = started[0][1]
    deadline = time.monotonic() + 60
    while not any("every party has stored" in line for line in told) and time.monotonic() < deadline:
        time.sleep(0.002)
    for process, _, _ in started:
        os.kill(process.pid, signal.SIGKILL)
    finish(started, 20)
    table = terminals[0].table
    lines = table.read_text().splitlines()
    table.write_text("\n".join(lines[: len(lines) // 2]) + "\n")
    for terminal in terminals:
        assert [attempt.settled for attempt in ledger_of(terminal).attempts] == [False], "both wait to finish it"
    try:
        run_all(terminals, lambda _: None)
    except UserError as error:
        assert set(error.codes) == {"E560"}
    else:
        pytest.fail("it went on with other tables")
