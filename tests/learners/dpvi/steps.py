"""One secure step put together by hand, for tests: every holder's local part, the public numbers, the function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Any

import jax
import numpy as np

from vertwin.engine.fixed_point import fixed_point
from vertwin.learners.dpvi import secure
from vertwin.learners.dpvi.local import LocalPart, Normalise
from vertwin.learners.dpvi.parameters import Codec, Layout
from vertwin.learners.dpvi.secure import ARITHMETIC, Arithmetic, HardClip
from vertwin.model.packing import Packing

WIDE, NARROW = ARITHMETIC[128, 40], ARITHMETIC[64, 18]


def layouts_of(packing: Packing, missing: bool) -> tuple[Layout, ...]:
    return tuple(Layout(h, packing.of_holder(h), tuple(missing for _ in packing.of_holder(h))) for h in packing.holders)


def clip_of(packing: Packing, layouts: Sequence[Layout], threshold: float, arithmetic: Arithmetic = WIDE) -> HardClip:
    squared = sum(layout.score_squared for layout in layouts)
    return HardClip(arithmetic, threshold, packing.components, packing.width, squared)


def options_of(layouts: Sequence[Layout], clip: HardClip, output_scale: float = 1.0) -> dict[str, object]:
    return {
        "holders": len(layouts),
        "dense": tuple(int(layout.dense) for layout in layouts),
        "centre": tuple(base for layout in layouts for base in layout.centre),
        "inverse_square": clip.inverse_square,
        "slack": clip.slack,
        "output_scale": output_scale,
    }


def run_step(
    packing: Packing,
    values: Sequence[np.ndarray],
    theta: np.ndarray,
    threshold: float,
    *,
    arithmetic: Arithmetic = WIDE,
    missing: bool = True,
    batch: np.ndarray | None = None,
    normalise: Normalise = "maximum",
    noise: Sequence[np.ndarray] | None = None,
    output_scale: float = 1.0,
) -> np.ndarray:
    """The step in the plain twin's arithmetic."""
    layouts = layouts_of(packing, missing)
    clip = clip_of(packing, layouts, threshold, arithmetic)
    codec = Codec(packing, layouts, arithmetic.fraction_bits)
    parameters = codec.decode(codec.encode(theta))
    rows = np.arange(len(values[0])) if batch is None else batch
    arrays: list[np.ndarray] = []
    start = 0
    for number, layout in enumerate(layouts):
        mine = values[start : start + len(layout.blocks)]
        start += len(layout.blocks)
        part = LocalPart(layout, mine, clip, holds_weights=number == 0, normalise=normalise, holders=len(layouts))
        prepared = part.prepare(parameters, number, rows)
        zero = np.zeros(packing.shape) if noise is None else noise[number]
        arrays += [prepared.densities, prepared.squared_norms, prepared.statistics, zero]
    arrays.append(parameters.weights)
    for jacobian, mean in zip(parameters.jacobians, parameters.means, strict=True):
        if jacobian is not None and mean is not None:
            arrays += [jacobian, mean]
    twin = _compiled(tuple(options_of(layouts, clip, output_scale).items()), arithmetic)
    return np.asarray(twin(*arrays)[0])


@lru_cache
def _compiled(options: tuple[tuple[str, Any], ...], arithmetic: Arithmetic) -> Callable[..., tuple[jax.Array]]:
    function = partial(secure.gradient_step, **dict(options))
    return jax.jit(fixed_point(function, arithmetic.field_bits, arithmetic.fraction_bits))
