"""A secure rehearsal: every party a process of its own, each with its own engine process, on this one machine.

The computation is the real one: each party process reads its own table, and what passes between them are shares,
digests and noisy tables. What is not real is the separation of organisations: one person started all of them and may
read every table, so what comes of it is watermarked.

    coordinator --(control pipe)-- party process --(pipe)-- engine process
                                        |                        |
                                   socket pair              unix socket, in a directory of mode 0700
                                        |                        |
                                   party process            engine process
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from vertwin.agreement import Agreement
from vertwin.engine.spu import check_machine
from vertwin.errors import UserError, user_error
from vertwin.noise import Entropy
from vertwin.rehearsal.session import Progress
from vertwin.release import Content

CONSEQUENCES = {"E401", "E402", "E403", "E404", "E417"}
"""What a party reports when another one failed: the other one's own message is the one worth printing."""


@dataclass(frozen=True, repr=False)  # it may hold a table
class Assignment:
    """What the coordinator tells one party process. Pickled into a pipe between processes of one user, nowhere else."""

    me: str
    agreement: Agreement
    source: Any
    descriptors: dict[str, int]
    directory: str
    entropy: Entropy


class _Party:
    def __init__(self, name: str, assignment: Assignment) -> None:
        self.name = name
        ours, theirs = socket.socketpair()
        inherited = [theirs.fileno(), *assignment.descriptors.values()]
        log = Path(assignment.directory) / f"{name}.log"
        with theirs, log.open("ab") as sink:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "vertwin.rehearsal.party", str(theirs.fileno())],
                pass_fds=inherited,
                stdin=subprocess.DEVNULL,
                stdout=sink,
                stderr=sink,
                start_new_session=True,  # Ctrl-C reaches the coordinator alone, which ends the others
            )
        self.pipe = Connection(ours.detach())
        self.pipe.send(assignment)

    def end(self) -> None:
        self.pipe.close()
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(3)
            except subprocess.TimeoutExpired:
                self.process.kill()
        self.process.wait(10)


def run_secure(
    agreement: Agreement,
    sources: Mapping[str, Any],
    entropies: Mapping[str, Entropy],
    progress: Progress,
) -> Content:
    """All parties as processes until one release is there. Whatever happens, every process has ended afterwards."""
    check_machine()
    everyone = tuple(party.name for party in agreement.parties)
    directory = tempfile.mkdtemp(prefix="vertwin-")
    parties: list[_Party] = []
    ends: dict[str, dict[str, socket.socket]] = {name: {} for name in everyone}
    try:
        for a, b in combinations(everyone, 2):
            ends[a][b], ends[b][a] = socket.socketpair()
        for name in everyone:
            descriptors = {peer: end.fileno() for peer, end in ends[name].items()}
            task = Assignment(name, agreement, sources.get(name), descriptors, directory, entropies[name])
            parties.append(_Party(name, task))
        # Only the two processes hold a pair's ends from here on, so that each sees the other's end at once.
        _close(ends)
        return _follow(parties, progress)
    finally:
        _close(ends)
        for party in parties:
            party.end()
        _wait_for_sockets(directory)


def _close(ends: Mapping[str, Mapping[str, socket.socket]]) -> None:
    for name in ends:
        for end in ends[name].values():
            end.close()


def _wait_for_sockets(directory: str) -> None:
    """Remove the directory with its sockets and logs. Engine processes end on their own within half a second."""
    for _ in range(20):
        shutil.rmtree(directory, ignore_errors=True)
        if not os.path.exists(directory):
            return
        time.sleep(0.1)


def _follow(parties: list[_Party], progress: Progress) -> Content:
    """Listen to all parties until everyone is done, or one has failed."""
    waiting = {party.pipe: party for party in parties}
    content: Content | None = None
    while waiting:
        for pipe in wait(list(waiting)):
            party = waiting[pipe]  # type: ignore[index]
            try:
                kind, *rest = party.pipe.recv()
            except (EOFError, OSError):
                raise _failure(waiting, party, None) from None
            if kind == "progress":
                progress(party.name, *rest)
            elif kind == "failed":
                raise _failure(waiting, party, rest[0])
            else:
                assert kind == "done"
                content = rest[0] or content
                del waiting[party.pipe]
    assert content is not None, "every party is done and none has the release"
    return content


def _failure(waiting: Mapping[Connection, _Party], first: _Party, faults: Any) -> UserError:
    """The error worth printing: a party's own faults before those of parties that lost it."""
    reports: list[tuple[_Party, Any]] = [(first, faults)]
    others = {pipe: party for pipe, party in waiting.items() if party is not first}
    deadline = time.monotonic() + 3.0
    while others and (left := deadline - time.monotonic()) > 0:
        for pipe in wait(list(others), timeout=left):
            party = others[pipe]  # type: ignore[index]
            try:
                kind, *rest = party.pipe.recv()
            except (EOFError, OSError):
                kind, rest = "failed", [None]
            if kind == "failed":
                reports.append((party, rest[0]))
            if kind != "progress":
                del others[party.pipe]
        if _cause(reports) is not None:
            break
    cause = _cause(reports)
    if cause is not None:
        return cause
    silent = [party for party, told in reports if told is None]
    if silent:
        silent[0].process.wait(5)
        status = silent[0].process.returncode
        return user_error(
            "E402",
            f'the process of party "{silent[0].name}" ended by itself (status {status}); all parties were stopped',
            "start again: nothing was revealed or written",
        )
    return UserError(reports[0][1])


def _cause(reports: list[tuple[_Party, Any]]) -> UserError | None:
    for _, told in reports:
        if told is not None and not {fault.code for fault in told} <= CONSEQUENCES:
            return UserError(told)
    return None
