"""The plan: from agreement and row count to mechanism and statement, and its comparison between parties."""

from __future__ import annotations

from vertwin.agreement import Agreement, Dpvi, MeasureOnce
from vertwin.engine import Session
from vertwin.errors import user_error
from vertwin.learners.plan import Plan
from vertwin.privacy.mechanism import plan_pair_tables
from vertwin.privacy.viewers import viewers_of
from vertwin.release import Promise, Statement


def plan(agreement: Agreement, rows: int) -> Plan:
    """Equal at every party that has the same agreement and row count: no clock, no entropy, no file."""
    match agreement.learner:
        case MeasureOnce():
            mechanism = plan_pair_tables(agreement)
            promises = tuple(
                Promise(
                    viewer.name,
                    tuple(sorted(viewer.coalition)),
                    viewer.epsilon,
                    viewer.delta,
                    viewer.adjacency,
                    viewer.assumptions,
                )
                for viewer in viewers_of(mechanism, agreement)
            )
            statement = Statement("(epsilon, delta) of each viewer, in closed form", promises)
            return Plan(agreement, rows, mechanism, statement)
        case Dpvi():
            from vertwin.learners.dpvi.mechanism import plan_mechanism

            # The noise is exact and calibrated; which viewer is promised what is said from the promise issue on.
            return Plan(agreement, rows, plan_mechanism(agreement, rows), Statement())
    raise AssertionError(f"no learner {agreement.learner}")


def compare(plan: Plan, session: Session) -> None:
    """Before the first share: every party has the same terms, row count and noise. COST: one message to each peer."""
    for name, theirs in session.link.exchange("plan", plan.digest.encode()).items():
        if theirs != plan.digest.encode():
            raise user_error(
                "E411",
                f'party "{name}" has another plan: its agreement or its version of vertwin differs',
                "compare the digests that vertwin check prints at every party",
            )
