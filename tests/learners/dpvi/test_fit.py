"""The learner from end to end on the plain engine: conjugate models, its twin without partition, who sees what."""

from __future__ import annotations

import threading
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from learners.dpvi.rehearse import agreement_of, rehearse
from scipy import optimize, special

from vertwin.agreement import Column, EngineChoice
from vertwin.domains import Binary, Category, Count, EqualWidth
from vertwin.errors import UserError
from vertwin.learners.dpvi import unpartitioned
from vertwin.learners.dpvi.mechanism import packing_for, plan_mechanism
from vertwin.learners.dpvi.step import Ascent
from vertwin.model import mixture
from vertwin.rehearsal.links import QueueLink

SILENT = {"sigma": 1e-4, "threshold": 100.0}  # noise of sd 0.01 on sums over hundreds of rows, and nothing clipped


def yes_no(name: str, party: str) -> Column:
    return Column(name, party, Binary(values=("no", "yes")))


def labelled(name: str, party: str, size: int) -> Column:
    return Column(name, party, Category(categories=tuple(f"c{i}" for i in range(size))))


def scaled(name: str, party: str) -> Column:
    return Column(name, party, Count(bounds=(0, 100), bins=EqualWidth(10)), "beta")


def best_gaussian(yes: int, rows: int) -> tuple[float, float]:
    """Mean and sd of the Gaussian on the logit that is nearest to the posterior, by quadrature."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    weights = weights / weights.sum()

    def loss(q: np.ndarray) -> float:
        psi = q[0] + np.exp(q[1]) * nodes
        joint = (yes + 1) * special.log_expit(psi) + (rows - yes + 1) * special.log_expit(-psi)  # uniform prior
        return float(-(weights @ joint) - q[1])

    found = optimize.minimize(loss, np.array([0.0, -2.0]), method="BFGS").x
    return float(found[0]), float(np.exp(found[1]))


@pytest.mark.parametrize("batch", [None, 40], ids=["full batch", "minibatches"])
def test_a_conjugate_models_posterior_is_found(batch: int | None) -> None:
    """K = 1, no noise, no clip: mean and sd are the exact posterior's, and the unseen logit keeps its prior.

    Had the prior or the entropy been added to a bare minibatch sum they would count ten times: the sd would be three
    times too large, and the logit of the weight (log-Gamma(1), best Gaussian N(-1/2, 1)) far off.
    """
    rng, rows = np.random.default_rng(1), 400
    values = {"a": (rng.random(rows) < 0.3).astype(int), "b": (rng.random(rows) < 0.85).astype(int)}
    agreement = agreement_of(
        {"clinic": (yes_no("a", "clinic"),), "insurer": (yes_no("b", "insurer"),)},
        components=1,
        steps=1500,
        batch=batch,
        step_size=0.1,
        **SILENT,
    )
    learned = rehearse(agreement, values)["clinic"]
    assert learned is not None
    mean, scale = (array.values[0] for array in learned.revealed)
    for position, name in ((1, "a"), (2, "b")):
        yes = int(values[name].sum())
        expected = best_gaussian(yes, rows)
        assert abs(mean[position] - expected[0]) < 0.25 * expected[1]
        assert abs(np.exp(scale[position]) / expected[1] - 1) < 0.15
        # ... which is the exact posterior to within a hundredth: moments of the logit of a Beta(1 + yes, 1 + no).
        exact = special.digamma(1 + yes) - special.digamma(1 + rows - yes)
        spread = np.sqrt(special.polygamma(1, 1 + yes) + special.polygamma(1, 1 + rows - yes))
        assert abs(expected[0] - exact) < 0.05 * spread
        assert abs(expected[1] / spread - 1) < 0.02
    assert abs(mean[0] + 0.5) < 0.25
    assert abs(np.exp(scale[0]) - 1) < 0.2


COLUMNS = {
    "clinic": (labelled("x", "clinic", 3), yes_no("y", "clinic")),
    "insurer": (scaled("z", "insurer"), labelled("w", "insurer", 4)),
}
ROWS = 60  # the same in most tests: what is compiled for one serves the others


def made_up(rows: int, seed: int = 2) -> dict[str, np.ndarray]:
    """Two groups of people who differ in every column; some values missing."""
    rng = np.random.default_rng(seed)
    group = rng.random(rows) < 0.4
    return {
        "x": np.where(group, rng.integers(0, 2, rows), rng.integers(1, 3, rows)),
        "y": (rng.random(rows) < np.where(group, 0.9, 0.2)).astype(int),
        "z": np.where(group, rng.beta(8, 3, rows), rng.beta(2, 5, rows)),
        "w": np.where(group, rng.integers(0, 2, rows), rng.integers(0, 4, rows)),
    }


@pytest.mark.parametrize("batch", [None, 20])
def test_partitioned_is_unpartitioned(batch: int | None) -> None:
    """Without noise the two follow the same trajectory, up to grids, slack and C' < C."""
    agreement = agreement_of(COLUMNS, steps=25, batch=batch, sigma=1e-4, threshold=1.0)
    values = made_up(ROWS)
    learned = rehearse(agreement, values)["insurer"]
    assert learned is not None
    packing = packing_for(agreement)
    arrays = [values[block.column] for block in packing.blocks]
    alone = unpartitioned.fit(agreement, arrays, plan_mechanism(agreement, ROWS), None)
    np.testing.assert_allclose(learned.revealed[0].values, alone.mean, atol=2e-2)
    np.testing.assert_allclose(learned.revealed[1].values, alone.log_scale, atol=2e-2)


