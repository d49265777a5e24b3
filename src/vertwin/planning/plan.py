"""The plan: from agreement and row count to mechanism and statement, and its comparison between parties."""

from __future__ import annotations

from decimal import ROUND_CEILING, Context

from vertwin.agreement import Agreement, Dpvi, MeasureOnce
from vertwin.engine import Session
from vertwin.errors import user_error
from vertwin.learners.plan import Plan
from vertwin.noise import LARGEST_VARIANCE
from vertwin.privacy.event import Mechanism
from vertwin.privacy.mechanism import GradientReleases, PairTables, plan_pair_tables
from vertwin.privacy.oracle import ClosedForm, Oracle
from vertwin.privacy.statement import plain_text, statement_of
from vertwin.privacy.viewers import Viewer, coalitions_of, viewers_of
from vertwin.release import Promise, Statement

_TEN_DIGITS = Context(prec=10, rounding=ROUND_CEILING)


def plan(agreement: Agreement, rows: int) -> Plan:
    """Equal at every party that has the same agreement and row count: no clock, no entropy, no file."""
    mechanism = mechanism_for(agreement, rows)
    return Plan(agreement, rows, mechanism, statement_for(agreement, mechanism))


def statement_for(agreement: Agreement, mechanism: Mechanism) -> Statement:
    """Every viewer's promise under one mechanism, as data and in words."""
    oracle = oracle_for(agreement)
    viewers = viewers_of(mechanism, agreement, oracle)
    every = (*viewers, *coalitions_of(mechanism, agreement, oracle))
    text = plain_text(statement_of(mechanism, agreement, viewers, oracle))
    return Statement(text, tuple(_promise(viewer) for viewer in every))


def mechanism_for(agreement: Agreement, rows: int) -> PairTables | GradientReleases:
    """What is revealed and under how much noise: the one object that every scale is read from."""
    if rows < 1:
        raise user_error("E707", f"a plan for {rows} rows", "the number of people in all the tables, at least 1")
    match agreement.learner:
        case MeasureOnce():
            mechanism = plan_pair_tables(agreement)
            largest = max(table.grid_variance(h) for table in mechanism.tables for h in table.owners)
        case Dpvi():
            from vertwin.learners.dpvi.mechanism import plan_mechanism

            mechanism = plan_mechanism(agreement, rows)
            largest = max(mechanism.grid_variance(share.holder) for share in mechanism.noise)
        case _:
            raise AssertionError(f"no learner {agreement.learner}")
    if largest >= LARGEST_VARIANCE:
        raise user_error(
            "E704",
            "the targets ask for noise with a standard deviation above 2^46 units of its grid, which cannot be drawn",
            "a larger epsilon or delta",
            "privacy",
        )
    return mechanism


def oracle_for(agreement: Agreement) -> Oracle:
    """Closed forms where they are exact; privacy loss distributions where minibatches are secret."""
    if isinstance(agreement.learner, Dpvi) and agreement.learner.sampling.startswith("poisson"):
        from vertwin.privacy.accountant import LossDistributions

        return LossDistributions()
    return ClosedForm()


def _promise(viewer: Viewer) -> Promise:
    return Promise(
        viewer.name,
        tuple(sorted(viewer.coalition)),
        None if viewer.epsilon is None else settled(viewer.epsilon),
        viewer.delta,
        viewer.adjacency,
        viewer.assumptions,
    )


def settled(epsilon: float) -> float:
    """An epsilon as it is written and signed: ten digits, rounded up.

    Two machines' mathematical libraries may differ in a last bit; every party computes its own statement and all sign
    the same one, so what is written must not hang on that bit.
    """
    return float(_TEN_DIGITS.create_decimal_from_float(epsilon))


def compare(plan: Plan, session: Session) -> None:
    """Before the first share: every party has the same terms, row count and noise. COST: one message to each peer."""
    for name, theirs in session.link.exchange("plan", plan.digest.encode()).items():
        if theirs != plan.digest.encode():
            raise user_error(
                "E411",
                f'party "{name}" has another plan: its agreement or its version of vertwin differs',
                "compare the digests that vertwin check prints at every party",
            )
