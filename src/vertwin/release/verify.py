"""Does a release keep what it says? Everything that the file alone can prove, in the base installation.

Opening a release has already checked its bytes, digests, shapes and signatures (`open_release`). Here the promise is
held against the noise: for `measure_once` each viewer's epsilon follows in closed form from the variances in the
file, and a statement that says anything else is refused.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from vertwin.agreement import ANALYST, Agreement, MeasureOnce
from vertwin.errors import Faults, UserError, user_error
from vertwin.privacy.gaussian_release import NoiseShare
from vertwin.privacy.looks import limits_within
from vertwin.privacy.pair_tables import MeasuredTable, PairTables, all_tables, plan_pair_tables
from vertwin.release.content import GRID, Content, Promise
from vertwin.release.opened import Release, open_release

SAME: Final = 1e-9  # relative: mathematical libraries of two machines differ in the last bits
NOT_CHECKED: Final = (
    "that the noise was really drawn: no file can show it; each party's signature says that it drew its share",
    "that the twin follows from the noisy tables: it is made of them alone, without any further look at the people",
    "the statement's words, the assumptions and the notes: only its numbers are recomputed",
)
ACCOUNTANT: Final = (
    "the epsilons of dpvi: they need the accountant of a party's installation, not closed forms",
    "that the twin follows from what was revealed",
)


@dataclass(frozen=True)
class Signer:
    """Who signed, and with which key: to be compared with a fingerprint that came by another way."""

    party: str
    fingerprint: str


@dataclass(frozen=True)
class Verified:
    """What holds of a release, as sentences; whatever does not hold was raised instead."""

    release: Release
    signers: tuple[Signer, ...]  # none: a rehearsal's
    checked: tuple[str, ...]
    not_checked: tuple[str, ...]


def verify(
    release: Release | str | os.PathLike[str], agreement: Agreement | None = None, *, rehearsal: bool = False
) -> Verified:
    """Checks all that can be checked here; every fault at once.

    agreement: the one that was meant; a release under another is refused.
    rehearsal: take a release that is watermarked instead of signed (which proves nothing about who made it).

    Formal guarantee: for a release of `measure_once` that passes, every stated epsilon is, up to 1e-9 of itself, the
    one of the Gaussian release with the variances in the file, towards the coalition that the promise names; and the
    analyst and every party has a promise.
    """
    place = "" if isinstance(release, Release) else str(release)
    opened = release if isinstance(release, Release) else open_release(release)
    faults = Faults()
    if opened.watermark is not None and not rehearsal:
        faults.add("E535", f"this release is watermarked, so nobody signed it: {opened.watermark}", place=place)
    if agreement is not None and agreement.digest != opened.agreement.digest:
        faults.add(
            "E533",
            f"it was made under the agreement {opened.agreement.digest}, not under {agreement.digest}",
            place=place,
        )
    checked = [
        "every byte: the file is the one way to write its content",
        f"digests and shapes of {len(opened.tables)} noisy tables, the twin and the agreement",
    ]
    signers = tuple(Signer(signature.party, signature.fingerprint) for signature in opened.signatures)
    if signers:
        checked.append("signatures of every party, with the keys that the agreement names")
    measured = opened.content.learner == "measure_once"
    if measured:
        faults.extend(_promise_faults(opened.content, place))
        checked.append(f"epsilon of {len(opened.viewers)} viewers, in closed form from the variances of the noise")
    faults.raise_if_any()
    return Verified(opened, signers, tuple(checked), NOT_CHECKED if measured else ACCOUNTANT)


def mechanism_of(content: Content, place: str = "") -> PairTables:
    """The Gaussian release that the noisy tables of a `measure_once` release are, read off the file."""
    tables = tuple(
        MeasuredTable(
            table.columns,
            table.owners,
            tuple(NoiseShare(share.holder, share.variance / Fraction(GRID) ** 2) for share in table.noise),
        )
        for table in content.tables
    )
    try:
        return PairTables(tables, content.agreement.privacy.adjacency)
    except UserError as error:
        raise user_error("E531", error.faults[0].sentence, place=place) from None


def _promise_faults(content: Content, place: str) -> Faults:
    """The statement against the noise: what is promised is what follows, for everyone who has to be promised it."""
    faults, agreement = Faults(), content.agreement
    owner_of = {column.name: column.party for column in agreement.columns}
    if {table.columns for table in content.tables} != {columns for columns, _ in all_tables(owner_of)}:
        faults.add("E530", "its noisy tables are not those of all columns and of all pairs of columns", place=place)
    try:
        mechanism = mechanism_of(content, place)
        if isinstance(agreement.learner, MeasureOnce) and agreement.learner.stages == 2:
            mechanism = _planned(mechanism, agreement, faults, place)
    except UserError as error:
        faults.extend(error.faults)
        return faults
    coalitions = {frozenset(promise.coalition) for promise in content.statement.promises}
    for viewer in (ANALYST, *(party.name for party in agreement.parties)):
        if frozenset(() if viewer == ANALYST else (viewer,)) not in coalitions:
            faults.add("E532", f"its statement says nothing about {viewer}", place=place)
    targets = {frozenset(() if name == ANALYST else (name,)): target for name, target in agreement.targets().items()}
    for promise in content.statement.promises:
        sentence = _fault_of(promise, mechanism, agreement)
        target = targets.get(frozenset(promise.coalition))
        if sentence:
            faults.add("E531", f"{promise.viewer}: {sentence}", place=place)
        elif target is not None and (promise.epsilon is None or promise.epsilon > target * (1 + SAME)):
            faults.add("E531", f"{promise.viewer}: the agreement asks for epsilon {target:g} or less", place=place)
    return faults


def _planned(measured: PairTables, agreement: Agreement, faults: Faults, place: str) -> PairTables:
    """Of two looks: what was planned, which alone can be promised, since what was measured again depends on the first
    look. Held against it: both looks together spend no more, towards every coalition."""
    planned = plan_pair_tables(agreement)
    for coalition, limit in limits_within(planned, [party.name for party in agreement.holders]).items():
        if measured.mu_squared(coalition) > limit * (1 + SAME):
            name = "+".join(sorted(coalition)) or ANALYST
            faults.add("E531", f"{name}: both looks together have less noise than was planned", place=place)
    return planned


def _fault_of(promise: Promise, mechanism: PairTables, agreement: Agreement) -> str:
    """What is wrong with one promise; nothing if it is the one that follows from the noise."""
    order = [party.name for party in agreement.parties]
    members = sorted(set(promise.coalition), key=order.index)
    if promise.viewer != ("+".join(members) or ANALYST) or len(members) != len(promise.coalition):
        return "its name does not say which parties it is made of"
    if {holder.name for holder in agreement.holders} <= set(members):
        return "towards all holders together nothing is left to promise"
    if promise.delta != agreement.privacy.delta:
        return f"delta is {promise.delta:g}, the agreement's is {agreement.privacy.delta:g}"
    adjacency = mechanism.adjacency_for(promise.coalition)
    if promise.adjacency != adjacency:
        return f"its adjacency is {promise.adjacency}, towards this viewer only {adjacency} can be promised"
    epsilon = mechanism.epsilon(promise.delta, promise.coalition)
    if math.isinf(epsilon):
        return "" if promise.epsilon is None else "an epsilon is stated where the noise promises nothing"
    if promise.epsilon is None:
        return f"no epsilon is stated, the noise gives {epsilon:.6g}"
    if not math.isclose(promise.epsilon, epsilon, rel_tol=SAME):
        return f"epsilon {promise.epsilon:.9g} is stated, the noise gives {epsilon:.9g}"
    return ""
