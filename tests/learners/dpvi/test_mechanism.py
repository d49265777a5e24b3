"""What is revealed and under how much noise, as data; and which rows take part when."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from learners.dpvi.rehearse import agreement_of, with_learner

from vertwin.agreement import Agreement, Bound, Column, EngineChoice, Party, Privacy, Targets
from vertwin.domains import Binary, Category
from vertwin.errors import UserError
from vertwin.learners.dpvi.batches import Batches
from vertwin.learners.dpvi.mechanism import clip_for, plan_mechanism, settings_for
from vertwin.privacy.closed_form import gaussian_epsilon


def columns(*holders: str) -> dict[str, tuple[Column, ...]]:
    return {
        holder: (
            Column(f"{holder}_x", holder, Binary(values=("no", "yes"))),
            Column(f"{holder}_y", holder, Category(categories=("a", "b", "c"))),
        )
        for holder in holders
    }


PAIR = agreement_of(columns("clinic", "insurer"), steps=100, threshold=1.0, sigma=5.0)


@settings(deadline=None, max_examples=40)
@given(rows=st.integers(1, 500), batch=st.integers(1, 500))
def test_every_row_is_in_one_batch_of_a_pass(rows: int, batch: int) -> None:
    if batch > rows:
        return
    batches = Batches.of(with_learner(PAIR, sampling="epochs", batch=batch), rows)
    every = batches.all()
    assert every.shape == (batches.count, batches.size)
    assert batches.size <= batch
    assert np.array_equal(np.sort(every[every >= 0]), np.arange(rows))
    assert (every < 0).sum() == batches.count * batches.size - rows
    assert (every < 0).sum(axis=1).max() <= 1
    seen = list(batches.steps(2 * batches.count + 1))
    assert np.array_equal(seen[0], seen[batches.count])


def test_full_batches_are_all_rows_in_order() -> None:
    batches = Batches.of(PAIR, 7)
    assert [list(batch) for batch in batches.steps(2)] == [list(range(7))] * 2
    assert batches.fraction == 1.0


def test_the_order_of_the_rows_is_public_and_not_the_tables() -> None:
    minibatches = with_learner(PAIR, sampling="epochs", batch=10)
    first, again = Batches.of(minibatches, 100).all(), Batches.of(minibatches, 100).all()
    assert np.array_equal(first, again)
    assert not np.array_equal(first.ravel(), np.arange(100))
    other = Batches.of(replace(minibatches, name="another"), 100).all()
    assert not np.array_equal(first, other)


def test_the_mechanism_is_the_agreements() -> None:
    mechanism = plan_mechanism(with_learner(PAIR, sampling="epochs", batch=30), 100)
    assert mechanism.uses == 25  # 100 steps over 4 batches
    clip = clip_for(PAIR)
    assert mechanism.relative_slack == clip.rho()
    assert mechanism.dimension == clip.components * clip.width
    total = sum(mechanism.grid_variance(name) for name in ("clinic", "insurer"))
    assert total >= (5.0 * 2.0**mechanism.grid_bits) ** 2
    assert mechanism.grid_variance("helper") == 0


def test_slack_is_small_where_the_field_is_wide() -> None:
    assert clip_for(PAIR).rho() == 1e-4
    narrow = replace(PAIR, engine=EngineChoice("cheetah"))
    assert 1e-3 <= clip_for(narrow).rho() < 5e-3
    assert plan_mechanism(narrow, 100).grid_bits == 18


@pytest.mark.parametrize("adjacency", ["replace_one", "add_remove"])
def test_sigma_meets_the_target_and_no_more(adjacency: str) -> None:
    privacy = Privacy(1e-5, adjacency, Targets({"analyst": 1.0}))  # type: ignore[arg-type]
    mechanism = plan_mechanism(replace(PAIR, privacy=privacy), 30_162)
    assert mechanism.epsilon(1e-5) <= 1.0
    # mu = 1 / 3.7306 over T = 100 uses, distance C or 2 C: the closed form, with a hair for slack and grids
    distance = 1.0 if adjacency == "add_remove" else 2.0
    assert mechanism.sigma == pytest.approx(3.7306 * distance * 10, rel=5e-3)
    assert gaussian_epsilon(10 * distance / mechanism.sigma, 1e-5) <= 1.0


@pytest.mark.parametrize(
    "changes",
    [
        {"posterior": "full"},
        {"bound": Bound("smooth", 1.0, 0.01)},
        {"gradient_space": "constrained"},
        {"update": "em"},
        {"noise": "helper"},
        {"sampling": "poisson", "batch": 10},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_what_is_not_built_is_refused(changes: dict[str, object]) -> None:
    with pytest.raises(UserError) as caught:
        plan_mechanism(with_learner(PAIR, **changes), 100)
    assert caught.value.codes == ("E754",)


def four_holders() -> Agreement:
    return agreement_of(columns("a", "b", "c", "d"), helper=False)


def test_holders_beyond_the_protocol_are_refused() -> None:
    with pytest.raises(UserError) as caught:
        plan_mechanism(four_holders(), 100)
    assert caught.value.codes == ("E758",)


def test_who_computes() -> None:
    assert settings_for(PAIR).nodes == ("clinic", "insurer", "helper")
    assert settings_for(replace(PAIR, engine=EngineChoice("cheetah"))).nodes == ("clinic", "insurer")
    three = agreement_of(columns("a", "b", "c"), helper=False)
    assert settings_for(three).nodes == ("a", "b", "c")
    with_helper = replace(three, parties=(*three.parties, Party("aid", role="helper")))
    assert settings_for(with_helper).nodes == ("a", "b", "c")


@pytest.mark.parametrize(("batch", "rows"), [(None, 0), (10, 5), (0, 5)])
def test_batches_that_do_not_go_with_the_rows_are_refused(batch: int | None, rows: int) -> None:
    agreement = PAIR if batch is None else with_learner(PAIR, sampling="epochs", batch=batch)
    with pytest.raises(UserError) as caught:
        plan_mechanism(agreement, rows)
    assert caught.value.codes == ("E755",)


def test_sums_that_would_wrap_are_refused() -> None:
    narrow = replace(PAIR, engine=EngineChoice("cheetah"))
    plan_mechanism(narrow, 500_000)
    with pytest.raises(UserError) as caught:
        plan_mechanism(narrow, 600_000)
    assert caught.value.codes == ("E753",)
