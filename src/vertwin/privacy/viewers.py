"""Who is promised what: the analyst, each party, every coalition of parties; each with its own epsilon.

What a viewer knows is taken out before its epsilon is computed: its own columns are fixed, its own noise is
subtracted, and that a person is in the linked table it knows already, so towards it a record is always *replaced*.
A viewer whom the protocol of the secure computation cannot resist gets no number but the reason.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations

from vertwin.agreement import ANALYST, PROTOCOLS, Agreement, Dpvi
from vertwin.privacy.gaussian_release import Adjacency, GaussianRelease


@dataclass(frozen=True)
class Viewer:
    """One who looks, and what is promised to the people in the table towards it."""

    name: str
    coalition: frozenset[str]  # the parties that pool what they saw; none: the analyst
    epsilon: float | None  # None: no promise, see the assumptions for the reason
    delta: float
    adjacency: Adjacency
    assumptions: tuple[str, ...]

    @property
    def promised(self) -> bool:
        return self.epsilon is not None


def viewer_of(mechanism: GaussianRelease, agreement: Agreement, coalition: Iterable[str] = ()) -> Viewer:
    """One viewer by its coalition; no party: the analyst."""
    known = frozenset(coalition)
    order = [party.name for party in agreement.parties]
    members = sorted(known, key=order.index)
    reasons = _no_promise(mechanism, agreement, known)
    return Viewer(
        name="+".join(members) or ANALYST,
        coalition=known,
        epsilon=None if reasons else mechanism.epsilon(agreement.privacy.delta, known),
        delta=agreement.privacy.delta,
        adjacency=mechanism.adjacency_for(known),
        assumptions=reasons or _assumptions(agreement, known),
    )


def viewers_of(mechanism: GaussianRelease, agreement: Agreement) -> tuple[Viewer, ...]:
    """The analyst, then each party in the agreement's order, the helper included."""
    return (
        viewer_of(mechanism, agreement),
        *(viewer_of(mechanism, agreement, {party.name}) for party in agreement.parties),
    )


def coalitions_of(mechanism: GaussianRelease, agreement: Agreement) -> tuple[Viewer, ...]:
    """Every coalition of two or more parties that leaves at least one holder out."""
    names = [party.name for party in agreement.parties]
    holders = {holder.name for holder in agreement.holders}
    return tuple(
        viewer_of(mechanism, agreement, members)
        for size in range(2, len(names))
        for members in combinations(names, size)
        if not holders.issubset(members)
    )


def _no_promise(mechanism: GaussianRelease, agreement: Agreement, coalition: frozenset[str]) -> tuple[str, ...]:
    """Why nothing is promised towards a coalition; empty if something is.

    measure_once is a product between two holders at a time: whoever is outside such a pair has no part of its secret,
    and whoever is inside it and not in the coalition keeps it. dpvi runs on the protocol's compute nodes, which are
    all parties as long as there are no more of them than nodes.
    """
    protocol = PROTOCOLS[agreement.protocol]
    if isinstance(agreement.learner, Dpvi) and len(coalition) > protocol.colluding_nodes:
        return (
            f"no promise: {protocol.name} withstands {protocol.colluding_nodes} of its {protocol.nodes} computing "
            "parties, more of them together can read every row",
        )
    if mechanism.mu(coalition) == float("inf"):
        return ("no promise: this viewer draws all the noise itself",)
    return ()


def _assumptions(agreement: Agreement, coalition: frozenset[str]) -> tuple[str, ...]:
    sentences = [
        "every party follows the protocol and draws its share of the noise from the system's entropy",
        PROTOCOLS[agreement.protocol].assumption,
    ]
    if coalition:
        sentences.append("its own columns and its own share of the noise are known to it")
        sentences.append("who is in the linked table, and how many, it knows from the linkage: that is not protected")
    elif agreement.privacy.adjacency == "replace_one":
        sentences.append("how many people are in the linked table is not protected")
    return tuple(sentences)
