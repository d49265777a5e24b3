"""SpuEngine: the engine of real runs. SPU itself sits in a child process (spu_node.py); this is the party's side.

Before a link is opened the parties compare versions and settings, and before a program's first run its digest and the
digest of what was compiled from it: SPU compares nothing, and with different programs it computes garbage.
"""

from __future__ import annotations

import json
import os
import platform
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from importlib import util
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np

from vertwin.engine.base import Engine, Shares, check_receipt
from vertwin.engine.link import Link
from vertwin.engine.program import Program, Settings, check_input
from vertwin.engine.share_codec import decode_shares, encode_shares
from vertwin.errors import user_error
from vertwin.ledger.receipt import Receipt
from vertwin.version import VERSION

Addresses = Callable[[Settings], dict[str, str]]


def check_machine() -> None:
    """Stop with a code where SPU cannot run, or where our own checks would not, before anything else is tried."""
    if not __debug__:
        raise user_error(
            "E305",
            "Python runs without its assertions (-O or PYTHONOPTIMIZE), and some guarantees are held by them",
            "unset PYTHONOPTIMIZE and leave -O out",
        )
    if sys.version_info[:2] not in ((3, 10), (3, 11)):
        raise user_error(
            "E301",
            f"this is Python {platform.python_version()}; the secure engine runs on Python 3.11",
            'install Python 3.11 and, in its environment, pip install "vertwin[party]"',
        )
    if util.find_spec("spu") is None:
        raise user_error(
            "E302",
            "the secure engine (spu) is not installed",
            'pip install "vertwin[party]" in an environment of Python 3.11 (about 2 GB of disk)',
        )


class _Child:
    """The process that holds SPU, and the pipe to it."""

    def __init__(self, log: Path) -> None:
        self.log = log
        ours, theirs = socket.socketpair()
        with theirs, log.open("ab") as sink:
            os.fchmod(sink.fileno(), 0o600)
            self._process = subprocess.Popen(
                [sys.executable, "-m", "vertwin.engine.spu_node", str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=sink,
                stderr=sink,
                start_new_session=True,  # Ctrl-C reaches the party, which ends this process itself
            )
        self._pipe = Connection(ours.detach())

    @property
    def process_id(self) -> int:
        return self._process.pid

    def ask(self, alarm: Callable[[], None], command: str, *arguments: Any) -> Any:
        """Send a command, wait for its answer; `alarm` raises when a peer is gone, so that nobody waits for ever."""
        try:
            self._pipe.send((command, *arguments))
            while not self._pipe.poll(0.05):
                alarm()
                if self._process.poll() is not None and not self._pipe.poll(0):
                    raise EOFError
            outcome, result = self._pipe.recv()
        except (EOFError, OSError) as error:
            status = self._process.wait(5)
            # A peer's end shows here first, as the end of SPU: give the link a moment to tell which peer it was.
            for _ in range(20):
                alarm()
                time.sleep(0.05)
            if command == "versions":  # its first answer never came: the import itself failed
                raise user_error(
                    "E304", f"the secure engine does not load here; see the last line of {self.log}"
                ) from error
            raise user_error(
                "E403", f"the engine process of this party ended by itself (status {status}) while asked to {command}"
            ) from error
        if outcome == "error":
            alarm()
            raise user_error("E404", f"the engine could not {command}: {result}")
        return result

    def end(self) -> None:
        self._pipe.close()
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait(10)


class SpuEngine(Engine):
    """One party's engine. `addresses` gives, for the settings of a program, where each node's SPU listens."""

    def __init__(self, link: Link, me: str, addresses: Addresses, log: Path, watermark: str | None) -> None:
        check_machine()
        self._watermark = watermark
        self._link, self._me, self._addresses, self._log = link, me, addresses, log
        self._children: dict[Settings, _Child] = {}
        self._compared: set[str] = set()
        self._settings: dict[str, Settings] = {}
        self._attempts: dict[str, int] = {}

    @property
    def process_ids(self) -> tuple[int, ...]:
        return tuple(child.process_id for child in self._children.values())

    def run(self, program: Program, inputs: Mapping[str, np.ndarray]) -> Shares:
        assert self._me in program.settings.nodes, f"{self._me} does not compute in this program"
        mine = {spec.name for spec in program.inputs if spec.owner in (None, self._me)}
        assert set(inputs) == mine, f"{self._me} passes {sorted(inputs)}, the program wants {sorted(mine)} of it"
        specs = {spec.name: spec for spec in program.inputs}
        checked = {name: check_input(specs[name], value, program.settings) for name, value in inputs.items()}
        child = self._child(program.settings)
        if program.digest not in self._compared:
            compiled = child.ask(self._link.check, "compile", program)
            self._compare("program", {"program": program.digest, "compiled": compiled}, program.settings)
            self._compared.add(program.digest)
        attempt = self._attempts.get(program.digest, 0) + 1
        self._attempts[program.digest] = attempt
        self._settings[program.digest] = program.settings
        held = child.ask(self._link.check, "run", program, checked)
        return Shares(program.digest, attempt, len(held), held)

    def reveal(self, shares: Shares, receipt: Receipt, to: Sequence[str]) -> tuple[np.ndarray, ...] | None:
        check_receipt(shares, receipt, self._watermark)
        settings = self._settings[shares.program]
        assert set(to) <= set(settings.nodes), "shares are opened at computing parties"
        assert isinstance(shares.held, list)
        topic = f"shares {shares.identity}"
        self._link.broadcast(topic, encode_shares(shares.held), to=tuple(to))
        if self._me not in to:
            return None
        by_node = [
            shares.held if name == self._me else decode_shares(self._link.receive_on(topic, name), shares.outputs, name)
            for name in settings.nodes
        ]
        outputs = [[held[i] for held in by_node] for i in range(shares.outputs)]
        return tuple(self._child(settings).ask(self._link.check, "open", settings, outputs))

    def restore(self, program: Program, held: object, run: int) -> Shares:
        assert isinstance(held, list)
        self._settings[program.digest] = program.settings
        return Shares(program.digest, run, len(held), held)

    def close(self) -> None:
        while self._children:
            self._children.popitem()[1].end()

    def _child(self, settings: Settings) -> _Child:
        if settings not in self._children:
            child = _Child(self._log)
            self._children[settings] = child
            versions = child.ask(self._link.check, "versions")
            agreed = {
                "vertwin": VERSION,
                **versions,
                "protocol": settings.protocol,
                "field bits": str(settings.field_bits),
                "fraction bits": str(settings.fraction_bits),
                "computing parties": ", ".join(settings.nodes),
            }
            self._compare("engine", agreed, settings)
            child.ask(self._link.check, "link", settings, self._me, self._addresses(settings))
        return self._children[settings]

    def _compare(self, topic: str, mine: dict[str, str], settings: Settings) -> None:
        """Stop, naming the field, where a peer's word differs from ours. COST: one message to each node."""
        for name, payload in self._link.exchange(topic, json.dumps(mine).encode(), settings.nodes).items():
            theirs = json.loads(payload)
            for key, value in mine.items():
                if theirs.get(key) != value:
                    raise user_error(
                        "E410",
                        f'party "{name}" and this party differ in: {key}',
                        "install the same version of vertwin with its pinned requirements at every party",
                    )
