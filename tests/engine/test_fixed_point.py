"""The fixed-point twin against arithmetic written out by hand."""

from __future__ import annotations

from fractions import Fraction
from math import floor

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jax import lax
from jax.experimental import enable_x64

from vertwin.engine.fixed_point import fixed_point


def evaluate(function, *arrays, field_bits=64, fraction_bits=18):
    with enable_x64():
        return [np.asarray(out) for out in fixed_point(function, field_bits, fraction_bits)(*arrays)]


def on_grid(value: float, bits: int) -> Fraction:
    """How a float enters the ring: cut towards zero."""
    scaled = Fraction(value) * 2**bits
    return Fraction(int(scaled), 2**bits)


finite = st.floats(-1000, 1000, allow_nan=False)


@given(x=finite, y=finite)
@settings(deadline=None, max_examples=40)
def test_a_product_is_the_exact_product_cut_down_to_the_grid(x, y):
    (got,) = evaluate(lambda a, b: a * b, np.float64(x), np.float64(y))
    exact = on_grid(x, 18) * on_grid(y, 18)
    assert Fraction(float(got)) == Fraction(floor(exact * 2**18), 2**18)


def test_a_matrix_product_is_truncated_once_after_its_sum():
    small = np.full(1024, 2.0**-18)
    (got,) = evaluate(lambda a, b: a @ b, small, np.full(1024, 0.5))
    assert got == 1024 * 2.0**-19  # every single product would have been cut to nothing


def test_integers_wrap_as_the_ring_does():
    (got,) = evaluate(lambda a: a * a, np.array([70_000], np.int32), field_bits=32, fraction_bits=8)
    assert got[0] == np.int32(70_000 * 70_000 - 2**32)


def test_inverse_root_outside_its_range_is_zero_as_in_the_engine():
    (got,) = evaluate(lax.rsqrt, np.array([0.0, 2.0**-19, 4.0, 2.0**17, -1.0]))
    assert list(got) == [0.0, 0.0, 0.5, 0.0, 0.0]


def test_inputs_saturate_and_are_cut_towards_zero():
    (got,) = evaluate(lambda a: a, np.array([1e30, -1e30, 1.9 * 2.0**-18, -1.9 * 2.0**-18]))
    assert list(got) == [2.0**44, -(2.0**44), 2.0**-18, -(2.0**-18)]


def test_functions_called_inside_are_walked_through():
    (got,) = evaluate(lambda a: jnp.where(a > 0, a * a, -a), np.array([2.0**-10, -3.0]))
    assert list(got) == [0.0 if 2.0**-20 < 2.0**-18 else 1.0, 3.0]


def test_an_operation_without_a_twin_stops_and_names_itself():
    with pytest.raises(NotImplementedError, match="tanh"):
        evaluate(jnp.tanh, np.float64(0.5))


def test_sixteen_more_bits_would_be_noticed():
    """The twin is of this ring and no other: with other fraction bits the same product differs."""
    x = np.float64(0.1)
    assert evaluate(lambda a: a * a, x)[0] != evaluate(lambda a: a * a, x, field_bits=128, fraction_bits=40)[0]
