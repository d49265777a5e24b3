"""What dpvi reveals and under how much noise, from the agreement and the row count alone: equal at every party.

The scales stand in one object of `privacy` (GradientReleases). This file says what goes into it, the dimension of the
revealed vector and the slack rho that fixed-point arithmetic needs.
"""

from __future__ import annotations

from typing import Final

from vertwin.agreement import Agreement
from vertwin.domains import Missing
from vertwin.engine import Settings
from vertwin.errors import user_error
from vertwin.learners.dpvi.batches import Batches, learner_of
from vertwin.learners.dpvi.parameters import Layout
from vertwin.learners.dpvi.secure import ARITHMETIC, Arithmetic, HardClip
from vertwin.model.packing import Packing, packing_of
from vertwin.privacy.mechanism import GradientReleases, plan_gradient_releases

GRID_BITS: Final = 20  # the sums are cut to this grid before the noise, and the noise is drawn on it
LARGEST_STATISTIC: Final = 2.0**7  # of |t| and |grad A|: what sums over a batch are bounded by
# 40 fraction bits cost aby3 hardly more time than 18; cheetah pays threefold for them.
_FIELD: Final = {"aby3": (128, 40), "cheetah": (64, 18)}


def packing_for(agreement: Agreement) -> Packing:
    """Where everything stands in theta."""
    return packing_of(agreement, learner_of(agreement).components)


def layouts_for(agreement: Agreement, packing: Packing) -> tuple[Layout, ...]:
    """How each holder's columns enter the step."""
    missing = {column.name: column.domain.missing is Missing.MARGINAL for column in agreement.columns}
    return tuple(
        Layout(name, packing.of_holder(name), tuple(missing[block.column] for block in packing.of_holder(name)))
        for name in packing.holders
    )


def arithmetic_for(agreement: Agreement) -> Arithmetic:
    return ARITHMETIC[_FIELD[agreement.protocol]]


def settings_for(agreement: Agreement) -> Settings:
    """Who computes: the holders, and the helper where the protocol needs a third."""
    holders = tuple(party.name for party in agreement.holders)
    helper = (agreement.helper.name,) if agreement.helper else ()
    wanted = {"cheetah": 2, "aby3": 3}[agreement.protocol]
    nodes = holders if len(holders) >= wanted else holders + helper
    if len(nodes) != wanted:
        raise user_error(
            "E758",
            f"{agreement.protocol} computes between {wanted} parties, and this agreement has {len(holders)} holders",
            "two holders, two holders and a helper, or three holders",
            "parties",
        )
    arithmetic = arithmetic_for(agreement)
    match arithmetic.field_bits:
        case 64:
            return Settings(agreement.protocol, 64, arithmetic.fraction_bits, nodes)
        case 128:
            return Settings(agreement.protocol, 128, arithmetic.fraction_bits, nodes)
    raise AssertionError(f"no field of {arithmetic.field_bits} bits")


def clip_for(agreement: Agreement) -> HardClip:
    """The constants of the secure step; refuses thresholds for which no bound can be proved."""
    packing = packing_for(agreement)
    squared = sum(layout.score_squared for layout in layouts_for(agreement, packing))
    threshold = learner_of(agreement).bound.clipping_threshold
    assert threshold is not None
    return HardClip(arithmetic_for(agreement), threshold, packing.components, packing.width, squared)


def grid_bits_for(arithmetic: Arithmetic) -> int:
    return min(GRID_BITS, arithmetic.fraction_bits)


def plan_mechanism(agreement: Agreement, rows: int) -> GradientReleases:
    """The noisy sums of one run; sigma as agreed, or the least that meets every target."""
    clip, batches = clip_for(agreement), Batches.of(agreement, rows)
    settings_for(agreement)
    arithmetic = clip.arithmetic
    room = 2.0 ** (arithmetic.field_bits - 2 - 2 * arithmetic.fraction_bits)
    if batches.size * LARGEST_STATISTIC >= room:
        raise user_error(
            "E753",
            f"sums over batches of {batches.size} rows do not fit a field of {arithmetic.field_bits} bits",
            "smaller batches, or the engine's wider field (aby3)",
            "learner.batch",
        )
    return plan_gradient_releases(agreement, rows, clip.components * clip.width, clip.rho(), grid_bits_for(arithmetic))
