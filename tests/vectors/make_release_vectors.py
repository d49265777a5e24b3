"""Writes this version's release vectors: small files that every later version must read, with the same content.

    python tests/vectors/make_release_vectors.py

A vector that exists is never written over: a new format, or a new kind of content, gets a new name.
`releases.json` holds what a reader must find in each.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from release.example import iterated, kept_promise, measured, signatures_of  # noqa: E402

from vertwin.release import Release, write_release  # noqa: E402

INDEX = HERE / "releases.json"


def main() -> None:
    index = json.loads(INDEX.read_text()) if INDEX.exists() else {}
    made = {
        "release_1_measure_once": Release(measured()),
        "release_1_dpvi": Release(iterated()),
        "release_1_signed": Release(kept_promise(), signatures_of(kept_promise())),
    }
    for name, release in made.items():
        path = HERE / f"{name}.vertwin"
        if path.exists():
            print(f"{path.name} exists and stays")
            continue
        write_release(path, release)
        index[name] = expected(release)
        print(f"{path.name}: {path.stat().st_size} bytes")
    INDEX.write_text(json.dumps(index, indent=1, sort_keys=True) + "\n")


def expected(release: Release) -> dict[str, object]:
    """What any reader must find, in plain JSON."""
    return {
        "digest": release.digest,
        "agreement": release.agreement.digest,
        "learner": release.content.learner,
        "watermark": release.watermark,
        "signed": {signature.party: signature.fingerprint for signature in release.signatures},
        "columns": [column.name for column in release.columns],
        "tables": [[list(table.columns), int(table.counts.sum()), table.variance] for table in release.tables],
        "viewers": [[promise.viewer, promise.epsilon, promise.delta] for promise in release.viewers],
        "age": release.marginal("age", "twin").counts.round(9).tolist(),
    }


if __name__ == "__main__":
    main()
