"""4. From encoded columns to what was learned: one folder per learner, chosen by the agreement.

Importing this loads no JAX: a learner does when it is asked to learn.
"""

from __future__ import annotations

from vertwin.agreement import Dpvi, MeasureOnce
from vertwin.encoding import EncodedTable
from vertwin.engine import Session
from vertwin.learners.plan import Plan
from vertwin.release import Learned

__all__ = ["Plan", "learn"]


def learn(encoded: EncodedTable | None, plan: Plan, session: Session) -> Learned | None:
    """Run the agreement's learner. `encoded` is None at a helper; None comes back where a party has no part in it."""
    match plan.agreement.learner:
        case MeasureOnce():
            from vertwin.learners import measure_once

            return None if encoded is None else measure_once.learn(encoded, plan, session)
        case Dpvi():
            from vertwin.learners import dpvi

            return dpvi.learn(encoded, plan, session)
    raise AssertionError(f"no learner {plan.agreement.learner}")
