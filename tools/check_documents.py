"""Do the paths and make targets that the documents name exist, and is docs/errors.md what errors.py says?

`python tools/check_documents.py --write` writes docs/errors.md anew.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from vertwin.errors import CODES, ENVIRONMENT

ROOT = Path(__file__).resolve().parent.parent
NAMED = re.compile(r"`((?:src|docs|tests|examples|benchmarks|tools|requirements)/[A-Za-z0-9_./-]*)`")
LINKED = re.compile(r"\]\((?!https?:|#)([^)#]+)(?:#[^)]*)?\)")
TARGET = re.compile(r"`make ([a-z]+)")


def error_page() -> str:
    lines = [
        "# Error codes",
        "",
        "Made from `src/vertwin/errors.py` by `tools/check_documents.py --write`. A command that fails prints one line",
        "for each fault, with its code and a hint, and ends with exit status 2 (the input) or 3 (the machine, the",
        "installation, a peer).",
        "",
        "| code | what it means | what to do | exit |",
        "|---|---|---|---|",
    ]
    for name, code in sorted(CODES.items()):
        lines.append(f"| {name} | {code.title} | {code.advice} | {3 if code.exit_status == ENVIRONMENT else 2} |")
    return "\n".join(lines) + "\n"


def missing_paths() -> list[str]:
    faults: list[str] = []
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    pages = [
        *ROOT.glob("*.md"),
        *ROOT.glob("docs/**/*.md"),
        *ROOT.glob("examples/**/*.md"),
        *ROOT.glob("benchmarks/**/*.md"),
    ]
    for page in pages:
        text = page.read_text()
        where = page.relative_to(ROOT)
        faults += [f"{where} names {p}, which is not there" for p in NAMED.findall(text) if not (ROOT / p).exists()]
        faults += [
            f"{where} links to {p}, which is not there" for p in LINKED.findall(text) if not (page.parent / p).exists()
        ]
        faults += [f"{where} names make {t}, which is no target" for t in TARGET.findall(text) if t not in targets]
    return faults


def main() -> int:
    page = ROOT / "docs" / "errors.md"
    if "--write" in sys.argv:
        page.write_text(error_page())
    faults = missing_paths()
    if not page.exists() or page.read_text() != error_page():
        faults.append("docs/errors.md is not what errors.py says: run python tools/check_documents.py --write")
    print("\n".join(faults) if faults else "documents agree")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
