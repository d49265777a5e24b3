"""The terms of an agreement as frozen objects: what all parties sign, every default filled in.

Public facts only: what is promised and how it is computed, never where machines stand and nothing random that must
stay secret. The objects can be hashed, pickled, printed and sent. `Agreement.canonical()` is the same content as a
plain document, in the shape of the file; the digest that parties compare is taken over that.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, cast

from vertwin.agreement.canonical import Document, digest_of, without_nothing
from vertwin.agreement.declared import domain_document
from vertwin.agreement.protocols import ProtocolName
from vertwin.domains import Domain

FORMAT = 1
ANALYST = "analyst"  # the viewer who gets the release and is no party
PARTIES = "parties"  # in the table of targets: every holder, each by itself

Role = Literal["holder", "helper"]
Adjacency = Literal["replace_one", "add_remove"]
Family = Literal["bernoulli", "categorical", "beta"]


class Targets(Mapping[str, float]):
    """Epsilon by viewer as written in the agreement: a mapping that is frozen, hashable and can be pickled."""

    __slots__ = ("_pairs",)

    def __init__(self, targets: Mapping[str, float] | None = None) -> None:
        self._pairs: tuple[tuple[str, float], ...] = tuple(sorted((targets or {}).items()))

    def __getitem__(self, viewer: str) -> float:
        for name, epsilon in self._pairs:
            if name == viewer:
                return epsilon
        raise KeyError(viewer)

    def __iter__(self) -> Iterator[str]:
        return iter([name for name, _ in self._pairs])

    def __len__(self) -> int:
        return len(self._pairs)

    def __hash__(self) -> int:
        return hash(self._pairs)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Mapping):
            return dict(self._pairs) == dict(cast(Mapping[Any, Any], other))
        return NotImplemented

    def __repr__(self) -> str:
        return f"Targets({dict(self._pairs)!r})"


@dataclass(frozen=True)
class Party:
    """One who signs: a holder of columns, or a helper that computes and holds no data."""

    name: str
    key: str | None = None  # fingerprint of its identity key; `run` requires it
    rows_at_most: int | None = None
    role: Role = "holder"


@dataclass(frozen=True)
class Linkage:
    """How rows of different parties are known to be the same person."""

    kind: Literal["aligned", "exact", "fuzzy"]
    keys: tuple[str, ...] = ()  # exact: columns that every holder's table has; never released
    rows_per_person: int = 1  # the unit of privacy is a person
    fuzzy: str | None = None  # fuzzy: its options as canonical JSON, until they are built

    def canonical(self) -> Document:
        if self.kind == "exact":
            return {"keys": list(self.keys), "rows_per_person": self.rows_per_person}
        if self.kind == "fuzzy":
            return {"fuzzy": json.loads(self.fuzzy or "{}"), "rows_per_person": self.rows_per_person}
        return {"kind": "aligned", "rows_per_person": self.rows_per_person}


@dataclass(frozen=True)
class Column:
    """One column: who holds it, its declared domain and, for dpvi, the family that models it (None otherwise)."""

    name: str
    party: str
    domain: Domain
    family: Family | None = None

    def canonical(self) -> Document:
        document: Document = {"name": self.name, "party": self.party}
        return document | domain_document(self.domain) | {"family": self.family}


@dataclass(frozen=True)
class MeasureOnce:
    """Options of the learner that measures all pair tables in one release."""

    components: int | None = None  # None: chosen from the noisy tables by a public rule
    variances: Literal["best", "equal"] = "best"
    restarts: int = 8
    stages: Literal[1, 2] = 1
    noise: Literal["holders", "helper"] = "holders"
    kind: Literal["measure_once"] = "measure_once"

    def canonical(self) -> Document:
        return {"kind": self.kind} | vars(self)


@dataclass(frozen=True)
class Bound:
    """How one record's contribution to a revealed gradient is bounded."""

    kind: Literal["hard", "smooth", "statistics"] = "hard"
    clipping_threshold: float | None = 1.0  # C: L2 norm of a record's gradient; None for kind "statistics"
    gamma: float | None = None  # smooth: the norm is taken as sqrt(|g|^2 + gamma^2)


