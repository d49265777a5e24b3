"""Who is promised what: the analyst, each party, the helper, every coalition; each with its own epsilon.

What a viewer knows is taken out before its epsilon is computed: its own columns are fixed, its own noise is
subtracted, a minibatch that it is told hides nobody from it, and that a person is in the linked table it knows
already, so towards it a record is always *replaced*. A viewer whom the protocol of the secure computation cannot
resist, or who draws all the noise, gets no number but the reason. The aggregator is no viewer of its own: it is a
party or the helper, and sees what is revealed, of which the analyst's epsilon speaks already.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import isinf
from typing import Final

from vertwin.agreement import ANALYST, PROTOCOLS, Agreement, Dpvi
from vertwin.privacy.event import Adjacency, GaussianEvent, Mechanism
from vertwin.privacy.oracle import ClosedForm, Oracle

COALITIONS: Final = 200  # listed one by one; beyond, the smallest and the largest only


@dataclass(frozen=True)
class Viewer:
    """One who looks, and what is promised to the people in the table towards it."""

    name: str
    coalition: frozenset[str]  # the parties that pool what they saw; none: the analyst
    epsilon: float | None  # None: no promise, see the assumptions for the reason
    delta: float
    adjacency: Adjacency
    assumptions: tuple[str, ...]
    guess: float | None = None  # how often the best guesser is right about two equally likely values, at the most
    second_run: float | None = None  # epsilon at the same delta after two such runs

    @property
    def promised(self) -> bool:
        return self.epsilon is not None


def viewer_of(
    mechanism: Mechanism, agreement: Agreement, coalition: Iterable[str] = (), oracle: Oracle | None = None
) -> Viewer:
    """One viewer by its coalition; no party: the analyst."""
    oracle = oracle or ClosedForm()
    known = frozenset(coalition)
    order = [party.name for party in agreement.parties]
    members = sorted(known, key=order.index)
    event, delta = mechanism.event(known), agreement.privacy.delta
    reasons = _no_promise(mechanism, agreement, known)
    return Viewer(
        name="+".join(members) or ANALYST,
        coalition=known,
        epsilon=None if reasons else oracle.epsilon(event, delta),
        delta=delta,
        adjacency=mechanism.adjacency_for(known),
        assumptions=reasons or _assumptions(mechanism, agreement, known),
        guess=None if reasons else oracle.guess_probability(event),
        second_run=None if reasons else oracle.epsilon(event.repeated(2), delta),
    )


def viewers_of(mechanism: Mechanism, agreement: Agreement, oracle: Oracle | None = None) -> tuple[Viewer, ...]:
    """The analyst, then each party in the agreement's order, the helper included."""
    alone = ((), *((party.name,) for party in agreement.parties))
    return tuple(viewer_of(mechanism, agreement, members, oracle) for members in alone)


def coalitions_of(mechanism: Mechanism, agreement: Agreement, oracle: Oracle | None = None) -> tuple[Viewer, ...]:
    """Every coalition of two or more parties that leaves at least one holder out.

    With so many parties that there are more than COALITIONS of them: all pairs, and all that leave one holder out.
    """
    names = [party.name for party in agreement.parties]
    sizes: Sequence[int] = range(2, len(names))
    if 2 ** len(names) > COALITIONS:
        sizes = (2, len(names) - 1)
    holders = {holder.name for holder in agreement.holders}
    return tuple(
        viewer_of(mechanism, agreement, members, oracle)
        for size in sizes
        for members in combinations(names, size)
        if not holders.issubset(members)
    )


def compute_nodes(agreement: Agreement) -> frozenset[str]:
    """Who computes on shares in `dpvi`: the holders, and the helper where the protocol wants one more."""
    wanted = PROTOCOLS[agreement.protocol].nodes
    holders = [holder.name for holder in agreement.holders][:wanted]
    if len(holders) < wanted and agreement.helper is not None:
        holders.append(agreement.helper.name)
    return frozenset(holders)


def _no_promise(mechanism: Mechanism, agreement: Agreement, coalition: frozenset[str]) -> tuple[str, ...]:
    """Why nothing is promised towards a coalition; empty if something is.

    measure_once is a product between two holders at a time: whoever is outside such a pair has no part of its secret,
    and whoever is inside it and not in the coalition keeps it. dpvi runs on the protocol's compute nodes.
    """
    protocol = PROTOCOLS[agreement.protocol]
    nodes = compute_nodes(agreement) if isinstance(agreement.learner, Dpvi) else frozenset[str]()
    if len(coalition & nodes) > protocol.colluding_nodes:
        return (
            f"no promise: {protocol.name} withstands {protocol.colluding_nodes} of its {protocol.nodes} computing "
            "parties, more of them together can read every row",
        )
    event = mechanism.event(coalition)
    if isinstance(event, GaussianEvent) and isinf(event.mu):
        trusted = ": it is trusted with it" if agreement.helper and agreement.helper.name in coalition else ""
        return (f"no promise: this viewer draws all the noise itself{trusted}",)
    return ()


def _assumptions(mechanism: Mechanism, agreement: Agreement, coalition: frozenset[str]) -> tuple[str, ...]:
    learner = agreement.learner
    if learner.noise == "helper":
        draws = "the helper draws the noise from the system's entropy, tells it to nobody and joins with nobody"
    else:
        draws = "every party follows the protocol and draws its share of the noise from the system's entropy"
    sentences = [draws, PROTOCOLS[agreement.protocol].assumption]
    if isinstance(learner, Dpvi) and learner.sampling.startswith("poisson"):
        sentences.append(_about_batches(mechanism, learner, coalition))
    if isinstance(learner, Dpvi) and learner.aggregator in coalition:
        sentences.append("as the aggregator it sees every noisy sum; all of them are counted")
    if coalition:
        if coalition.intersection(holder.name for holder in agreement.holders):
            sentences.append("its own columns and its own share of the noise are known to it")
        sentences.append("who is in the linked table, and how many, it knows from the linkage: that is not protected")
    elif agreement.privacy.adjacency == "replace_one":
        sentences.append("how many people are in the linked table is not protected")
    return tuple(sentences)


def _about_batches(mechanism: Mechanism, learner: Dpvi, coalition: frozenset[str]) -> str:
    event = mechanism.event(coalition)
    if event.kind == "secret_samples":
        return "who is in a minibatch stays secret from it: " + (
            "the helper that draws them tells nobody"
            if learner.sampling == "poisson_hidden"
            else "the parties that know tell nobody"
        )
    return "it knows who is in each minibatch: sampling protects nobody from it"
