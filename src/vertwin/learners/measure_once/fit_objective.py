"""How far a mixture is from the noisy tables, in units of the noise; with its gradient, as a few matrix products.

All columns' categories are stacked into D rows: P (D x K) holds the probabilities p_kj, w the weights. Then all pair
tables of the model are one product, M = P diag(w) P', and the misfit and its gradient two. In units of the noise

    misfit = sum over measured cells of (n_t model - counts)^2 / variance_t     (pair tables and one-way tables)

To it a pull towards the margins m is added: R w_k pseudo-counts in component k, so R in all,

    - R sum_k w_k sum_j m_j log p_kj,     weights w_k held fixed (a component does not shrink because it is sharp).

Each pair table has its own n_t, so a missing value that says nothing biases no other table.
"""

from __future__ import annotations

from typing import final

import numpy as np
from numpy.typing import NDArray

from vertwin.learners.measure_once.fit_tables import Floats, NoisyTables, margins, row_counts

_FLOOR = -40.0  # of a logit below its column's largest: what keeps exp away from denormal numbers


@final
class Objective:
    """The misfit of stacked parameters X ((D + 1) x K): D rows of category logits, then one of weight logits."""

    def __init__(self, tables: NoisyTables, dtype: type[np.float32] | type[np.float64] = np.float32) -> None:
        self.names = tuple(tables.sizes)
        sizes = np.array(list(tables.sizes.values()))
        ends = np.cumsum(sizes)
        self.starts = ends - sizes
        self.slices = {name: slice(end - size, end) for name, size, end in zip(self.names, sizes, ends, strict=True)}
        self.block = np.repeat(np.arange(len(sizes)), sizes)
        self.cells = tables.cells
        rows = row_counts(tables)
        d = int(ends[-1])
        precision, target = np.zeros((d, d)), np.zeros((d, d))
        one_precision, one_target, margin = np.zeros(d), np.zeros(d), np.zeros(d)
        for (a, b), counts in tables.pairs.items():
            here, there = self.slices[a], self.slices[b]
            n = rows[a, b]
            for at, values in (((here, there), counts), ((there, here), counts.T)):
                precision[at] = n * n / tables.variances[a, b]
                target[at] = values / n
        for name, counts in tables.one_way.items():
            n, here = rows[name,], self.slices[name]
            one_precision[here] = n * n / tables.variances[name,]
            one_target[here] = counts / n
        for name, shares in margins(tables).items():
            margin[self.slices[name]] = shares
        self.dtype = dtype
        self.precision, self.target = precision.astype(dtype), target.astype(dtype)
        self.one_precision, self.one_target = one_precision.astype(dtype), one_target.astype(dtype)
        self.margin: Floats = margin
        self._pull = margin.astype(dtype)[:, None]

    def start(self, components: int, spread: float, rng: np.random.Generator) -> NDArray[np.floating]:
        """Every component near the margins: independent columns, and enough difference to part from there."""
        noise = spread * rng.standard_normal((len(self.margin), components))
        logits: Floats = np.vstack([np.log(self.margin)[:, None] + noise, np.zeros((1, components))])
        return np.asarray(logits, self.dtype)

    def probabilities(self, parameters: NDArray[np.floating]) -> tuple[NDArray[np.floating], NDArray[np.floating]]:
        """(w, P) of stacked parameters; P sums to one over each column's block."""
        odds = np.exp(parameters[:-1])
        odds /= np.add.reduceat(odds, self.starts)[self.block]
        weights = np.exp(parameters[-1] - parameters[-1].max())
        weights /= weights.sum()
        return weights, odds

    def misfit(self, parameters: NDArray[np.floating]) -> float:
        """Chi-square: the sum over measured cells, in double precision."""
        weights, odds = self.probabilities(parameters.astype(np.float64))
        pairs = ((odds * weights) @ odds.T - self.target) ** 2 * self.precision
        singles = (odds @ weights - self.one_target) ** 2 * self.one_precision
        return float(pairs.sum() / 2 + singles.sum())

    def pull(self, parameters: NDArray[np.floating], weights: NDArray[np.floating]) -> float:
        """The pull towards the margins for R = 1, at weights that are held fixed."""
        _, odds = self.probabilities(parameters.astype(np.float64))
        return -float(weights @ (self.margin @ np.log(odds)))

    def gradient(
        self, parameters: NDArray[np.floating], pseudo_counts: float, out: NDArray[np.floating]
    ) -> NDArray[np.floating]:
        """Of misfit / 2 + pseudo_counts x pull, into `out`."""
        weights, odds = self.probabilities(parameters)
        root = odds * np.sqrt(weights)
        excess = root @ root.T  # a symmetric product: half the work
        excess -= self.target
        excess *= self.precision
        by_pairs = excess @ odds
        by_singles = odds @ weights
        by_singles -= self.one_target
        by_singles *= self.one_precision
        by_pairs *= odds
        by_weight = by_pairs.sum(axis=0) / 2 + by_singles @ odds
        by_pairs += odds * by_singles[:, None]
        # Through the softmax of each block; what is taken off includes the pull's R p, for the margins sum to one.
        by_pairs -= odds * (np.add.reduceat(by_pairs, self.starts) - pseudo_counts)[self.block]
        by_pairs -= pseudo_counts * self._pull
        np.multiply(by_pairs, weights, out=out[:-1])
        out[-1] = weights * (by_weight - weights @ by_weight)
        return out

    def recentre(self, parameters: NDArray[np.floating]) -> None:
        """In place: the same probabilities with every block's largest logit at zero, none of them below the floor."""
        logits = parameters[:-1]
        logits -= np.maximum.reduceat(logits, self.starts)[self.block]
        np.maximum(logits, _FLOOR, out=logits)
