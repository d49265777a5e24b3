"""The engine as the rest of the product sees it: `run` gives shares, only `reveal` with a receipt opens them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from vertwin.engine.program import Program
from vertwin.ledger.receipt import Receipt


@dataclass(frozen=True, repr=False)
class Shares:
    """What one party holds of a program's outputs: useless alone. Blind repr; where the bytes lie is the engine's.

    `attempt` counts the runs of this session, so that a receipt for one run opens no other.
    """

    program: str
    attempt: int
    outputs: int
    held: object

    def __repr__(self) -> str:
        return f"Shares({self.outputs} outputs of attempt {self.attempt}, contents hidden)"

    @property
    def identity(self) -> str:
        """What a receipt names: this program, this attempt."""
        return f"{self.program}:{self.attempt}"


class Engine(ABC):
    """Secure computation between the parties of a session.

    Formal guarantees:
    * `run` reveals nothing: an output leaves the engine as shares only.
    * `reveal` opens the outputs of exactly one run, at the parties named, and only with a receipt that names that
      run; without one it raises and no share has been sent.
    """

    @abstractmethod
    def run(self, program: Program, inputs: Mapping[str, np.ndarray]) -> Shares:
        """Run `program`; every computing party calls this, each passing the inputs it owns (and the public ones).

        COST: what the program's function says; plus, at a program's first run, one exchange of digests.
        """

    @abstractmethod
    def reveal(self, shares: Shares, receipt: Receipt, to: Sequence[str]) -> tuple[np.ndarray, ...] | None:
        """Open the outputs at the parties in `to`; None at the others. One message to each of them, no round more."""

    @abstractmethod
    def restore(self, program: Program, held: object, run: int) -> Shares:
        """Shares of an earlier process of this party, from what it stored of its run of that number."""

    @abstractmethod
    def close(self) -> None:
        """End what the engine runs; safe to call twice and after a fault."""


def check_receipt(shares: Shares, receipt: Receipt, watermark: str | None) -> None:
    """A reveal without a receipt of its own is our bug, never a user's: it stops before a share is sent.

    `watermark` is what everything that this engine computes will carry: a rehearsal's receipt opens nothing in an
    engine of a real run, nor the other way round.
    """
    if not isinstance(receipt, Receipt):
        raise TypeError("a reveal needs a Receipt: nothing was opened")
    if receipt.watermark != watermark:
        raise ValueError("this receipt was issued for another kind of run: nothing was opened")
    if receipt.covers != shares.identity:
        raise ValueError("this receipt was issued for another run: nothing was opened")
