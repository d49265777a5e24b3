"""From a revealed noisy sum to the next parameters: public, at the aggregator alone.

The sum over a minibatch estimates the fraction q of the gradient over all rows. It is divided by q *before* the prior
and the entropy are added: added to the bare sum, as the paper's Algorithm 1 is printed, the prior would count 1 / q
times (302 times for 100 of 30,162 rows).
"""

from __future__ import annotations

from functools import partial
from typing import Final, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import Array

from vertwin.learners.dpvi.parameters import public_scales
from vertwin.model import mixture, posterior
from vertwin.model.packing import Packing
from vertwin.model.posterior import MeanField

Decay = Literal["cosine", "none"]
INITIAL_SPREAD: Final = 0.25  # sd of the means at the start: components have to differ to part
INITIAL_LOG_SCALE: Final = -3.0
# Noise of constant size and a signal that fades: a short memory of squared gradients keeps the steps from fading too.
SQUARED_GRADIENT_MEMORY: Final = 0.9
# Under noise the gradient of a log scale is hardly more than noise, which Adam would turn into a random walk.
LOG_SCALE_PACE: Final = 0.1


class State(NamedTuple):
    """What the aggregator keeps between steps: a function of what was revealed and of public randomness."""

    posterior: MeanField
    optimiser: optax.OptState


class Schedule(NamedTuple):
    """How long the steps are: fixed beforehand, never chosen by looking at the data."""

    steps: int
    step_size: float
    decay: Decay

    def adam(self) -> optax.GradientTransformation:
        cosine = self.decay == "cosine"
        rate = optax.cosine_decay_schedule(self.step_size, self.steps) if cosine else self.step_size
        return optax.adam(rate, b2=SQUARED_GRADIENT_MEMORY)


class Ascent:
    """Adam up the noisy gradient of the ELBO, on mean and log scale together.

    Formal guarantee: `advance` reads nothing but the revealed sum, its own state, the public theta and eta.
    """

    def __init__(self, packing: Packing, *, steps: int, step_size: float, decay: Decay, fraction: float) -> None:
        self._packing = packing
        self._schedule = Schedule(steps, step_size, decay)
        self._fraction = fraction

    def start(self, rng: np.random.Generator) -> State:
        """Means around 0, where every family is as flat as its prior; `rng` is public randomness."""
        mean = jnp.asarray(INITIAL_SPREAD * rng.normal(size=self._packing.shape))
        first = MeanField(mean, jnp.full(self._packing.shape, INITIAL_LOG_SCALE))
        return State(first, self._schedule.adam().init(first))

    def sample(self, state: State, eta: np.ndarray) -> np.ndarray:
        return np.asarray(_sample(state.posterior, eta))

    def advance(self, state: State, revealed: np.ndarray, theta: np.ndarray, eta: np.ndarray) -> State:
        """One step. `theta` is the point at which the parties computed: the sample, as broadcast."""
        return _advance(
            state,
            revealed,
            theta,
            eta,
            packing=self._packing,
            schedule=self._schedule,
            fraction=self._fraction,
        )


def elbo_gradient(
    packing: Packing, current: MeanField, revealed: Array, theta: Array, eta: Array, fraction: float
) -> MeanField:
    """The noisy gradient of the ELBO for mean and log scale: data term over q, then prior, then entropy."""
    data = revealed / public_scales(packing, theta) / fraction
    prior = jax.grad(partial(mixture.log_prior, packing))(theta)
    return posterior.gradient(current, data + prior, eta)


_sample = jax.jit(posterior.sample)


@partial(jax.jit, static_argnames=("packing", "schedule", "fraction"))
def _advance(
    state: State,
    revealed: Array,
    theta: Array,
    eta: Array,
    *,
    packing: Packing,
    schedule: Schedule,
    fraction: float,
) -> State:
    gradient = elbo_gradient(packing, state.posterior, revealed, theta, eta, fraction)
    downhill = jax.tree.map(jnp.negative, gradient)
    updates, optimiser = schedule.adam().update(downhill, state.optimiser)
    assert isinstance(updates, MeanField)
    mean = state.posterior.mean + updates.mean
    log_scale = state.posterior.log_scale + LOG_SCALE_PACE * updates.log_scale
    return State(MeanField(mean, log_scale), optimiser)
