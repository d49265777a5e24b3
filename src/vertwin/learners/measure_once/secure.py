"""What `measure_once` computes under MPC: the counts of every pair of columns of two holders, noise inside, once."""

from __future__ import annotations

from typing import Any, Literal

GRID = 256  # noisy counts are integers in units of 1/256 of a count: so fine that discreteness costs nothing


def pair_tables(one_hot_a: Any, one_hot_b: Any, noise_a: Any, noise_b: Any) -> tuple[Any, ...]:
    """All pair tables of two holders as one matrix product of their one-hot columns, in units of 1/GRID of a count.

    Formal guarantees (each with a test in tests/learners/measure_once/test_secure.py):
    * the output is exactly GRID * one_hot_a' one_hot_b + noise_a + noise_b, as integers, so its noise is exactly the
      sum of what both holders drew, as long as the largest count times GRID plus 20 standard deviations of the noise
      fits the ring (`field_bits` chooses it so);
    * replacing one person moves every pair table by one cell down and one up, whatever the other tables hold.
    COST: one homomorphic product (Cheetah: about 51 MB and 2 s for 30,162 rows of 90 x 50 cells), no further round.
    A peer sees ciphertexts and shares; nothing is opened here.
    """
    return (GRID * (one_hot_a.T @ one_hot_b) + noise_a + noise_b,)


def chosen_pair_tables(one_hot_a: Any, one_hot_b: Any, noise_a: Any, noise_b: Any, chosen: Any) -> tuple[Any, ...]:
    """Some of the pair tables: `chosen` is public, 1 in the cells of those that are measured and 0 elsewhere.

    Formal guarantees, besides those of `pair_tables` in the chosen cells:
    * every other cell is the noise given for it and nothing of the counts, so a table that was not planned, and has no
      noise, shows nothing.
    """
    return (GRID * (one_hot_a.T @ one_hot_b) * chosen + noise_a + noise_b,)


def field_bits(rows: int, largest_sd: float) -> Literal[32, 64]:
    """The smallest ring that holds every noisy count: |GRID n + noise| < 2^31 up to 20 standard deviations."""
    return 32 if GRID * rows + 20 * largest_sd < 2**31 else 64
