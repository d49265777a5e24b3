"""Which rows take part in which step, by public rules; and the seed of what is random and public.

Whoever reads the agreement can compute the order of the rows: it hides nobody, and nothing here masks a value.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from vertwin.agreement import Agreement, Dpvi
from vertwin.errors import user_error


def learner_of(agreement: Agreement) -> Dpvi:
    """The agreement's dpvi, with every combination refused that this learner does not have yet."""
    learner = agreement.learner
    assert isinstance(learner, Dpvi)
    unbuilt = {
        "posterior": (learner.posterior, "mean_field"),
        "bound.kind": (learner.bound.kind, "hard"),
        "gradient_space": (learner.gradient_space, "unconstrained"),
        "update": (learner.update, "gradient"),
        "noise": (learner.noise, "holders"),
    }
    for option, (found, built) in unbuilt.items():
        if found != built:
            raise user_error("E754", f'{option} = "{found}" is not built yet', f'use "{built}"', f"learner.{option}")
    if learner.sampling not in ("none", "epochs"):
        raise user_error(
            "E754", f'sampling = "{learner.sampling}" is not built yet', 'use "none" or "epochs"', "learner.sampling"
        )
    return learner


@dataclass(frozen=True)
class Batches:
    """Which rows take part in which step, by public rules: all, or disjoint parts of a public order, in turn.

    Formal guarantee: within one pass over the batches every row is in exactly one of them.
    """

    rows: int
    count: int  # S: batches in a pass; the fraction q of the rows in one batch is 1 / S
    seed: int

    @classmethod
    def of(cls, agreement: Agreement, rows: int) -> Batches:
        learner = learner_of(agreement)
        if rows < 1:
            raise user_error("E755", "no row is left after the linkage", place="linkage")
        if learner.sampling == "none":
            return cls(rows, 1, 0)
        if learner.batch is None or not 1 <= learner.batch <= rows:
            raise user_error(
                "E755", "minibatches need a size of at least one row and at most all", place="learner.batch"
            )
        return cls(rows, -(-rows // learner.batch), public_seed(agreement, "batches"))

    @property
    def size(self) -> int:
        """Rows of the largest batch; all others are padded to it."""
        return -(-self.rows // self.count)

    @property
    def fraction(self) -> float:
        return 1.0 / self.count

    def all(self) -> np.ndarray:
        """(S, size): the rows of each batch, -1 for padding. Sizes differ by one row at most."""
        if self.count == 1:
            return np.arange(self.rows)[None]
        order = np.random.default_rng(self.seed).permutation(self.rows)
        parts = np.array_split(order, self.count)
        padded = np.full((self.count, self.size), -1)
        for row, part in zip(padded, parts, strict=True):
            row[: len(part)] = part
        return padded

    def steps(self, steps: int) -> Iterator[np.ndarray]:
        """The batch of each step in turn."""
        batches = self.all()
        for step in range(steps):
            yield batches[step % self.count]


def public_seed(agreement: Agreement, what: str) -> int:
    """For public randomness only: whoever reads the agreement can compute it."""
    return int(agreement.digest, 16) ^ int.from_bytes(what.encode(), "big")
