"""Budgets: what may be spent towards each viewer of one data set, over all its runs and agreements.

A viewer is a set of parties that pool what they see (none: the analyst). In a run of which only some of them are
parties, or none, they see what those see: a party that was not there is an analyst of that release. So towards any
viewer every run counts, each with the event of whoever of the viewer took part.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import inf, isfinite, isnan
from typing import TYPE_CHECKING, Final

from vertwin.errors import Faults, user_error
from vertwin.ledger.entries import Budget, Spent, WrittenEvent
from vertwin.ledger.events import Composer, Event, GaussianEvent, compose, gaussian_composer
from vertwin.privacy.gaussian_release import GaussianRelease

if TYPE_CHECKING:
    from vertwin.agreement import Agreement
    from vertwin.privacy.viewers import Viewer

ANALYST: Final = "analyst"
EACH_PARTY: Final = "parties"  # as in an agreement: each party by itself


@dataclass(frozen=True)
class Spending:
    """What one run is going to tell each viewer: public, computed before anyone is called."""

    agreement: str
    agreement_digest: str
    plan_digest: str
    parties: tuple[tuple[str, str | None], ...]  # names, and the fingerprints of their identity keys
    events: tuple[tuple[tuple[str, ...], Event | None], ...]  # by coalition; None: nothing is promised towards it
    delta: float


@dataclass(frozen=True)
class Forecast:
    """One viewer before and after a run, at the delta of its budget (without a budget: of the run)."""

    viewer: str
    before: float
    after: float
    delta: float
    budget: float | None

    @property
    def exceeded(self) -> bool:
        return self.budget is not None and self.after > self.budget


def spending_of(
    agreement: Agreement, plan_digest: str, mechanism: GaussianRelease, viewers: Iterable[Viewer]
) -> Spending:
    """From the plan: the same numbers that the statement's epsilons were computed from."""
    return Spending(
        agreement.name,
        agreement.digest,
        plan_digest,
        tuple((party.name, party.key) for party in agreement.parties),
        tuple(
            (
                tuple(sorted(viewer.coalition)),
                None
                if viewer.epsilon is None
                else GaussianEvent(mechanism.mu_squared(viewer.coalition), mechanism.adjacency_for(viewer.coalition)),
            )
            for viewer in viewers
        ),
        agreement.privacy.delta,
    )


def written_events(spending: Spending) -> tuple[WrittenEvent, ...]:
    return tuple(
        WrittenEvent(coalition, None, {})
        if event is None
        else WrittenEvent(coalition, event.kind, dict(event.parameters))
        for coalition, event in spending.events
    )


def spending_of_entry(entry: Spent) -> Spending:
    """The way back from the ledger."""
    return Spending(
        entry.agreement,
        entry.agreement_digest,
        entry.plan_digest,
        entry.parties,
        tuple((written.coalition, written.read()) for written in entry.events),
        entry.delta,
    )


def read_viewer(viewer: str, owner: str) -> tuple[tuple[str, ...], bool]:
    """(coalition, whether each party is meant) from `analyst`, `parties`, a party's name, or names joined by +."""
    names = viewer.split("+")
    if viewer == ANALYST:
        return (), False
    if viewer == EACH_PARTY:
        return (), True
    if not all(names) or len(set(names)) < len(names) or {ANALYST, EACH_PARTY} & set(names) or not viewer.isprintable():
        raise user_error("E552", f"{viewer[:200]!r} is no viewer")
    if owner in names:
        raise user_error(
            "E552",
            f'this is the ledger of "{owner}": towards itself it has nothing to protect',
            "the budget towards it stands in the other parties' ledgers",
        )
    return tuple(sorted(names)), False


def viewer_name(coalition: Iterable[str]) -> str:
    return "+".join(sorted(coalition)) or ANALYST


