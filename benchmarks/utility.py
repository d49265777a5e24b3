"""How good a twin is on Adult, for one learner, one epsilon, one adjacency: the mean over several runs.

    python benchmarks/utility.py --data adult --learner measure_once --epsilon 1 --adjacency add_remove --seeds 5
                                 [--settings best|paper] [--stages 1|2] [--sigma S] [--delta 1e-5]

The plain engine computes, with noise of the scale that the secure run has, drawn as the product draws it: from the
operating system. So two runs differ as two releases would; only the synthetic rows are drawn with the run's number as
seed. The last line printed is one JSON object, with means over the runs; `sd` holds the standard deviations.

settings  best   measure_once: one stage, equal variances, the rest by the product's rules. dpvi: all columns
                 categorical, K = 20, full batch, 100 steps of size 0.2.
          paper  dpvi only: Beta for age and hours, K = 20, 20,000 steps of 100 records, clipping threshold 1, noise
                 2.042 (the paper's epsilon 1 by add/remove with Poisson batches; here the batches are those of
                 `epochs`, public and disjoint, so no epsilon is claimed), Adam with step size 0.001. Such batches
                 depend on the row count: --adjacency replace_one only.
stages    2      measure_once looks before it measures again.
"""

from __future__ import annotations

import argparse
import json
import math
import resource
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import adult
import metrics
import numpy as np

from vertwin.errors import UserError

if TYPE_CHECKING:
    import pyarrow as pa

    from vertwin.agreement import Agreement
    from vertwin.release import Release

EXAMPLES: Final = Path(__file__).resolve().parent.parent / "examples" / "adult"
TARGET: Final = "income"
PAPER_SIGMA: Final = 2.042
COMPONENTS: Final = 20
FULL_BATCH_STEPS: Final = 100
FULL_BATCH_STEP_SIZE: Final = 0.2
PAPER_STEPS: Final = 20_000
PAPER_BATCH: Final = 100
PAPER_STEP_SIZE: Final = 1e-3


@dataclass(frozen=True)
class Choice:
    """What is measured: the command line, as data."""

    learner: str
    epsilon: float
    adjacency: str
    delta: float = 1e-5
    settings: str = "best"
    stages: int = 1
    sigma: float | None = None


def agreement_for(choice: Choice) -> Agreement:
    """Adult's agreement as committed in examples/adult, with this choice's learner options and privacy."""
    from vertwin import agreement as agreements

    committed = agreements.load(EXAMPLES / f"{choice.learner}.toml")
    match choice.learner, choice.settings:
        case "measure_once", "best":
            return _measure_once(committed, choice)
        case "dpvi", "best":
            return _dpvi_full_batch(committed, choice)
        case "dpvi", "paper":
            return _dpvi_as_in_the_paper(committed, choice)
        case _:
            raise SystemExit(f"utility.py: the settings {choice.settings!r} are not ones of {choice.learner}")


def _measure_once(committed: Agreement, choice: Choice) -> Agreement:
    learner: Any = replace(committed.learner, variances="equal", stages=choice.stages)
    return replace(committed, learner=learner, privacy=_target(choice))


def _dpvi_full_batch(committed: Agreement, choice: Choice) -> Agreement:
    learner: Any = replace(
        committed.learner,
        components=COMPONENTS,
        steps=FULL_BATCH_STEPS,
        sampling="none",
        batch=None,
        step_size=FULL_BATCH_STEP_SIZE,
        decay="cosine",
    )
    columns = tuple(replace(column, family=None) for column in committed.columns)
    privacy = _noise(choice, choice.sigma) if choice.sigma else _target(choice)
    return replace(committed, learner=learner, columns=columns, privacy=privacy)


def _dpvi_as_in_the_paper(committed: Agreement, choice: Choice) -> Agreement:
    learner: Any = replace(
        committed.learner,
        components=COMPONENTS,
        steps=PAPER_STEPS,
        sampling="epochs",
        batch=PAPER_BATCH,
        step_size=PAPER_STEP_SIZE,
        decay="none",
    )
    return replace(committed, learner=learner, privacy=_noise(choice, choice.sigma or PAPER_SIGMA))


def _target(choice: Choice) -> Any:
    """The epsilon as a target for the analyst: the plan finds the noise, every slack of the arithmetic inside."""
    from vertwin.agreement import Privacy, Targets

    return Privacy(choice.delta, choice.adjacency, Targets({"analyst": choice.epsilon}))  # pyright: ignore[reportArgumentType]