@dataclass(frozen=True)
class Dpvi:
    """Options of the paper's iterative learner. Options that mean nothing in this combination are None."""

    components: int
    steps: int
    aggregator: str  # a party's name: who adds prior and entropy and takes the step
    step_size: float
    posterior: Literal["mean_field", "full"] = "mean_field"
    sampling: Literal["none", "epochs", "poisson", "poisson_hidden"] = "none"
    batch: int | None = None  # None: every row in every step
    batch_from: Literal["parties", "aggregator"] | None = None  # poisson: who draws the minibatch
    bound: Bound = Bound()
    gradient_space: Literal["unconstrained", "constrained"] = "unconstrained"
    update: Literal["gradient", "em"] = "gradient"
    decay: Literal["cosine", "none"] = "cosine"
    noise: Literal["holders", "helper"] = "holders"
    kind: Literal["dpvi"] = "dpvi"

    def canonical(self) -> Document:
        return {"kind": self.kind} | vars(self) | {"bound": vars(self.bound)}


@dataclass(frozen=True)
class Privacy:
    """What is promised: targets by viewer, or the noise itself (dpvi only), never both."""

    delta: float
    adjacency: Adjacency = "replace_one"
    epsilon: Targets = field(default_factory=Targets)
    sigma: float | None = None  # noise multiplier: standard deviation / clipping threshold


@dataclass(frozen=True)
class EngineChoice:
    """Which protocol computes; "auto" follows from who takes part, see Agreement.protocol."""

    protocol: Literal["auto", "cheetah", "aby3"] = "auto"


@dataclass(frozen=True)
class Agreement:
    """What all parties sign. Equal digests mean equal terms."""

    format: int
    name: str
    purpose: str
    data_set: str
    parties: tuple[Party, ...]
    linkage: Linkage
    columns: tuple[Column, ...]
    learner: MeasureOnce | Dpvi
    privacy: Privacy
    engine: EngineChoice = EngineChoice()
    controller: str | None = None
    legal_basis: str | None = None
    recipients: tuple[str, ...] = ()
    retention: str | None = None
    approvals: tuple[tuple[str, tuple[str, ...]], ...] = ()  # (party, roles whose signature `run` wants to see)

    @property
    def holders(self) -> tuple[Party, ...]:
        return tuple(party for party in self.parties if party.role == "holder")

    @property
    def helper(self) -> Party | None:
        return next((party for party in self.parties if party.role == "helper"), None)

    @property
    def protocol(self) -> ProtocolName:
        """The protocol that computes, "auto" resolved.

        measure_once is a set of products between two holders each, so it never needs more than cheetah; dpvi runs
        under cheetah between two holders alone, and under aby3 as soon as a third party can compute.
        """
        if self.engine.protocol != "auto":
            return self.engine.protocol
        alone = len(self.holders) == 2 and self.helper is None
        return "cheetah" if alone or isinstance(self.learner, MeasureOnce) else "aby3"

    def party(self, name: str) -> Party:
        """The party of this name; KeyError if there is none."""
        for party in self.parties:
            if party.name == name:
                return party
        raise KeyError(name)

    def columns_of(self, party: str) -> tuple[Column, ...]:
        return tuple(column for column in self.columns if column.party == party)

    def targets(self) -> Targets:
        """The target of each viewer by name: "parties" written out, the smaller one where a viewer is named twice."""
        written = self.privacy.epsilon
        targets = {viewer: written[viewer] for viewer in written if viewer != PARTIES}
        if PARTIES in written:
            for holder in self.holders:
                targets[holder.name] = min(written[PARTIES], targets.get(holder.name, written[PARTIES]))
        return Targets(targets)

    def canonical(self) -> Document:
        """The agreement as a plain document in the shape of the file, every default written out."""
        document: Document = {
            "format": self.format,
            "name": self.name,
            "purpose": self.purpose,
            "controller": self.controller,
            "legal_basis": self.legal_basis,
            "recipients": list(self.recipients) or None,
            "retention": self.retention,
            "data_set": self.data_set,
            "parties": [dict(vars(party)) for party in self.parties],
            "linkage": self.linkage.canonical(),
            "columns": [column.canonical() for column in self.columns],
            "learner": self.learner.canonical(),
            "privacy": dict(vars(self.privacy)) | {"epsilon": dict(self.privacy.epsilon) or None},
            "engine": dict(vars(self.engine)),
            "approvals": {party: list(roles) for party, roles in self.approvals} or None,
        }
        return without_nothing(document)

    @property
    def digest(self) -> str:
        """SHA-256 of the canonical form, in hex: equal for equal terms, however the files were written."""
        return digest_of(self.canonical())
