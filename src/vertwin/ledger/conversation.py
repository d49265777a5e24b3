"""What the parties of a run say to each other about their ledgers: four short conversations, each a few messages.

The text is the same at every party. `exchange(topic, payload)` sends to everyone and gives everyone's payload by name,
one's own included (`Link.exchange`). Nothing here is private: heads, numbers of attempts, how far they came.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from vertwin.errors import user_error
from vertwin.ledger.attempts import AttemptState, Step, decide, decode_states, encode_states, is_attempt
from vertwin.ledger.heads import SignedHead, Signing, read_head, unbelievable
from vertwin.ledger.ledger import Ledger, LedgerReceipt

Exchanging = Callable[[str, bytes], Mapping[str, bytes]]


def greet(ledger: Ledger, exchange: Exchanging, signing: Signing) -> None:
    """Every ledger still contains what its party signed, or nobody goes on (E544 at that party, E546 at its peers).

    To be called right after the handshake, before any row moves. COST: one message to each peer.
    """
    me, data_set = ledger.history.party, ledger.history.data_set
    told = {"now": ledger.signed_head(signing).document(), "remembered": _remembered(ledger, signing)}
    for peer, payload in exchange("ledger heads", json.dumps(told).encode()).items():
        if peer == me:
            continue
        document = _document(payload, peer)
        try:
            shown = document.get("remembered", {}).get(me)
            if shown is not None:
                ledger.check_own(peer, _shown(shown, data_set, me, peer), signing)
            ledger.check_peer(read_head(document.get("now"), data_set, peer, peer, signing.verify[peer]))
        except AttributeError as error:
            raise unbelievable(peer, "cannot be read") from error


def settle(ledger: Ledger, agreement_digest: str, exchange: Exchanging) -> str | None:
    """Deal with every unfinished attempt of this agreement; the one to be resumed by all parties, or None.

    With None the parties begin a new attempt. COST: two messages to each peer.
    """
    me = ledger.history.party
    ids = json.dumps(sorted(ledger.unsettled(agreement_digest))).encode()
    union: set[str] = set()
    for peer, payload in exchange("ledger attempts", ids).items():
        union |= _attempts(payload, peer)
    mine = {attempt: ledger.state(attempt) for attempt in sorted(union)}
    everyone = {
        peer: mine if peer == me else decode_states(payload, peer)
        for peer, payload in exchange("ledger states", encode_states(mine)).items()
    }
    resumed: list[str] = []
    for attempt in sorted(union):
        states = {peer: known.get(attempt, AttemptState.NONE) for peer, known in everyone.items()}
        match decide(me, states):
            case Step.RESUME:
                resumed.append(attempt)
            case _ if ledger.history.attempt(attempt) is None:
                pass  # a peer's attempt of which this party never knew
            case Step.CLOSE:
                ledger.end(attempt)
            case Step.FORGET:
                ledger.forget(attempt)
            case Step.KEEP:
                ledger.keep(attempt)
    if len(resumed) > 1:  # a new attempt begins only when all others are settled
        raise user_error("E556", "more than one earlier run of this agreement waits to be finished")
    return resumed[0] if resumed else None


def all_stored(ledger: Ledger, attempt: str, exchange: Exchanging, signing: Signing) -> tuple[LedgerReceipt, ...]:
    """Tell the peers that this party has stored, wait until all have, and get the receipts.

    When this returns, every peer has written down, and countersigned, a head of this ledger that contains the spending;
    then, and not before, shares and own noisy tables may be sent. COST: two messages to each peer.
    """
    me, data_set = ledger.history.party, ledger.history.data_set
    ledger.stored(attempt)
    head = ledger.signed_head(signing)
    told = json.dumps({"attempt": attempt, "head": head.document()}).encode()
    countersignatures: dict[str, str] = {}
    for peer, payload in exchange("ledger stored", told).items():
        if peer == me:
            continue
        document = _document(payload, peer)
        if document.get("attempt") != attempt:
            raise unbelievable(peer, "belongs to another attempt")
        theirs = read_head(document.get("head"), data_set, peer, peer, signing.verify[peer])
        countersignatures[peer] = ledger.record_peer_head(theirs, signing).hex()
    for peer, payload in exchange("ledger countersignatures", json.dumps(countersignatures).encode()).items():
        if peer != me:
            try:
                signature = bytes.fromhex(_document(payload, peer)[me])
            except (KeyError, ValueError, TypeError) as error:
                raise unbelievable(peer, "was not countersigned") from error
            ledger.record_countersignature(peer, head, signature, signing)
    return ledger.begin_exchange(attempt)


def all_sealed(ledger: Ledger, attempt: str, release_digest: str, exchange: Exchanging) -> None:
    """This party has the signed release on its disk: say so, and erase the shares when everybody has it.

    If a peer is cut off before it says so, the shares stay, and the next `settle` erases them or sends them again.
    COST: one message to each peer.
    """
    ledger.seal(attempt, release_digest)
    for peer, payload in exchange("ledger sealed", release_digest.encode()).items():
        if payload != release_digest.encode():
            raise user_error("E558", f'party "{peer}" has another release than this party')
    ledger.end(attempt)


def _remembered(ledger: Ledger, signing: Signing) -> dict[str, Any]:
    shown: dict[str, Any] = {}
    for peer in signing.verify:
        known = ledger.remembered(peer)
        if known is not None:
            shown[peer] = known.document()
    return shown


def _shown(document: Any, data_set: str, me: str, peer: str) -> SignedHead:
    """What a peer remembers of this ledger. Its signature is judged by check_own: this party may have new keys."""
    return read_head(document, data_set, me, peer, lambda *_: True)


def _document(payload: bytes, peer: str) -> dict[str, Any]:
    try:
        document = json.loads(payload)
        if not isinstance(document, dict):
            raise ValueError
    except (ValueError, RecursionError) as error:
        raise unbelievable(peer, "cannot be read") from error
    return document


def _attempts(payload: bytes, peer: str) -> set[str]:
    try:
        listed = json.loads(payload)
        if not isinstance(listed, list) or len(listed) > 10_000 or not all(map(is_attempt, listed)):
            raise ValueError
    except (ValueError, RecursionError) as error:
        raise unbelievable(peer, "cannot be read") from error
    return set(listed)
