"""What a run will take: messages, bytes and minutes, from what was measured on two cores of one machine.

Straight lines through the figures of benchmarks/secure_step.py and of the secure product; good to a factor of two on
one machine. Over a network every dependent message adds one delay.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

from vertwin.agreement import Agreement, MeasureOnce
from vertwin.privacy.mechanism import GradientReleases, PairTables


@dataclass(frozen=True)
class Cost:
    """Of the secure computation alone, all parties together."""

    rounds: int  # dependent messages
    bytes: int
    minutes: float  # on one machine with two cores, without the delays of a network


def cost_of(agreement: Agreement, mechanism: PairTables | GradientReleases, rows: int) -> Cost:
    cells = {
        holder.name: sum(column.domain.size for column in agreement.columns_of(holder.name))
        for holder in agreement.holders
    }
    if isinstance(agreement.learner, MeasureOnce) or isinstance(mechanism, PairTables):
        products = [(cells[a], cells[b]) for a, b in combinations(cells, 2)]
        seconds = sum(1.0 + 9.2e-5 * rows * a * b / 4500 for a, b in products)
        sent = sum(1_700 * rows * min(a, b) / 50 for a, b in products)
        return Cost(4 * len(products), int(sent), seconds / 60)
    batch = rows if mechanism.sampling in ("none", "poisson_hidden") else (mechanism.batch_at_most or mechanism.batch)
    assert batch is not None
    size = agreement.learner.components * sum(cells.values()) / 2400  # against the model that was measured
    if agreement.protocol == "aby3":
        rounds, milliseconds, sent = 90, 50 + 0.095 * batch * size, 0.3e6 + 21_200 * batch * size
    else:
        rounds, milliseconds, sent = 96, 175 + 1.6 * batch * size, 0.6e6 + 34_000 * batch * size
    steps = mechanism.steps
    return Cost(rounds * steps, int(sent * steps), milliseconds * steps / 60_000)
