"""Small packings with records of every family, missing values included: what the tests of the model run on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, final

import jax.numpy as jnp
import numpy as np
import numpyro.distributions as dist
from jax import Array

from vertwin.domains import Domain
from vertwin.model.families import ExponentialFamily, Family, LinearMap
from vertwin.model.families.bernoulli import Bernoulli
from vertwin.model.families.beta import Beta
from vertwin.model.families.categorical import Categorical
from vertwin.model.packing import Block, Packing


class _Wrapped(Family):
    """What the two families below have from the one inside them."""

    inside: Family
    score_squared_at_most: ClassVar[float] = 64.0

    @property
    def parameters(self) -> int:
        return self.inside.parameters

    @classmethod
    def of(cls, domain: Domain) -> None:
        return None

    def distribution(self, psi: Array) -> dist.Distribution:
        return self.inside.distribution(psi)

    def constrain(self, psi: Array) -> Array:
        return self.inside.constrain(psi)

    def unconstrain(self, parameters: Array) -> Array:
        return self.inside.unconstrain(parameters)

    def log_prior(self, psi: Array) -> Array:
        return self.inside.log_prior(psi)

    def released(self, psi: np.ndarray) -> np.ndarray:
        return self.inside.released(psi)

    def filled(self, x: Array) -> Array:
        return self.inside.filled(x)


@final
@dataclass(frozen=True)
class Opaque(_Wrapped):
    """A Beta whose statistics nobody knows of: the dense path."""

    inside: Family = Beta()  # noqa: RUF009 - frozen
    name: ClassVar[str] = "opaque"
    reads: ClassVar[str] = "natural"  # type: ignore[assignment]
    form: ClassVar[str] = "beta"  # type: ignore[assignment]


_TURN = np.array([[2.0, -1.0, 2.0], [2.0, 2.0, -1.0], [-1.0, 2.0, 2.0]]) / 3.0


@final
@dataclass(frozen=True)
class Turned(_Wrapped, ExponentialFamily):
    """A categorical of three codes with its logits turned: J is a matrix, not a row of factors."""

    inside: Family = Categorical(3)  # noqa: RUF009 - frozen
    name: ClassVar[str] = "turned"
    reads: ClassVar[str] = "codes"  # type: ignore[assignment]
    form: ClassVar[str] = "categorical"  # type: ignore[assignment]
    score_squared_at_most: ClassVar[float] = 2.0

    @property
    def statistics(self) -> int:
        return 3

    def distribution(self, psi: Array) -> dist.Distribution:
        return self.inside.distribution(psi @ jnp.asarray(_TURN))

    def constrain(self, psi: Array) -> Array:
        return self.inside.constrain(psi @ jnp.asarray(_TURN))

    def unconstrain(self, parameters: Array) -> Array:
        return self.inside.unconstrain(parameters) @ jnp.asarray(_TURN.T)

    def log_prior(self, psi: Array) -> Array:
        return self.inside.log_prior(psi @ jnp.asarray(_TURN))  # a rotation has no Jacobian

    def released(self, psi: np.ndarray) -> np.ndarray:
        return self.inside.released(psi @ _TURN)

    def statistic(self, x: Array) -> Array:
        return Categorical(3).statistic(x)

    def linear_map(self, psi: Array) -> LinearMap:
        turn = jnp.broadcast_to(jnp.asarray(_TURN), (psi.shape[0], 3, 3))
        return LinearMap(turn, self.constrain(psi))

    def score_squared_bound(self, psi: Array) -> Array:
        return Categorical(3).score_squared_bound(psi @ jnp.asarray(_TURN))


FAMILIES: tuple[Family, ...] = (Bernoulli(), Categorical(2), Categorical(5), Beta(), Opaque(), Turned())


def codes_of(family: Family) -> int:
    """How many codes a family reads."""
    inside = family.inside if isinstance(family, _Wrapped) else family
    return inside.size if isinstance(inside, Categorical) else 2


def layout(components: int, holders: dict[str, tuple[Family, ...]]) -> Packing:
    """A packing of families without an agreement around them."""
    blocks: list[Block] = []
    position = 1
    for holder, families in holders.items():
        for number, family in enumerate(families):
            blocks.append(Block(f"{holder}{number}", holder, family, position, position + family.parameters))
            position += family.parameters
    return Packing(components, tuple(blocks))


def records(family: Family, count: int, rng: np.random.Generator, missing: float = 0.2) -> np.ndarray:
    """Values of every kind that a column can hold, the ends of a Beta's interval and missing values included."""
    absent = rng.random(count) < missing
    if family.reads == "natural":
        values = np.where(rng.random(count) < 0.2, rng.choice([0.0, 1.0, 1e-3], count), rng.random(count))
        return np.where(absent, np.nan, values)
    codes = rng.integers(0, codes_of(family), count)
    return np.where(absent, -1, codes).astype(np.int32)


def mixed(components: int = 3) -> Packing:
    return layout(components, {"a": (Bernoulli(), Categorical(4)), "b": (Beta(), Categorical(3))})


def mixed_records(packing: Packing, count: int, rng: np.random.Generator, missing: float = 0.2) -> list[np.ndarray]:
    return [records(block.family, count, rng, missing) for block in packing.blocks]
