"""The benchmarks behind the figures of the README: run each, keep its JSON line as a row of a small CSV.

    python benchmarks/verify.py [--only TEXT]        TEXT: part of a command, to run some of them

Rows go to benchmarks/results/NAME.csv, NAME the script's, with command and date; a row of the same command is replaced.
Some want the Adult data set (make adult FROM=...): without it they are left out, and it is said.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import shlex
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results"
UTILITY = "utility.py --data adult --learner"
COMMANDS = (
    "sampling.py",
    "secure_step.py",
    "noise.py",
    "accounting.py",
    f"{UTILITY} measure_once --epsilon 1 --adjacency add_remove --seeds 5",
    f"{UTILITY} measure_once --epsilon 1 --adjacency add_remove --seeds 5 --stages 2",
    f"{UTILITY} measure_once --epsilon 1 --adjacency replace_one --seeds 5",
    f"{UTILITY} measure_once --epsilon 0.5 --adjacency add_remove --seeds 3",
    f"{UTILITY} measure_once --epsilon 3 --adjacency add_remove --seeds 3",
    f"{UTILITY} dpvi --epsilon 1 --adjacency add_remove --seeds 10",
    "partitioned.py --setting best --seeds 3",
    "partitioned.py --setting paper --seeds 2",
    "partitioned.py --setting clear",
)


def run(command: str) -> dict[str, object]:
    """The command's last line, parsed. Its other lines are shown as they come."""
    words = shlex.split(command)
    process = subprocess.Popen(
        [sys.executable, str(HERE / words[0]), *words[1:]], stdout=subprocess.PIPE, text=True, cwd=HERE.parent
    )
    assert process.stdout is not None
    last = ""
    for line in process.stdout:
        print(line, end="", flush=True)
        last = line if line.strip() else last
    if process.wait():
        raise SystemExit(f"verify: {command} ended with status {process.returncode}")
    return json.loads(last)


def keep(command: str, found: dict[str, object]) -> None:
    path = RESULTS / f"{shlex.split(command)[0].removesuffix('.py')}.csv"
    rows: list[dict[str, object]] = []
    if path.exists():
        with path.open(newline="") as file:
            rows = [dict(row) for row in csv.DictReader(file) if row["command"] != f"python benchmarks/{command}"]
    flat = {k: json.dumps(v) if isinstance(v, dict | list) else v for k, v in found.items()}
    rows.append({"command": f"python benchmarks/{command}", "date": datetime.now(UTC).date().isoformat(), **flat})
    columns = list(dict.fromkeys(name for row in rows for name in row))
    RESULTS.mkdir(exist_ok=True)
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def has_adult() -> bool:
    folders = [os.environ.get("VERTWIN_ADULT", ""), str(HERE.parent / "data" / "adult")]
    return any(folder and (Path(folder) / "train.csv").exists() for folder in folders)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="")
    only = parser.parse_args().only
    for command in COMMANDS:
        if only not in command:
            continue
        if ("adult" in command or "partitioned" in command) and not has_adult():
            print(f"left out, the Adult data set is not here (make adult FROM=...): {command}")
            continue
        print(f"$ python benchmarks/{command}", flush=True)
        keep(command, run(command))


if __name__ == "__main__":
    main()