def test_the_unpartitioned_gradient_is_the_clipped_sum_of_record_gradients() -> None:
    agreement = agreement_of(COLUMNS)
    packing, values = packing_for(agreement), made_up(ROWS)
    arrays = [jnp.asarray(values[block.column]) for block in packing.blocks]
    theta, real = jnp.asarray(np.random.default_rng(3).normal(size=packing.shape)), jnp.arange(ROWS) < 50
    gradients = mixture.record_gradient(packing, arrays, theta)[:50]
    norms = jnp.sqrt(jnp.sum(gradients**2, axis=(1, 2), keepdims=True))
    expected = jnp.sum(gradients * jnp.minimum(1.0, 1.0 / norms), axis=0)
    found = unpartitioned.clipped_gradient(packing, arrays, theta, real, threshold=1.0)
    np.testing.assert_allclose(found, expected, atol=1e-9)


@pytest.mark.parametrize("helper", [True, False], ids=["aby3", "cheetah"])
def test_every_party_ends_with_the_same_result(helper: bool) -> None:
    agreement = agreement_of(COLUMNS, steps=5, helper=helper)
    results = rehearse(agreement, made_up(ROWS))
    assert len(results) == 2 + helper
    first = results["clinic"]
    assert first is not None
    for learned in results.values():
        assert learned is not None
        for mine, theirs in zip(first.revealed, learned.revealed, strict=True):
            assert np.array_equal(mine.values, theirs.values)
    assert [column.column for column in first.twin.columns] == ["x", "y", "z", "w"]
    assert [column.form for column in first.twin.columns] == ["categorical", "categorical", "beta", "categorical"]
    assert [column.values.shape for column in first.twin.columns] == [(3, 3), (3, 2), (3, 2), (3, 4)]
    assert abs(first.twin.weights.sum() - 1) < 1e-12


def test_three_holders_and_any_aggregator() -> None:
    columns = {
        "clinic": (labelled("x", "clinic", 3), yes_no("y", "clinic")),
        "insurer": (scaled("z", "insurer"),),
        "register": (labelled("w", "register", 4),),
    }
    results = [
        rehearse(agreement_of(columns, steps=5, helper=False, aggregator=name), made_up(ROWS))["register"]
        for name in ("clinic", "register")
    ]
    assert all(learned is not None for learned in results)


@pytest.mark.parametrize("protocol", ["aby3", "cheetah"])
def test_the_helper_can_aggregate(protocol: str) -> None:
    """Under cheetah it does not compute: a node opens the noisy sums and passes them on."""
    agreement = replace(
        agreement_of(COLUMNS, steps=5, aggregator="helper"),
        engine=EngineChoice(protocol),  # type: ignore[arg-type]
    )
    assert all(learned is not None for learned in rehearse(agreement, made_up(ROWS)).values())


def test_a_helper_without_a_part_gets_nothing() -> None:
    agreement = replace(agreement_of(COLUMNS, steps=5), engine=EngineChoice("cheetah"))
    results = rehearse(agreement, made_up(ROWS))
    assert results["helper"] is None
    assert results["clinic"] is not None


