"""PsiMatcher: the matcher of real runs, two parties by private set intersection (RR22 of SPU).

What PSI needs so that it neither hangs nor tells more than the intersection stands here, in `psi_process.py` and in
`psi_node.py`:

- it compares nothing: versions are compared first;
- it hangs or dies now and then: each attempt is a fresh process with fresh files, addresses and a time limit; the
  parties tell each other how theirs ended, and both go on, or both try again;
- it sends a digest of a party's whole set of keys, and that of two or three people can be guessed: each party adds one
  random key, which matches nothing. So nobody's set is empty either, which would end the process;
- a peer may see at which places of a party's list the matches lie: the list is shuffled;
- it writes files, and a trace into /tmp that stays: they are removed, and hold hashes under a key that no file holds.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from vertwin.engine.link import Link
from vertwin.engine.matching import HASH_CHARACTERS, Hashes, Matcher, rows_in_order
from vertwin.engine.psi_process import PsiProcess
from vertwin.engine.spu import check_machine
from vertwin.errors import UserError, user_error
from vertwin.noise import Entropy
from vertwin.version import VERSION

Addresses: TypeAlias = Callable[[str], dict[str, str]]
"""For a channel ("psi.1", of letters, digits and a point): where each party's PSI listens, as this party reaches it."""

ATTEMPTS: Final = 3
LEAST_SECONDS: Final = 60
ROWS_PER_SECOND: Final = 2_000  # a twentieth of what one busy core does: the limit is for what hangs, not for the slow
_DONE: Final = b"done"
_FAILED: Final = b"failed"


class PsiMatcher(Matcher):
    """One party's matcher. Nothing happens before `intersect`; everything that it started has ended after it.

    What a peer learns: which of its own people are ours too, how many rows we have, and from an honest run nothing
    else. A peer that leaves the protocol can bring people whom it does not have, and so ask whether we have them.
    COST: 36 MB between the parties for a million rows each, 5 to 25 seconds; proportional to the rows.
    """

    def __init__(
        self,
        link: Link,
        parties: Sequence[str],
        addresses: Addresses,
        entropy: Entropy,
        directory: Path,
        log: Path,
        note: Callable[[str], None] = lambda _: None,
    ) -> None:
        """`parties`: in the same order at both. `directory`: private, for files that last as long as an attempt.

        `note` is told of every further attempt.
        """
        self._link, self._me, self._parties = link, link.me, tuple(parties)
        self._addresses, self._entropy = addresses, entropy
        self._directory, self._log, self._note = directory, log, note
        self._process: PsiProcess | None = None

    @property
    def process_ids(self) -> tuple[int, ...]:
        process = self._process
        return () if process is None else (process.process_id,)

    def intersect(self, keys: Hashes) -> NDArray[np.int64]:
        check_machine()
        assert len(self._parties) == 2 and self._me in self._parties, "two parties match"
        assert keys.dtype == f"S{HASH_CHARACTERS}" and len(keys) > 0, "people were read and hashed before"
        (peer,) = set(self._parties) - {self._me}
        seconds = LEAST_SECONDS + (len(keys) + self._agree(peer, len(keys))) // ROWS_PER_SECOND
        for attempt in range(1, ATTEMPTS + 1):
            try:
                return self._attempt(f"psi.{attempt}", peer, keys, seconds)
            except UserError as error:
                if attempt == ATTEMPTS or not _of_an_attempt(error):
                    raise
                self._note(f"attempt {attempt} of {ATTEMPTS} failed ({error.faults[0].sentence}); trying again")
        raise AssertionError("the last attempt returns or raises")

    def _agree(self, peer: str, rows: int) -> int:
        """Stop, naming the field, where the peer's word differs from ours; gives its number of rows."""
        mine = {"vertwin": VERSION, "spu": metadata.version("spu"), "protocol": "rr22", "parties": list(self._parties)}
        message = json.dumps(mine | {"rows": rows}).encode()
        payload = self._link.exchange("matching", message, self._parties)[peer]
        try:
            theirs: Any = json.loads(payload)
        except ValueError:
            theirs = None
        said = theirs if isinstance(theirs, dict) else {}
        for name, value in mine.items():
            if said.get(name) != value:
                raise user_error("E410", f'party "{peer}" and this party differ in: {name}')
        rows_of_peer = said.get("rows")
        if type(rows_of_peer) is not int or not 0 < rows_of_peer < 2**40:
            raise user_error("E271", f"{peer} sent something else than its number of rows")
        return rows_of_peer

    def _attempt(self, channel: str, peer: str, keys: Hashes, seconds: int) -> NDArray[np.int64]:
        """The common rows if both parties' processes did their work; otherwise both raise."""
        self._link.exchange(f"matching/{channel}", b"", self._parties)  # both are here: nobody dials an absent one
        topic = f"matching/{channel}/outcome"
        heard = _PeerOutcome(self._link, topic, peer)

        def alarm() -> None:
            self._link.check()
            heard.check()

        process = PsiProcess(
            self._me, self._parties, self._addresses(channel), self._prepared(keys), seconds, self._directory
        )
        self._process = process
        failure: UserError | None = None
        rows = np.empty(0, dtype=np.int64)
        try:
            try:
                common = process.common(alarm)
                if np.isin(common, keys).all():
                    rows = rows_in_order(keys, common)
                else:
                    failure = user_error("E415", "the matching process found people who are not in this party's table")
            except UserError as error:
                if not _of_an_attempt(error):  # the peer is gone: nobody to tell, nothing to repeat
                    raise
                failure = error
            self._link.broadcast(topic, _FAILED if failure else _DONE, to=(peer,))
            heard.wait()
        finally:  # not before the peer's process is done: it may still want what ours has not sent
            self._process = None
            process.end(self._log)
        if failure is not None:
            raise failure
        heard.check()
        return rows

    def _prepared(self, keys: Hashes) -> Hashes:
        """The keys with one that is random among them, in an order that says nothing.

        The entropy drawn is the same for every table, so that two tables can be compared under the same noise.
        """
        drawn = hashlib.shake_256(self._entropy.bytes(32)).digest(HASH_CHARACTERS // 2 + 8 * (len(keys) + 1))
        decoy = np.array([drawn[: HASH_CHARACTERS // 2].hex().encode()], dtype=keys.dtype)
        order = np.argsort(np.frombuffer(drawn, dtype=np.uint64, offset=HASH_CHARACTERS // 2), kind="stable")
        return np.concatenate([keys, decoy])[order]


def _of_an_attempt(error: UserError) -> bool:
    """A failure that another attempt may not have."""
    return set(error.codes) <= {"E414", "E415", "E416", "E417"}


class _PeerOutcome:
    """What the peer says of its attempt: heard in a thread, so that nobody waits beside a process that has failed."""

    def __init__(self, link: Link, topic: str, peer: str) -> None:
        self._peer = peer
        self._said: bytes | None = None
        self._error: BaseException | None = None

        def listen() -> None:
            try:
                self._said = link.receive_on(topic, peer)
            except BaseException as error:  # belongs to whoever asks
                self._error = error

        self._thread = threading.Thread(target=listen, daemon=True, name="psi-outcome")
        self._thread.start()

    def check(self) -> None:
        """Raise if the peer is gone, or its process has failed."""
        if self._error is not None:
            raise self._error
        if self._said not in (None, _DONE):
            raise user_error("E417", f'the matching process of party "{self._peer}" failed')

    def wait(self) -> None:
        """Until the peer has said how its attempt ended; raise if it is gone."""
        self._thread.join()
        if self._error is not None:
            raise self._error
