"""Seeded entropy, for tests and nothing else: whoever knows the seed can subtract the noise."""

from __future__ import annotations

import builtins
import hashlib

from vertwin.noise.entropy import Entropy


class UnsafeSeededEntropy(Entropy):
    """A deterministic stream: SHAKE-256 of (seed, block number). Pickles with its position, so that a test can give
    the same noise to a plain rehearsal and to the child processes of a secure one."""

    _BLOCK = 1 << 15

    def __init__(self, seed: int | str) -> None:
        self.seed = seed
        self._block = 0
        self._left = b""

    def bytes(self, n: int) -> builtins.bytes:
        parts, have = [self._left], len(self._left)
        while have < n:
            name = f"unsafe|{self.seed!r}|{self._block}".encode()
            parts.append(hashlib.shake_256(name).digest(self._BLOCK))
            self._block, have = self._block + 1, have + self._BLOCK
        stream = b"".join(parts)
        self._left = stream[n:]
        return stream[:n]

    def __repr__(self) -> str:
        return f"UnsafeSeededEntropy({self.seed!r})"