def test_the_same_entropy_gives_the_same_result_and_other_entropy_another() -> None:
    agreement, values = agreement_of(COLUMNS, steps=5), made_up(ROWS)
    first, again, other = (rehearse(agreement, values, seed)["clinic"] for seed in (1, 1, 2))
    assert first is not None
    assert again is not None
    assert other is not None
    assert np.array_equal(first.revealed[0].values, again.revealed[0].values)
    assert not np.allclose(first.revealed[0].values, other.revealed[0].values)


def test_what_is_revealed_has_the_mechanisms_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    """Revealed minus the exact clipped sum has variance C^2 sigma^2: both holders' shares are in it, once.

    6,600 values: the ratio's sd is sqrt(2 / 6600) = 0.017, and 0.09 is 5.2 sd (false alarm 2e-7). One share alone, or
    noise added twice, gives 0.5 or 2.
    """
    agreement = agreement_of(COLUMNS, steps=200, threshold=0.5, sigma=30.0, step_size=1e-9)
    values, packing = made_up(ROWS), packing_for(agreement)
    arrays = [jnp.asarray(values[block.column]) for block in packing.blocks]
    residuals: list[np.ndarray] = []
    ones = jnp.ones(ROWS)
    advance = Ascent.advance

    def watch(self: Ascent, state: object, revealed: np.ndarray, theta: np.ndarray, eta: np.ndarray) -> object:
        residuals.append(
            revealed - np.asarray(unpartitioned.clipped_gradient(packing, arrays, theta, ones, threshold=0.5))
        )
        return advance(self, state, revealed, theta, eta)  # type: ignore[arg-type]

    monkeypatch.setattr(Ascent, "advance", watch)
    rehearse(agreement, values)
    assert np.stack(residuals).size == 6600
    ratio = np.stack(residuals).var() / (0.5 * 30.0) ** 2
    assert abs(ratio - 1) < 0.09


class _Forged(QueueLink):
    """Changes one byte of what the aggregator says in the third step."""

    sent = 0

    def send(self, to: str, payload: bytes) -> None:
        if payload.startswith(b"parameters\0") and to == "insurer":
            self.sent += 1
            if self.sent == 3:
                payload = payload[:-1] + bytes([payload[-1] ^ 1])
        super().send(to, payload)


def test_different_parameters_are_noticed_before_they_are_used(monkeypatch: pytest.MonkeyPatch) -> None:
    def forged(everyone: tuple[str, ...]) -> dict[str, QueueLink]:
        from vertwin.rehearsal.links import queue_links

        links = queue_links(everyone)
        honest = links["clinic"]
        return links | {"clinic": _Forged("clinic", everyone, honest._queues)}

    monkeypatch.setattr("learners.dpvi.rehearse.queue_links", forged)
    with pytest.raises(UserError) as caught:
        rehearse(agreement_of(COLUMNS, steps=5), made_up(ROWS))
    assert caught.value.codes == ("E756",)
    assert "step 3" in str(caught.value)


def test_a_learner_leaves_other_threads_as_they_are() -> None:
    seen: list[bool] = []
    rehearse(agreement_of(COLUMNS, steps=5), made_up(ROWS))
    thread = threading.Thread(target=lambda: seen.append(bool(jax.config.jax_enable_x64)))  # type: ignore[attr-defined]
    thread.start()
    thread.join()
    assert seen == [False]


def test_add_remove_keeps_the_row_count_to_itself() -> None:
    agreement = agreement_of(COLUMNS, steps=5)
    counted = rehearse(agreement, made_up(ROWS))["clinic"]
    private = replace(agreement, privacy=replace(agreement.privacy, adjacency="add_remove"))
    silent = rehearse(private, made_up(ROWS))["clinic"]
    assert counted is not None
    assert silent is not None
    assert counted.rows_estimate == ROWS
    assert silent.rows_estimate is None


def test_two_groups_are_found() -> None:
    """The point of it all: a mixture of two tells the groups apart, under noise."""
    agreement = agreement_of(COLUMNS, components=2, steps=60, sigma=4.0)
    learned = rehearse(agreement, made_up(3000))["clinic"]
    assert learned is not None
    yes = np.sort(learned.twin.columns[1].values[:, 1])
    assert yes[0] < 0.35
    assert yes[1] > 0.75
