"""Matching: which of their people two parties have in common, in an order that is the same at both.

What is matched are keyed hashes, never the names themselves: 32 hexadecimal digits of an HMAC under a key of this run
(`vertwin.linkage.exact` makes them). The order is the order of the hashes, which is nobody's own: neither a table's
order nor a name shows in it.

Real parties match by private set intersection (`vertwin.engine.psi_matcher`). The matcher here is for the threads of a
plain rehearsal and the twin of every test: it sees everybody's hashes.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import reduce
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from vertwin.errors import user_error

HASH_CHARACTERS: Final = 32
"""Half of a SHA-256: two of a billion people share one with a chance below 2^-68."""

Hashes: TypeAlias = NDArray[np.bytes_]
"""One hash a person, dtype S32, all different; private, since its order is the table's order."""


class Matcher(ABC):
    """Finds the common people of the parties that call it together, each with its own hashes.

    Formal guarantees:
    * at every party the i-th row number that comes back is the row of the same hash;
    * a party learns which of its own people the others have too, and how many rows they have; what else an
      implementation shows, it says.
    """

    @abstractmethod
    def intersect(self, keys: Hashes) -> NDArray[np.int64]:
        """Own row numbers, counted from 0, of the common people, in the common order; none where there are none."""


class PlainMatchingHub:
    """Where the threads of one plain rehearsal bring their hashes. A party that fails calls `abandon`."""

    def __init__(self, parties: Sequence[str]) -> None:
        self._condition = threading.Condition()
        self._parties = frozenset(parties)
        self._brought: dict[str, Hashes] = {}
        self._failed: str | None = None

    def abandon(self, name: str) -> None:
        with self._condition:
            self._failed = self._failed or name
            self._condition.notify_all()

    def meet(self, name: str, keys: Hashes) -> Hashes:
        """Bring one party's hashes, wait for all others', get what is common to all, in order."""
        with self._condition:
            assert name in self._parties and name not in self._brought, "each party brings its people once"
            self._brought[name] = keys
            self._condition.notify_all()
            while set(self._brought) != self._parties:
                if self._failed is not None:
                    raise user_error("E401", f'party "{self._failed}" stopped')
                self._condition.wait()
            common: Any = reduce(np.intersect1d, self._brought.values())
            return common


class PlainMatcher(Matcher):
    """One thread's side of the hub."""

    def __init__(self, hub: PlainMatchingHub, me: str) -> None:
        self._hub, self._me = hub, me

    def intersect(self, keys: Hashes) -> NDArray[np.int64]:
        return rows_in_order(keys, self._hub.meet(self._me, keys))


def rows_in_order(keys: Hashes, common: Hashes) -> NDArray[np.int64]:
    """The row number of each of the common hashes, these taken in order; a hash that is no row's is our bug."""
    order = np.argsort(keys)
    rows = order[np.minimum(np.searchsorted(keys, np.sort(common), sorter=order), len(keys) - 1)]
    assert np.array_equal(keys[rows], np.sort(common)), "a matched person is not in this party's table"
    return rows.astype(np.int64)
