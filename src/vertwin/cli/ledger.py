"""vertwin ledger: what was spent on a data set, towards whom, and what is left; the owner's budgets."""

from __future__ import annotations

import json
from collections.abc import Mapping
from math import floor, inf, isinf
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from vertwin.cli import screen
from vertwin.errors import user_error

if TYPE_CHECKING:
    from vertwin.ledger.history import Attempt, Balance, History

Party = Annotated[str | None, typer.Option("--as", help="Whose ledger; needed where there are several here.")]
StateFolder = Annotated[Path | None, typer.Option("--state", help="The state folder, if it is not the usual one.")]
DataSet = Annotated[str, typer.Argument(help="The data set's name, as in its agreements.")]


class _ShowByDefault(TyperGroup):
    """`vertwin ledger NAME` is `vertwin ledger show NAME`: what one wants is to look."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] not in self.commands and args[0] != "--help":
            args = ["show", *args]
        return super().parse_args(ctx, args)


app = typer.Typer(
    name="ledger",
    cls=_ShowByDefault,
    help="What was spent on a data set, towards whom; and its owner's budgets.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.command()
def show(
    data_set: DataSet,
    party: Party = None,
    state: StateFolder = None,
    as_json: Annotated[bool, typer.Option("--json", help="For a machine to read.")] = False,
) -> None:
    """List the runs on a data set, and what they told each viewer together."""
    from vertwin.ledger.ledger import read_history

    history = read_history(_folder(data_set, party, state))
    balances = history.balances(_composer())
    if as_json:
        screen.say(json.dumps(_document(history, balances), indent=1, sort_keys=True))
        return
    screen.say(
        f'data set "{history.data_set}", ledger of "{history.party}": {history.head.count} entries, '
        f"each unchanged since it was written"
    )
    screen.say(f"head {history.head.digest}")
    screen.say("")
    _runs(history)
    _viewers(history, balances)
    _linkages(history)
    _peers(history)


@app.command()
def budget(
    data_set: DataSet,
    viewer: Annotated[str, typer.Option(help="analyst, a party, parties joined by +, or parties: each of them.")],
    epsilon: Annotated[float, typer.Option(help="At most this, over all runs together; 0: nothing more.")],
    delta: Annotated[float, typer.Option(help="The delta that goes with it.")],
    party: Party = None,
    state: StateFolder = None,
) -> None:
    """Set what may be spent towards a viewer, over all runs and agreements on the data set."""
    ledger = _open(data_set, party, state)
    with ledger:
        ledger.set_budget(viewer, epsilon, delta)
        history = ledger.history
    known = {"analyst", "parties", *history.peers}
    screen.say(f'budget of "{data_set}" towards "{viewer}": epsilon {epsilon:g} at delta {delta:g}')
    if not set(viewer.split("+")) <= known:
        screen.note(f'no run so far names "{viewer}": look at the spelling')
    for balance in history.balances(_composer()):
        if balance.budget is not None and balance.epsilon > balance.budget:
            screen.note(
                f'spent already towards "{balance.viewer}": {_number(balance.epsilon)}, which is more; the next run '
                "will be refused"
            )


@app.command()
def clock(data_set: DataSet, party: Party = None, state: StateFolder = None) -> None:
    """Say that the clock is right although the ledger's last entry is later: it was ahead when that was written."""
    with _open(data_set, party, state) as ledger:
        ledger.accept_clock()
    screen.say("written down: from here on the ledger goes by the clock as it is now")


@app.command()
def abandon(data_set: DataSet, party: Party = None, state: StateFolder = None) -> None:
    """Give up runs that were broken off, instead of finishing them; what may have been revealed stays counted."""
    with _open(data_set, party, state) as ledger:
        given_up = ledger.abandon()
        fates = [_fate(attempt) for attempt in ledger.history.attempts if attempt.spent.attempt in given_up]
    for fate in fates:
        screen.say(fate)
    if not fates:
        screen.say("nothing is unfinished")


def _open(data_set: str, party: str | None, state: Path | None) -> Any:
    from vertwin.ledger.ledger import Ledger
    from vertwin.noise import SystemEntropy
    from vertwin.parties.state import State

    if party is None:
        party = _whose(data_set, state)
    return Ledger.open(State(state).data_set(data_set, party), data_set, party, SystemEntropy().bytes)


def _whose(data_set: str, state: Path | None) -> str:
    """Whose ledger is meant: the only one on this data set, or before the first run the only identity here."""
    from vertwin.parties.state import State

    root = State(state).root
    ledgers, identities = root / "data" / data_set, root / "identities"
    if not ledgers.is_dir() and identities.is_dir():
        names = [folder.name for folder in identities.iterdir() if folder.is_dir()]
        if len(names) == 1:
            return names[0]
    return _folder(data_set, None, state).name


def _folder(data_set: str, party: str | None, state: Path | None) -> Path:
    """Where a ledger is, without making anything: the party's that is named, or the only one here."""
    from vertwin.ledger.file import LEDGER
    from vertwin.parties.state import State

    data = State(state).root / "data"
    here = {} if not data.is_dir() else {folder.name: folder for folder in data.iterdir() if folder.is_dir()}
    held = {folder.name: folder for folder in here[data_set].iterdir()} if data_set in here else {}
    owners = {name: folder for name, folder in held.items() if (folder / LEDGER).exists()}
    wanted = owners if party is None else {name: folder for name, folder in owners.items() if name == party}
    if not wanted:
        whose = "" if party is None else f' of "{party}"'
        hint = f"data sets here: {', '.join(sorted(here)) or 'none'}; --as and --state say whose ledger, and where"
        raise user_error("E540", f'there is no ledger{whose} on the data set "{data_set}"', hint, str(data.parent))
    if len(wanted) > 1:
        raise user_error("E559", f"there are ledgers of {', '.join(sorted(wanted))}", "say which: --as NAME")
    return next(iter(wanted.values()))


