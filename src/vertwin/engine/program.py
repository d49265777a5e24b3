"""What is computed under MPC, as data: a function by its name, its public options, its inputs and who owns each.

Every party builds the same Program from public things only (agreement, plan, row count). Its digest is compared
before anything is shared: with two different programs SPU does not stop, it computes garbage (facts of our own
contract tests, tests/engine/test_spu_contract.py).
"""

from __future__ import annotations

import hashlib
import importlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

Protocol = Literal["cheetah", "aby3"]
FieldBits = Literal[32, 64, 128]
Option = int | float | str | tuple[int | float | str, ...]

DTYPES = ("int32", "int64", "float64")
NODES = {"cheetah": 2, "aby3": 3}


@dataclass(frozen=True)
class Settings:
    """Where and in which arithmetic a program runs. `nodes` are the computing parties, in an order all agree on."""

    protocol: Protocol
    field_bits: FieldBits
    fraction_bits: int
    nodes: tuple[str, ...]

    def __post_init__(self) -> None:
        # semi2k with its trusted first party lets one party open everything: it is not a choice here at all.
        assert self.protocol in NODES, f"no such protocol: {self.protocol}"
        assert self.field_bits in (32, 64, 128)
        assert len(self.nodes) == NODES[self.protocol], f"{self.protocol} computes between {NODES[self.protocol]}"
        assert len(set(self.nodes)) == len(self.nodes)
        assert 0 <= self.fraction_bits <= self.field_bits // 2 - 2
        assert not (self.field_bits == 32 and self.protocol != "cheetah"), "FM32 products of shared matrices crash SPU"


@dataclass(frozen=True)
class Input:
    """One array of a program. Its shape is public; its values are its owner's, or public where owner is None."""

    name: str
    owner: str | None
    shape: tuple[int, ...]
    dtype: Literal["int32", "int64", "float64"]

    def __post_init__(self) -> None:
        assert self.dtype in DTYPES


@dataclass(frozen=True)
class Program:
    """`function` is "package.module:name" of a JAX function; it is called with the arrays in the order of `inputs`."""

    function: str
    inputs: tuple[Input, ...]
    settings: Settings
    options: tuple[tuple[str, Option], ...] = ()

    def __post_init__(self) -> None:
        assert len({spec.name for spec in self.inputs}) == len(self.inputs)
        assert all(spec.owner is None or spec.owner in self.settings.nodes for spec in self.inputs)

    @property
    def digest(self) -> str:
        text = json.dumps(
            [
                self.function,
                [[s.name, s.owner, list(s.shape), s.dtype] for s in self.inputs],
                [self.settings.protocol, self.settings.field_bits, self.settings.fraction_bits, self.settings.nodes],
                [[name, repr(value)] for name, value in self.options],
            ],
            separators=(",", ":"),
        )
        return hashlib.sha256(text.encode()).hexdigest()

    def resolve(self) -> Callable[..., tuple[Any, ...]]:
        """The JAX function with its options bound. Only functions of this package can be named."""
        module_name, _, name = self.function.partition(":")
        assert module_name.split(".")[0] == "vertwin" or module_name.startswith("secure_functions"), self.function
        function = getattr(importlib.import_module(module_name), name)
        options = dict(self.options)

        def bound(*arrays: Any) -> tuple[Any, ...]:
            outputs = function(*arrays, **options)
            return outputs if isinstance(outputs, tuple) else (outputs,)

        bound.__name__ = name
        return bound


def largest_magnitude(settings: Settings) -> float:
    """Products of two secret numbers must stay below this; past it the ring wraps silently."""
    return 2.0 ** (settings.field_bits - 2 - 2 * settings.fraction_bits)


def check_input(spec: Input, values: np.ndarray, settings: Settings) -> np.ndarray:
    """The array as it goes in; our own bug if shape, kind or range is off: SPU would saturate or wrap in silence.

    NaN would silently become 0 and infinities saturate, so both are stopped here.
    """
    if spec.dtype != "float64":
        bounds = np.iinfo(spec.dtype)
        assert not values.size or (values.min() >= bounds.min and values.max() <= bounds.max), f"{spec.name} would wrap"
    array = np.ascontiguousarray(values, dtype=spec.dtype)
    assert array.shape == spec.shape, f"input {spec.name}: shape {array.shape}, the program wants {spec.shape}"
    if spec.dtype == "float64":
        assert bool(np.isfinite(array).all()), f"input {spec.name} holds a value that is not finite"
        limit = 2.0 ** (settings.field_bits - 2 - settings.fraction_bits)
        assert not array.size or float(np.abs(array).max()) < limit, f"input {spec.name} passes the encodable range"
    return array
