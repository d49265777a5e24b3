"""Does the partitioned algorithm learn what the unpartitioned one learns? Test NLL of both on Adult, run by run.

    python benchmarks/partitioned.py --setting best|paper|clear [--seeds n]

best    all columns categorical, full batch, 100 steps, epsilon 1 by add_remove
paper   Beta for age and hours, 20,000 steps of 100 records in epochs, C = 1, sigma 2.042, replace_one
clear   best's model without noise and without a bound on a record, 200 steps: what the algorithm reaches by itself
        (unpartitioned only, since an agreement cannot ask for no noise)

The partitioned run is the product's plain engine with its fixed-point arithmetic and grids; the unpartitioned one is
automatic differentiation in floating point, sharing every public part. Noise is the operating system's in both. The
last line is one JSON object.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import replace
from typing import Any

import adult
import metrics
import numpy as np
import utility

import vertwin
from vertwin.agreement import Agreement
from vertwin.learners.dpvi import unpartitioned
from vertwin.learners.dpvi.mechanism import packing_for, plan_mechanism
from vertwin.learners.dpvi.trajectory import twin_of
from vertwin.noise import SystemEntropy

CHOICES = {
    "best": utility.Choice("dpvi", 1.0, "add_remove"),
    "paper": utility.Choice("dpvi", 1.0, "replace_one", settings="paper"),
}


def values_of(agreement: Agreement, table: Any) -> list[np.ndarray]:
    """One array per column in the packing's order: codes, or natural values where a density reads them."""
    domains = {column.name: column for column in agreement.columns}
    values = []
    for block in packing_for(agreement).blocks:
        domain, cells = domains[block.column].domain, table[block.column]
        values.append(domain.natural(cells) if block.family.reads == "natural" else domain.encode(cells).codes)
    return values


def unpartitioned_nll(agreement: Agreement, data: adult.Adult, noise: bool, threshold: float | None) -> float:
    mechanism = plan_mechanism(agreement, data.train.num_rows)
    if threshold is not None:
        mechanism = replace(mechanism, clipping_threshold=threshold)
    posterior = unpartitioned.fit(
        agreement, values_of(agreement, data.train), mechanism, SystemEntropy() if noise else None
    )
    twin = twin_of(packing_for(agreement), posterior.mean, tuple(c.name for c in agreement.columns))
    return metrics.negative_log_likelihood(agreement, twin, metrics.encode(agreement, data.test))


def partitioned_nll(agreement: Agreement, data: adult.Adult) -> float:
    tables = {p.name: data.train.select([c.name for c in agreement.columns_of(p.name)]) for p in agreement.holders}
    twin = vertwin.rehearse(agreement, tables).content.twin
    return metrics.negative_log_likelihood(agreement, twin, metrics.encode(agreement, data.test))


def clear(data: adult.Adult) -> dict[str, Any]:
    agreement = utility.agreement_for(CHOICES["best"])
    learner: Any = replace(agreement.learner, steps=200)
    agreement = replace(agreement, learner=learner)
    start = time.perf_counter()
    nll = unpartitioned_nll(agreement, data, noise=False, threshold=1e9)
    return {"setting": "clear", "unpartitioned_nll": nll, "seconds": time.perf_counter() - start}


def compared(setting: str, data: adult.Adult, seeds: int) -> dict[str, Any]:
    choice = CHOICES[setting]
    agreement = utility.agreement_for(choice)
    found: dict[str, list[float]] = {"partitioned_nll": [], "unpartitioned_nll": [], "seconds": [], "milliseconds": []}
    for run in range(seeds):
        named = replace(agreement, name=f"run-{run}")  # public randomness follows from the agreement's digest
        start = time.perf_counter()
        found["partitioned_nll"].append(partitioned_nll(named, data))
        between = time.perf_counter()
        found["unpartitioned_nll"].append(unpartitioned_nll(named, data, noise=True, threshold=None))
        found["seconds"].append(between - start)
        found["milliseconds"].append(1000 * (between - start) / agreement.learner.steps)  # type: ignore[union-attr]
        print(f"run {run + 1} of {seeds}: " + " ".join(f"{name} {v[-1]:.4f}" for name, v in found.items()), flush=True)
    means = {name: float(np.mean(values)) for name, values in found.items()}
    spread = {f"{name}_sd": float(np.std(found[name], ddof=1)) for name in ("partitioned_nll", "unpartitioned_nll")}
    about = {"setting": setting, "adjacency": choice.adjacency, "delta": choice.delta, "seeds": seeds}
    return about | means | (spread if seeds > 1 else {})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--setting", choices=["best", "paper", "clear"], default="best")
    parser.add_argument("--seeds", type=int, default=1)
    chosen = parser.parse_args()
    data = adult.load()
    found = clear(data) if chosen.setting == "clear" else compared(chosen.setting, data, chosen.seeds)
    print(json.dumps({name: round(v, 5) if isinstance(v, float) else v for name, v in found.items()}))


if __name__ == "__main__":
    main()