def _composer() -> Any:
    from vertwin.ledger.events import gaussian_composer

    return gaussian_composer


def _runs(history: History) -> None:
    from rich.table import Table

    if not history.attempts and not history.rehearsals:
        screen.say("no runs yet")
        return
    table = Table(title="runs", title_justify="left")
    for heading in ("day", "agreement", "with", "analyst's epsilon", "what became of it"):
        table.add_column(heading, justify="right" if "epsilon" in heading else "left")
    for attempt in history.attempts:
        spent = attempt.spent
        others = ", ".join(name for name, _ in spent.parties if name != history.party)
        alone = f"{_number(_alone(attempt))} (delta {spent.delta:g})"
        table.add_row(f"{attempt.line.time:%Y-%m-%d}", spent.agreement, others, alone, _fate(attempt))
    for line in history.lines:
        if line.entry.kind == "rehearsed":
            table.add_row(f"{line.time:%Y-%m-%d}", line.entry.agreement, "", "", "rehearsal: listed, not counted")
    screen.show(table)


def _alone(attempt: Attempt) -> float:
    from vertwin.ledger.budget import composed_epsilon, spending_of_entry

    return composed_epsilon((), [spending_of_entry(attempt.spent)], attempt.spent.delta, _composer())


def _fate(attempt: Attempt) -> str:
    if attempt.forgotten:
        return "nothing left this party: not counted"
    if attempt.release is not None:
        return f"released: {attempt.release[:12]}"
    if attempt.kept:
        return "broken off, counted: some may have left"
    return "unfinished, counted: run it to finish"


def _viewers(history: History, balances: tuple[Balance, ...]) -> None:
    from rich.table import Table

    screen.say("")
    table = Table(title="all runs together, by viewer (a record replaced)", title_justify="left")
    for heading in ("viewer", "epsilon", "delta", "budget", "left for one more run"):
        table.add_column(heading, justify="left" if heading == "viewer" else "right")
    for balance in balances:
        budget = "none" if balance.budget is None else f"{balance.budget:g}"
        left = "" if balance.left is None else _below(balance.left)
        table.add_row(balance.viewer, _number(balance.epsilon), f"{balance.delta:g}", budget, left)
    screen.show(table)
    if len(history.runs) > 1:
        screen.note("epsilons of several runs do not add up: what is shown is composed from the noise of all of them")
    if any(balance.budget is None for balance in balances):
        screen.note("where there is no budget there is no limit; the owner of the data set sets one:")
        screen.note(f"  vertwin ledger budget {history.data_set} --viewer NAME --epsilon E --delta D")


def _linkages(history: History) -> None:
    if not history.linkages:
        return
    screen.say("")
    screen.say("linkages (whoever links again with guessed ids can find out who is in a register):")
    for line in history.lines:
        if line.entry.kind == "linked":
            linked = line.entry
            others = ", ".join(name for name in linked.parties if name != history.party)
            keys = f" by {', '.join(linked.keys)}" if linked.keys else ""
            screen.say(
                f"  {line.time:%Y-%m-%d}  with {others}{keys} ({linked.method}): "
                f"{linked.rows_linked} of {linked.rows_offered} rows"
            )


def _peers(history: History) -> None:
    for peer in history.peers:
        seen = history.countersigned(peer)
        if seen is not None:
            screen.say(f'"{peer}" countersigned this ledger at entry {seen.at}')


def _number(epsilon: float) -> str:
    return "no promise" if isinf(epsilon) else f"{epsilon:.3f}"


def _below(epsilon: float) -> str:
    """Rounded down: what is shown as left is there."""
    return f"{floor(epsilon * 1000) / 1000:.3f}"


def _document(history: History, balances: tuple[Balance, ...]) -> Mapping[str, Any]:
    def finite(epsilon: float | None) -> float | None:
        return None if epsilon in (None, inf) else epsilon

    return {
        "data_set": history.data_set,
        "party": history.party,
        "entries": history.head.count,
        "head": history.head.digest,
        "runs": [
            {
                "attempt": attempt.spent.attempt,
                "time": attempt.line.time.isoformat(),
                "agreement": attempt.spent.agreement,
                "agreement_digest": attempt.spent.agreement_digest,
                "parties": [name for name, _ in attempt.spent.parties],
                "delta": attempt.spent.delta,
                "analyst_epsilon": finite(_alone(attempt)),
                "counted": attempt.counted,
                "release": attempt.release,
                "unfinished": not attempt.settled,
            }
            for attempt in history.attempts
        ],
        "rehearsals": len(history.rehearsals),
        "linkages": len(history.linkages),
        "viewers": [
            {
                "viewer": balance.viewer,
                "epsilon": finite(balance.epsilon),
                "delta": balance.delta,
                "adjacency": "replace_one",
                "budget": balance.budget,
                "left": balance.left,
            }
            for balance in balances
        ],
    }