def _noise(choice: Choice, sigma: float) -> Any:
    from vertwin.agreement import Privacy

    return Privacy(choice.delta, choice.adjacency, sigma=sigma)  # pyright: ignore[reportArgumentType]


def measure(choice: Choice, data: adult.Adult, run: int) -> dict[str, float | None]:
    """One run: rehearse, then everything that is measured of the release."""
    import vertwin
    from vertwin.agreement import refuse_unbuilt

    agreement = replace(agreement_for(choice), name=f"run-{run}")  # public randomness follows from the digest
    refuse_unbuilt(agreement)  # what a file could not ask for is not measured either
    tables = {
        party.name: data.train.select([column.name for column in agreement.columns_of(party.name)])
        for party in agreement.holders
    }
    started = time.perf_counter()
    release = vertwin.rehearse(agreement, tables)
    seconds = time.perf_counter() - started
    found: dict[str, float | None] = {"seconds": seconds, "peak_mb": _peak_mb(), "noise_sd": noise_sd(release)}
    return found | score(release, data.test, data.train.num_rows, run)


def score(release: Release, test: pa.Table, rows: int, seed: int, target: str = TARGET) -> dict[str, float | None]:
    """The quality of a release: its mixture on test records, and `rows` synthetic rows beside them."""
    agreement = release.agreement
    real = metrics.encode(agreement, test)
    synthetic = metrics.encode(agreement, release.sample(rows, seed=seed))
    return {
        "nll": metrics.negative_log_likelihood(agreement, release.content.twin, real),
        **metrics.distances(agreement, synthetic, real),
        **metrics.classifier_aucs(agreement, synthetic, real, target),
    }


def noise_sd(release: Release) -> float | None:
    """Of one cell of a table of two columns, in counts (root mean square over the tables); None for other learners."""
    variances = [table.variance for table in release.content.tables if len(table.columns) == 2]
    return math.sqrt(float(np.mean(variances))) if variances else None


def summary(choice: Choice, runs: list[Mapping[str, float | None]]) -> dict[str, Any]:
    """Means over the runs beside what was chosen; the largest peak of memory; sds apart."""
    means: dict[str, Any] = {}
    spreads: dict[str, float] = {}
    for name in runs[0]:
        values = [float(value) for run in runs if (value := run[name]) is not None]
        means[name] = round(max(values) if name == "peak_mb" else float(np.mean(values)), 5) if values else None
        if len(values) > 1 and name != "peak_mb":
            spreads[name] = round(float(np.std(values, ddof=1)), 5)
    chosen = {
        "learner": choice.learner,
        "settings": choice.settings,
        "stages": choice.stages,
        "epsilon": choice.epsilon if choice.settings == "best" and choice.sigma is None else None,
        "adjacency": choice.adjacency,
        "delta": choice.delta,
        "seeds": len(runs),
    }
    return chosen | means | {"sd": spreads}


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1024 if sys.platform != "darwin" else 1024**2)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="How good a twin is, on the Adult data.")
    parser.add_argument("--data", choices=["adult"], default="adult")
    parser.add_argument("--learner", choices=["measure_once", "dpvi"], default="measure_once")
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--adjacency", choices=["add_remove", "replace_one"], default="add_remove")
    parser.add_argument("--delta", type=float, default=1e-5)
    parser.add_argument("--seeds", type=int, default=1, help="how many runs")
    parser.add_argument("--settings", choices=["best", "paper"], default="best")
    parser.add_argument("--stages", type=int, choices=[1, 2], default=1)
    parser.add_argument("--sigma", type=float, default=None, help="dpvi: the noise itself, in place of an epsilon")
    given = parser.parse_args(arguments)
    choice = Choice(
        given.learner, given.epsilon, given.adjacency, given.delta, given.settings, given.stages, given.sigma
    )
    try:
        data = adult.load()
    except (adult.AdultNotFound, adult.AdultDamaged) as error:
        print(f"utility.py: {error}", file=sys.stderr)
        return 2
    runs: list[Mapping[str, float | None]] = []
    for run in range(given.seeds):
        try:
            runs.append(measure(choice, data, run))
        except UserError as error:
            print(f"utility.py: {error}", file=sys.stderr)
            return error.exit_status
        shown = " ".join(f"{name} {value:.4g}" for name, value in runs[-1].items() if value is not None)
        print(f"run {run + 1} of {given.seeds}, {choice.adjacency}: {shown}", flush=True)
    print(json.dumps(summary(choice, runs)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
