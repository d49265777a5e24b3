"""From noisy tables to the twin: a mixture of products fitted to every table at once, aware of the noise.

Post-processing in plain NumPy: whoever has the release can fit again, with other options and other seeds, at no
price in privacy. Four things make the fit good where the tables are noisy (measured on data held back from Adult's
training rows and on thinner and noisier versions of it):

- *Pseudo-counts chosen by the discrepancy principle.* R pseudo-counts pull every component towards the margins. Too
  few and the mixture fits the noise, too many and it forgets dependencies. R is where the misfit per measured cell
  equals that of the noise, 1: fit no better than the noise. No test data, no further privacy.
- *Margins without bias* (`fit_tables.nonnegative_margin`), which rare categories are pulled to.
- *An ensemble.* Restarts from scattered beginnings differ where the tables say little; their average is closer than
  any of them.
- *A wide scatter of beginnings* (logits with sd 1 around the margins).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import cos, exp, log, pi, sqrt
from typing import Final

import numpy as np
from numpy.typing import NDArray

from vertwin.learners.measure_once.fit_objective import Objective
from vertwin.learners.measure_once.fit_tables import Floats, NoisyTables, row_counts
from vertwin.learners.measure_once.fit_thinning import thinned

COMPONENTS: Final = 100  # of one restart, where the options name no number
LEAST_PULL, LARGEST_PULL = 25.0, 4000.0  # pseudo-counts between which the rule looks
_SLACK: Final = 1.1  # of the misfit that even LEAST_PULL leaves, where the mixture cannot reach that of the noise
_HALVINGS: Final = 4  # of log R, then one interpolation


@dataclass(frozen=True)
class FitOptions:
    """What may be varied when a release is fitted again. None: chosen by rule."""

    components: int | None = None
    restarts: int = 8
    steps: int = 1500
    pseudo_counts: float | None = None
    step_size: float = 0.05
    spread: float = 1.0


@dataclass(frozen=True)
class Mixture:
    """The twin: weights (K,), and for each column probabilities (K, size). And how the fit went."""

    weights: Floats
    probabilities: Mapping[str, Floats]
    rows: float  # estimated from the noisy tables
    pseudo_counts: float
    misfit: float  # per measured cell, mean over the restarts; 1 is the noise's own

    def pair_table(self, a: str, b: str) -> Floats:
        """The joint probabilities of two columns."""
        return (self.probabilities[a] * self.weights[:, None]).T @ self.probabilities[b]

    def one_way(self, name: str) -> Floats:
        return self.weights @ self.probabilities[name]


def fit(
    tables: NoisyTables,
    options: FitOptions | None = None,
    seed: int = 0,
    progress: Callable[[float], None] = lambda _: None,
) -> Mixture:
    """The ensemble of `options.restarts` fits, concatenated with equal weight. The same on one machine for one seed.

    `progress` is called with the share that is done. Seeds are public: nothing here is secret any more.
    """
    options = options or FitOptions()
    components = options.components or COMPONENTS
    objective = Objective(tables)
    planned = options.restarts + (_HALVINGS + 1 if options.pseudo_counts is None else 0)
    done = 0

    def one(target: Objective, pull: float, stream: int, steps: int = options.steps) -> NDArray[np.floating]:
        nonlocal done
        done += 1
        progress(min(1.0, done / planned))
        rng = np.random.default_rng([seed, stream])
        return _descend(target, target.start(components, options.spread, rng), pull, steps, options.step_size)

    pull = options.pseudo_counts
    if pull is None:
        pull = _pull_by_discrepancy(lambda r: objective.misfit(one(objective, r, 0)) / objective.cells)
        if pull is None:
            pull = _pull_by_thinning(tables, seed, one)
    members = [one(objective, pull, 1 + restart) for restart in range(options.restarts)]
    progress(1.0)
    pairs = [objective.probabilities(member.astype(np.float64)) for member in members]
    weights = np.concatenate([weights for weights, _ in pairs]) / len(pairs)
    odds = np.concatenate([odds for _, odds in pairs], axis=1)
    return Mixture(
        weights=weights / weights.sum(),
        probabilities={name: np.ascontiguousarray(odds[here].T) for name, here in objective.slices.items()},
        rows=max(row_counts(tables).values()),
        pseudo_counts=pull,
        misfit=float(np.mean([objective.misfit(member) for member in members])) / objective.cells,
    )


def _descend(
    objective: Objective, parameters: NDArray[np.floating], pull: float, steps: int, step_size: float
) -> NDArray[np.floating]:
    """Adam with a cosine tail, in place."""
    gradient, mean, square = (np.zeros_like(parameters) for _ in range(3))
    work = np.empty_like(parameters)
    for step in range(steps):
        objective.gradient(parameters, pull, gradient)
        mean *= 0.9
        mean += np.multiply(gradient, 0.1, out=work)
        np.multiply(gradient, gradient, out=work)
        work -= square
        work *= 0.001
        square += work
        rate = step_size * 0.5 * (1 + cos(pi * step / steps)) / (1 - 0.9 ** (step + 1))
        np.sqrt(square, out=work)
        work *= 1 / sqrt(1 - 0.999 ** (step + 1))
        work += 1e-8
        np.divide(mean, work, out=work)
        work *= rate
        parameters -= work
        if step % 100 == 0:
            objective.recentre(parameters)
    objective.recentre(parameters)
    return parameters


def _pull_by_discrepancy(misfit: Callable[[float], float]) -> float | None:
    """The pseudo-counts at which the misfit per cell is that of the noise; None if it never is that large.

    Where even the least pull leaves more than 1/1.1 (the mixture cannot follow these tables), 1.1 times what it
    leaves is asked for: a tenth more misfit for the stability that the pull gives.
    """
    low, high = log(LEAST_PULL), log(LARGEST_PULL)
    at_low, at_high = misfit(LEAST_PULL), None
    goal = max(1.0, _SLACK * at_low)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        value = misfit(exp(middle))
        if value < goal:
            low, at_low = middle, value
        else:
            high, at_high = middle, value
    if at_high is None:
        at_high = misfit(LARGEST_PULL)
        if at_high < goal:
            return None
    return exp(low + (high - low) * (goal - at_low) / (at_high - at_low))


def _pull_by_thinning(
    tables: NoisyTables, seed: int, one: Callable[[Objective, float, int, int], NDArray[np.floating]]
) -> float:
    """The guard for tables so noisy that independent columns fit them as well as the noise allows.

    The discrepancy principle then says "independent" though some dependencies may stand out. Instead each table is
    split into two with independent noise; the pull is what fits the second half best after a fit to the first.
    """
    candidates = [LEAST_PULL * (LARGEST_PULL / LEAST_PULL) ** (i / 8) for i in range(9)]
    loss = np.zeros(len(candidates))
    for split in range(3):
        first, second = thinned(tables, np.random.default_rng([seed, 1000 + split]))
        fitted_to, held_back = Objective(first), Objective(second)
        loss += [held_back.misfit(one(fitted_to, pull, 2000 + split, 600)) for pull in candidates]
    return candidates[int(np.argmin(loss))]
