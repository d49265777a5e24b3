"""The public numbers of one step, as the aggregator sends them: integers, the same at every node.

What is broadcast is theta on the grid 2^-20 (or the engine's, where that is coarser), and everything that the secure
step uses of it in public: pi, J and grad A. A holder never recomputes these: two machines' floats may differ in the
last bit, and a public number that differs between nodes turns their shares into garbage.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from vertwin.errors import user_error
from vertwin.model import simplex
from vertwin.model.families import ExponentialFamily
from vertwin.model.packing import Block, Packing

GRID_BITS: Final = 20
LIMIT: Final = 1024.0  # of every broadcast number: far beyond any fitted parameter, and within 32 bits


class PublicParameters(NamedTuple):
    """theta, and what the step uses of it; per holder None where its path is dense."""

    theta: np.ndarray  # (K, width)
    weights: np.ndarray  # pi, (K,)
    jacobians: tuple[np.ndarray | None, ...]
    means: tuple[np.ndarray | None, ...]


@dataclass(frozen=True)
class Layout:
    """How one holder's columns enter the step: public."""

    holder: str
    blocks: tuple[Block, ...]
    can_be_missing: tuple[bool, ...]  # per block: a value may be missing and say nothing

    @property
    def relative(self) -> Layout:
        """The same without names, theta's columns counted from its own first one: what compiled code depends on."""
        first = self.blocks[0].start
        blocks = [Block("", "", block.family, block.start - first, block.stop - first) for block in self.blocks]
        return Layout("", tuple(blocks), self.can_be_missing)

    @property
    def dense(self) -> bool:
        """One family without statistics makes its holder share scores, B x K x U numbers."""
        return not all(isinstance(block.family, ExponentialFamily) for block in self.blocks)

    @property
    def parameters(self) -> int:
        """U: its columns of theta."""
        return sum(block.family.parameters for block in self.blocks)

    @property
    def score_squared(self) -> float:
        """w_max: the declared bounds of its families, and what rounding J, grad A and t to the grid may add."""
        return sum(block.family.score_squared_at_most for block in self.blocks) + 2.0**-8

    @property
    def exponential(self) -> tuple[ExponentialFamily, ...]:
        families = tuple(block.family for block in self.blocks)
        return tuple(family for family in families if isinstance(family, ExponentialFamily))

    @property
    def statistics(self) -> int:
        """D: the length of its statistic, presence columns apart."""
        return sum(family.statistics for family in self.exponential)

    @property
    def centre(self) -> tuple[int, ...]:
        """Per statistic: 0, or the presence column that it is centred by (secure.gradient_step's option)."""
        if self.dense:
            return ()
        bases: list[int] = []
        presence = 0
        for family, missing in zip(self.exponential, self.can_be_missing, strict=True):
            presence += missing
            bases += [presence if missing else 0] * family.statistics
        return tuple(bases)

    def shape(self, batch: int, components: int) -> tuple[int, ...]:
        """Of what it shares beside densities and norms."""
        if self.dense:
            return batch, components, self.parameters
        return batch, self.statistics + sum(self.can_be_missing)

    @property
    def diagonal(self) -> bool:
        """Whether J is one number per parameter in every family."""
        return all(_diagonal(family) for family in self.exponential)

    def jacobian_shape(self, components: int) -> tuple[int, ...]:
        return (components, self.parameters) if self.diagonal else (components, self.parameters, self.statistics)


def _diagonal(family: ExponentialFamily) -> bool:
    psi = jax.ShapeDtypeStruct((1, family.parameters), jnp.float64)
    return len(jax.eval_shape(family.linear_map, psi).jacobian.shape) == 2


