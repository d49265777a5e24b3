"""The formal guarantees of the secure product, one test each."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jax.experimental import enable_x64

from vertwin.engine.fixed_point import fixed_point
from vertwin.learners.measure_once.secure import GRID, chosen_pair_tables, field_bits, pair_tables


def product(a, b, noise_a, noise_b, bits=32):
    with enable_x64():
        return np.asarray(fixed_point(pair_tables, bits, 8 if bits == 32 else 18)(a, b, noise_a, noise_b)[0])


def one_hot(codes, size, dtype):
    matrix = np.zeros((len(codes), size), dtype)
    present = np.asarray(codes) >= 0
    matrix[np.flatnonzero(present), np.asarray(codes)[present]] = 1
    return matrix


rows = st.lists(st.tuples(st.integers(-1, 3), st.integers(-1, 2)), min_size=1, max_size=30)


@given(rows, st.integers(0, 2**32 - 1), st.sampled_from([32, 64]))
@settings(deadline=None, max_examples=25)
def test_output_is_the_counts_on_the_grid_plus_both_noises(pairs, seed, bits):
    dtype = np.int32 if bits == 32 else np.int64
    noise = np.random.default_rng(seed).integers(-(2**20), 2**20, (2, 4, 3)).astype(dtype)
    got = product(one_hot([a for a, _ in pairs], 4, dtype), one_hot([b for _, b in pairs], 3, dtype), *noise, bits)
    for a in range(4):
        for b in range(3):
            assert got[a, b] == GRID * pairs.count((a, b)) + noise[0, a, b] + noise[1, a, b]


@given(rows, st.tuples(st.integers(-1, 3), st.integers(-1, 2)), st.data())
@settings(deadline=None, max_examples=25)
def test_replacing_a_person_moves_a_table_by_one_cell_down_and_one_up(pairs, other, data):
    place = data.draw(st.integers(0, len(pairs) - 1))
    changed = [*pairs[:place], other, *pairs[place + 1 :]]
    still = np.zeros((4, 3), np.int32)
    tables = [
        product(one_hot([a for a, _ in p], 4, np.int32), one_hot([b for _, b in p], 3, np.int32), still, still)
        for p in (pairs, changed)
    ]
    difference = tables[1] - tables[0]
    assert np.abs(difference).sum() <= 2 * GRID
    assert (difference**2).sum() <= 2 * GRID**2


@pytest.mark.parametrize(
    ("count", "sd", "bits"), [(30_162, 9_000, 32), (8_000_000, 9_000, 32), (8_400_000, 9_000, 64), (10**9, 1, 64)]
)
def test_the_ring_holds_every_noisy_count(count, sd, bits):
    assert field_bits(count, sd) == bits
    assert GRID * count + 20 * sd < 2 ** (bits - 1)


def test_a_ring_too_small_would_be_noticed():
    """What field_bits is for: past the bound the small ring wraps, silently, and the large one does not."""
    many = 2**23 + 5
    a = np.ones((1, 1), np.int64) * many  # stands for that many equal rows
    assert product(a.astype(np.int32), np.ones((1, 1), np.int32), *np.zeros((2, 1, 1), np.int32))[0, 0] != GRID * many
    assert product(a, np.ones((1, 1), np.int64), *np.zeros((2, 1, 1), np.int64), 64)[0, 0] == GRID * many


@given(rows, st.lists(st.lists(st.integers(0, 1), min_size=3, max_size=3), min_size=4, max_size=4))
@settings(deadline=None, max_examples=15)
def test_cells_that_are_not_chosen_show_their_noise_and_nothing_of_the_counts(pairs, chosen):
    mask = np.array(chosen, np.int32)
    a = one_hot([x for x, _ in pairs], 4, np.int32)
    b = one_hot([y for _, y in pairs], 3, np.int32)
    noise = np.arange(24, dtype=np.int32).reshape(2, 4, 3)
    with enable_x64():
        got = np.asarray(fixed_point(chosen_pair_tables, 32, 8)(a, b, *noise, mask)[0])
    np.testing.assert_array_equal(got[mask == 0], noise.sum(axis=0)[mask == 0])
    np.testing.assert_array_equal(got[mask == 1], product(a, b, *noise)[mask == 1])
