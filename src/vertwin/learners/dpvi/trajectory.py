"""The end of the noisy trajectory, as a release keeps it: posterior, and the mixture at its mean."""

from __future__ import annotations

import numpy as np

from vertwin.learners.plan import Plan
from vertwin.model.packing import Packing
from vertwin.model.posterior import MeanField
from vertwin.privacy.mechanism import GradientReleases
from vertwin.release import Learned, Revealed, Twin, TwinColumn


def twin_of(packing: Packing, mean: np.ndarray, order: tuple[str, ...]) -> Twin:
    """The mixture with the posterior's mean as its parameters, columns in the given order."""
    logits = mean[:, 0]
    likelihood = np.exp(logits - logits.max())
    columns = {
        block.column: TwinColumn(
            block.column, block.family.form, block.family.released(mean[:, block.start : block.stop])
        )
        for block in packing.blocks
    }
    return Twin(likelihood / likelihood.sum(), tuple(columns[name] for name in order))


def learned_from(plan: Plan, packing: Packing, last: MeanField) -> Learned:
    """What all parties hold after the last step. Under add_remove no row count is in it."""
    mechanism = plan.mechanism
    assert isinstance(mechanism, GradientReleases)
    mean, log_scale = np.array(last.mean), np.array(last.log_scale)
    return Learned(
        twin=twin_of(packing, mean, tuple(column.name for column in plan.agreement.columns)),
        revealed=(Revealed("posterior_mean", mean), Revealed("posterior_log_scale", log_scale)),
        rows_estimate=float(plan.rows) if mechanism.adjacency == "replace_one" else None,
        notes=(
            f"{mechanism.steps} noisy gradients, sampling {mechanism.sampling}, clipping threshold "
            f"{mechanism.clipping_threshold:g}, noise multiplier {mechanism.sigma:.6g}",
        ),
    )
