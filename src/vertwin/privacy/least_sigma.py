"""The least noise of `dpvi` that meets every target, whatever the sampling; and the mechanism an agreement asks for.

Without secret samples the answer is a formula. Else epsilon falls smoothly with sigma, nearly a straight line between
their logarithms: the root is found by regula falsi on those, from a bracket whose upper end counts on no sampling.
What is returned was itself evaluated and is within every target.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import exp, log
from typing import TYPE_CHECKING, Final

from vertwin.errors import user_error
from vertwin.privacy.closed_form import gaussian_mu
from vertwin.privacy.event import GaussianEvent
from vertwin.privacy.gradient_releases import GRID_BITS, GradientReleases, with_least_sigma
from vertwin.privacy.oracle import ClosedForm, Oracle
from vertwin.privacy.pair_tables import coalition_of, limits_of

if TYPE_CHECKING:
    from vertwin.agreement import Agreement

CLOSE: Final = 1e-4  # relative: how far sigma may lie above the least one
_ROUNDS: Final = 60


def meet_targets(
    release: GradientReleases, targets: Mapping[frozenset[str], float], delta: float, oracle: Oracle
) -> GradientReleases:
    """The same releases with the least sigma at which no coalition's epsilon is above its target.

    Formal guarantee: every target is met, as the oracle accounts; sigma is within CLOSE of the least that would do.
    """
    limits = {coalition: gaussian_mu(target, delta) ** 2 * (1 - 1e-14) for coalition, target in targets.items()}
    plain = {c: limit for c, limit in limits.items() if isinstance(release.event(c), GaussianEvent)}
    planned = with_least_sigma(release, plain) if plain else None
    for coalition in limits.keys() - plain.keys():
        if planned is None or oracle.epsilon(planned.event(coalition), delta) > targets[coalition]:
            ceiling = with_least_sigma(release, {coalition: limits[coalition]})
            planned = _least_sigma(ceiling, coalition, targets[coalition], delta, oracle)
    return release if planned is None else planned


def _least_sigma(
    ceiling: GradientReleases, coalition: frozenset[str], target: float, delta: float, oracle: Oracle
) -> GradientReleases:
    """Between a sigma that is surely enough and the largest found to be too small."""

    def excess(sigma: float) -> float:
        epsilon = oracle.epsilon(replace(ceiling, sigma=sigma).event(coalition), delta)
        return log(max(epsilon, 1e-12) / target)

    high, above = ceiling.sigma, None
    low, below = high, None
    for _ in range(_ROUNDS):  # down until it is too little
        low = low / 3
        value = excess(low)
        if value > 0:
            below = value
            break
        high, above = low, value
    else:
        return replace(ceiling, sigma=high)
    if above is None:
        above = excess(high)
    side = 0
    for _ in range(_ROUNDS):
        if high / low <= 1 + CLOSE or above > -CLOSE / 2:
            break
        part = above / (above - below)  # from high towards low; the Illinois rule keeps both ends moving
        middle = exp(log(high) + min(max(part, 1e-3), 1 - 1e-3) * (log(low) - log(high)))
        middle = min(middle * (1 + CLOSE / 4), high)  # a little on the safe side, so that the bracket closes from there
        value = excess(middle)
        if value > 0:
            low, below = middle, value
            above, side = (above / 2, -1) if side == -1 else (above, -1)
        else:
            high, above = middle, value
            below, side = (below / 2, 1) if side == 1 else (below, 1)
    return replace(ceiling, sigma=high)


def plan_gradient_releases(
    agreement: Agreement,
    rows: int,
    dimension: int,
    relative_slack: float,
    grid_bits: int = GRID_BITS,
    oracle: Oracle | None = None,
) -> GradientReleases:
    """The mechanism that an agreement with the learner `dpvi` asks for: its sigma, or the least that will do.

    `oracle` accounts for secret samples; without one an agreement that needs it is refused.
    """
    learner, privacy = agreement.learner, agreement.privacy
    assert learner.kind == "dpvi"
    drawers: tuple[str, ...] = ()
    if learner.noise == "helper":
        assert agreement.helper is not None
        drawers = (agreement.helper.name,)
    if learner.bound.clipping_threshold is None:
        raise user_error("E705", "the bound by statistics follows from the domains: it has no threshold to plan with")
    batch_from: str | None = None
    if learner.sampling == "poisson" and learner.batch_from == "aggregator":
        batch_from = learner.aggregator
    elif learner.sampling == "poisson_hidden" and agreement.helper is not None:
        batch_from = agreement.helper.name
    release = GradientReleases(
        clipping_threshold=learner.bound.clipping_threshold,
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
        bound=learner.bound.kind,
        gradient_space=learner.gradient_space,
        batch_from=batch_from,
    )
    if privacy.sigma is not None:
        return release
    if learner.sampling in ("none", "epochs"):
        return with_least_sigma(release, limits_of(agreement))
    limits_of(agreement)  # refuses an agreement without targets
    targets = {coalition_of(viewer): epsilon for viewer, epsilon in agreement.targets().items()}
    return meet_targets(release, targets, privacy.delta, oracle or ClosedForm())
