"""Makes the tables of three organisations about the same 4,000 people: a clinic, an insurer, a register.

    python examples/three/make_three.py [--out FOLDER]

The people are drawn by the same law as the town's (vertwin.rehearsal.town); the tables are aligned, row by row.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from vertwin.rehearsal.town_files import make_three, write

HERE = Path(__file__).resolve().parent


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Make the tables of the three organisations.")
    parser.add_argument("--out", type=Path, default=HERE / "data", help="folder to write into (default: %(default)s)")
    for path in write(make_three(), parser.parse_args(arguments).out):
        print(path)


if __name__ == "__main__":
    main()
