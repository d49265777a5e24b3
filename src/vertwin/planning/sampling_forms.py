"""Does sub-sampling pay towards a party? The four ways to sample, compared at equal passes over the rows.

The paper remarks that "if the privacy with respect to the parties is important, sub-sampling might not be a good
idea or would need to be kept hidden". Here that is a computation: for the same targets and the same number of passes,
the least sigma of each form, and what it means for learning: a pass reveals the gradient of all rows once, in one sum
or in several, so the noise of a pass is sigma times the root of the number of its sums.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import sqrt
from typing import Final

from vertwin.privacy.event import GaussianEvent
from vertwin.privacy.mechanism import GradientReleases, meet_targets
from vertwin.privacy.oracle import Oracle

NAMES: Final = {
    "none": "no sub-sampling",
    "epochs": "disjoint epochs",
    "poisson": "Poisson batches that the parties know",
    "poisson_hidden": "hidden Poisson batches",
}
DEALER: Final = "the dealer of batches"  # who would draw them; no party's name has spaces


@dataclass(frozen=True)
class Form:
    """One way to sample at the least noise that meets the targets."""

    sampling: str
    name: str
    steps: int
    sigma: float
    noise_per_pass: float  # standard deviation of the noise of one pass, in units of the clipping threshold
    rows_computed: int  # of rows under MPC, over the whole run: padding and, with hidden batches, all rows every step


def compare_forms(
    release: GradientReleases, targets: Mapping[frozenset[str], float], delta: float, oracle: Oracle
) -> tuple[Form, ...]:
    """All four, the cheapest (least noise of a pass, then fewest rows) first."""
    batch = release.batch if release.sampling != "none" and release.batch else max(1, release.rows // 100)
    batches = -(-release.rows // batch)
    passes = release.steps if release.sampling == "none" else -(-release.steps // batches)
    forms = [_form(release, sampling, batch, batches, passes, targets, delta, oracle) for sampling in NAMES]
    # Numerical accounting ends within 1e-4 of the least sigma: what differs by less counts as equal.
    return tuple(sorted(forms, key=lambda form: (round(form.noise_per_pass, -_digits(form)), form.rows_computed)))


def _digits(form: Form) -> int:
    """Keeps three digits and a bit of the noise of a pass."""
    return len(str(int(form.noise_per_pass))) - 4


def _form(
    release: GradientReleases,
    sampling: str,
    batch: int,
    batches: int,
    passes: int,
    targets: Mapping[frozenset[str], float],
    delta: float,
    oracle: Oracle,
) -> Form:
    whole = sampling == "none"
    steps = passes if whole else passes * batches
    form = replace(
        release,
        sampling=sampling,  # type: ignore[arg-type]  # the keys of NAMES are its choices
        batch=None if whole else batch,
        steps=steps,
        batch_from=DEALER if sampling == "poisson_hidden" else None,
    )
    planned = meet_targets(form, targets, delta, oracle)
    padded = planned.batch_at_most or batch
    rows = {"none": release.rows, "poisson_hidden": release.rows, "epochs": batch, "poisson": padded}[sampling]
    return Form(sampling, NAMES[sampling], steps, planned.sigma, planned.sigma * sqrt(steps / passes), rows * steps)


def implied_targets(release: GradientReleases, delta: float, oracle: Oracle) -> dict[frozenset[str], float]:
    """Where sigma is given in place of targets: what each party has by it, as the target for the other forms."""
    found: dict[frozenset[str], float] = {}
    for holder in release.holders:
        event = release.event({holder})
        if not isinstance(event, GaussianEvent) or 0 < event.mu < float("inf"):
            found[frozenset({holder})] = oracle.epsilon(event, delta)
    return found
