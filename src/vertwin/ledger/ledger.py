"""The ledger of one party on one data set: what it may still tell whom, and the receipts without which nothing opens.

The order of a run, enforced here and not by good will:

    spend -> store -> every peer countersigns this ledger's head -> begin_exchange gives the receipts -> seal -> end
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self, final

from vertwin.errors import user_error
from vertwin.ledger import file as files
from vertwin.ledger.attempts import AttemptState, is_attempt
from vertwin.ledger.budget import (
    Forecast,
    Spending,
    check_budget,
    forecast,
    raise_if_exceeded,
    read_viewer,
    written_events,
)
from vertwin.ledger.chain import Head, is_digest
from vertwin.ledger.disk import Disk, SystemDisk
from vertwin.ledger.entries import (
    FORMAT,
    Budget,
    ClockSet,
    Closed,
    Countersigned,
    Exchange,
    Forgotten,
    Kept,
    Linked,
    Opened,
    PeerHead,
    Rehearsed,
    Sealed,
    Spent,
)
from vertwin.ledger.events import Composer, gaussian_composer
from vertwin.ledger.file import Clock, FreshBytes, LedgerFile, system_clock
from vertwin.ledger.heads import (
    HEAD_DOMAIN,
    SignedHead,
    Signing,
    check_countersignature,
    countersign,
    sign_head,
    went_back,
)
from vertwin.ledger.history import Attempt, History
from vertwin.ledger.pending import FOLDER as PENDING
from vertwin.ledger.pending import PendingStore
from vertwin.ledger.receipt import Receipt
from vertwin.ledger.secret import FILE as SECRET
from vertwin.ledger.secret import SECRET_BYTES, Secret, make_secret, read_secret

_ISSUER: Final = object()


@final
@dataclass(frozen=True)
class LedgerReceipt(Receipt):
    """Given by `Ledger.begin_exchange` alone, when the spending and the shares are on the disk at every party."""

    attempt: str
    run: str
    issuer: object

    def __post_init__(self) -> None:
        if self.issuer is not _ISSUER:
            raise TypeError("receipts are issued by Ledger.begin_exchange alone")

    def __reduce__(self) -> tuple[object, ...]:
        raise TypeError("a receipt opens shares in the process that it was issued in")

    def __repr__(self) -> str:
        return f"LedgerReceipt(attempt {self.attempt}, run {self.run})"

    @property
    def covers(self) -> str:
        return self.run

    @property
    def watermark(self) -> None:
        return None


@final
class Ledger:
    """Open for one process. `Ledger.open`, then `close` or `with`.

    Formal guarantees:
    * a receipt is issued only for an attempt whose spending is on the disk within every budget, whose shares are
      stored here intact, and after whose spending every other party countersigned this ledger's head;
    * a spending is forgotten only if nothing of its attempt ever left this party;
    * whatever a method wrote is on the disk before it returns.
    """

    def __init__(self, file: LedgerFile, pending: PendingStore, secret: Secret, composer: Composer) -> None:
        self._file, self._pending, self._secret, self._composer = file, pending, secret, composer

    @classmethod
    def open(
        cls,
        folder: Path,
        data_set: str,
        party: str,
        fresh: FreshBytes,
        clock: Clock = system_clock,
        composer: Composer = gaussian_composer,
        disk: Disk | None = None,
    ) -> Self:
        """The ledger in `folder` (State.data_set), begun if there is none. `fresh`: the session's `Entropy.bytes`."""
        used = disk or SystemDisk()
        file = files.open_file(folder, Opened(FORMAT, data_set, party), used, clock, fresh, {SECRET, PENDING})
        try:
            secret = read_secret(used, folder)
            if secret is None:
                if len(file.lines) > 1:
                    raise user_error("E555", "the owner's secret is gone", place=str(folder / SECRET))
                secret = make_secret(used, folder, fresh(SECRET_BYTES))
            pending = PendingStore(folder, used, secret)
            pending.sweep()
            files.confirm(used, file)
            ledger = cls(file, pending, secret, composer)
            ledger._erase_settled()
        except OSError as error:
            file.close()
            raise files.cannot_write(error, folder) from error
        except BaseException:
            file.close()
            raise
        return ledger

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._file.close()

    def __repr__(self) -> str:
        return f"Ledger(data set {self.history.data_set}, party {self.history.party}, {self.head.count} entries)"

    # --- what is there ------------------------------------------------------------------------------------------

    @property
    def history(self) -> History:
        return History(self._file.lines)

    @property
    def head(self) -> Head:
        return self._file.head

    def private_digest(self, purpose: str, data: bytes) -> str:
        """An HMAC under the owner's secret: what may stand for private data where it must be recognised again."""
        return self._secret.digest(purpose, data)

    # --- the owner ----------------------------------------------------------------------------------------------

    def set_budget(self, viewer: str, epsilon: float, delta: float) -> None:
        """From now on at most this towards a viewer: `analyst`, a party, parties joined by +, or `parties` (each)."""
        check_budget(epsilon, delta)
        coalition, each = read_viewer(viewer, self.history.party)
        self._file.append(Budget(coalition, each, float(epsilon), float(delta)))

    def accept_clock(self) -> None:
        """The owner's word that the clock is right although the last entry bears a later time."""
        self._file.append(ClockSet())

    # --- a run --------------------------------------------------------------------------------------------------

    def forecast(self, spending: Spending) -> tuple[Forecast, ...]:
        """Every viewer before and after a planned run; unfinished attempts of the same agreement are left out."""
        unfinished = set(self.unsettled(spending.agreement_digest))
        return self._forecast(spending, unfinished)

    def require_within_budget(self, spending: Spending) -> None:
        """E550 if the planned run would exceed a budget; to be called before anyone is.

        An unfinished attempt of the same agreement is not counted here: it will be finished in place of a new one,
        or forgotten, or `spend` will count it.
        """
        raise_if_exceeded(self.forecast(spending), self.history.data_set, str(self._file.folder))

    def record_linkage(self, linked: Linked) -> None:
        self._file.append(linked)

    def record_rehearsal(self, agreement: str, agreement_digest: str, secure: bool) -> None:
        self._file.append(Rehearsed(agreement, agreement_digest, secure))

    def spend(self, attempt: str, spending: Spending, covers: Sequence[str], what: str) -> Spent:
        """Count a run, on the disk, before its shares are stored. E550 past a budget, E554 if the attempt is known.

        `attempt`: 128 bits in hex, made by the parties together. `covers`: `Shares.identity` of what will be opened.
        """
        if not is_attempt(attempt) or self.history.attempt(attempt) is not None:
            raise user_error("E554", "the number of this attempt is not a new one: nothing was revealed")
        if self.unsettled(spending.agreement_digest):
            raise user_error("E556", "an earlier run of this agreement is unfinished: it comes first")
        raise_if_exceeded(self._forecast(spending, set()), self.history.data_set, str(self._file.folder))
        entry = Spent(
            attempt,
            spending.agreement,
            spending.agreement_digest,
            spending.plan_digest,
            spending.parties,
            written_events(spending),
            spending.delta,
            tuple(covers),
            what,
        )
        self._file.append(entry)
        return entry

    def store(self, attempt: str, parts: Mapping[str, bytes]) -> None:
        """This party's own output shares and own noisy tables, on the disk. Only for what was spent."""
        known = self._known(attempt)
        if known.settled or known.exchanged:
            raise user_error("E554", "this attempt has come further already: nothing was stored")
        self._pending.store(attempt, parts)

    def stored(self, attempt: str) -> dict[str, bytes]:
        """What was stored, to be exchanged once more after a crash; E553 if it is gone or not what was written."""
        self._known(attempt)
        return self._pending.read(attempt)

    def begin_exchange(self, attempt: str) -> tuple[LedgerReceipt, ...]:
        """The receipts, one for each run that the spending covers, in its order; from here on it counts for ever.

        To be called when every peer has said that its shares are stored. After a crash the same call gives the same
        receipts again.
        """
        known = self._known(attempt)
        if known.settled:
            raise user_error("E556", "this attempt is over: its shares are not exchanged again")
        self._pending.read(attempt)
        for peer in (name for name, _ in known.spent.parties if name != self.history.party):
            seen = self.history.countersigned(peer)
            if seen is None or seen.at < known.line.count:
                raise user_error("E557", f'party "{peer}" has not countersigned the ledger since this was spent')
        if not known.exchanged:
            self._file.append(Exchange(attempt))
        return tuple(LedgerReceipt(attempt, run, _ISSUER) for run in known.spent.covers)

    def seal(self, attempt: str, release_digest: str) -> None:
        """This party has the release on its disk, signed by all. Its shares stay, for a peer that has not."""
        known = self._known(attempt)
        if not known.exchanged or known.settled or known.release not in (None, release_digest):
            raise user_error("E556", "this attempt cannot become this release")
        if known.release is None:
            assert is_digest(release_digest)
            self._file.append(Sealed(attempt, release_digest))

    def end(self, attempt: str) -> None:
        """Every party has the release: erase the stored shares. Safe to call again."""
        known = self._known(attempt)
        if known.release is None:
            raise user_error("E556", "this attempt has no release here: its shares are not erased")
        if not known.closed:
            self._file.append(Closed(attempt))
        self._pending.erase(attempt)

    # --- after a crash ------------------------------------------------------------------------------------------

    def state(self, attempt: str) -> AttemptState:
        """How far an attempt came here; `none` for one that this ledger does not know."""
        known = self.history.attempt(attempt)
        if known is None or known.forgotten:
            return AttemptState.NONE
        here = not known.settled and self._pending.intact(attempt)
        if known.release is not None:
            return AttemptState.SEALED if here else AttemptState.CLOSED
        if known.exchanged:
            return AttemptState.ALL_STORED if here else AttemptState.LOST
        return AttemptState.STORED if here else AttemptState.NONE

    def unsettled(self, agreement_digest: str | None = None) -> dict[str, AttemptState]:
        """The attempts, of one agreement or of all, that are to be settled with the peers before a new one."""
        return {
            known.spent.attempt: self.state(known.spent.attempt)
            for known in self.history.attempts
            if not known.settled and agreement_digest in (None, known.spent.agreement_digest)
        }

    def forget(self, attempt: str) -> None:
        """Do not count an attempt of which nothing left this party, and erase what is stored of it."""
        known = self._known(attempt)
        if known.exchanged:
            raise user_error("E556", "something of this attempt may have left: it stays counted")
        if not known.settled:
            self._file.append(Forgotten(attempt))
        self._pending.erase(attempt)

    def keep(self, attempt: str) -> None:
        """An attempt that cannot be finished stays counted; what is stored of it is erased."""
        if not self._known(attempt).settled:
            self._file.append(Kept(attempt))
        self._pending.erase(attempt)

    def abandon(self, agreement_digest: str | None = None) -> tuple[str, ...]:
        """The owner gives up what is unfinished: counted where something may have left. The peers will learn of it."""
        unfinished = self.unsettled(agreement_digest)
        for attempt, state in unfinished.items():
            if state in (AttemptState.NONE, AttemptState.STORED):
                self.forget(attempt)
            elif state in (AttemptState.SEALED, AttemptState.CLOSED):
                self.end(attempt)
            else:
                self.keep(attempt)
        return tuple(unfinished)

    # --- the peers ----------------------------------------------------------------------------------------------

    def signed_head(self, signing: Signing) -> SignedHead:
        history = self.history
        return sign_head(history.data_set, history.party, self.head, signing.sign)

    def spent_head(self, attempt: str, signing: Signing) -> SignedHead:
        """The head right after this attempt was spent: the same in every session, so it can stand in the release."""
        history = self.history
        return sign_head(history.data_set, history.party, self._known(attempt).line.head, signing.sign)

    def remembered(self, peer: str) -> SignedHead | None:
        """The last head of a peer's ledger that was written down here, to be shown to it."""
        known = self.history.remembered(peer)
        if known is None:
            return None
        return SignedHead(self.history.data_set, peer, known.at, known.head, known.signature)

    def check_own(self, peer: str, shown: SignedHead, signing: Signing) -> None:
        """E544 if this ledger does not contain a head that a peer remembers of it: it was rolled back or replaced."""
        history = self.history
        if history.head_at(shown.count) == Head(shown.count, shown.head):
            return
        own = signing.verify[history.party](HEAD_DOMAIN, shown.message, bytes.fromhex(shown.signature))
        raise went_back(peer, shown, own, self.head.count, str(self._file.folder))

    def check_peer(self, now: SignedHead) -> None:
        """E546 if a peer's ledger stands before what it signed earlier, or signed two ledgers of one length."""
        known = self.remembered(now.party)
        if known is not None and (now.count < known.count or (now.count == known.count and now.head != known.head)):
            raise user_error(
                "E546",
                f'the ledger of party "{now.party}" has {now.count} entries; it had {known.count} when it last signed, '
                "and they are not the same",
                "that party has to bring back its newest ledger",
            )

    def record_peer_head(self, head: SignedHead, signing: Signing) -> bytes:
        """Write down where a peer's ledger stands (read_head checked it) and return the countersignature for it."""
        self.check_peer(head)
        if self.remembered(head.party) != head:
            self._file.append(PeerHead(head.party, head.count, head.head, head.signature))
        return countersign(head, signing.sign)

    def record_countersignature(self, peer: str, head: SignedHead, signature: bytes, signing: Signing) -> None:
        """A peer's proof that it wrote down this ledger's `head`; E548 if it is not that."""
        assert self.history.head_at(head.count) == Head(head.count, head.head)
        check_countersignature(head, peer, signature, signing.verify[peer])
        self._file.append(Countersigned(peer, head.count, head.head, signature.hex()))

    # --- within -------------------------------------------------------------------------------------------------

    def _known(self, attempt: str) -> Attempt:
        known = self.history.attempt(attempt)
        if known is None:
            raise user_error("E556", "this ledger knows no such attempt")
        return known

    def _forecast(self, spending: Spending, without: set[str]) -> tuple[Forecast, ...]:
        history = self.history
        past = [run for run, attempt in history.counted if attempt not in without]
        return forecast(past, spending, history.budgets, history.party, self._composer)

    def _erase_settled(self) -> None:
        """What a crash left of attempts that are over; shares without a spending mean that the ledger lost its end."""
        for attempt in self._pending.attempts():
            known = self.history.attempt(attempt) if is_attempt(attempt) else None
            if known is None:
                raise user_error(
                    "E544", "there are stored shares of a run that is not in the ledger", place=str(self._file.folder)
                )
            if known.settled:
                self._pending.erase(attempt)


def read_history(folder: Path, disk: Disk | None = None) -> History:
    """For looking at a ledger, also while a run uses it: checked, not locked, not mended."""
    return History(files.read_file(folder, disk or SystemDisk()))