class Codec:
    """theta -> the integers of a broadcast, at the aggregator; those -> PublicParameters, everywhere."""

    def __init__(self, packing: Packing, layouts: tuple[Layout, ...], fraction_bits: int) -> None:
        self._layouts = layouts
        self._relative = tuple(replace(layout.relative, can_be_missing=()) for layout in layouts)
        self._bits = min(GRID_BITS, fraction_bits)
        shapes: list[tuple[int, ...]] = [packing.shape, (packing.components,)]
        for layout in layouts:
            if not layout.dense:
                shapes += [layout.jacobian_shape(packing.components), (packing.components, layout.statistics)]
        self._shapes = shapes
        self._size = sum(int(np.prod(shape)) for shape in shapes)

    def encode(self, theta: np.ndarray) -> bytes:
        """Little-endian 32-bit integers. The step goes on from the theta that they say, not from the one given."""
        if not np.isfinite(theta).all():
            raise user_error("E757", "a parameter of the model is no longer a finite number", "lower learner.step_size")
        return (
            np.concatenate(
                [np.asarray(part).ravel() for part in _derive(theta, layouts=self._relative, bits=self._bits)]
            )
            .astype("<i4")
            .tobytes()
        )

    def decode(self, payload: bytes) -> PublicParameters:
        integers = np.frombuffer(payload, dtype="<i4")
        assert integers.size == self._size, "a broadcast of another model's size"
        values = integers * 2.0**-self._bits
        parts: list[np.ndarray] = []
        start = 0
        for shape in self._shapes:
            size = int(np.prod(shape))
            parts.append(values[start : start + size].reshape(shape))
            start += size
        theta, weights, *maps = parts
        pairs = iter(maps)
        public = [(None, None) if layout.dense else (next(pairs), next(pairs)) for layout in self._layouts]
        return PublicParameters(theta, weights, tuple(j for j, _ in public), tuple(m for _, m in public))


def digest(step: int, payload: bytes) -> bytes:
    """What the nodes compare at every step: public parameters, so a bare hash gives nothing away."""
    return hashlib.sha256(step.to_bytes(8, "big") + payload).digest()


@partial(jax.jit, static_argnames=("layouts", "bits"))
def _derive(theta: Array, *, layouts: tuple[Layout, ...], bits: int) -> list[Array]:
    """Integers on the grid: theta, pi, then J and grad A of every holder with statistics, from the *rounded* theta."""
    scale = 2.0**bits
    whole = jnp.round(jnp.clip(theta, -LIMIT, LIMIT) * scale)
    rounded = whole / scale
    integers = [whole, jnp.round(simplex.weights(rounded[:, 0]) * scale)]
    start = 1
    for layout in layouts:
        psi = rounded[:, start : start + layout.parameters]
        start += layout.parameters
        if layout.dense:
            continue
        pairs = zip(layout.exponential, layout.blocks, strict=True)
        maps = [family.bounded_linear_map(block.of(psi)) for family, block in pairs]
        # Towards zero for a diagonal J: a score is not lengthened by it.
        integers.append(jnp.trunc(_joined([map_.jacobian for map_ in maps], layout) * scale))
        means = jnp.concatenate([map_.mean for map_ in maps], axis=1)
        integers.append(jnp.round(jnp.clip(means, -LIMIT, LIMIT) * scale))
    return integers


def _joined(jacobians: list[Array], layout: Layout) -> Array:
    """All of a holder's J in one array: one row of factors, or one block-diagonal matrix per component."""
    if layout.diagonal:
        return jnp.concatenate(jacobians, axis=1)
    joined = jnp.zeros((jacobians[0].shape[0], layout.parameters, layout.statistics))
    row = column = 0
    for jacobian in jacobians:
        if jacobian.ndim == 2:
            jacobian = jax.vmap(jnp.diag)(jacobian)
        height, width = jacobian.shape[1:]
        joined = joined.at[:, row : row + height, column : column + width].set(jacobian)
        row, column = row + height, column + width
    return joined


def public_scales(packing: Packing, theta: Array) -> Array:
    """Per entry of theta: the factor by which the revealed sums are too small, to be divided out after the noise.

    A dense family's scores are bounded record by record, which nothing public can undo: its factor is 1.
    """
    columns = [jnp.ones((theta.shape[0], 1))]
    for block in packing.blocks:
        family = block.family
        ones = jnp.ones((theta.shape[0], family.parameters))
        if isinstance(family, ExponentialFamily):
            ones = ones * family.public_scale(block.of(theta))[:, None]
        columns.append(ones)
    return jnp.concatenate(columns, axis=1)
