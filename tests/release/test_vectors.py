"""Old files are read for ever: every release that was ever committed as a vector opens, with the content it had."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from vertwin.release import open_release, verify, write_release

VECTORS = Path(__file__).resolve().parents[1] / "vectors"
INDEX = json.loads((VECTORS / "releases.json").read_text())
OLD = pytest.mark.parametrize("name", sorted(INDEX))


def test_there_are_vectors_and_each_is_listed() -> None:
    assert (
        {path.stem for path in VECTORS.glob("*.vertwin")}
        == set(INDEX)
        >= {"release_1_measure_once", "release_1_signed"}
    )


@OLD
def test_an_old_release_has_the_content_it_had(name: str) -> None:
    wanted, release = INDEX[name], open_release(VECTORS / f"{name}.vertwin")
    assert release.digest == wanted["digest"]
    assert release.agreement.digest == wanted["agreement"]
    assert release.content.learner == wanted["learner"]
    assert release.watermark == wanted["watermark"]
    assert {signature.party: signature.fingerprint for signature in release.signatures} == wanted.get("signed", {})
    assert [column.name for column in release.columns] == wanted["columns"]
    found = [[list(table.columns), int(table.counts.sum()), table.variance] for table in release.tables]
    assert found == wanted["tables"]
    assert [[p.viewer, p.epsilon, p.delta] for p in release.viewers] == wanted["viewers"]
    assert release.marginal("age", "twin").counts.tolist() == pytest.approx(wanted["age"], abs=1e-8)
    assert release.sample(100).num_rows == 100


@OLD
def test_format_1_is_written_as_it_was(name: str, tmp_path: Path) -> None:
    old = VECTORS / f"{name}.vertwin"
    copy = write_release(tmp_path / "copy.vertwin", open_release(old))
    assert copy.read_bytes() == old.read_bytes()


@pytest.mark.parametrize("name", sorted(name for name in INDEX if INDEX[name].get("signed")))
def test_an_old_signature_is_still_good(name: str) -> None:
    verified = verify(VECTORS / f"{name}.vertwin")
    assert {signer.party: signer.fingerprint for signer in verified.signers} == INDEX[name]["signed"]
