"""A JAX function evaluated in the clear with the fixed-point rounding of the secure engine: the twin of every test.

The function is traced once; its jaxpr is then evaluated operation by operation, every float value being a multiple of
2^-fraction_bits held in float64. What SPU does exactly is done exactly (additions, comparisons, selections,
integers modulo 2^field_bits); where SPU truncates, this floors; where SPU approximates (rsqrt, reciprocal, exp) this
floors the true value, so a secure result lies within the slack that the caller states. Values of more than 53 bits
(a large sum at 40 fraction bits) lose their last bits here and not in the ring.

An operation that is not in the table stops with an error: a silent fallback to float would make a twin that lies.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.core import ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var


def fixed_point(function: Callable[..., Any], field_bits: int, fraction_bits: int) -> Callable[..., tuple[Any, ...]]:
    """`function` with every float kept on the grid 2^-fraction_bits. Call it with x64 enabled; it can be jitted."""

    def twin(*arrays: Any) -> tuple[Any, ...]:
        closed = jax.make_jaxpr(function)(*arrays)
        grid = _Grid(field_bits, fraction_bits)
        values = [grid.encode(jnp.asarray(array)) for array in arrays]
        constants = [grid.encode(jnp.asarray(constant)) for constant in closed.consts]
        return tuple(grid.evaluate(closed.jaxpr, constants, values))

    return twin


class _Grid:
    """The arithmetic of one ring: what each primitive does to values on the grid."""

    def __init__(self, field_bits: int, fraction_bits: int) -> None:
        self.scale = 2.0**fraction_bits
        self.saturation = 2.0 ** (field_bits - 2 - fraction_bits)
        # Outside [low, high) SPU's rsqrt and reciprocal give 0, without a word (facts of our contract tests).
        self.low, self.high = 2.0**-fraction_bits, 2.0 ** (fraction_bits - 1)

    def encode(self, value: Any) -> Any:
        """How a float enters the ring: cut towards zero, saturating; integers and booleans stay as they are."""
        if not jnp.issubdtype(value.dtype, jnp.floating):
            return value
        wide = jnp.clip(value.astype(jnp.float64), -self.saturation, self.saturation)
        return jnp.trunc(wide * self.scale) / self.scale

    def floor(self, value: Any) -> Any:
        if not jnp.issubdtype(value.dtype, jnp.floating):
            return value
        return jnp.floor(value * self.scale) / self.scale

    def evaluate(self, jaxpr: Jaxpr, constants: Sequence[Any], arguments: Sequence[Any]) -> list[Any]:
        known: dict[Var, Any] = {}

        def read(atom: Any) -> Any:
            return self.encode(jnp.asarray(atom.val)) if isinstance(atom, Literal) else known[atom]

        known.update(zip(jaxpr.constvars, constants, strict=True))
        known.update(zip(jaxpr.invars, arguments, strict=True))
        for equation in jaxpr.eqns:
            outputs = self._apply(equation, [read(atom) for atom in equation.invars])
            known.update(zip(equation.outvars, outputs, strict=True))
        return [read(atom) for atom in jaxpr.outvars]

    def _apply(self, equation: JaxprEqn, values: list[Any]) -> list[Any]:
        name = equation.primitive.name
        inner = equation.params.get("jaxpr") or equation.params.get("call_jaxpr")
        if name in ("pjit", "custom_jvp_call", "custom_vjp_call", "closed_call"):
            assert isinstance(inner, ClosedJaxpr)
            return self.evaluate(inner.jaxpr, [self.encode(jnp.asarray(c)) for c in inner.consts], values)
        if name in _EXACT:
            return _as_list(equation.primitive.bind(*values, **equation.params))
        if name in _FLOORED:
            return [self.floor(out) for out in _as_list(equation.primitive.bind(*values, **equation.params))]
        special = {
            "rsqrt": self._rsqrt,
            "div": self._divide,
            "integer_pow": partial(self._power, exponent=equation.params.get("y", 1)),
            "convert_element_type": partial(self._convert, dtype=equation.params.get("new_dtype")),
        }.get(name)
        if special is None:
            raise NotImplementedError(f"no fixed-point twin of the operation {name}: add one, with its rounding")
        return [special(*values)]

    def _rsqrt(self, value: Any) -> Any:
        inside = (value >= self.low) & (value < self.high)
        safe = value * inside + (1.0 - inside)  # a plain number where the root is not asked for
        return jnp.where(inside, self.floor(lax.rsqrt(safe)), 0.0)

    def _divide(self, numerator: Any, denominator: Any) -> Any:
        if not jnp.issubdtype(numerator.dtype, jnp.floating):
            return lax.div(numerator, denominator)
        size = jnp.abs(denominator)
        inside = (size >= self.low) & (size < self.high)
        return jnp.where(inside, self.floor(numerator / jnp.where(inside, denominator, 1.0)), 0.0)

    def _power(self, value: Any, exponent: int) -> Any:
        assert exponent >= 1, "write a division as a division"
        result = value
        for _ in range(exponent - 1):
            result = self.floor(result * value)
        return result

    def _convert(self, value: Any, dtype: Any) -> Any:
        if jnp.issubdtype(value.dtype, jnp.floating) and not jnp.issubdtype(dtype, jnp.floating):
            return jnp.floor(value).astype(dtype)  # an arithmetic shift of the ring element
        # float32 and float64 are one and the same fixed point inside the engine
        return value.astype(jnp.float64 if jnp.issubdtype(dtype, jnp.floating) else dtype)


_EXACT = frozenset(
    "add sub neg max min gt ge lt le eq ne and or not select_n reduce_sum reduce_max reduce_min broadcast_in_dim "
    "reshape transpose squeeze expand_dims concatenate slice dynamic_slice pad iota stop_gradient copy rev abs sign "
    "add_any clamp cumsum gather".split()
)
_FLOORED = frozenset("mul dot_general exp log sqrt square logistic".split())


def _as_list(outputs: Any) -> list[Any]:
    return list(outputs) if isinstance(outputs, list | tuple) else [outputs]