def check_budget(epsilon: float, delta: float) -> None:
    faults = Faults()
    if isnan(epsilon) or not 0 <= epsilon < inf:
        faults.add("E701", "a budget's epsilon is finite and zero (nothing more) or above")
    if not (isfinite(delta) and 0 < delta < 1):
        faults.add("E700", "a budget's delta lies strictly between 0 and 1")
    faults.raise_if_any()


def event_towards(viewer: Iterable[str], run: Spending, keys: Mapping[str, frozenset[str]]) -> Event | None:
    """What a run told a viewer: the event of those of its members that were parties of it, by name or by key."""
    wanted = frozenset(viewer)
    wanted_keys = frozenset[str]().union(*(keys.get(name, frozenset[str]()) for name in wanted))
    present = {name for name, key in run.parties if name in wanted or (key is not None and key in wanted_keys)}
    for coalition, event in run.events:
        if set(coalition) == present:
            return event
    return None  # a coalition that the plan computed no number for


def keys_of(runs: Iterable[Spending]) -> dict[str, frozenset[str]]:
    """The identity keys that each name was seen with: one organisation under two names is one viewer."""
    keys: dict[str, frozenset[str]] = {}
    for run in runs:
        for name, key in run.parties:
            if key is not None:
                keys[name] = keys.get(name, frozenset[str]()) | {key}
    return keys


def composed_epsilon(
    viewer: Iterable[str], runs: Iterable[Spending], delta: float, composer: Composer = gaussian_composer
) -> float:
    """The epsilon towards one viewer of all runs together, under replace_one; infinite where one promises nothing."""
    counted = tuple(runs)
    keys = keys_of(counted)
    return compose((event_towards(viewer, run, keys) for run in counted), delta, composer)


def viewers_with_budget(
    budgets: Iterable[Budget], runs: Iterable[Spending], owner: str
) -> dict[tuple[str, ...], Budget]:
    """The budget in force for each viewer: the last that was set; `parties` holds for whoever has none of its own."""
    named: dict[tuple[str, ...], Budget] = {}
    each: Budget | None = None
    for budget in budgets:
        if budget.each_party:
            each = budget
        else:
            named[budget.coalition] = budget
    if each is not None:
        for name in dict.fromkeys(name for run in runs for name, _ in run.parties):
            if name != owner:
                named.setdefault((name,), each)
    return named


def forecast(
    runs: Iterable[Spending],
    planned: Spending,
    budgets: Iterable[Budget],
    owner: str,
    composer: Composer = gaussian_composer,
) -> tuple[Forecast, ...]:
    """Every viewer of the planned run and every viewer with a budget, before and after it."""
    past = tuple(runs)
    limits = viewers_with_budget(budgets, (*past, planned), owner)
    viewers = [coalition for coalition, _ in planned.events if owner not in coalition]
    found: list[Forecast] = []
    for viewer in dict.fromkeys([*viewers, *limits]):
        limit = limits.get(viewer)
        delta = planned.delta if limit is None else limit.delta
        found.append(
            Forecast(
                viewer_name(viewer),
                composed_epsilon(viewer, past, delta, composer),
                composed_epsilon(viewer, (*past, planned), delta, composer),
                delta,
                None if limit is None else limit.epsilon,
            )
        )
    return tuple(found)


def raise_if_exceeded(forecasts: Iterable[Forecast], data_set: str, place: str) -> None:
    """E550 for every viewer whose budget the planned run would exceed."""
    faults = Faults()
    for one in forecasts:
        if one.exceeded:
            change = f"this run would bring epsilon from {one.before:.4g} to {one.after:.4g} at delta {one.delta:g}"
            if one.after == inf:
                change = "this run, or one before it, promises nothing"
            faults.add(
                "E550",
                f'towards "{one.viewer}" {change}; the budget of the data set "{data_set}" is {one.budget:g} '
                f"at delta {one.delta:g}",
                f"see what was spent: vertwin ledger {data_set}; its owner alone may set another budget",
                place,
            )
    faults.raise_if_any()
