"""A small release that is nobody's data: five columns of two parties, every type of column, noise that is made up."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations

import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from vertwin import agreement as agreements
from vertwin.agreement import Agreement
from vertwin.domains import Domain
from vertwin.privacy.pair_tables import plan_pair_tables
from vertwin.release import (
    GRID,
    Content,
    NoiseShare,
    NoisyTable,
    Promise,
    Revealed,
    Signature,
    Statement,
    Twin,
    TwinColumn,
    fingerprint_of,
    sign,
    signing_input,
)

WATERMARK = "rehearsal: plain, one process; noise from the operating system"
SOURCE = 'source = "made up"'

COLUMNS = f"""
[[columns]]
name = "smoker"
party = "clinic"
type = "binary"
values = ["no", "yes"]
missing = "category"
{SOURCE}

[[columns]]
name = "region"
party = "clinic"
type = "category"
categories = ["north", "south", "Åland"]
{SOURCE}

[[columns]]
name = "age"
party = "clinic"
type = "real"
bounds = [0.0, 120.0]
bins = {{kind = "equal_width", count = 6}}
{SOURCE}

[[columns]]
name = "grade"
party = "insurer"
type = "ordinal"
levels = ["low", "middle", "high"]
missing = "marginal"
{SOURCE}

[[columns]]
name = "hours"
party = "insurer"
type = "count"
bounds = [0, 99]
bins = {{kind = "edges", edges = [0, 20, 35, 50, 99], heaps = [40]}}
{SOURCE}
"""

HEAD = """
format = 1
name = "small"
purpose = "tests"
data_set = "nobody"

[[parties]]
name = "clinic"

[[parties]]
name = "insurer"

[linkage]
kind = "aligned"
"""

MEASURE_ONCE = """
[learner]
kind = "measure_once"
components = 3

[privacy]
delta = 1e-6

[privacy.epsilon]
analyst = 1.0
"""

DPVI = """
[learner]
kind = "dpvi"
components = 3
steps = 10

[privacy]
delta = 1e-6
sigma = 2.0
"""


def agreement(learner: str = MEASURE_ONCE) -> Agreement:
    columns = COLUMNS
    if learner is DPVI:
        columns = columns.replace('type = "real"\n', 'type = "real"\nfamily = "beta"\n')
        columns = columns.replace('type = "count"\n', 'type = "count"\nfamily = "beta"\n')
        columns = columns.replace(", heaps = [40]", "")
    return agreements.parse(HEAD + columns + learner)


def twin(signed: Agreement, components: int = 3, seed: int = 1, betas: bool = False) -> Twin:
    generator = np.random.default_rng(seed)

    def fitted(name: str, domain: Domain) -> TwinColumn:
        if betas and domain.kind in ("real", "count"):
            return TwinColumn(name, "beta", generator.uniform(0.8, 9.0, (components, 2)))
        return TwinColumn(name, "categorical", generator.dirichlet(np.ones(domain.size), components))

    return Twin(
        generator.dirichlet(np.full(components, 5.0)),
        tuple(fitted(column.name, column.domain) for column in signed.columns),
    )


def tables(signed: Agreement, seed: int = 2) -> tuple[NoisyTable, ...]:
    generator = np.random.default_rng(seed)
    made: list[NoisyTable] = []
    for size in (1, 2):
        for group in combinations(signed.columns, size):
            owners = tuple(dict.fromkeys(column.party for column in group))
            shape = tuple(column.domain.size for column in group)
            noise = tuple(NoiseShare(owner, Fraction(256**2 * 50, len(owners))) for owner in owners)
            counts = generator.integers(-(10**4), 10**6, shape)
            made.append(NoisyTable(tuple(column.name for column in group), owners, noise, counts))
    return tuple(made)


def statement() -> Statement:
    return Statement(
        "made up",
        (
            Promise("analyst", (), 1.0, 1e-6, "replace_one", ("nobody is in it",)),
            Promise("clinic", ("clinic",), 1.08, 1e-6, "replace_one"),
            Promise("insurer", ("insurer",), None, 1e-6, "replace_one", ("no promise",)),
        ),
    )


def measured() -> Content:
    signed = agreement()
    return Content(
        agreement=signed,
        learner="measure_once",
        twin=twin(signed),
        watermark=WATERMARK,
        statement=statement(),
        tables=tables(signed),
        rows_estimate=20_000.0,
        notes=("two restarts", "a note with ümlauts"),
    )


def iterated() -> Content:
    signed = agreement(DPVI)
    return Content(
        agreement=signed,
        learner="dpvi",
        twin=twin(signed, betas=True),
        watermark=WATERMARK,
        revealed=(
            Revealed("posterior_mean", np.linspace(-1, 1, 12).reshape(3, 4)),
            Revealed("noisy_gradient", np.arange(5, dtype=np.int64)),
        ),
    )


@dataclass(frozen=True)
class KnownIdentity:
    """An identity whose private key everybody knows: for tests and vectors only."""

    name: str

    @property
    def _key(self) -> Ed25519PrivateKey:
        return Ed25519PrivateKey.from_private_bytes(hashlib.sha256(f"known to all: {self.name}".encode()).digest())

    @property
    def public(self) -> bytes:
        return self._key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)

    def sign(self, domain: str, message: bytes) -> bytes:
        return self._key.sign(signing_input(domain, message))


def signed_agreement(learner: str = MEASURE_ONCE) -> Agreement:
    head = HEAD
    for name in ("clinic", "insurer"):
        key = fingerprint_of(KnownIdentity(name).public)
        head = head.replace(f'name = "{name}"\n', f'name = "{name}"\nkey = "{key}"\n')
    return agreements.parse(head + COLUMNS + learner)


def kept_promise(signed: Agreement | None = None) -> Content:
    """What a run leaves: no watermark, noise as planned, the statement that follows from it."""
    signed = signed_agreement() if signed is None else signed
    mechanism = plan_pair_tables(signed)
    made = tuple(
        replace(
            table,
            noise=tuple(
                NoiseShare(share.holder, share.variance * GRID**2) for share in mechanism.table(*table.columns).noise
            ),
        )
        for table in tables(signed)
    )
    delta = signed.privacy.delta
    promises = tuple(
        Promise(
            viewer,
            members,
            mechanism.epsilon(delta, members),
            delta,
            mechanism.adjacency_for(members),
            ("every party drew its noise",),
        )
        for viewer, members in (("analyst", ()), ("clinic", ("clinic",)), ("insurer", ("insurer",)))
    )
    return replace(
        measured(),
        agreement=signed,
        twin=twin(signed),
        watermark=None,
        tables=made,
        statement=Statement("closed form", promises),
    )


def signatures_of(content: Content) -> tuple[Signature, ...]:
    return tuple(sign(content, party.name, KnownIdentity(party.name)) for party in content.agreement.parties)
