"""The two secure computations at the sizes that the README quotes, through the product's own engine.

    python benchmarks/secure_step.py [--steps 20] [--rows 30162]

A product of 90 x 50 one-hot columns over 30,162 rows (Cheetah), and a gradient step of 100 records, 20 components and
60 + 60 columns (ABY3 and Cheetah): feeding inputs, computing, revealing and decoding are all inside the time. All
parties share this machine's cores. The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time

import numpy as np
from engines import Parties

from vertwin.engine import Input, Program, Settings
from vertwin.engine.plain import PlainHub
from vertwin.learners.dpvi.secure import ARITHMETIC, NAME, HardClip

BATCH, COMPONENTS, COLUMNS = 100, 20, 60
ARITHMETICS = {"aby3": (128, 40), "cheetah": (64, 18)}
NODES = {"aby3": ("demographics", "finances", "helper"), "cheetah": ("demographics", "finances")}


def product(rows: int) -> dict[str, float]:
    """Seconds of the first and of a later secure product."""
    rng = np.random.default_rng(1)
    one_hot = {
        "one_hot_a": np.eye(90, dtype=np.int32)[rng.integers(0, 90, rows)],
        "one_hot_b": np.eye(50, dtype=np.int32)[rng.integers(0, 50, rows)],
    }
    noise = {name: rng.integers(-9000, 9000, (90, 50)).astype(np.int32) for name in ("noise_a", "noise_b")}
    inputs = one_hot | noise
    nodes = NODES["cheetah"]
    program = Program(
        "vertwin.learners.measure_once.secure:pair_tables",
        tuple(Input(n, nodes[n.endswith("b")], array.shape, "int32") for n, array in inputs.items()),
        Settings("cheetah", 32, 8, nodes),
    )
    seconds = []
    with Parties(nodes) as parties:
        for _ in range(3):
            start = time.perf_counter()
            (revealed,) = parties.run(program, inputs)
            seconds.append(time.perf_counter() - start)
    exact = 256 * (one_hot["one_hot_a"].T @ one_hot["one_hot_b"]) + noise["noise_a"] + noise["noise_b"]
    assert np.array_equal(revealed, exact)
    return {"product_first_seconds": seconds[0], "product_seconds": min(seconds[1:])}


def gradient(protocol: str, steps: int) -> dict[str, float]:
    """Median milliseconds of a step fed with new inputs, and the largest difference from the plain twin."""
    field_bits, fraction_bits = ARITHMETICS[protocol]
    clip = HardClip(ARITHMETIC[field_bits, fraction_bits], 2.0, COMPONENTS, 1 + 2 * COLUMNS, 26.0)
    nodes = NODES[protocol]
    rng = np.random.default_rng(2)
    inputs: dict[str, np.ndarray] = {}
    specs: list[Input] = []

    def add(name: str, owner: str | None, values: np.ndarray) -> None:
        inputs[name] = values
        specs.append(Input(name, owner, values.shape, "float64"))

    width = 1 + 2 * COLUMNS
    for p, owner in enumerate(nodes[:2]):
        add(f"e{p}", owner, rng.random((BATCH, COMPONENTS)))
        add(f"w{p}", owner, 13 * rng.random((BATCH, COMPONENTS)))
        add(f"t{p}", owner, np.eye(COLUMNS)[rng.integers(0, COLUMNS, BATCH)])
        add(f"noise{p}", owner, np.round(rng.normal(size=(COMPONENTS, width)) * 2**10) / 2**10)
    add("pi", None, np.full(COMPONENTS, 1 / COMPONENTS))
    for p in range(2):
        add(f"jacobian{p}", None, np.ones((COMPONENTS, COLUMNS)))
        add(f"mean{p}", None, np.full((COMPONENTS, COLUMNS), 1 / COLUMNS))
    options = (
        ("holders", 2),
        ("dense", (0, 0)),
        ("centre", (0,) * (2 * COLUMNS)),
        ("inverse_square", clip.inverse_square),
        ("slack", clip.slack),
        ("output_scale", 1.0),
    )
    program = Program(NAME, tuple(specs), Settings(protocol, field_bits, fraction_bits, nodes), options)
    milliseconds = []
    with Parties(nodes) as parties:
        for _ in range(steps):
            start = time.perf_counter()
            (revealed,) = parties.run(program, inputs)
            milliseconds.append(1000 * (time.perf_counter() - start))
    (plain,) = PlainHub()._compute(program, inputs)
    return {
        f"{protocol}_first_ms": milliseconds[0],
        f"{protocol}_ms": statistics.median(milliseconds[1:]),
        f"{protocol}_max_error": float(np.abs(revealed - plain).max()),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--rows", type=int, default=30_162)
    chosen = parser.parse_args()
    found = product(chosen.rows) | gradient("aby3", chosen.steps) | gradient("cheetah", chosen.steps)
    print(json.dumps({name: float(f"{value:.4g}") for name, value in found.items()}))


if __name__ == "__main__":
    main()
