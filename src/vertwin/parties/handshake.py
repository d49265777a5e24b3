"""The handshake: before anything private is touched, the parties compare what must be equal, and name what is not.

SPU compares nothing: with another program or another fixed point two parties compute garbage and end with success.
The plan's digest is compared later (planning.compare), since it needs the number of linked people.
"""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from importlib import metadata

from vertwin.engine.link import Link
from vertwin.errors import Faults, user_error
from vertwin.version import VERSION

PROTOCOL = 1
_TOPIC = b"hello\0"
_LARGEST = 10_000

_CALLED = {
    "protocol": "version of the protocol between parties",
    "vertwin": "version of vertwin",
    "agreement": "digest of the agreement",
    "python": "version of Python",
    "spu": "version of SPU",
    "jax": "version of JAX",
    "numpy": "version of NumPy",
}


@dataclass(frozen=True)
class Hello:
    """What a party says of itself. All of it is public."""

    name: str
    fingerprint: str
    protocol: str
    vertwin: str
    agreement: str
    python: str
    spu: str
    jax: str
    numpy: str


def hello(name: str, fingerprint: str, agreement_digest: str) -> Hello:
    """This party's own word. Versions come from the installation: nothing is imported for them."""
    return Hello(
        name=name,
        fingerprint=fingerprint,
        protocol=str(PROTOCOL),
        vertwin=VERSION,
        agreement=agreement_digest,
        python=".".join(platform.python_version_tuple()[:2]),
        spu=_installed("spu"),
        jax=_installed("jax"),
        numpy=_installed("numpy"),
    )


def shake_hands(link: Link, mine: Hello, fingerprints: Mapping[str, str]) -> dict[str, Hello]:
    """Compare with every peer; all differences at once, at both sides. COST: one message to each peer, one round.

    `fingerprints` are the agreement's: who is at the other end was proved by the tunnel, this is about mistakes.
    """
    for peer in link.everyone:
        if peer != link.me:
            link.send(peer, _TOPIC + json.dumps(asdict(mine)).encode())
    said = {peer: _parse(link.receive(peer), peer) for peer in link.everyone if peer != link.me}
    faults = Faults()
    for peer, theirs in said.items():
        _compare(peer, mine, theirs, fingerprints[peer], faults)
    faults.raise_if_any()
    return said


def _compare(peer: str, mine: Hello, theirs: Hello, fingerprint: str, faults: Faults) -> None:
    if theirs.name != peer or theirs.fingerprint != fingerprint:
        faults.add("E442", f'the key of party "{peer}" is used by a run that calls itself "{_short(theirs.name)}"')
    for key, called in _CALLED.items():
        ours, other = getattr(mine, key), _short(getattr(theirs, key))
        if ours == other:
            continue
        if key == "agreement":
            faults.add(
                "E440",
                f'party "{peer}" runs another agreement: its digest is {other}, this party\'s {ours}',
                "run vertwin check at both parties; the one file that all have signed is the right one",
            )
        else:
            faults.add(
                "E410",
                f'party "{peer}" differs in the {called}: it has {other}, this party {ours}',
                "install the same version of vertwin with its pinned requirements at every party",
            )


def _parse(message: bytes, peer: str) -> Hello:
    try:
        if len(message) > _LARGEST or not message.startswith(_TOPIC):
            raise ValueError
        content = json.loads(message[len(_TOPIC) :])
        values = {field.name: content[field.name] for field in fields(Hello)}
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise user_error("E441", f'party "{peer}" sent a greeting that cannot be read') from error
    if not all(isinstance(value, str) for value in values.values()):
        raise user_error("E441", f'party "{peer}" sent a greeting that cannot be read')
    return Hello(**values)


def _short(text: str) -> str:
    """A peer's text on our screen: no control characters, no page of it."""
    return "".join(character for character in text[:80] if character.isprintable()) or "nothing"


def _installed(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "none"
