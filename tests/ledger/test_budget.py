"""Budgets: composition against the closed form, over runs and agreements; what is refused before anyone is called."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import inf, nan, sqrt

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ledger.simulated_disk import SimulatedDisk
from ledger.small_runs import FOLDER, attempt, open_ledger, spending, whole_run

from vertwin.agreement import parse
from vertwin.errors import UserError
from vertwin.ledger.budget import Spending, composed_epsilon, read_viewer, spending_of
from vertwin.ledger.events import Event, GaussianEvent, OtherEvent, compose, read_event
from vertwin.ledger.ledger import Ledger
from vertwin.privacy.closed_form import gaussian_epsilon
from vertwin.privacy.mechanism import plan_pair_tables
from vertwin.privacy.viewers import viewers_of
from vertwin.rehearsal.town_agreements import agreement_text

Events = tuple[tuple[tuple[str, ...], Event | None], ...]
MU_SQUARED = st.floats(1e-6, 50)


@settings(max_examples=60, deadline=None)
@given(st.lists(MU_SQUARED, min_size=1, max_size=8), st.sampled_from([1e-9, 1e-6, 1e-3]))
def test_gaussian_events_compose_by_mu_squared(each: list[float], delta: float):
    composed = compose([GaussianEvent(mu, "replace_one") for mu in each], delta)
    expected = gaussian_epsilon(sqrt(sum(each)), delta)
    assert expected <= composed * (1 + 1e-12)
    assert composed == pytest.approx(expected, rel=1e-9)
    added = sum(gaussian_epsilon(sqrt(mu), delta / len(each)) for mu in each)  # basic composition: deltas add too
    assert composed <= added * (1 + 1e-9)


@settings(max_examples=40, deadline=None)
@given(st.lists(MU_SQUARED, min_size=1, max_size=6), st.randoms(use_true_random=False))
def test_the_order_of_runs_does_not_matter(each: list[float], order):
    shuffled = list(each)
    order.shuffle(shuffled)
    events = [[GaussianEvent(mu, "replace_one") for mu in some] for some in (each, shuffled)]
    assert compose(events[0], 1e-6) == compose(events[1], 1e-6)


def test_n_runs_are_one_run_of_n_times_the_square():
    assert compose([GaussianEvent(0.25, "replace_one")] * 16, 1e-6) == compose(
        [GaussianEvent(4.0, "replace_one")], 1e-6
    )


def test_what_was_accounted_under_add_remove_counts_twice_its_distance():
    twice = compose([GaussianEvent(0.5, "add_remove")], 1e-6)
    assert twice == compose([GaussianEvent(2.0, "replace_one")], 1e-6)


def test_nothing_spent_is_epsilon_zero_and_no_promise_is_infinite():
    assert compose([], 1e-6) == 0.0
    assert compose([GaussianEvent(0.1, "replace_one"), None], 1e-6) == inf


def test_an_event_of_another_kind_needs_a_composer_for_it():
    event = read_event("subsampled_gaussian", {"noise_multiplier": 2.0, "steps": 100})
    assert event == OtherEvent("subsampled_gaussian", (("noise_multiplier", 2.0), ("steps", 100)))
    with pytest.raises(UserError) as caught:
        compose([event], 1e-6)
    assert caught.value.codes == ("E551",)
    assert compose([event], 1e-6, lambda events, delta: len(events) + delta) == 1 + 1e-6


@pytest.mark.parametrize("mu_squared", [nan, inf, -0.1])
def test_an_event_that_is_no_number_is_refused(mu_squared: float):
    with pytest.raises(UserError) as caught:
        GaussianEvent(mu_squared, "replace_one")
    assert caught.value.codes == ("E702",)


# --- who sees which run -----------------------------------------------------------------------------------------


def run_between(*parties: str, keys: tuple[str | None, ...] | None = None) -> Spending:
    return spending(0.1, 0.3, parties, keys=keys)


def test_a_party_that_was_not_there_is_an_analyst_of_that_release():
    runs = [run_between("clinic", "insurer"), run_between("clinic", "register")]
    assert composed_epsilon((), runs, 1e-6) == pytest.approx(gaussian_epsilon(sqrt(0.2), 1e-6))
    assert composed_epsilon(("insurer",), runs, 1e-6) == pytest.approx(gaussian_epsilon(sqrt(0.4), 1e-6))


def test_a_coalition_sees_what_its_members_saw_run_by_run():
    runs = [run_between("clinic", "insurer"), run_between("clinic", "register"), run_between("clinic", "bank")]
    assert composed_epsilon(("insurer", "register"), runs, 1e-6) == pytest.approx(gaussian_epsilon(sqrt(0.7), 1e-6))
    both = [run_between("clinic", "insurer", "register")]
    assert composed_epsilon(("insurer", "register"), both, 1e-6) == inf  # the plan named no number for the two


def test_one_organisation_under_two_names_is_one_viewer():
    runs = [
        run_between("clinic", "insurer", keys=("k1", "k2")),
        run_between("clinic", "assurance", keys=("k1", "k2")),
        run_between("clinic", "insurer", keys=("k1", "k3")),
    ]
    assert composed_epsilon(("insurer",), runs, 1e-6) == pytest.approx(gaussian_epsilon(sqrt(0.9), 1e-6))


def test_more_runs_never_make_an_epsilon_smaller():
    runs = [run_between("clinic", "insurer")]
    for viewer in ((), ("insurer",)):
        before = composed_epsilon(viewer, runs, 1e-6)
        assert composed_epsilon(viewer, [*runs, run_between("clinic", "register")], 1e-6) > before


# --- the owner's budget -----------------------------------------------------------------------------------------


def refused(ledger: Ledger, planned: Spending) -> tuple[str, ...]:
    with pytest.raises(UserError) as caught:
        ledger.require_within_budget(planned)
    assert set(caught.value.codes) == {"E550"}
    return tuple(fault.sentence.split('"')[1] for fault in caught.value.faults)


def test_the_second_run_is_refused_where_the_budget_is_for_one():
    with open_ledger() as ledger:
        one = gaussian_epsilon(sqrt(0.1), 1e-6)
        ledger.set_budget("analyst", one * 1.0001, 1e-6)
        ledger.require_within_budget(spending())
        whole_run(ledger, 1)
        entries = ledger.head.count
        assert refused(ledger, spending()) == ("analyst",)
        with pytest.raises(UserError, match="E550"):
            ledger.spend(attempt(2), spending(), ("p:1",), "tables")
        assert ledger.head.count == entries
        ledger.set_budget("analyst", 10.0, 1e-6)  # the owner may decide otherwise
        whole_run(ledger, 2)


def test_runs_of_other_agreements_count_too():
    with open_ledger() as ledger:
        ledger.set_budget("analyst", gaussian_epsilon(sqrt(0.25), 1e-6), 1e-6)
        whole_run(ledger, 1, spending(agreement="a" * 64))
        whole_run(ledger, 2, spending(agreement="b" * 64, parties=("clinic", "insurer")))
        assert refused(ledger, spending(agreement="c" * 64)) == ("analyst",)


def test_every_exceeded_viewer_is_named_at_once():
    with open_ledger() as ledger:
        ledger.set_budget("analyst", 0.1, 1e-6)
        ledger.set_budget("parties", 0.2, 1e-6)
        assert refused(ledger, spending(parties=("clinic", "insurer", "register"))) == (
            "analyst",
            "insurer",
            "register",
        )
        ledger.set_budget("insurer", 100.0, 1e-6)
        assert refused(ledger, spending()) == ("analyst",)


def test_a_budget_of_zero_means_nothing_more():
    with open_ledger() as ledger:
        ledger.set_budget("analyst", 0.0, 1e-6)
        assert refused(ledger, spending()) == ("analyst",)


def test_a_viewer_without_a_promise_is_past_every_budget():
    events: Events = (((), GaussianEvent(0.1, "replace_one")), (("insurer",), None))
    planned = Spending("x", "a" * 64, "b" * 64, (("clinic", None), ("insurer", None)), events, 1e-6)
    with open_ledger() as ledger:
        ledger.require_within_budget(planned)
        ledger.set_budget("insurer", 100.0, 1e-6)
        assert refused(ledger, planned) == ("insurer",)


def test_an_unfinished_attempt_of_the_same_agreement_is_not_counted_twice():
    with open_ledger() as ledger:
        ledger.set_budget("analyst", gaussian_epsilon(sqrt(0.11), 1e-6), 1e-6)
        ledger.spend(attempt(1), spending(), ("p:1",), "tables")
        ledger.require_within_budget(spending())  # it will be finished, or forgotten
        assert refused(ledger, spending(agreement="c" * 64)) == ("analyst",)
        ledger.forget(attempt(1))
        ledger.require_within_budget(spending(agreement="c" * 64))


@pytest.mark.parametrize(
    ("epsilon", "delta", "codes"),
    [
        (nan, 1e-6, ("E701",)),
        (inf, 1e-6, ("E701",)),
        (-1.0, 1e-6, ("E701",)),
        (1.0, 0.0, ("E700",)),
        (1.0, 1.0, ("E700",)),
        (-1.0, nan, ("E701", "E700")),
    ],
)
def test_a_budget_that_is_none(epsilon: float, delta: float, codes: tuple[str, ...]):
    with open_ledger() as ledger:
        with pytest.raises(UserError) as caught:
            ledger.set_budget("analyst", epsilon, delta)
        assert caught.value.codes == codes
        assert ledger.head.count == 1


@pytest.mark.parametrize("viewer", ["", "+", "a+", "a+a", "analyst+insurer", "parties+a", "clinic", "a+clinic", "a\n"])
def test_a_viewer_that_is_none(viewer: str):
    with pytest.raises(UserError) as caught:
        read_viewer(viewer, "clinic")
    assert caught.value.codes == ("E552",)


def test_viewers_are_read_in_any_order():
    assert read_viewer("register+insurer", "clinic") == (("insurer", "register"), False)
    assert read_viewer("analyst", "clinic") == ((), False)
    assert read_viewer("parties", "clinic") == ((), True)


def test_what_is_left_can_be_spent_and_no_more():
    with open_ledger() as ledger:
        ledger.set_budget("analyst", 2.0, 1e-6)
        whole_run(ledger, 1)
        (analyst, *_) = ledger.history.balances()
        assert analyst.left is not None and 0 < analyst.left < 2.0 - analyst.epsilon + 1
        low, high = 0.0, 4.0
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if gaussian_epsilon(sqrt(middle), 1e-6) <= analyst.left else (low, middle)
        ledger.require_within_budget(spending(analyst=low * 0.999))
        refused(ledger, spending(analyst=low * 1.001))


def test_a_ledger_keeps_events_of_kinds_that_it_cannot_compose():
    def composer(events: Sequence[Event], delta: float) -> float:
        return 0.5 * len(events)

    event = OtherEvent("poisson", (("batch", 100), ("steps", 5)))
    planned = Spending("x", "a" * 64, "b" * 64, (("clinic", None),), (((), event),), 1e-6)
    disk = SimulatedDisk()
    with Ledger.open(FOLDER, "town", "clinic", bytes, composer=composer, disk=disk) as ledger:
        ledger.set_budget("analyst", 1.2, 1e-6)
        ledger.spend(attempt(1), planned, (), "alone")
        ledger.spend(attempt(2), replace(planned, agreement_digest="c" * 64), (), "alone")
        assert refused(ledger, replace(planned, agreement_digest="d" * 64)) == ("analyst",)
        ledger.forget(attempt(2))
    with open_ledger(disk) as ledger:
        assert ledger.history.runs == (planned,)
        with pytest.raises(UserError, match="E551"):
            ledger.require_within_budget(replace(planned, agreement_digest="d" * 64))
        (analyst,) = ledger.history.balances(composer)
        assert (analyst.epsilon, analyst.left) == (0.5, None)


# --- with the plan's own numbers --------------------------------------------------------------------------------


def test_one_run_of_an_agreement_fits_a_budget_of_its_own_target_and_two_do_not():
    """The ledger composes the same numbers that the statement was computed from."""
    agreement = parse(agreement_text("measure_once"))
    mechanism = plan_pair_tables(agreement)
    viewers = viewers_of(mechanism, agreement)
    planned = spending_of(agreement, "b" * 64, mechanism, viewers)
    delta = agreement.privacy.delta
    for viewer in viewers:
        assert viewer.epsilon is not None
        one = composed_epsilon(viewer.coalition, [planned], delta)
        assert one == pytest.approx(viewer.epsilon, rel=1e-9)
        two = composed_epsilon(viewer.coalition, [planned, planned], delta)
        assert viewer.epsilon * 1.3 < two < 2 * viewer.epsilon
    with open_ledger() as ledger:
        for name, target in agreement.targets().items():
            if name != "clinic":
                ledger.set_budget(name, target, delta)
        ledger.require_within_budget(planned)
        whole_run(ledger, 1, planned)
        assert "analyst" in refused(ledger, planned)
