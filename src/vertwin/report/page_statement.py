"""The promise of a release in plain sentences: who could learn how much about one person, and on what it rests."""

from __future__ import annotations

import math
from dataclasses import dataclass

from vertwin.agreement import ANALYST
from vertwin.privacy.closed_form import gaussian_epsilon, guess_probability
from vertwin.privacy.statement import rounded_up, statement_of
from vertwin.privacy.viewers import viewers_of
from vertwin.release import Promise, Release
from vertwin.release.verify import mechanism_of

HIDDEN = {
    "replace_one": "whether one person's values were these or any others",
    "add_remove": "whether one person was among the linked people at all, and with which values",
}


@dataclass(frozen=True)
class ViewerText:
    """One viewer as the page shows it. `right` is a percentage; None where nothing is promised."""

    name: str
    who: str
    epsilon: str
    delta: str
    right: float | None
    hidden: str
    sentences: tuple[str, ...]
    assumptions: tuple[str, ...]

    @property
    def right_text(self) -> str:
        return "no promise" if self.right is None else f"{self.right:.1f} %"

    @property
    def bar(self) -> float:
        """How far from a blind guess (0) to certainty (100)."""
        return 100.0 if self.right is None else 2 * (self.right - 50)


def viewers(release: Release) -> tuple[ViewerText, ...]:
    """Every viewer of the statement, in its order."""
    measured = release.content.learner == "measure_once" and release.tables
    mechanism = mechanism_of(release.content) if measured else None
    common = shared_assumptions(release)
    return tuple(
        _viewer(promise, None if mechanism is None else mechanism.mu(promise.coalition), common)
        for promise in release.viewers
    )


def shared_assumptions(release: Release) -> tuple[str, ...]:
    """What every promise rests on: said once, not with each viewer."""
    promised = [promise for promise in release.viewers if promise.epsilon is not None]
    if len(promised) < 2:
        return ()
    return tuple(
        sentence
        for sentence in promised[0].assumptions
        if all(sentence in promise.assumptions for promise in promised[1:])
    )


def facts(release: Release) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """What the promise is about and rests on, under headings, in the order of NIST SP 800-226.

    The words that were signed, where the release carries them under headings; else they follow from its noise.
    """
    lines = [line.partition(": ") for line in release.statement.text.splitlines()]
    if len(lines) > 1 and all(heading and text for heading, _, text in lines):
        return tuple((heading, (text,)) for heading, _, text in lines)
    if release.content.learner != "measure_once" or not release.tables:
        return ()
    mechanism = mechanism_of(release.content)
    sections = statement_of(mechanism, release.agreement, viewers_of(mechanism, release.agreement))
    return tuple((section.title, section.sentences) for section in sections)


def standing(release: Release) -> str:
    """Signed or a rehearsal, as one sentence."""
    if release.watermark is not None:
        return f"Not signed. {release.watermark[:1].upper()}{release.watermark[1:]}."
    return f"Signed by {listed([signature.party for signature in release.signatures])}."


def listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + " and " + names[-1]


def _viewer(promise: Promise, mu: float | None, shared: tuple[str, ...]) -> ViewerText:
    members = list(promise.coalition)
    who = _who(promise.viewer, members)
    own = tuple(sentence for sentence in promise.assumptions if sentence not in shared)
    if promise.epsilon is None:
        return ViewerText(promise.viewer, who, "none", "", None, HIDDEN[promise.adjacency], (), own)
    chance = _guess(promise.epsilon, promise.delta) if mu is None else guess_probability(mu)
    right = float(rounded_up(100 * chance, 1))
    seen = (
        "has this file" if not members else f"has this file, its own table{'s' if len(members) > 1 else ''} and noise"
    )
    sentences = [
        f"Say that somebody {seen}, knows everything about all other people, and has narrowed one person down to two "
        f"possibilities, each as likely as the other. A guess between the two is right in at most {right:.1f} % of "
        "cases; without the file it would be 50 %.",
    ]
    if mu is not None:
        twice = gaussian_epsilon(math.sqrt(2) * mu, promise.delta)
        sentences.append(
            f"A second release like this one about the same people would bring epsilon to {rounded_up(twice, 3)}."
        )
    return ViewerText(
        name=promise.viewer,
        who=who,
        epsilon=rounded_up(promise.epsilon, 3),
        delta=f"{promise.delta:g}".replace("e-0", "e-"),
        right=right,
        hidden=HIDDEN[promise.adjacency],
        sentences=tuple(sentences),
        assumptions=own,
    )


def _who(viewer: str, members: list[str]) -> str:
    if viewer == ANALYST or not members:
        return "anyone who gets the file"
    if len(members) == 1:
        return "a party, with all that it holds and saw"
    return "these parties, should they pool all that they hold and saw"


def _guess(epsilon: float, delta: float) -> float:
    """What epsilon and delta alone imply for a fifty-fifty guess: (e^epsilon + delta) / (1 + e^epsilon)."""
    return (1 + delta * math.exp(-epsilon)) / (1 + math.exp(-epsilon))
