"""How fast exact noise is drawn: samples a second on one core, from the operating system's entropy.

    python benchmarks/noise.py [--samples 2000000]

The last line is JSON: samples_per_second by the standard deviation (in grid units), and the least of them.
"""

from __future__ import annotations

import argparse
import json
import time

from vertwin.noise import DiscreteGaussian, SystemEntropy

SCALES = (2**10, 2**20, 2**40)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--samples", type=int, default=2_000_000, help="drawn at each scale")
    samples = parser.parse_args().samples
    entropy = SystemEntropy()
    rates: dict[str, int] = {}
    for scale in SCALES:
        law = DiscreteGaussian(scale**2)
        law.sample(1_000, entropy)  # the table of this scale
        start = time.perf_counter()
        law.sample(samples, entropy)
        rates[str(scale)] = round(samples / (time.perf_counter() - start))
        print(f"sd 2^{scale.bit_length() - 1}: {rates[str(scale)]:,} samples a second")
    print(json.dumps({"samples_per_second": rates, "least": min(rates.values())}))


if __name__ == "__main__":
    main()
