"""From noisy tables to the twin: public post-processing, done once by the first holder and sent to the others.

All holders have the same tables and could fit them alike, but floats differ in the last bit between machines, and a
release is one file at all of them.
"""

from __future__ import annotations

import io

import numpy as np

from vertwin.agreement import Agreement, MeasureOnce
from vertwin.domains import Missing
from vertwin.engine import Session
from vertwin.learners.measure_once.fit import FitOptions, fit
from vertwin.learners.measure_once.fit_tables import NoisyTables
from vertwin.learners.measure_once.secure import GRID
from vertwin.learners.plan import Plan
from vertwin.release import Learned, NoisyTable, Twin, TwinColumn


def from_tables(looks: tuple[tuple[NoisyTable, ...], ...], plan: Plan, session: Session) -> Learned:
    """What every holder hands to `seal`. COST: one message from the first holder to each of the others."""
    lead = session.holders[0]
    if session.me == lead:
        payload = _encode(*_fitted(looks, plan.agreement, session))
        session.link.broadcast("twin", payload, to=session.holders)
    else:
        payload = session.link.receive_on("twin", lead)
    twin, rows, notes = _decode(payload, plan.agreement)
    tables = tuple(table for look in looks for table in look)
    return Learned(twin=twin, tables=tables, rows_estimate=rows, notes=notes)


def for_fit(tables: tuple[NoisyTable, ...], agreement: Agreement) -> NoisyTables:
    """A release's tables in the form that the fit takes: counts as floats; two looks are averaged by precision."""
    domains = {column.name: column.domain for column in agreement.columns}
    weighted: dict[tuple[str, ...], np.ndarray] = {}
    precisions: dict[tuple[str, ...], float] = {}
    for table in tables:
        weighted[table.columns] = weighted.get(table.columns, 0.0) + table.counts / GRID / table.variance
        precisions[table.columns] = precisions.get(table.columns, 0.0) + 1 / table.variance
    counts = {columns: weighted[columns] / precision for columns, precision in precisions.items()}
    return NoisyTables(
        sizes={name: domain.size for name, domain in domains.items()},
        one_way={columns[0]: table for columns, table in counts.items() if len(columns) == 1},
        pairs={(columns[0], columns[1]): table for columns, table in counts.items() if len(columns) == 2},
        variances={columns: 1 / precision for columns, precision in precisions.items()},
        partial=frozenset(name for name, domain in domains.items() if domain.missing is Missing.MARGINAL),
    )


def _fitted(
    looks: tuple[tuple[NoisyTable, ...], ...], agreement: Agreement, session: Session
) -> tuple[Twin, float, list[str]]:
    learner = agreement.learner
    assert isinstance(learner, MeasureOnce)
    session.progress("fit", 0.0, "a mixture to the noisy tables: public from here on")
    options = FitOptions(components=learner.components, restarts=learner.restarts)
    tables = for_fit(tuple(table for look in looks for table in look), agreement)
    mixture = fit(tables, options, progress=lambda done: session.progress("fit", min(done, 0.99)))
    session.progress("fit", 1.0, f"{len(mixture.weights)} components")
    twin = Twin(
        mixture.weights,
        tuple(TwinColumn(c.name, "categorical", mixture.probabilities[c.name]) for c in agreement.columns),
    )
    note = (
        f"the twin: {learner.restarts} fits of {len(mixture.weights) // learner.restarts} components, "
        f"{mixture.pseudo_counts:.0f} pseudo-counts, misfit {mixture.misfit:.2f} of the noise's own"
    )
    return twin, mixture.rows, [note]


def _encode(twin: Twin, rows: float, notes: list[str]) -> bytes:
    buffer = io.BytesIO()
    arrays = {f"column_{i}": column.values for i, column in enumerate(twin.columns)}
    text = np.frombuffer("\n".join(notes).encode(), np.uint8)
    np.savez(buffer, weights=twin.weights, rows=np.float64(rows), notes=text, **arrays)
    return buffer.getvalue()


def _decode(payload: bytes, agreement: Agreement) -> tuple[Twin, float, tuple[str, ...]]:
    with np.load(io.BytesIO(payload), allow_pickle=False) as file:
        columns = tuple(
            TwinColumn(column.name, "categorical", file[f"column_{i}"]) for i, column in enumerate(agreement.columns)
        )
        notes = tuple(bytes(file["notes"]).decode().splitlines())
        return Twin(file["weights"], columns), float(file["rows"]), notes
