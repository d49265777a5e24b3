"""From a revealed noisy sum to the next parameters: public, at the aggregator alone.

The sum over a minibatch estimates the fraction q of the gradient over all rows. It is divided by q *before* the prior
and the entropy are added: added to the bare sum, as the paper's Algorithm 1 is printed, the prior would count 1 / q
times (302 times for 100 of 30,162 rows).
"""

from __future__ import annotations

import math
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
    step: int


class Schedule(NamedTuple):
    """How long the steps are: fixed beforehand, never chosen by looking at the data."""

    steps: int
    step_size: float
    decay: Decay

    def at(self, step: int) -> float:
        """The step size of one step, counted from 0."""
        match self.decay:
            case "cosine":
                return self.step_size * 0.5 * (1.0 + math.cos(math.pi * step / self.steps))
            case "none":
                return self.step_size
        raise AssertionError(f"no decay {self.decay}")


_ADAM: Final = optax.scale_by_adam(b2=SQUARED_GRADIENT_MEMORY)


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
        return State(first, _ADAM.init(first), 0)

    def sample(self, state: State, eta: np.ndarray) -> np.ndarray:
        return np.asarray(_sample(state.posterior, eta))

    def advance(self, state: State, revealed: np.ndarray, theta: np.ndarray, eta: np.ndarray) -> State:
        """One step. `theta` is the point at which the parties computed: the sample, as broadcast."""
        last, optimiser = _advance(
            state.posterior,
            state.optimiser,
            revealed,
            theta,
            eta,
            self._schedule.at(state.step),
            self._fraction,
            packing=self._packing,
        )
        return State(last, optimiser, state.step + 1)


def elbo_gradient(
    packing: Packing, current: MeanField, revealed: Array, theta: Array, eta: Array, fraction: float | Array
) -> MeanField:
    """The noisy gradient of the ELBO for mean and log scale: data term over q, then prior, then entropy."""
    data = revealed / public_scales(packing, theta) / fraction
    prior = jax.grad(partial(mixture.log_prior, packing))(theta)
    return posterior.gradient(current, data + prior, eta)


_sample = jax.jit(posterior.sample)


@partial(jax.jit, static_argnames="packing")
def _advance(
    current: MeanField,
    optimiser: optax.OptState,
    revealed: Array,
    theta: Array,
    eta: Array,
    rate: float,
    fraction: float,
    *,
    packing: Packing,
) -> tuple[MeanField, optax.OptState]:
    gradient = elbo_gradient(packing, current, revealed, theta, eta, fraction)
    updates, optimiser = _ADAM.update(gradient, optimiser)
    assert isinstance(updates, MeanField)
    mean = current.mean + rate * updates.mean
    log_scale = current.log_scale + LOG_SCALE_PACE * rate * updates.log_scale
    return MeanField(mean, log_scale), optimiser
