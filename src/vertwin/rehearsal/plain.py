"""A plain rehearsal: the same text at every party, each in a thread of this process, computing in the clear."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

from vertwin.agreement import Agreement
from vertwin.engine.matching import PlainMatcher, PlainMatchingHub
from vertwin.engine.plain import PlainEngine, PlainHub
from vertwin.errors import UserError
from vertwin.noise import Entropy
from vertwin.rehearsal.links import queue_links
from vertwin.rehearsal.receipt import WATERMARK
from vertwin.rehearsal.session import Progress, RehearsalSession
from vertwin.release import Content
from vertwin.run import share


def run_plain(
    agreement: Agreement,
    sources: Mapping[str, Any],
    entropies: Mapping[str, Entropy],
    progress: Progress,
) -> Content:
    """All parties as threads until one release is there; the first failure of its own is what the caller gets."""
    everyone = tuple(party.name for party in agreement.parties)
    holders = tuple(party.name for party in agreement.holders)
    helper = agreement.helper.name if agreement.helper else None
    hub, matching, links = PlainHub(), PlainMatchingHub(holders), queue_links(everyone)
    contents: dict[str, Content | None] = {}
    failures: list[tuple[str, BaseException]] = []

    def take_part(me: str) -> None:
        engine = PlainEngine(hub, me, WATERMARK)
        matcher = PlainMatcher(matching, me)
        session = RehearsalSession(me, holders, helper, engine, matcher, entropies[me], links[me], progress)
        try:
            contents[me] = share(agreement, sources.get(me), session)
        except BaseException as error:  # a thread's error belongs to the caller, whatever it is
            failures.append((me, error))
            links[me].abandon()
            hub.abandon(me)
            matching.abandon(me)

    threads = [threading.Thread(target=take_part, args=(name,), name=f"party-{name}", daemon=True) for name in everyone]
    for thread in threads:
        thread.start()
    try:
        for thread in threads:
            thread.join()
    except KeyboardInterrupt:
        for name in everyone:
            links[name].abandon()
            hub.abandon(name)
            matching.abandon(name)
        raise
    if failures:
        raise _worth_raising([error for _, error in failures])
    content = contents[holders[0]]
    assert content is not None
    return content


def _worth_raising(errors: list[BaseException]) -> BaseException:
    """What went wrong first by itself, rather than what others reported because of it."""
    for error in errors:
        if not (isinstance(error, UserError) and set(error.codes) <= {"E401"}):
            return error
    return errors[0]
