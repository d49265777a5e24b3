"""The paper's theorems 3.1 and 5.1 to 5.4 and the collusion statement of its discussion, each by hand computation.

Its accounting oracle O(delta, q, T, A) is `Oracle.epsilon` of an event; sigma is the sd of the whole noise over C.
The hand's side uses the printed formulas with distance 2 for a replaced record, and no code of the mechanisms.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy import optimize, stats

from vertwin.privacy.accountant import LossDistributions
from vertwin.privacy.event import GaussianEvent, SecretSamplesEvent
from vertwin.privacy.mechanism import GradientReleases, MeasuredTable, NoiseShare, PairTables, all_tables

ORACLE, DELTA = LossDistributions(), 1e-5
SIGMA, N, B, T = 3.0, 5_000, 50, 2_000
RUN = GradientReleases(
    clipping_threshold=1.0,
    sigma=SIGMA,
    rows=N,
    batch=B,
    steps=T,
    sampling="poisson_hidden",
    holders=("p", "q", "r"),
    dimension=100,
    grid_bits=40,
    batch_from="helper",
)


def gaussian_by_hand(mu: float) -> float:
    """Epsilon of mu at DELTA, from the formula, by a root finder."""

    def excess(epsilon: float) -> float:
        near, far = mu / 2 - epsilon / mu, -mu / 2 - epsilon / mu
        return float(stats.norm.cdf(near) - math.exp(epsilon + stats.norm.logcdf(far)) - DELTA)

    return float(optimize.brentq(excess, 0, mu * mu / 2 + 10 * mu + 1))


def subsampled_by_hand(sigma: float) -> float:
    """O(delta, q, T, N(0, sigma^2)) for replaced records."""
    return ORACLE.epsilon(SecretSamplesEvent(sigma, B / N, T), DELTA)


def epsilon(mechanism: GradientReleases, *coalition: str) -> float:
    return ORACLE.epsilon(mechanism.event(coalition), DELTA)


@pytest.mark.parametrize("kept", ["p", "q", "pq"])
def test_theorem_3_1_what_hides_a_replaced_record_hides_a_vertically_replaced_one(kept: str) -> None:
    """Every VP-neighbour is a neighbour: for any epsilon, its delta is at most that of replacement. By brute force over
    all pairs of records of three parties with two values each, on the tables with their noise."""
    owners = "pqr"
    tables = [*itertools.combinations(range(3), 1), *itertools.combinations(range(3), 2)]

    def release(record: tuple[int, ...]) -> np.ndarray:
        parts = []
        for table in tables:
            cells = np.zeros([2] * len(table))
            cells[tuple(record[c] for c in table)] = 1
            parts.append(cells.ravel())
        return np.concatenate(parts)

    records = list(itertools.product((0, 1), repeat=3))
    distance = {(a, b): float(np.linalg.norm(release(a) - release(b))) for a, b in itertools.product(records, records)}
    vertical = [
        pair for pair in distance if all(pair[0][i] == pair[1][i] for i, owner in enumerate(owners) if owner in kept)
    ]
    assert len(vertical) < len(distance)
    assert max(distance[pair] for pair in vertical) <= max(distance.values())


def test_theorem_3_1_for_dpvi() -> None:
    """A party's number without its knowledge of noise and batches taken out would be the analyst's."""
    trusted = replace(RUN, drawers=("helper",))
    assert epsilon(trusted, "p") <= epsilon(trusted) * (1 + 1e-12)


def test_theorem_5_1_a_trusted_party_draws_the_noise() -> None:
    assert epsilon(replace(RUN, drawers=("helper",))) == pytest.approx(subsampled_by_hand(SIGMA), rel=1e-6)


def test_theorem_5_2_parties_draw_it_together() -> None:
    """Three shares of sigma^2 / 3: towards the analyst the same as one draw."""
    assert [float(share.variance) for share in RUN.noise] == pytest.approx([SIGMA**2 / 3] * 3)
    assert epsilon(RUN) == pytest.approx(subsampled_by_hand(SIGMA), rel=1e-6)


@pytest.mark.parametrize("sampling", ["hidden", "known", "none", "epochs"])
def test_theorem_5_3_towards_a_party_with_trusted_noise(sampling: str) -> None:
    trusted = replace(RUN, drawers=("helper",))
    _check_towards_parties(trusted, ("p",), SIGMA, sampling)


@pytest.mark.parametrize("sampling", ["hidden", "known", "none", "epochs"])
def test_theorem_5_4_towards_a_party_that_drew_a_share(sampling: str) -> None:
    _check_towards_parties(RUN, ("p",), SIGMA * math.sqrt(2 / 3), sampling)


@pytest.mark.parametrize("sampling", ["hidden", "known", "none", "epochs"])
def test_collusion_of_two_of_three(sampling: str) -> None:
    """(P - c) / P of the noise variance is left."""
    _check_towards_parties(RUN, ("p", "q"), SIGMA * math.sqrt(1 / 3), sampling)


def _check_towards_parties(
    mechanism: GradientReleases, coalition: tuple[str, ...], hidden: float, sampling: str
) -> None:
    match sampling:
        case "hidden":  # Q = q
            assert epsilon(mechanism, *coalition) == pytest.approx(subsampled_by_hand(hidden), rel=1e-6)
        case "known":  # Q = 1 in the paper; the mean over the number of uses is tighter, and never below the mean use
            known = replace(mechanism, sampling="poisson", batch_from=None)
            pessimistic = gaussian_by_hand(2 * math.sqrt(T) / hidden)
            mean = gaussian_by_hand(2 * math.sqrt(T * B / N) / hidden)
            assert mean < epsilon(known, *coalition) < pessimistic
        case "none":  # Q = 1, every record in all T
            full = replace(mechanism, sampling="none", batch=None, batch_from=None)
            assert epsilon(full, *coalition) == pytest.approx(gaussian_by_hand(2 * math.sqrt(T) / hidden), rel=1e-6)
        case _:  # O(delta, 1, E, .) with E = T / S
            epochs = replace(mechanism, sampling="epochs", batch_from=None)
            uses = math.ceil(T / (N / B))
            assert epochs.uses == uses == 20
            expected = gaussian_by_hand(2 * math.sqrt(uses) / hidden)
            assert epsilon(epochs, *coalition) == pytest.approx(expected, rel=1e-6)


def test_any_number_of_colluders_leaves_a_promise() -> None:
    """c <= P - 1 for measure_once: more colluders, fewer protected columns, less hidden noise; never nothing."""
    owner_of = {"x": "p", "y": "q", "z": "r", "w": "s"}
    tables = tuple(
        MeasuredTable(columns, owners, tuple(NoiseShare(h, Fraction(40)) for h in owners))
        for columns, owners in all_tables(owner_of)
    )
    mechanism = PairTables(tables)
    for size in range(1, 4):
        for members in itertools.combinations("pqrs", size):
            # of their own tables nothing; tables with one outsider: half of 80 is hidden; outsiders' own: all
            outside = 4 - size
            alone, across = outside * 2 / 40, outside * size * 2 / 40
            among = math.comb(outside, 2) * 2 / 80
            assert mechanism.mu_squared(members) == pytest.approx(alone + across + among, rel=1e-4)


def test_the_coalition_of_everybody_has_nothing_left_to_learn() -> None:
    assert RUN.event("pqr") == GaussianEvent(0.0)
    assert epsilon(RUN, "p", "q", "r") == 0.0
