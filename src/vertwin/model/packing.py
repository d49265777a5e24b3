"""Which slice of theta is whose.

theta is a matrix with one row per component: first the logit of its weight, then the unconstrained parameters of
every column, holder after holder, each holder's columns in the agreement's order. Everything public that follows theta
(gradients, noise, posterior means and scales) has this shape.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from jax import Array

from vertwin.agreement import Agreement, Column
from vertwin.model.families import Family, family_of


@dataclass(frozen=True)
class Block:
    """One column's place in theta."""

    column: str
    holder: str
    family: Family
    start: int
    stop: int

    def of(self, theta: Array) -> Array:
        """psi, (K x U)."""
        return theta[..., self.start : self.stop]


@dataclass(frozen=True)
class Packing:
    """The layout of theta for one agreement: public, the same at every party."""

    components: int
    blocks: tuple[Block, ...]

    @property
    def width(self) -> int:
        """Columns of theta: the weight's logit and every parameter of one component."""
        return self.blocks[-1].stop if self.blocks else 1

    @property
    def shape(self) -> tuple[int, int]:
        return self.components, self.width

    @property
    def holders(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(block.holder for block in self.blocks))

    def of_holder(self, holder: str) -> tuple[Block, ...]:
        return tuple(block for block in self.blocks if block.holder == holder)

    def span(self, holder: str) -> slice:
        """The contiguous columns of theta that belong to one holder."""
        mine = self.of_holder(holder)
        return slice(mine[0].start, mine[-1].stop)

    def weight_logits(self, theta: Array) -> Array:
        return theta[..., 0]


def pack(components: int, columns: Sequence[tuple[str, Sequence[Column]]]) -> Packing:
    """The layout for holders and their columns, in order."""
    blocks: list[Block] = []
    position = 1
    for holder, held in columns:
        for column in held:
            family = family_of(column)
            blocks.append(Block(column.name, holder, family, position, position + family.parameters))
            position += family.parameters
    return Packing(components, tuple(blocks))


def packing_of(agreement: Agreement, components: int) -> Packing:
    """The layout for an agreement's holders."""
    return pack(components, [(party.name, agreement.columns_of(party.name)) for party in agreement.holders])
