from __future__ import annotations

from dataclasses import replace

import pytest

from vertwin.agreement import (
    Agreement,
    Bound,
    Column,
    Dpvi,
    EngineChoice,
    Linkage,
    MeasureOnce,
    Party,
    Privacy,
    Targets,
)
from vertwin.domains import Binary, Missing
from vertwin.errors import UserError
from vertwin.privacy.accountant import LossDistributions
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


# --- minibatches and the helper ---

POISSON = replace(DPVI, sampling="poisson", batch=10, batch_from="parties")


def epsilons(terms: Agreement) -> dict[str, float | None]:
    oracle = LossDistributions()
    mechanism = plan_gradient_releases(terms, 1000, 30, 0.0, oracle=oracle)
    every = (*viewers_of(mechanism, terms, oracle), *coalitions_of(mechanism, terms, oracle))
    return {viewer.name: viewer.epsilon for viewer in every}


def with_sigma(learner: Dpvi, **about: object) -> Agreement:
    return replace(agreement({}, **about), learner=learner, privacy=Privacy(delta=1e-6, sigma=4.0))  # type: ignore[arg-type]


def test_the_aggregator_that_is_no_party_has_amplification_unless_it_draws_the_batch() -> None:
    by_parties = epsilons(with_sigma(replace(POISSON, aggregator="helper"), helper=True))
    assert by_parties["helper"] == by_parties["analyst"]
    assert (by_parties["a"] or 0) > (by_parties["analyst"] or 9)
    by_aggregator = epsilons(with_sigma(replace(POISSON, aggregator="helper", batch_from="aggregator"), helper=True))
    assert (by_aggregator["helper"] or 0) > (by_aggregator["analyst"] or 9)
    assert by_aggregator["a"] == by_parties["a"]


def test_hidden_batches_protect_against_parties_and_not_against_who_drew_them() -> None:
    known = epsilons(with_sigma(replace(POISSON, aggregator="helper"), helper=True))
    hidden = epsilons(with_sigma(replace(POISSON, sampling="poisson_hidden", batch_from=None), helper=True))
    assert (hidden["a"] or 9) < (known["a"] or 0)
    assert (hidden["helper"] or 0) > (hidden["analyst"] or 9)
    assert hidden["a+helper"] is None and known["b+helper"] is None  # two of three nodes


def test_a_helper_outside_the_computation_joins_a_party() -> None:
    """Under cheetah the helper sees what is revealed and holds no share: with a party it is that party."""
    terms = with_sigma(replace(DPVI, aggregator="helper"), helper=True)
    found = epsilons(replace(terms, engine=EngineChoice("cheetah")))
    assert found["a+helper"] == found["a"]


def test_the_aggregator_is_said_to_be_one() -> None:
    terms = with_sigma(DPVI)
    mechanism = plan_gradient_releases(terms, 1000, 30, 0.0)
    assert any("aggregator" in sentence for sentence in viewer_of(mechanism, terms, {"a"}).assumptions)
    assert not any("aggregator" in sentence for sentence in viewer_of(mechanism, terms, {"b"}).assumptions)


def test_secret_samples_without_an_accountant_are_refused() -> None:
    terms = replace(agreement({"analyst": 1.0}), learner=POISSON)
    with pytest.raises(UserError) as caught:
        plan_gradient_releases(terms, rows=1000, dimension=30, relative_slack=0.0)
    assert caught.value.codes == ("E705",)


def test_a_second_run_and_the_guess() -> None:
    terms = agreement({"analyst": 1.0})
    for viewer in viewers_of(plan_pair_tables(terms), terms):
        assert viewer.epsilon is not None and viewer.second_run is not None and viewer.guess is not None
        assert viewer.epsilon < viewer.second_run < 2 * viewer.epsilon
        assert 0.5 < viewer.guess < 0.6


def test_of_many_parties_the_smallest_and_the_largest_coalitions() -> None:
    terms = agreement({"analyst": 1.0}, holders="abcdefghi")
    sizes = {len(viewer.coalition) for viewer in coalitions_of(plan_pair_tables(terms), terms)}
    assert sizes == {2, 8}
