"""One table of (function, protocol, shape): the secure engine against its plain twin.

Integers are bit-equal. Fixed point agrees within the slack stated in the row, in units of the last bit, or relative
for an inverse root, whose error is that of SPU's polynomial (8e-5 at 40 bits, 6e-4 at 18).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from vertwin.engine import Input, Program, Settings
from vertwin.engine.plain import PlainHub
from vertwin.learners.dpvi.secure import ARITHMETIC, NAME, HardClip

RNG = np.random.default_rng(20)


@dataclass(frozen=True)
class Row:
    name: str
    protocol: str
    field_bits: int
    fraction_bits: int
    function: str
    arrays: tuple[np.ndarray, ...]
    owners: tuple[str | None, ...]
    ulps: float = 0.0
    relative: float = 0.0
    options: tuple[tuple[str, object], ...] = ()


def one_hot(rows: int, cells: int, dtype: str) -> np.ndarray:
    return np.eye(cells, dtype=dtype)[RNG.integers(0, cells, rows)]


def counts(shape: tuple[int, int], dtype: str) -> np.ndarray:
    return RNG.integers(-(10**5), 10**5, shape).astype(dtype)


def pair(rows: int, a: int, b: int, dtype: str) -> tuple[np.ndarray, ...]:
    return one_hot(rows, a, dtype), one_hot(rows, b, dtype), counts((a, b), dtype), counts((a, b), dtype)


TWO = ("clinic", "insurer", "clinic", "insurer")
PRODUCT, SUMS, ROOTS = (f"secure_functions:{f}" for f in ("pair_product", "arithmetic", "inverse_roots"))
PAIR_TABLES = "vertwin.learners.measure_once.secure:pair_tables"
REALS = (RNG.normal(size=(30, 8)) * 4, RNG.normal(size=(30, 8)))
SPREAD = np.exp2(RNG.uniform(-9, 13, 400))


def gradient_row(protocol: str, field_bits: int, fraction_bits: int, slack: float) -> Row:
    """The secure gradient step of dpvi: 40 records, 6 components, 9 + 7 columns, noise of both holders inside.

    `slack`, in the units of the noisy sum: 40 bounded records, each off by rsqrt's own relative error.
    """
    rows, components, columns = 40, 6, (9, 7)
    clip = HardClip(ARITHMETIC[field_bits, fraction_bits], 2.0, components, 1 + sum(columns), 12.0)
    arrays: list[np.ndarray] = []
    owners: list[str | None] = []
    for holder, width in zip(("clinic", "insurer"), columns, strict=True):
        noise = RNG.integers(-(2**17), 2**17, (components, 1 + sum(columns))) * 2.0**-fraction_bits
        densities, norms = RNG.random((rows, components)), 6 * RNG.random((rows, components))
        densities[:3] = 0.0  # rows of padding
        arrays += [densities, norms, np.eye(width)[RNG.integers(0, width, rows)], noise]
        owners += [holder] * 4
    arrays.append(np.full(components, 1 / components))
    for width in columns:
        arrays += [RNG.random((components, width)), RNG.random((components, width))]
    owners += [None] * 5
    options = (
        ("holders", 2),
        ("dense", (0, 0)),
        ("centre", (0,) * sum(columns)),
        ("inverse_square", clip.inverse_square),
        ("slack", clip.slack),
        ("output_scale", 1.0),
    )
    ulps = slack * 2.0**fraction_bits
    return Row("gradient", protocol, field_bits, fraction_bits, NAME, tuple(arrays), tuple(owners), ulps, 0.0, options)


TABLE = [
    gradient_row("aby3", 128, 40, 2e-4),
    gradient_row("aby3", 64, 18, 8e-3),
    gradient_row("cheetah", 64, 18, 8e-3),
    Row("product", "cheetah", 32, 8, PRODUCT, pair(3000, 17, 9, "int32"), TWO),
    Row("pair tables", "cheetah", 32, 8, PAIR_TABLES, pair(2000, 24, 31, "int32"), TWO),
    Row("pair tables", "cheetah", 64, 18, PAIR_TABLES, pair(2000, 24, 31, "int64"), TWO),
    Row("pair tables", "aby3", 64, 18, PAIR_TABLES, pair(2000, 24, 31, "int64"), TWO),
    Row("arithmetic", "cheetah", 64, 18, SUMS, REALS, ("clinic", "insurer"), ulps=20),
    Row("arithmetic", "aby3", 64, 18, SUMS, REALS, ("clinic", "insurer"), ulps=20),
    Row("arithmetic", "aby3", 128, 40, SUMS, REALS, ("clinic", "insurer"), ulps=20),
    Row("public input", "aby3", 128, 40, SUMS, REALS, ("clinic", None), ulps=20),
    Row("inverse roots", "cheetah", 64, 18, ROOTS, (SPREAD,), ("insurer",), ulps=2, relative=1e-3),
    Row("inverse roots", "aby3", 64, 18, ROOTS, (SPREAD,), ("insurer",), ulps=2, relative=1e-3),
    Row("inverse roots", "aby3", 128, 40, ROOTS, (SPREAD,), ("insurer",), ulps=2, relative=1e-4),
]


@pytest.mark.parametrize("row", TABLE, ids=lambda r: f"{r.name}-{r.protocol}-{r.field_bits}")
def test_secure_is_plain_within_the_stated_slack(row: Row, request: pytest.FixtureRequest):
    parties = request.getfixturevalue(row.protocol)
    names = [f"x{i}" for i in range(len(row.arrays))]
    program = Program(
        row.function,
        tuple(
            Input(name, owner, array.shape, str(array.dtype))
            for name, owner, array in zip(names, row.owners, row.arrays, strict=True)
        ),
        Settings(row.protocol, row.field_bits, row.fraction_bits, parties.nodes),
        row.options,
    )
    inputs = dict(zip(names, row.arrays, strict=True))
    secure = parties.run(program, inputs)[parties.nodes[0]]
    plain = PlainHub()._compute(program, inputs)
    assert len(secure) == len(plain)
    for got, want in zip(secure, plain, strict=True):
        if want.dtype.kind == "i":
            np.testing.assert_array_equal(got, want)
        else:
            slack = row.ulps * 2.0**-row.fraction_bits + row.relative * np.abs(want)
            assert np.all(np.abs(got - want) <= slack), float(np.max(np.abs(got - want) / slack))


def test_opened_only_at_those_named(cheetah):
    arrays = pair(500, 5, 7, "int32")
    names = ("a", "b", "na", "nb")
    program = Program(
        PRODUCT,
        tuple(Input(n, o, x.shape, "int32") for n, o, x in zip(names, TWO, arrays, strict=True)),
        Settings("cheetah", 32, 8, cheetah.nodes),
    )
    opened = cheetah.run(program, dict(zip(names, arrays, strict=True)), to=("insurer",))
    assert opened["clinic"] is None
    np.testing.assert_array_equal(opened["insurer"][0], 256 * (arrays[0].T @ arrays[1]) + arrays[2] + arrays[3])
