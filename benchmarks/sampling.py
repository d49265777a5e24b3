"""How fast synthetic rows are drawn and written: 13 columns of the Adult kind, into Parquet (or CSV).

    python benchmarks/sampling.py [--rows 4000000] [--components 200] [--learner dpvi] [--threads 2] [--to csv]

The last line is JSON: rows_per_second, seconds, peak_mb (of the whole process), columns, megabytes written.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from vertwin import agreement as agreements
from vertwin.agreement import Agreement
from vertwin.release import Content, Release, Twin, TwinColumn

# Sizes as in the Adult table; 24 bins for each of the numeric columns.
CATEGORIES = {
    "workclass": 7,
    "education": 16,
    "marital_status": 7,
    "occupation": 14,
    "relationship": 6,
    "race": 5,
    "native_country": 41,
}
NUMBERS = {
    "age": ("real", "[17.0, 91.0]"),
    "hours": ("count", "[1, 99]"),
    "capital_gain": ("count", "[0, 99999]"),
    "capital_loss": ("count", "[0, 4356]"),
}
BINARY = ("sex", "income")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rows", type=int, default=4_000_000)
    options.add_argument("--components", type=int, default=200, help="four restarts of 50 by default")
    options.add_argument("--learner", choices=("measure_once", "dpvi"), default="measure_once")
    options.add_argument("--threads", type=int, default=None)
    options.add_argument("--to", choices=("parquet", "csv"), default="parquet")
    chosen = options.parse_args()
    release = Release(content(chosen.components, chosen.learner == "dpvi"))
    release.sample(1000)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"twin.{chosen.to}"
        start = time.perf_counter()
        release.write_sample(path, chosen.rows, threads=chosen.threads)
        seconds = time.perf_counter() - start
        written = path.stat().st_size
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    figures = {
        "rows_per_second": round(chosen.rows / seconds),
        "seconds": round(seconds, 2),
        "peak_mb": round(peak / 1e6),
        "columns": len(release.columns),
        "rows": chosen.rows,
        "components": chosen.components,
        "learner": chosen.learner,
        "written_mb": round(written / 1e6),
        "to": chosen.to,
    }
    print(json.dumps(figures))


def agreement() -> Agreement:
    """Thirteen columns, split between two parties."""
    made: list[str] = []
    for name, size in CATEGORIES.items():
        labels = json.dumps([f"{name} {number}" for number in range(size)])
        made.append(f'name = "{name}"\ntype = "category"\ncategories = {labels}')
    for name, (kind, bounds) in NUMBERS.items():
        made.append(f'name = "{name}"\ntype = "{kind}"\nbounds = {bounds}\nbins = {{kind = "equal_width", count = 24}}')
    made += [f'name = "{name}"\ntype = "binary"\nvalues = ["no", "yes"]' for name in BINARY]
    columns = "\n".join(
        f'[[columns]]\nparty = "{("left", "right")[place % 2]}"\nsource = "made up"\n{text}'
        for place, text in enumerate(made)
    )
    head = 'format = 1\nname = "thirteen"\npurpose = "a benchmark"\ndata_set = "nobody"\n'
    parties = '[[parties]]\nname = "left"\n[[parties]]\nname = "right"\n[linkage]\nkind = "aligned"\n'
    learner = '[learner]\nkind = "measure_once"\n[privacy]\ndelta = 1e-6\n[privacy.epsilon]\nanalyst = 1.0\n'
    return agreements.parse(head + parties + columns + "\n" + learner)


def content(components: int, betas: bool) -> Content:
    """A fitted twin with made-up probabilities; with `betas`, age and hours are Beta columns as in the paper."""
    signed = agreement()
    generator = np.random.default_rng(1)
    columns: list[TwinColumn] = []
    for column in signed.columns:
        if betas and column.name in ("age", "hours"):
            columns.append(TwinColumn(column.name, "beta", generator.uniform(1, 20, (components, 2))))
        else:
            probabilities = generator.dirichlet(np.full(column.domain.size, 0.3), components)
            columns.append(TwinColumn(column.name, "categorical", probabilities))
    weights = generator.dirichlet(np.ones(components))
    return Content(signed, "dpvi" if betas else "measure_once", Twin(weights, tuple(columns)), "rehearsal: benchmark")


if __name__ == "__main__":
    main()
