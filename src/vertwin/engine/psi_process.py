"""One attempt at a private set intersection, from the party's side: the process, its files, and their removal."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Final

import numpy as np

from vertwin.engine.matching import HASH_CHARACTERS, Hashes
from vertwin.engine.psi_task import COLUMN, Task
from vertwin.errors import UserError, user_error

_PLAIN_PATH: Final = re.compile(r"[A-Za-z0-9/._-]+")  # PSI writes its paths into a shell command, unquoted
_TRACE: Final = re.compile(rb"/tmp/psi_[A-Za-z0-9_-]{8,64}\.trace")
_POLL_SECONDS: Final = 0.05


class PsiProcess:
    """Started at once; `common` waits for what it finds, and `end` must follow, whatever happens.

    Formal guarantees:
    * the files are this user's alone, and after `end` none of them is left;
    * no key stands in a command line, an environment or the log.
    """

    def __init__(
        self,
        me: str,
        parties: Sequence[str],
        addresses: Mapping[str, str],
        keys: Hashes,
        seconds: int,
        directory: Path,
    ) -> None:
        self._seconds = seconds
        self._directory = _private_directory(directory)
        source, self._target = self._directory / "in.csv", self._directory / "out.csv"
        self._output = self._directory / "output"
        ours, theirs = socket.socketpair()
        with theirs, self._output.open("wb") as sink:
            _write(source, keys)
            self._process = subprocess.Popen(
                [sys.executable, "-m", "vertwin.engine.psi_node", str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=sink,
                stderr=sink,
                env={**os.environ, "TMPDIR": str(self._directory), "LC_ALL": "C"},
                umask=0o077,
                start_new_session=True,  # a group of its own: it starts sorts, which end with it
            )
        self._pipe = Connection(ours.detach())
        self._pipe.send(Task(me, tuple(parties), dict(addresses), str(source), str(self._target), seconds))

    @property
    def process_id(self) -> int:
        return self._process.pid

    def common(self, alarm: Callable[[], None]) -> Hashes:
        """The keys that the peer has too, in no order; `alarm` raises when waiting has become useless."""
        deadline = time.monotonic() + self._seconds
        while not self._pipe.poll(_POLL_SECONDS):
            alarm()
            if time.monotonic() > deadline:
                raise user_error("E416", f"the matching of people was not done after {self._seconds} seconds")
        try:
            outcome, answer = self._pipe.recv()
        except (EOFError, OSError) as error:
            status = self._process.wait(5)
            raise user_error("E414", f"the matching process of this party ended by itself (status {status})") from error
        if outcome != "ok":
            raise user_error("E415", f"the matching process of this party stopped with {answer}")
        keys = _read(self._target)
        if len(keys) != answer:
            raise user_error("E415", "the matching process of this party wrote another number of people than it found")
        return keys

    def end(self, log: Path) -> None:
        """End the process and what it started, keep what it printed, remove what it wrote."""
        self._pipe.close()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait(10)
        with contextlib.suppress(OSError):
            printed = self._output.read_bytes()
            for trace in set(_TRACE.findall(printed)):
                with contextlib.suppress(OSError):
                    os.unlink(trace)
            with open(os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), "ab") as kept:
                kept.write(printed)
        shutil.rmtree(self._directory, ignore_errors=True)


def _private_directory(directory: Path) -> Path:
    """A new directory of mode 0700, inside the given one unless a shell would read that name as something else."""
    place = directory if _PLAIN_PATH.fullmatch(str(directory)) else Path("/tmp")
    return Path(tempfile.mkdtemp(prefix="psi-", dir=place))


def _write(path: Path, keys: Hashes) -> None:
    """One line a key. Hashes are digits and small letters: nothing in them needs a quote."""
    lines = np.full((len(keys), HASH_CHARACTERS + 1), ord("\n"), dtype=np.uint8)
    lines[:, :-1] = np.frombuffer(keys.tobytes(), dtype=np.uint8).reshape(-1, HASH_CHARACTERS)
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(COLUMN.encode() + b"\n")
        file.write(lines.tobytes())


def _read(path: Path) -> Hashes:
    refused: UserError = user_error("E415", "the matching process of this party left no readable result")
    try:
        heading, *lines = path.read_bytes().split()
    except (OSError, ValueError):
        raise refused from None
    if heading.strip(b'"') != COLUMN.encode() or any(len(line) != HASH_CHARACTERS for line in lines):
        raise refused
    return np.array(lines, dtype=f"S{HASH_CHARACTERS}")
