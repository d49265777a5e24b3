"""The promise in words: for an officer who signs it, in the order of NIST SP 800-226.

Made from the same mechanism object as every noise scale. Public facts only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from vertwin.agreement import ANALYST, PROTOCOLS, Agreement, MeasureOnce
from vertwin.privacy.event import Mechanism
from vertwin.privacy.gradient_releases import GradientReleases
from vertwin.privacy.oracle import ClosedForm, Oracle
from vertwin.privacy.pair_tables import PairTables
from vertwin.privacy.viewers import Viewer, viewer_of

TITLES: Final = (
    "unit of privacy",
    "adjacency",
    "epsilon and delta",
    "mechanism",
    "trust model",
    "side channels",
    "what is not protected",
    "a cheating partner",
    "a second run",
)


@dataclass(frozen=True)
class Section:
    """One heading of the statement and what is said under it."""

    title: str
    sentences: tuple[str, ...]


@dataclass(frozen=True)
class Cheat:
    """What a party could do to the promise towards a viewer by secretly drawing no noise for what is shared."""

    holder: str
    viewer: str
    epsilon: float  # instead of the promised one


def cheats_of(mechanism: Mechanism, agreement: Agreement, oracle: Oracle | None = None) -> tuple[Cheat, ...]:
    """For each holder: the analyst's epsilon if this holder's share of the noise were missing."""
    found: list[Cheat] = []
    for holder in agreement.holders:
        without = mechanism.without_share_of(holder.name)
        viewer = viewer_of(without, agreement, (), oracle)
        if without != mechanism and viewer.epsilon is not None:
            found.append(Cheat(holder.name, ANALYST, viewer.epsilon))
    return tuple(found)


def statement_of(
    mechanism: Mechanism, agreement: Agreement, viewers: Sequence[Viewer], oracle: Oracle | None = None
) -> tuple[Section, ...]:
    """All sections. `viewers` are those of `viewers_of`, and coalitions if wanted; each gets its sentence."""
    oracle = oracle or ClosedForm()
    contents = (
        _unit(agreement),
        _adjacency(agreement),
        tuple(sentence for viewer in viewers for sentence in _promise(viewer)),
        _mechanism(mechanism, oracle),
        _trust(agreement),
        _side_channels(),
        _not_protected(agreement),
        _cheating(mechanism, agreement, oracle),
        _second_run(viewers),
    )
    return tuple(Section(title, sentences) for title, sentences in zip(TITLES, contents, strict=True))


def plain_text(sections: Sequence[Section]) -> str:
    """The statement as paragraphs, one line each."""
    return "\n".join(f"{section.title}: {' '.join(section.sentences)}" for section in sections)


def _unit(agreement: Agreement) -> tuple[str, ...]:
    return (
        "Protected are the values of one person, who is one row of the linked table: everything that all parties "
        f"together hold about that person in the {len(agreement.columns)} columns of this agreement.",
    )


def _adjacency(agreement: Agreement) -> tuple[str, ...]:
    replaced = (
        "Two tables are neighbours if the values of one person are replaced by any others that the domains allow "
        "(replace_one)"
    )
    towards = "towards parties those of the columns that they do not hold themselves."
    if agreement.privacy.adjacency == "replace_one":
        return (f"{replaced}; {towards}",)
    return (
        "Towards the analyst two tables are neighbours if one has one person more (add_remove): the release does not "
        "depend on the exact number of people.",
        f"{replaced} towards parties: {towards}",
    )


def _promise(viewer: Viewer) -> tuple[str, ...]:
    if viewer.epsilon is None:
        return (f"Towards {_the(viewer)}: {viewer.assumptions[0]}.",)
    epsilon = rounded_up(viewer.epsilon, 3)
    sentence = f"Towards {_the(viewer)}: epsilon {epsilon} at delta {viewer.delta:g}, {viewer.adjacency}."
    if viewer.guess is None:
        return (sentence,)
    if viewer.adjacency == "add_remove":
        what = "Guessing whether one person is in the table"
    else:
        what = "Guessing one person's value"
    return (
        sentence,
        f"{what} from a fifty-fifty start, at most {rounded_up(100 * viewer.guess, 1)} % right.",
    )


def _the(viewer: Viewer) -> str:
    return f"the {ANALYST}" if not viewer.coalition else viewer.name


def rounded_up(number: float, digits: int) -> str:
    """So many digits after the point, never below the number (but for what is beyond a millionth of the last one)."""
    scaled = number * 10**digits - 1e-6
    return f"{-(-scaled // 1) / 10**digits:.{digits}f}"


def _mechanism(mechanism: Mechanism, oracle: Oracle) -> tuple[str, ...]:
    exact = "the noise is exact: whole numbers of a discrete Gaussian, drawn from the operating system's entropy"
    match mechanism:
        case PairTables():
            sds = sorted(table.noise_sd for table in mechanism.tables)
            spread = f"{sds[0]:.1f}" if sds[-1] - sds[0] < 0.05 else f"{sds[0]:.1f} to {sds[-1]:.1f}"
            return (
                f"{len(mechanism.tables)} tables of counts, of each column and of each pair of columns, are revealed "
                f"once, with Gaussian noise of standard deviation {spread} counts in every cell; {exact}.",
                "A person is in at most one cell of each. Everything else is computed from these tables alone.",
            )
        case GradientReleases():
            bound = {
                "hard": "by scaling it down",
                "smooth": "by a smooth scale",
                "statistics": "by the ranges of the statistics",
            }[mechanism.bound]
            how = {
                "none": "every person in every step",
                "epochs": f"in fixed minibatches of about {mechanism.batch}, each person in at most {mechanism.uses}",
                "poisson": f"in random minibatches of about {mechanism.batch}",
                "poisson_hidden": f"in random minibatches of about {mechanism.batch} that no holder knows",
            }[mechanism.sampling]
            return (
                f"{mechanism.steps} sums of {mechanism.dimension} numbers are revealed, {how}. One person's part in a "
                f"sum is bounded to norm {mechanism.clipping_threshold:g} {bound}, and Gaussian noise of "
                f"{mechanism.sigma:.4g} times that is added to every number; {exact}.",
                f"Accounted for by {oracle.name}.",
            )
        case _:
            raise AssertionError(f"no sentence for {type(mechanism).__name__}")


def _trust(agreement: Agreement) -> tuple[str, ...]:
    protocol = PROTOCOLS[agreement.protocol]
    who = (
        "The helper draws the noise and is trusted with it."
        if agreement.learner.noise == "helper"
        else "Each holder draws its share of the noise; what a viewer drew itself does not count towards it."
    )
    pairs = (
        " Each table across parties is computed between its two holders alone."
        if isinstance(agreement.learner, MeasureOnce)
        else ""
    )
    return (
        "All parties are honest but curious: they follow the protocol and try to learn from what they see.",
        f"Multi-party computation by {protocol.name}: {protocol.assumption}.{pairs}",
        who,
    )


def _side_channels() -> tuple[str, ...]:
    return (
        "Sizes of messages depend on public numbers only.",
        "Running times are not hidden; the time that drawing the noise takes varies a little with the draw.",
        "Other traces on the machines of a party are its own business.",
    )


def _not_protected(agreement: Agreement) -> tuple[str, ...]:
    sentences = ["Who is in the linked table, and how many, the parties learn from the linkage."]
    if agreement.privacy.adjacency == "replace_one":
        sentences.append("The number of linked people is public.")
    sentences.append(
        "What holds for people in general can be learned from the release, also about somebody who is not in it."
    )
    return tuple(sentences)


def _cheating(mechanism: Mechanism, agreement: Agreement, oracle: Oracle) -> tuple[str, ...]:
    found = [
        f"Were {cheat.holder} to draw no noise for what it shares with others, the {cheat.viewer}'s epsilon would be "
        f"{rounded_up(cheat.epsilon, 3)}."
        for cheat in cheats_of(mechanism, agreement, oracle)
    ]
    found.append(
        "A party that leaves the protocol altogether may learn more or spoil the result: that is not withstood."
    )
    return tuple(found)


def _second_run(viewers: Sequence[Viewer]) -> tuple[str, ...]:
    parts = [f"{rounded_up(v.second_run, 3)} towards {_the(v)}" for v in viewers if v.second_run is not None]
    if not parts:
        return ("Nothing is promised after one run, nor after two.",)
    return (f"Another run like this on the same people would bring epsilon to {', '.join(parts)}.",)
