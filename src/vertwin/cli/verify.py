"""vertwin verify: does a release keep what it says? Signatures, every byte, and the epsilons from the noise."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from vertwin.cli import screen
from vertwin.release import Verified


def verify(
    release: Annotated[Path, typer.Argument(help="The release.")],
    agreement: Annotated[
        Path | None, typer.Option(help="The agreement that it should be under; another one is refused.")
    ] = None,
    rehearsal: Annotated[
        bool, typer.Option("--rehearsal", help="Check a watermarked release too, which nobody signed.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="The result as one JSON object.")] = False,
) -> None:
    """Check the signatures, digests, shapes and promises of a release. Any changed byte of the file is refused."""
    from vertwin import agreement as agreements
    from vertwin import release as releases

    terms = None if agreement is None else agreements.load(agreement)
    found = releases.verify(release, terms, rehearsal=rehearsal)
    if as_json:
        screen.say(json.dumps(_as_document(found), indent=1))
        return
    screen.viewers(found.release.statement)
    for sentence in found.checked:
        screen.say(f"checked: {sentence}")
    for sentence in found.not_checked:
        screen.say(f"not checked: {sentence}")
    for signer in found.signers:
        screen.say(f"signed: {signer.party}  {signer.fingerprint}")
    screen.say(f"agreement {found.release.agreement.digest}")
    screen.say(f"release {found.release.digest}")
    if found.signers:
        screen.note("Compare each fingerprint with the one that the party itself publishes: no file can prove that.")
    else:
        screen.note(f"NOT SIGNED, watermark: {found.release.watermark}")


def _as_document(found: Verified) -> dict[str, Any]:
    release = found.release
    return {
        "release": release.digest,
        "agreement": release.agreement.digest,
        "watermark": release.watermark,
        "signed": {signer.party: signer.fingerprint for signer in found.signers},
        "viewers": [
            {
                "viewer": promise.viewer,
                "epsilon": promise.epsilon,
                "delta": promise.delta,
                "adjacency": promise.adjacency,
                "assumptions": list(promise.assumptions),
            }
            for promise in release.viewers
        ],
        "checked": list(found.checked),
        "not_checked": list(found.not_checked),
    }
