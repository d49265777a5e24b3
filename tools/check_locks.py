"""Do the locks agree with pyproject.toml and with each other, and do they name no index? Run by `make check`."""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent
PIN = re.compile(r"^([A-Za-z0-9._-]+)==([^ ;\\]+)", re.MULTILINE)


def pins(lock: str) -> dict[str, set[str]]:
    """Package -> pinned versions (several where markers split it)."""
    found: dict[str, set[str]] = {}
    for name, version in PIN.findall((ROOT / "requirements" / lock).read_text()):
        found.setdefault(canonicalize_name(name), set()).add(version)
    return found


def unmet(wanted: list[str], lock: str) -> list[str]:
    have = pins(lock)
    faults: list[str] = []
    for text in wanted:
        requirement = Requirement(text)
        name = canonicalize_name(requirement.name)
        if name == "vertwin":
            continue
        if not any(requirement.specifier.contains(version, prereleases=True) for version in have.get(name, ())):
            faults.append(f"requirements/{lock} does not satisfy {text!r}: run make lock")
    return faults


def main() -> int:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    base = project["project"]["dependencies"]
    extras = project["project"]["optional-dependencies"]
    party = base + extras["report"] + extras["party"]
    faults = unmet(base, "base.txt") + unmet(party, "party.txt")
    faults += unmet(party + project["dependency-groups"]["dev"], "dev.txt")
    faults += unmet(project["build-system"]["requires"], "build.txt")
    dev = pins("dev.txt")
    for name, versions in pins("party.txt").items():
        if not versions <= dev.get(name, set()):
            faults.append(f"requirements/party.txt pins {name} {sorted(versions)}, dev.txt {sorted(dev.get(name, ()))}")
    for lock in ("base.txt", "party.txt", "dev.txt", "build.txt"):
        text = (ROOT / "requirements" / lock).read_text()
        if "://" in text or "index-url" in text or "find-links" in text:
            faults.append(f"requirements/{lock} names an address")
        if text.count("--hash=sha256:") < len(pins(lock)):
            faults.append(f"requirements/{lock} has a pin without a hash")
    print("\n".join(faults) if faults else "locks agree")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
