"""What each target costs: the noise it takes over and above the noise for the analyst's target alone."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import sqrt

from vertwin.agreement import ANALYST, Agreement, Targets
from vertwin.planning.plan import mechanism_for
from vertwin.privacy.mechanism import GradientReleases, PairTables


@dataclass(frozen=True)
class Price:
    """`noise`: the noise's standard deviation over that for the analyst's target alone (measure_once: root mean square
    over the tables; dpvi: sigma); `cross`, for measure_once: the same over the tables across parties alone."""

    viewer: str  # whose target is added to the analyst's; "all": every target of the agreement
    noise: float
    cross: float | None = None


def prices_of(agreement: Agreement, rows: int) -> tuple[Price, ...]:
    """One price for each target besides the analyst's, and one for all together; none without an analyst's target."""
    targets = agreement.targets()
    if ANALYST not in targets or len(targets) == 1:
        return ()
    alone = _noise(agreement, rows, {ANALYST: targets[ANALYST]})
    wanted: list[tuple[str, dict[str, float]]] = [
        (viewer, {ANALYST: targets[ANALYST], viewer: targets[viewer]}) for viewer in targets if viewer != ANALYST
    ]
    if len(wanted) > 1:
        wanted.append(("all", dict(targets)))
    found: list[Price] = []
    for viewer, needed in wanted:
        noise, cross = _noise(agreement, rows, needed)
        found.append(Price(viewer, noise / alone[0], cross / alone[1] if cross and alone[1] else None))
    return tuple(found)


def _noise(agreement: Agreement, rows: int, targets: dict[str, float]) -> tuple[float, float | None]:
    terms = replace(agreement, privacy=replace(agreement.privacy, epsilon=Targets(targets)))
    mechanism = mechanism_for(terms, rows)
    match mechanism:
        case GradientReleases():
            return mechanism.sigma, None
        case PairTables():
            every = [float(table.variance) for table in mechanism.tables]
            cross = [float(table.variance) for table in mechanism.tables if len(table.owners) > 1]
            return sqrt(sum(every) / len(every)), sqrt(sum(cross) / len(cross)) if cross else None
