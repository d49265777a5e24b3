"""vertwin ledger, as a terminal shows it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import typer
from ledger.small_runs import AGREEMENT, Clock, attempt, countersigned_by, spending, whole_run
from typer.testing import CliRunner
from unsafe_entropy import UnsafeSeededEntropy

from vertwin.cli import ledger as command
from vertwin.errors import UserError
from vertwin.ledger.entries import Linked
from vertwin.ledger.ledger import Ledger


def open_in(state: Path, party: str = "clinic") -> Ledger:
    from vertwin.parties.state import State

    folder = State(state).data_set("town", party)
    return Ledger.open(folder, "town", party, UnsafeSeededEntropy(party).bytes, clock=Clock())


@pytest.fixture
def state(tmp_path: Path) -> Path:
    """A clinic with one release, one linkage, one rehearsal, one run that was broken off, one that is unfinished."""
    with open_in(tmp_path) as ledger:
        ledger.record_linkage(
            Linked(attempt(1), "care", AGREEMENT, ("clinic", "insurer"), "exact", ("person_id",), 3000, 2000, None)
        )
        whole_run(ledger, 1)
        ledger.record_rehearsal("care-and-claims", AGREEMENT, secure=False)
        ledger.spend(attempt(2), spending(), ("p:1",), "tables")
        ledger.forget(attempt(2))
        ledger.spend(attempt(3), spending(), ("p:1",), "tables")
        ledger.store(attempt(3), {"shares": b"s"})
        countersigned_by(ledger)
        ledger.begin_exchange(attempt(3))
    return tmp_path


def run(*arguments: str) -> tuple[str, str]:
    result = CliRunner().invoke(command.app, list(arguments))
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.stdout, result.stderr


def code_of(*arguments: str) -> str:
    with pytest.raises(UserError) as caught:
        run(*arguments)
    (code,) = caught.value.codes
    return code


def test_what_was_spent_is_shown(state: Path):
    shown, notes = run("town", "--state", str(state))
    assert 'data set "town", ledger of "clinic"' in shown
    assert "released: dddddddddddd" in shown
    assert "nothing left this party: not counted" in shown
    assert "unfinished, counted: run it to finish" in shown
    assert "rehearsal: listed, not counted" in shown
    assert "with insurer by person_id (exact): 2000 of 3000 rows" in shown
    assert '"insurer" countersigned this ledger at entry' in shown
    assert "no budget" in notes and "do not add up" in notes


def test_show_is_what_one_means(state: Path):
    assert run("--state", str(state), "town") == run("show", "town", "--state", str(state), "--as", "clinic")


def test_a_machine_reads_the_same(state: Path):
    document = json.loads(run("town", "--state", str(state), "--json")[0])
    assert [(one["counted"], one["unfinished"]) for one in document["runs"]] == [
        (True, False),
        (False, False),
        (True, True),
    ]
    assert (document["rehearsals"], document["linkages"]) == (1, 1)
    analyst = document["viewers"][0]
    assert analyst["viewer"] == "analyst" and analyst["budget"] is None
    assert document["runs"][0]["analyst_epsilon"] < analyst["epsilon"] < 2 * document["runs"][0]["analyst_epsilon"]


def test_the_owner_sets_a_budget(state: Path):
    options = ("--state", str(state), "--viewer", "analyst", "--epsilon", "9", "--delta", "1e-6")
    shown, notes = run("budget", "town", *options)
    assert shown == 'budget of "town" towards "analyst": epsilon 9 at delta 1e-06\n'
    assert notes == ""
    (analyst, *_) = json.loads(run("town", "--state", str(state), "--json")[0])["viewers"]
    assert analyst["budget"] == 9 and 0 < analyst["left"] < 9


def test_a_budget_below_what_was_spent_and_a_misspelt_viewer_are_noted(state: Path):
    options = ("--state", str(state), "--epsilon", "0.5", "--delta", "1e-6")
    assert "which is more; the next run will be refused" in run("budget", "town", "--viewer", "parties", *options)[1]
    assert "look at the spelling" in run("budget", "town", "--viewer", "insurrer", *options)[1]


def test_a_budget_may_come_before_the_first_run(tmp_path: Path):
    options = ("--as", "clinic", "--state", str(tmp_path), "--viewer", "analyst", "--epsilon", "1", "--delta", "1e-6")
    run("budget", "town", *options)
    assert "no runs yet" in run("town", "--state", str(tmp_path))[0]


def test_what_is_unfinished_can_be_given_up(state: Path):
    assert run("abandon", "town", "--state", str(state))[0] == "broken off, counted: some may have left\n"
    assert run("abandon", "town", "--state", str(state))[0] == "nothing is unfinished\n"


def test_the_clock_can_be_accepted(state: Path):
    with open_in(state) as ledger:
        before = ledger.head.count
    assert "written down" in run("clock", "town", "--state", str(state))[0]
    with open_in(state) as ledger:
        assert ledger.head.count == before + 1


def test_looking_makes_nothing(tmp_path: Path):
    assert code_of("town", "--state", str(tmp_path / "none")) == "E540"
    assert not (tmp_path / "none").exists()


def test_a_ledger_that_is_not_here(state: Path):
    assert code_of("city", "--state", str(state)) == "E540"
    assert code_of("town", "--as", "register", "--state", str(state)) == "E540"
    assert code_of("../town", "--state", str(state)) == "E540"
    budget = ("--viewer", "analyst", "--epsilon", "1", "--delta", "1e-6", "--state", str(state))
    assert code_of("budget", "city", *budget) == "E540"
    assert code_of("budget", "..", "--as", "clinic", *budget) == "E109"


def test_whose_ledger_is_meant_has_to_be_said(state: Path):
    open_in(state, "insurer").close()
    assert code_of("town", "--state", str(state)) == "E559"
    assert 'ledger of "insurer"' in run("town", "--as", "insurer", "--state", str(state))[0]


def test_bad_numbers_are_refused(state: Path):
    for numbers, code in (("--epsilon -1 --delta 1e-6", "E701"), ("--epsilon 1 --delta 1", "E700")):
        assert code_of("budget", "town", "--viewer", "analyst", "--state", str(state), *numbers.split()) == code
    with pytest.raises(UserError, match="E552"):
        run("budget", "town", "--viewer", "clinic", "--state", str(state), "--epsilon", "1", "--delta", "1e-6")


def test_without_a_name_help_is_shown():
    result = CliRunner().invoke(command.app, [])
    assert "budget" in result.output and "abandon" in result.output
    assert isinstance(command.app, typer.Typer)
