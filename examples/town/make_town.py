"""Makes the tables of the embedded example: 20,000 people of a town, a clinic, an insurer, a known truth.

    python examples/town/make_town.py [--out FOLDER]

Everything is made up and public; the same command gives the same files. What is true of these people stands in the
docstring of vertwin.rehearsal.town. The agreements beside this script are written anew as well.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from vertwin.rehearsal.town_agreements import agreement_text
from vertwin.rehearsal.town_files import make, write

HERE = Path(__file__).resolve().parent


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Make the tables of the example town.")
    parser.add_argument("--out", type=Path, default=HERE / "data", help="folder to write into (default: %(default)s)")
    out: Path = parser.parse_args(arguments).out
    out.mkdir(parents=True, exist_ok=True)
    beside = HERE if out == HERE / "data" else out
    (beside / "agreement.toml").write_text(agreement_text("measure_once"), encoding="utf-8")
    (beside / "agreement_linked.toml").write_text(agreement_text("measure_once", linked=True), encoding="utf-8")
    (beside / "dpvi.toml").write_text(agreement_text("dpvi"), encoding="utf-8")
    for path in write(make().tables, out):
        print(path)


if __name__ == "__main__":
    main()
