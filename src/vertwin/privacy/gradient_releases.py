"""The mechanism of `dpvi` without secret sampling: noisy sums of bounded gradients, revealed step after step.

Sampling `none` (every row in every step) and `epochs` (fixed, disjoint, publicly known minibatches) need no
amplification argument: a record is used a known number of times, each time under Gaussian noise, and mu squared adds.

    mu_C^2 = E D^2 / s_C,   D = 2 C (1 + rho) + 2 sqrt(d) 2^-g,   s_C = noise variance that C did not draw

E: uses of one record. D: replacing a record replaces one term of norm at most C (1 + rho) by another, where rho is
what fixed-point arithmetic may add to the norm; then the sum is truncated to g bits, which moves each of the d
coordinates of either sum by less than one unit of 2^-g. Under add_remove (sampling `none` only) one term comes or
goes: C (1 + rho) in place of the double.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from math import inf, isfinite, isqrt, sqrt
from typing import TYPE_CHECKING, Final, Literal

from vertwin.errors import Faults, user_error
from vertwin.privacy.gaussian_release import (
    SMOOTHING,
    Adjacency,
    GaussianRelease,
    NoiseShare,
    grid_units,
    hidden_variance,
    on_grid,
    require_share,
    rounded_up,
)
from vertwin.privacy.pair_tables import limits_of

if TYPE_CHECKING:
    from vertwin.agreement import Agreement

GRID_BITS: Final = 20  # the sum is truncated to this grid before noise is added


@dataclass(frozen=True)
class GradientReleases(GaussianRelease):
    """`steps` noisy sums over all rows or over fixed disjoint minibatches.

    Formal guarantees (each a test):
      - one record is in at most `uses` of the revealed sums;
      - replacing it moves each of them by at most `sensitivity`, if computed norms obey C (1 + relative_slack);
      - what the drawers' shares sum to has variance at least (clipping_threshold sigma)^2.
    """

    clipping_threshold: float  # C, the largest norm of one record's gradient
    sigma: float  # noise multiplier: sd of the whole noise / C
    rows: int
    batch: int | None  # None: every row in every step
    steps: int  # T
    sampling: Literal["none", "epochs"]
    holders: tuple[str, ...]
    dimension: int  # d, the length of the revealed vector
    relative_slack: float = 0.0  # rho: a computed norm is at most C (1 + rho)
    grid_bits: int = GRID_BITS
    adjacency: Adjacency = "replace_one"
    drawers: tuple[str, ...] = ()  # who draws the noise; by default the holders, in equal shares

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
        if self.sampling == "epochs" and self.batch is None:
            faults.add("E705", "sampling in epochs needs a batch size")
        if self.sampling == "none" and self.batch not in (None, self.rows):
            faults.add("E705", "without sampling every step uses all rows: leave the batch size out")
        if self.sampling == "epochs" and self.adjacency == "add_remove":
            faults.add("E705", "disjoint minibatches depend on the row count: they go with replace_one only")
        faults.raise_if_any()
        require_share(self.noise[0].variance, self.grid_bits)

    @property
    def uses(self) -> int:
        """In how many of the revealed sums one record takes part, at the most (E)."""
        if self.sampling == "none":
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

    def sensitivity(self, coalition: Iterable[str] = ()) -> Fraction:
        """D above, rounded up."""
        terms = 1 if self.adjacency_for(coalition) == "add_remove" else 2
        norm = Fraction(self.clipping_threshold) * (1 + Fraction(self.relative_slack))
        return terms * norm + Fraction(2 * (isqrt(self.dimension - 1) + 1), 2**self.grid_bits)

    def mu_squared(self, coalition: Iterable[str] = ()) -> float:
        known = frozenset(coalition)
        if known.issuperset(self.holders):
            return 0.0  # every column is the coalition's own: nothing is left to protect
        hidden = hidden_variance(self.noise, known, self.grid_bits)
        return rounded_up(self.uses * self.sensitivity(known) ** 2 / hidden) if hidden else inf


def plan_gradient_releases(
    agreement: Agreement, rows: int, dimension: int, relative_slack: float, grid_bits: int = GRID_BITS
) -> GradientReleases:
    """The mechanism that an agreement with the learner `dpvi` asks for: its sigma, or the least that will do."""
    learner, privacy = agreement.learner, agreement.privacy
    assert learner.kind == "dpvi"
    if learner.sampling not in ("none", "epochs") or learner.bound.kind == "statistics":
        raise user_error("E705", "only sampling none and epochs with a bound on the norm have a closed form")
    drawers: tuple[str, ...] = ()
    if learner.noise == "helper":
        assert agreement.helper is not None
        drawers = (agreement.helper.name,)
    release = GradientReleases(
        clipping_threshold=learner.bound.clipping_threshold or 1.0,
        sigma=privacy.sigma or 1.0,
        rows=rows,
        batch=learner.batch,
        steps=learner.steps,
        sampling=learner.sampling,
        holders=tuple(holder.name for holder in agreement.holders),
        dimension=dimension,
        relative_slack=relative_slack,
        grid_bits=grid_bits,
        adjacency=privacy.adjacency,
        drawers=drawers,
    )
    return release if privacy.sigma is not None else with_least_sigma(release, limits_of(agreement))


def with_least_sigma(release: GradientReleases, limits: dict[frozenset[str], float]) -> GradientReleases:
    """The same releases with the least sigma at which mu squared stays within `limits` for every coalition."""
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
