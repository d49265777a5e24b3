"""The session between organisations: the abstract Session over a tunnel, with a ledger that counts.

The order of a reveal is the ledger's: spend, store, every peer countersigns, exchange; after a crash what was stored
is exchanged again and nothing is computed anew. This file only calls the steps in that order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from vertwin.agreement import Agreement
from vertwin.engine import Earlier, Session, Shares
from vertwin.engine.matching_key import joint_key
from vertwin.engine.psi_matcher import PsiMatcher
from vertwin.engine.share_codec import ShareBlob, encode_shares
from vertwin.engine.spu import SpuEngine
from vertwin.errors import user_error
from vertwin.ledger import Receipt
from vertwin.ledger.budget import Spending, spending_of
from vertwin.ledger.conversation import all_sealed, all_stored, greet, settle
from vertwin.ledger.entries import Linked
from vertwin.ledger.heads import Signing
from vertwin.ledger.ledger import Ledger
from vertwin.noise import Entropy
from vertwin.parties.joining import Joined, Prepared
from vertwin.planning import mechanism_for, plan
from vertwin.privacy.viewers import coalitions_of, viewers_of

ATTEMPT_HEX = 32  # 128 bits: it names an attempt in every ledger, and is a file's name
Progress = Callable[[str, float, str], None]


@dataclass(frozen=True)
class Folders:
    """Where this party's processes write: private, and gone when the run has ended."""

    private: Path


def planned_spending(agreement: Agreement, rows: int, plan_digest: str) -> Spending:
    """What a run will tell each viewer: the analyst, each party, every coalition."""
    mechanism = mechanism_for(agreement, rows)
    viewers = (*viewers_of(mechanism, agreement), *coalitions_of(mechanism, agreement))
    return spending_of(agreement, plan_digest, mechanism, viewers)


class PartySession(Session):
    """One party of a real run.

    Formal guarantees (the ledger's, kept by calling it in its order):
    * nothing of this party's shares or own noisy tables leaves before every party has stored its own and countersigned
      this ledger's spending;
    * an attempt that every party has stored is finished with the stored bytes; any other is forgotten before a new one
      draws new noise.
    """

    def __init__(
        self, prepared: Prepared, joined: Joined, ledger: Ledger, entropy: Entropy, folders: Folders, progress: Progress
    ) -> None:
        agreement, me = prepared.agreement, prepared.identity.name
        self.me = me
        self.holders = tuple(party.name for party in agreement.holders)
        self.helper = agreement.helper.name if agreement.helper else None
        self.link, self.entropy, self.watermark = joined.link, entropy, None
        self.agreement, self._ledger, self._progress = agreement, ledger, progress
        self.engine = SpuEngine(
            joined.link, me, joined.tunnel.engine_addresses, folders.private / "engine.log", watermark=None
        )
        self.matcher = PsiMatcher(
            joined.link,
            self.holders,
            lambda channel: joined.tunnel.addresses(channel, self.holders),
            entropy,
            folders.private,
            folders.private / "matching.log",
            lambda note: progress("linkage", 0.0, note),
        )
        checks = {peer.name: peer.identity.verify for peer in prepared.peers.peers}
        self._signing = Signing(prepared.identity.sign, checks | {me: prepared.identity.shown.verify})
        self.attempt, self.resumed = self._begin()

    def _begin(self) -> tuple[str, bool]:
        """Ledgers first: each holds what its party signed; then an earlier attempt is finished, or a new one named."""
        greet(self._ledger, self.link.exchange, self._signing)
        earlier = settle(self._ledger, self.agreement.digest, self.link.exchange)
        if earlier is not None:
            return earlier, True
        return joint_key(self.link, self.entropy, "attempt", self.everyone).hex()[:ATTEMPT_HEX], False

    def linking(self, offered: int) -> None:
        self._record_linkage(offered, 0, "begun")

    def linked(self, offered: int, rows: int) -> None:
        if self.resumed and rows != int(self._ledger.stored(self.attempt)["rows"]):
            raise user_error(
                "E560",
                "an earlier run waits to be finished, and the tables now link another number of people",
                "bring back the tables of that run; or give it up at every party: vertwin ledger abandon",
            )
        self.rows = rows
        self._record_linkage(offered, rows, "done")
        self.progress("linkage", 1.0, f"{rows} people are in every table")

    def _record_linkage(self, offered: int, rows: int, how_far: str) -> None:
        linkage = self.agreement.linkage
        self._ledger.record_linkage(
            Linked(
                attempt=self.attempt,
                agreement=self.agreement.name,
                agreement_digest=self.agreement.digest,
                parties=self.everyone,
                method=f"{linkage.kind}, {how_far}",
                keys=linkage.keys,
                rows_offered=offered,
                rows_linked=rows,
                table=None,
            )
        )

    def receipt(self, shares: Shares, what: str, beside: bytes = b"") -> Receipt:
        if not self.resumed:
            spending = planned_spending(self.agreement, self.rows, plan(self.agreement, self.rows).digest)
            self._ledger.spend(self.attempt, spending, (shares.identity,), what)
            held = encode_shares(cast("list[ShareBlob]", shares.held))
            parts = {"shares": held, "beside": beside, "run": b"%d" % shares.attempt, "rows": b"%d" % self.rows}
            self._ledger.store(self.attempt, parts)
        self.progress("ledger", 0.0, "spent and stored; waiting until every party has")
        (receipt,) = all_stored(self._ledger, self.attempt, self.link.exchange, self._signing)
        self.progress("ledger", 1.0, "every party has stored its shares and countersigned")
        return receipt

    def earlier(self) -> Earlier | None:
        if not self.resumed:
            return None
        parts = self._ledger.stored(self.attempt)
        return Earlier(parts["shares"], int(parts["run"]), parts["beside"])

    def seal(self, release_digest: str) -> None:
        """The signed release is on this party's disk: the stored shares are erased once everybody has it."""
        all_sealed(self._ledger, self.attempt, release_digest, self.link.exchange)

    def progress(self, stage: str, done: float, note: str = "") -> None:
        self._progress(stage, done, note)
