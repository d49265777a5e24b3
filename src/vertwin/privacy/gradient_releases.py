"""The mechanism of `dpvi`: noisy sums of bounded contributions, revealed step after step.

Sensitivity. One record contributes a vector h of norm at most c = C (1 + rho), where rho is what fixed-point
arithmetic may add to the norm. The sum over the batch is then truncated to g bits, which moves each of the d
coordinates of either of two sums by less than one unit of 2^-g: t = 2 sqrt(d) 2^-g. Replacing a record:

    hard, smooth    D = 2 c + t             triangle inequality; attained by h' = -h, in either gradient space
    statistics      D = sqrt(2) c + t       all entries of h = [r, r t(x)] are >= 0, so <h, h'> >= 0 and
                                            |h - h'|^2 <= |h|^2 + |h'|^2 <= 2 c^2   (+ twice `negative` where a
                                            computed r may lie below zero by a unit: <h, h'> >= -negative)

Adding or removing one: c + t. The three bounds: `hard` scales h by min(1, C / |h|), `smooth` by C / sqrt(|h|^2 +
gamma^2), both of norm at most C; `statistics` has C^2 = w^2 + sum over parties of C_p^2 by the declared ranges of the
statistics, since sum r_k^2 <= 1. Unconstrained gradients [r - pi, r u] and constrained ones [GP, GR] are bounded as
they are revealed, so both have the same D.

Sampling. E is in how many sums one record takes part, s_C the noise variance that coalition C did not draw.

    none             every row in every step: E = T                     mu_C^2 = E D^2 / s_C
    epochs           fixed, disjoint, public minibatches, S of them: E = ceil(T / S), and the same formula
    poisson          every row with probability q = batch / rows, cut to a fixed size; whoever is not told the batch
                     has samples that are secret, all others E ~ Binomial(T, q)
    poisson_hidden   the same without cutting: batches are secret to all but the one who drew them
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from math import inf, isfinite, isqrt, nextafter, sqrt
from typing import Final, Literal

from vertwin.errors import Faults, user_error
from vertwin.privacy.event import Adjacency, Event, GaussianEvent, KnownSamplesEvent, SecretSamplesEvent
from vertwin.privacy.gaussian_release import (
    SMOOTHING,
    GaussianRelease,
    NoiseShare,
    grid_units,
    hidden_variance,
    on_grid,
    require_share,
    rounded_up,
)

GRID_BITS: Final = 20  # the sum is truncated to this grid before noise is added


Sampling = Literal["none", "epochs", "poisson", "poisson_hidden"]
BoundKind = Literal["hard", "smooth", "statistics"]
GradientSpace = Literal["unconstrained", "constrained"]


@dataclass(frozen=True)
class GradientReleases(GaussianRelease):
    """`steps` noisy sums over all rows or over minibatches.

    Formal guarantees (each a test):
      - one record is in at most `uses` of the revealed sums;
      - replacing it moves each of them by at most `sensitivity`, if computed norms obey C (1 + relative_slack);
      - what the drawers' shares sum to has variance at least (clipping_threshold sigma)^2;
      - `mu_squared` holds whatever a viewer knows; `event` counts on what it is not told, and on nothing else.
    """

    clipping_threshold: float  # C, the largest norm of one record's contribution
    sigma: float  # noise multiplier: sd of the whole noise / C
    rows: int
    batch: int | None  # None: every row in every step; with Poisson samples the expected size
    steps: int  # T
    sampling: Sampling
    holders: tuple[str, ...]
    dimension: int  # d, the length of the revealed vector
    relative_slack: float = 0.0  # rho: a computed norm is at most C (1 + rho)
    grid_bits: int = GRID_BITS
    adjacency: Adjacency = "replace_one"
    drawers: tuple[str, ...] = ()  # who draws the noise; by default the holders, in equal shares
    bound: BoundKind = "hard"
    gradient_space: GradientSpace = "unconstrained"
    negative: float = 0.0  # statistics: the inner product of two computed contributions is at least -negative
    batch_from: str | None = None  # who draws the minibatch, if it is not the holders together

    def __post_init__(self) -> None:
        faults = Faults()
        if not (
            isfinite(self.sigma)
            and self.sigma > 0
            and isfinite(self.clipping_threshold)
            and self.clipping_threshold > 0
        ):
            faults.add("E702", "sigma and the clipping threshold must be positive and finite")
        if (
            min(self.rows, self.steps, self.dimension, 1 if self.batch is None else self.batch) < 1
            or not 0 <= self.relative_slack < 1
        ):
            faults.add("E705", "rows, steps, dimension and batch are at least 1, the relative slack is in [0, 1)")
        if self.sampling != "none" and self.batch is None:
            faults.add("E705", f"sampling {self.sampling} needs a batch size")
        if self.sampling.startswith("poisson") and self.batch is not None and self.batch > self.rows:
            faults.add("E705", "a minibatch has at most as many rows as there are")
        if self.sampling == "none" and self.batch not in (None, self.rows):
            faults.add("E705", "without sampling every step uses all rows: leave the batch size out")
        if self.sampling != "none" and self.adjacency == "add_remove":
            faults.add("E705", "minibatches depend on the row count, which add_remove protects: use replace_one")
        if not 0 <= self.negative < 1 or (self.negative and self.bound != "statistics"):
            faults.add("E705", "only the bound by statistics knows a slack of inner products, in [0, 1)")
        if self.sampling == "poisson_hidden" and self.batch_from in (None, *self.holders):
            faults.add("E705", "a hidden minibatch is drawn by a helper, who is then told it")
        faults.raise_if_any()
        require_share(self.noise[0].variance, self.grid_bits)

    @property
    def uses(self) -> int:
        """In how many of the revealed sums one record takes part, at the most (E)."""
        if self.sampling != "epochs":  # a Poisson sample may take the same record every time
            return self.steps
        assert self.batch is not None
        batches = -(-self.rows // self.batch)
        return -(-self.steps // batches)

    @property
    def noise(self) -> tuple[NoiseShare, ...]:
        """Equal shares; variances in squared gradient units, whole on the grid, rounded up."""
        drawers = self.drawers or self.holders
        whole = Fraction(self.clipping_threshold) ** 2 * Fraction(self.sigma) ** 2
        return tuple(NoiseShare(drawer, on_grid(whole / len(drawers), self.grid_bits)) for drawer in drawers)

    def grid_variance(self, drawer: str) -> int:
        """What this party's sampler draws with, in squared units of 2^-grid_bits; 0 if it draws nothing."""
        return sum(grid_units(share.variance, self.grid_bits) for share in self.noise if share.holder == drawer)

    @property
    def probability(self) -> float:
        """q: how likely a record is in one Poisson sample; 1 without sampling."""
        return 1.0 if self.batch is None else min(1.0, self.batch / self.rows)

    @property
    def batch_at_most(self) -> int | None:
        """The fixed size that Poisson samples are cut and padded to: so large that cutting costs next to nothing."""
        if self.sampling != "poisson" or self.batch is None:
            return None
        return min(self.rows, self.batch + 5 * (isqrt(self.batch - 1) + 1))

    @property
    def _norm(self) -> Fraction:
        """c above."""
        return Fraction(self.clipping_threshold) * (1 + Fraction(self.relative_slack))

    @property
    def _truncation(self) -> Fraction:
        """t above."""
        return Fraction(2 * (isqrt(self.dimension - 1) + 1), 2**self.grid_bits)

    def sensitivity(self, coalition: Iterable[str] = ()) -> Fraction:
        """D above, rounded up; with one record more or less instead of another where the adjacency says so."""
        if self.adjacency_for(coalition) == "add_remove":
            return self._norm + self._truncation
        if self.bound == "statistics":
            apart = 2 * self._norm**2 + 2 * Fraction(self.negative)
            return Fraction(nextafter(sqrt(rounded_up(apart)), inf)) + self._truncation
        return 2 * self._norm + self._truncation

    def knows_batches(self, coalition: Iterable[str]) -> bool:
        """Whether somebody of the coalition is told who is in a minibatch."""
        known = frozenset(coalition)
        match self.sampling:
            case "none" | "epochs":
                return True
            case "poisson":
                return not known.isdisjoint({*self.holders, self.batch_from})
            case "poisson_hidden":
                return self.batch_from in known
        raise AssertionError(f"no sampling {self.sampling}")

    def event(self, coalition: Iterable[str] = ()) -> Event:
        known = frozenset(coalition)
        mu = self.mu(known)
        if self.sampling in ("none", "epochs") or mu in (0.0, inf):
            return GaussianEvent(mu)
        sd = sqrt(hidden_variance(self.noise, known, self.grid_bits)) * (1 - 1e-15)
        if self.knows_batches(known):
            once = nextafter(float(self.sensitivity(known)) / sd, inf)
            return KnownSamplesEvent(once, self.probability, self.steps)
        norm = self._norm + self._truncation  # a batch with the record against one without it
        distance = 2.0 if self.bound != "statistics" else min(2.0, float(self.sensitivity(known) / norm) * (1 + 1e-15))
        cut = self.batch_at_most
        return SecretSamplesEvent(
            sd / float(norm) * (1 - 1e-15),
            self.probability,
            self.steps,
            distance=distance,
            rows=None if cut is None else self.rows,
            batch_at_most=cut,
        )

    def without_share_of(self, holder: str) -> GradientReleases:
        """As if this party had drawn no noise; itself where nobody else draws any."""
        drawers = self.drawers or self.holders
        left = tuple(drawer for drawer in drawers if drawer != holder)
        if not left or len(left) == len(drawers):
            return self
        return replace(self, drawers=left, sigma=self.sigma * sqrt(len(left) / len(drawers)))

    def mu_squared(self, coalition: Iterable[str] = ()) -> float:
        """As for any Gaussian release; with Poisson samples, for whoever knows them and were a record in all."""
        known = frozenset(coalition)
        if known.issuperset(self.holders):
            return 0.0  # every column is the coalition's own: nothing is left to protect
        hidden = hidden_variance(self.noise, known, self.grid_bits)
        return rounded_up(self.uses * self.sensitivity(known) ** 2 / hidden) if hidden else inf


def with_least_sigma(release: GradientReleases, limits: dict[frozenset[str], float]) -> GradientReleases:
    """The same releases with the least sigma at which mu squared stays within `limits` for every coalition.

    In closed form, counting on no secret sample: see least_sigma.py for those.
    """
    needed = 0.0
    for coalition, limit in limits.items():
        share_hidden = sum(share.holder not in coalition for share in release.noise) / len(release.noise)
        if share_hidden == 0:
            raise user_error("E704", "a viewer that draws all the noise itself is promised an epsilon")
        variance = (
            release.uses * float(release.sensitivity(coalition)) ** 2 / limit + SMOOTHING * 4.0**-release.grid_bits
        )
        needed = max(needed, variance / share_hidden)
    sigma = sqrt(needed) / release.clipping_threshold
    while True:
        planned = replace(release, sigma=sigma)
        if all(planned.mu_squared(coalition) <= limit for coalition, limit in limits.items()):
            return planned
        sigma *= 1 + 1e-12
