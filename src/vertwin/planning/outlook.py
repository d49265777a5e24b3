"""All that can be said before a run: the plan, the prices of its targets, warnings, alternatives and costs."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from vertwin.agreement import ANALYST, Agreement
from vertwin.learners.plan import Plan
from vertwin.planning.cost import Cost, cost_of
from vertwin.planning.plan import oracle_for, plan
from vertwin.planning.prices import Price, prices_of
from vertwin.planning.sampling_forms import Form, compare_forms, implied_targets
from vertwin.privacy.mechanism import GradientReleases, PairTables, coalition_of
from vertwin.privacy.statement import Cheat, Section, cheats_of, statement_of
from vertwin.privacy.viewers import Viewer, coalitions_of, viewers_of


@dataclass(frozen=True)
class Outlook:
    """What `vertwin plan` shows."""

    plan: Plan
    viewers: tuple[Viewer, ...]
    coalitions: tuple[Viewer, ...]
    sections: tuple[Section, ...]
    warnings: tuple[str, ...]
    prices: tuple[Price, ...]
    cheats: tuple[Cheat, ...]
    forms: tuple[Form, ...]  # dpvi with a target towards a party: ways to sample, the cheapest first
    cost: Cost

    def as_json(self) -> dict[str, Any]:
        """Plain data for machines; the keys are documented in docs/privacy.md."""
        mechanism = self.plan.mechanism
        return {
            "agreement": self.plan.agreement.name,
            "digest": self.plan.agreement.digest,
            "plan_digest": self.plan.digest,
            "rows": self.plan.rows,
            "learner": self.plan.agreement.learner.kind,
            "viewers": [_viewer(viewer) for viewer in self.viewers],
            "coalitions": [_viewer(viewer) for viewer in self.coalitions],
            "noise": _noise(mechanism),
            "warnings": list(self.warnings),
            "prices": [asdict(price) for price in self.prices],
            "cheating": [asdict(cheat) for cheat in self.cheats],
            "sampling": [asdict(form) for form in self.forms],
            "cost": asdict(self.cost),
            "statement": [asdict(section) for section in self.sections],
        }


def look_ahead(agreement: Agreement, rows: int) -> Outlook:
    """Everything above, from public facts alone."""
    made = plan(agreement, rows)
    oracle, mechanism = oracle_for(agreement), made.mechanism
    viewers = viewers_of(mechanism, agreement, oracle)
    coalitions = coalitions_of(mechanism, agreement, oracle)
    return Outlook(
        plan=made,
        viewers=viewers,
        coalitions=coalitions,
        sections=statement_of(mechanism, agreement, (*viewers, *coalitions), oracle),
        warnings=warnings_of(agreement, rows, viewers, mechanism),
        prices=prices_of(agreement, rows),
        cheats=cheats_of(mechanism, agreement, oracle),
        forms=_forms(agreement, mechanism),
        cost=cost_of(agreement, mechanism, rows),
    )


def warnings_of(
    agreement: Agreement, rows: int, viewers: tuple[Viewer, ...], mechanism: PairTables | GradientReleases
) -> tuple[str, ...]:
    """What an officer should not overlook."""
    found: list[str] = []
    if agreement.privacy.delta * rows > 1:
        found.append(
            f"delta {agreement.privacy.delta:g} is above one over the number of rows ({1 / rows:.2g}): it would allow "
            "to publish one random person's values"
        )
    for viewer in viewers:
        if viewer.epsilon is None:
            found.append(f"no promise towards {viewer.name}: {viewer.assumptions[0].removeprefix('no promise: ')}")
        elif viewer.epsilon > 10:
            found.append(f"epsilon {viewer.epsilon:.4g} towards {viewer.name} promises next to nothing")
    targets = agreement.targets()
    largest = max(targets.values(), default=float("inf"))
    for viewer in viewers:
        if viewer.epsilon is not None and viewer.name not in targets and viewer.epsilon > 2 * largest:
            found.append(f"no target is given towards {viewer.name}, and its epsilon is more than twice the others'")
    if isinstance(mechanism, PairTables) and min(table.noise_sd for table in mechanism.tables) > rows:
        found.append(f"the noise in every cell is larger than all {rows} rows together: nothing will be learned")
    for party in agreement.holders:
        if party.rows_at_most is not None and rows > party.rows_at_most:
            found.append(f"{rows} rows, and {party.name} says that it has at most {party.rows_at_most}")
    return tuple(found)


def _forms(agreement: Agreement, mechanism: PairTables | GradientReleases) -> tuple[Form, ...]:
    if not isinstance(mechanism, GradientReleases) or agreement.privacy.adjacency != "replace_one":
        return ()
    from vertwin.privacy.accountant import LossDistributions  # secret samples among the alternatives

    oracle, delta = LossDistributions(), agreement.privacy.delta
    targets = {coalition_of(viewer): epsilon for viewer, epsilon in agreement.targets().items()}
    if set(targets) <= {coalition_of(ANALYST)}:
        if targets:
            return ()
        targets = implied_targets(mechanism, delta, oracle)
    return compare_forms(mechanism, targets, delta, oracle)


def _viewer(viewer: Viewer) -> dict[str, Any]:
    return {
        "viewer": viewer.name,
        "epsilon": viewer.epsilon,
        "delta": viewer.delta,
        "adjacency": viewer.adjacency,
        "assumptions": list(viewer.assumptions),
        "coalition": sorted(viewer.coalition),
        "guess_at_most": viewer.guess,
        "epsilon_after_second_run": viewer.second_run,
    }


def _noise(mechanism: PairTables | GradientReleases) -> dict[str, Any]:
    if isinstance(mechanism, GradientReleases):
        return {
            "sigma": mechanism.sigma,
            "clipping_threshold": mechanism.clipping_threshold,
            "relative_slack": mechanism.relative_slack,
            "dimension": mechanism.dimension,
            "steps": mechanism.steps,
            "uses": mechanism.uses,
            "sampling": mechanism.sampling,
            "shares": {share.holder: float(share.variance) for share in mechanism.noise},
        }
    kinds: dict[tuple[str, ...], dict[str, Any]] = {}
    for table in mechanism.tables:
        kinds.setdefault(
            table.owners,
            {
                "owners": list(table.owners),
                "tables": 0,
                "noise_sd": table.noise_sd,
                "shares": {share.holder: float(share.variance) for share in table.noise},
            },
        )["tables"] += 1
    return {"tables": list(kinds.values())}
