"""The paper's learner: variational inference of a mixture by noisy gradients whose sums alone leave the secure step.

secure.py holds what runs under MPC, local.py what a holder computes alone before it, step.py what the aggregator does
with what was revealed, fit.py the text that every party runs, unpartitioned.py the yardstick without partition.
"""

from __future__ import annotations

from vertwin.learners.dpvi.fit import learn

__all__ = ["learn"]
