"""The one door through which secret randomness enters.

Noise that can be computed again can be subtracted. So nothing here takes a seed, stores a state or can be copied to
draw the same bytes twice; what needs randomness is handed an `Entropy` and asks it for bytes. Seeded bytes exist in
the tests only, under a name that says `Unsafe`.
"""

from __future__ import annotations

import builtins
import os
from abc import ABC, abstractmethod
from typing import final


class Entropy(ABC):
    """A source of independent uniform bytes that nobody else knows.

    Whoever knows another party's bytes counts as colluding with it: pass no `Entropy` on to a peer, log none of its
    bytes, and use each of them once.
    """

    @abstractmethod
    def bytes(self, n: int) -> builtins.bytes:
        """The next `n` bytes, `n >= 0`."""


@final
class SystemEntropy(Entropy):
    """The operating system's cryptographic generator: safe after a fork and after a snapshot of the machine."""

    def bytes(self, n: int) -> builtins.bytes:
        return os.urandom(n)

    def __repr__(self) -> str:
        return "SystemEntropy()"
