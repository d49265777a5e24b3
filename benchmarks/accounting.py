"""How fast and how tight epsilon is accounted for, and the paper's setting.

    python benchmarks/accounting.py [--quick]        without the fine grids (20 s)

Tightness: epsilon on the product's grid of losses over epsilon on a grid five times finer, for a few settings.
The last line is JSON: paper_add_remove_pld, paper_add_remove_rdp, paper_replace_one_pld, paper_replace_one_rdp,
paper_party_67_passes, paper_party_every_step, seconds_epsilon, seconds_calibration, looseness (largest, relative).
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from dataclasses import replace

from vertwin.privacy.accountant import LossDistributions, Renyi, our_loss_distribution
from vertwin.privacy.event import SecretSamplesEvent
from vertwin.privacy.mechanism import GradientReleases, meet_targets

DELTA = 1e-5
ROWS, BATCH, STEPS, SIGMA = 30_162, 100, 20_000, 2.042
PAPER = GradientReleases(
    clipping_threshold=1.0,
    sigma=SIGMA,
    rows=ROWS,
    batch=BATCH,
    steps=STEPS,
    sampling="epochs",
    holders=("first", "second"),
    dimension=2000,
    grid_bits=40,  # as fine as the paper's own arithmetic: rounding is not what is looked at here
)
SETTINGS = [(2.042, 100 / ROWS, 20_000), (1.0, 0.01, 1_000), (0.8, 0.01, 10_000), (4.0, 0.05, 5_000)]


def timed(function: Callable[[], float]) -> tuple[float, float]:
    start = time.perf_counter()
    return function(), time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="leave out the fine grids")
    arguments = parser.parse_args()
    tight, moments = LossDistributions(), Renyi()
    secret = {a: SecretSamplesEvent(SIGMA, BATCH / ROWS, STEPS, a) for a in ("add_remove", "replace_one")}
    every_step = replace(PAPER, sampling="none", batch=None)
    result: dict[str, float] = {
        "paper_add_remove_pld": tight.epsilon(secret["add_remove"], DELTA),
        "paper_add_remove_rdp": moments.epsilon(secret["add_remove"], DELTA),
        "paper_replace_one_pld": tight.epsilon(secret["replace_one"], DELTA),
        "paper_replace_one_rdp": moments.epsilon(secret["replace_one"], DELTA),
        "paper_party_67_passes": PAPER.epsilon(DELTA, {"first"}),
        "paper_party_every_step": every_step.epsilon(DELTA, {"first"}),
        "paper_party_known_poisson": tight.epsilon(replace(PAPER, sampling="poisson").event({"first"}), DELTA),
    }
    for name, value in result.items():
        print(f"{name:28} {value:12.4f}")

    slowest = 0.0
    for sigma, probability, steps in SETTINGS:
        event = SecretSamplesEvent(sigma, probability, steps)
        epsilon, seconds = timed(lambda event=event: tight.epsilon(event, DELTA))
        slowest = max(slowest, seconds)
        print(f"sigma {sigma:g}, q {probability:.4g}, T {steps:,}: epsilon {epsilon:.5f} in {seconds:.2f} s")
    result["seconds_epsilon"] = slowest

    slowest = 0.0
    for steps in (1_000, 20_000, 100_000):
        for target in (1.0, 10.0):
            wanted = replace(PAPER, sampling="poisson", steps=steps)
            start = time.perf_counter()
            planned = meet_targets(wanted, {frozenset(): target}, DELTA, tight)
            seconds = time.perf_counter() - start
            slowest = max(slowest, seconds)
            got = tight.epsilon(planned.event(), DELTA)
            print(f"T {steps:>7,}, target {target:4}: sigma {planned.sigma:.4f}, epsilon {got:.5f} in {seconds:.2f} s")
    result["seconds_calibration"] = slowest

    if not arguments.quick:
        loosest = 0.0
        for sigma, probability, steps in SETTINGS:
            event = SecretSamplesEvent(sigma, probability, steps)
            fine = our_loss_distribution(event, 2e-5).self_compose(steps).get_epsilon_for_delta(DELTA)
            loosest = max(loosest, tight.epsilon(event, DELTA) / fine - 1)
        result["looseness"] = loosest
        print(f"looser than a grid five times finer by at most {loosest:.1e}")
    print(json.dumps({name: float(f"{value:.6g}") for name, value in result.items()}))


if __name__ == "__main__":
    main()
