"""Small packings with records of every family, missing values included: what the tests of the model run on."""

from __future__ import annotations

import numpy as np

from vertwin.model.families import Family
from vertwin.model.families.bernoulli import Bernoulli
from vertwin.model.families.beta import Beta
from vertwin.model.families.categorical import Categorical
from vertwin.model.packing import Block, Packing

FAMILIES: tuple[Family, ...] = (Bernoulli(), Categorical(2), Categorical(5), Beta())


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
    codes = rng.integers(0, family.size if isinstance(family, Categorical) else 2, count)
    return np.where(absent, -1, codes).astype(np.int32)


def mixed(components: int = 3) -> Packing:
    return layout(components, {"a": (Bernoulli(), Categorical(4)), "b": (Beta(), Categorical(3))})


def mixed_records(packing: Packing, count: int, rng: np.random.Generator, missing: float = 0.2) -> list[np.ndarray]:
    return [records(block.family, count, rng, missing) for block in packing.blocks]
