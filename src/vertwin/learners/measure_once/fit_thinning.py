"""Splitting a noisy table in two with independent noise, without seeing the rows again.

If y = c + s z with z standard normal, and e another such draw, then y + t s e and y - s e / t are c plus noises of
variance s^2 (1 + t^2) and s^2 (1 + 1/t^2), uncorrelated and Gaussian, hence independent: a fit to the first can be
judged by the second. Post-processing: e is drawn from a public seed.
"""

from __future__ import annotations

import numpy as np

from vertwin.learners.measure_once.fit_tables import Floats, NoisyTables

_BALANCE = 0.5  # t: a quarter more variance where it is fitted, five times as much where it is judged


def thinned(tables: NoisyTables, rng: np.random.Generator) -> tuple[NoisyTables, NoisyTables]:
    """(to fit, to judge)."""
    extra = {
        columns: np.sqrt(tables.variances[columns]) * rng.standard_normal(tables.counts(columns).shape)
        for columns in tables.all_columns
    }
    return _moved(tables, extra, _BALANCE), _moved(tables, extra, -1 / _BALANCE)


def _moved(tables: NoisyTables, extra: dict[tuple[str, ...], Floats], factor: float) -> NoisyTables:
    return NoisyTables(
        sizes=tables.sizes,
        one_way={name: counts + factor * extra[name,] for name, counts in tables.one_way.items()},
        pairs={pair: counts + factor * extra[pair] for pair, counts in tables.pairs.items()},
        variances={columns: tables.variances[columns] * (1 + factor**2) for columns in tables.all_columns},
        partial=tables.partial,
    )
