from __future__ import annotations

from dataclasses import replace

import pytest

from vertwin.agreement import Agreement, Bound, Column, Dpvi, Linkage, MeasureOnce, Party, Privacy, Targets
from vertwin.domains import Binary, Missing
from vertwin.errors import UserError
from vertwin.privacy.mechanism import plan_gradient_releases, plan_pair_tables
from vertwin.privacy.viewers import coalitions_of, viewer_of, viewers_of


def column(name: str, party: str) -> Column:
    return Column(name, party, Binary(missing=Missing.REFUSE, source="test", values=("no", "yes")))


def agreement(epsilon: dict[str, float], *, helper: bool = False, holders: str = "ab") -> Agreement:
    parties = tuple(Party(name) for name in holders) + ((Party("helper", role="helper"),) if helper else ())
    return Agreement(
        format=1,
        name="test",
        purpose="test",
        data_set="test",
        parties=parties,
        linkage=Linkage("aligned"),
        columns=tuple(column(f"{name}{i}", name) for name in holders for i in range(3)),
        learner=MeasureOnce(variances="equal"),
        privacy=Privacy(delta=1e-6, epsilon=Targets(epsilon)),
    )


DPVI = Dpvi(components=2, steps=50, aggregator="a", step_size=0.1, bound=Bound("hard", 1.0))


def test_viewers_in_order_with_their_epsilons() -> None:
    terms = agreement({"analyst": 1.0})
    viewers = viewers_of(plan_pair_tables(terms), terms)
    assert [viewer.name for viewer in viewers] == ["analyst", "a", "b"]
    assert [viewer.adjacency for viewer in viewers] == ["replace_one"] * 3
    assert viewers[0].epsilon is not None and 0.999 < viewers[0].epsilon <= 1.0
    assert all(viewer.promised and viewer.assumptions for viewer in viewers)


def test_every_given_target_is_met() -> None:
    terms = agreement({"analyst": 1.0, "parties": 1.1, "b": 0.7})
    for variances in ("equal", "best"):
        terms = replace(terms, learner=MeasureOnce(variances=variances))
        by_name = {viewer.name: viewer.epsilon or 9.0 for viewer in viewers_of(plan_pair_tables(terms), terms)}
        assert by_name["analyst"] <= 1.0 and by_name["a"] <= 1.1 and by_name["b"] <= 0.7


def test_under_add_remove_only_the_analyst_is() -> None:
    terms = agreement({"analyst": 1.0})
    terms = replace(terms, privacy=replace(terms.privacy, adjacency="add_remove"))
    viewers = viewers_of(plan_pair_tables(terms), terms)
    assert [viewer.adjacency for viewer in viewers] == ["add_remove", "replace_one", "replace_one"]
    assert not any("how many" in sentence for sentence in viewers[0].assumptions)


def test_a_helper_sees_no_more_than_what_is_released() -> None:
    terms = agreement({"analyst": 1.0}, helper=True)
    analyst, *_, helper = viewers_of(plan_pair_tables(terms), terms)
    assert helper.name == "helper" and helper.epsilon == analyst.epsilon


def test_coalitions_of_two_of_three_for_measure_once() -> None:
    terms = agreement({"analyst": 1.0}, holders="abc")
    names = [viewer.name for viewer in coalitions_of(plan_pair_tables(terms), terms)]
    assert names == ["a+b", "a+c", "b+c"]
    assert all(viewer.promised for viewer in coalitions_of(plan_pair_tables(terms), terms))


def test_two_of_three_compute_nodes_get_the_reason_and_no_number() -> None:
    terms = replace(agreement({"analyst": 5.0}, holders="abc"), learner=DPVI)
    mechanism = plan_gradient_releases(terms, rows=1000, dimension=30, relative_slack=1e-4)
    viewer = viewer_of(mechanism, terms, {"a", "b"})
    assert viewer.epsilon is None and "aby3" in viewer.assumptions[0]
    assert all(viewer.promised for viewer in viewers_of(mechanism, terms))


def test_a_helper_that_draws_the_noise_is_promised_nothing() -> None:
    terms = replace(agreement({"analyst": 5.0}, helper=True), learner=replace(DPVI, noise="helper"))
    mechanism = plan_gradient_releases(terms, rows=1000, dimension=30, relative_slack=1e-4)
    analyst, a, _, helper = viewers_of(mechanism, terms)
    assert helper.epsilon is None and "draws all the noise" in helper.assumptions[0]
    assert analyst.epsilon is not None and analyst.epsilon <= 5.0
    assert a.epsilon == analyst.epsilon  # it knows no part of the noise


def test_a_given_sigma_is_taken_as_it_is() -> None:
    terms = replace(agreement({}), learner=DPVI, privacy=Privacy(delta=1e-6, sigma=7.5))
    assert plan_gradient_releases(terms, rows=1000, dimension=30, relative_slack=0.0).sigma == 7.5


def test_a_promise_to_the_one_who_draws_the_noise_cannot_be_met() -> None:
    terms = replace(agreement({"helper": 1.0}, helper=True), learner=replace(DPVI, noise="helper"))
    with pytest.raises(UserError) as caught:
        plan_gradient_releases(terms, rows=1000, dimension=30, relative_slack=0.0)
    assert caught.value.codes == ("E704",)


def test_no_target_at_all_is_refused() -> None:
    with pytest.raises(UserError) as caught:
        plan_pair_tables(agreement({}))
    assert caught.value.codes == ("E703",)
