"""What two organisations do in two terminals, done here by one program: for `vertwin demo`, and for tests of the way.

Each party gets its own state folder, keys, port and table; then `vertwin run` is started once for each, as a process
that knows nothing of the other but what stands in the agreement and in its peers.toml.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from vertwin.agreement import Agreement, dumps, parse
from vertwin.errors import CODES, Fault, UserError, user_error
from vertwin.parties import State
from vertwin.parties import identity as identities
from vertwin.parties.identity import Identity
from vertwin.release import whole_file

SECONDS_TO_END = 8.0

# A person's own `vertwin run` outlives the shell that started it; one of a demo ends with the demo, however that ends.
WATCHED = (
    "import sys; from vertwin.engine.parent_watch import end_with_parent; end_with_parent(); "
    "from vertwin.cli import main; sys.exit(main(sys.argv[1:]))"
)


@dataclass(frozen=True)
class Terminal:
    """One party: its folder, which nobody else needs, and what it was given."""

    name: str
    state: Path
    agreement: Path
    table: Path
    release: Path

    @property
    def command(self) -> list[str]:
        arguments = ["run", str(self.agreement), "--as", self.name, "--data", str(self.table)]
        return [*arguments, "--state", str(self.state), "--output", str(self.release), "--force"]


@contextmanager
def reserved_ports(count: int) -> Iterator[list[int]]:
    """Ports on loopback that nobody else gets meanwhile: bound, not listening, free for who may use them again."""
    with ExitStack() as stack:
        ports: list[int] = []
        for _ in range(count):
            held = stack.enter_context(socket.socket())
            held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            held.bind(("127.0.0.1", 0))
            ports.append(held.getsockname()[1])
        yield ports


def set_up(terms: Agreement, tables: Mapping[str, Path], ports: Mapping[str, int], folder: Path) -> list[Terminal]:
    """Keys, the agreement with their fingerprints, and each party's own peers.toml, as docs/parties.md describes."""
    names = [party.name for party in terms.holders]
    states = {name: folder / "parties" / name for name in names}
    keys = {name: _identity(name, State(states[name])) for name in names}
    named = replace(terms, parties=tuple(replace(p, key=keys[p.name].fingerprint) for p in terms.parties))
    agreement = folder / "agreement.toml"
    text = dumps(named)
    assert parse(text).digest == named.digest
    with whole_file(agreement, force=True) as file:
        file.write_text(text, encoding="utf-8")
    for name in names:
        lines = [f'listen = "127.0.0.1:{ports[name]}"']
        for peer in names:
            if peer != name:
                shown = os.path.abspath(keys[peer].public_file)
                lines += ["", "[[peers]]", f'name = "{peer}"', f'address = "127.0.0.1:{ports[peer]}"']
                lines += [f"identity = '{shown}'"]
        (keys[name].folder / "peers.toml").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return [Terminal(name, states[name], agreement, tables[name], folder / f"{name}.vertwin") for name in names]


def _identity(name: str, state: State) -> Identity:
    folder = state.identity(name)
    try:
        return identities.load(name, folder)
    except UserError as error:
        if error.codes != ("E421",):
            raise
        return identities.create(name, folder)


def run_all(terminals: list[Terminal], say: Callable[[str], None]) -> None:
    """Start every party's process, pass on what they tell, and end all as soon as one fails. Nothing outlives this."""
    processes: dict[str, subprocess.Popen[str]] = {}
    told: dict[str, list[str]] = {terminal.name: [] for terminal in terminals}
    readers: list[threading.Thread] = []
    try:
        for terminal in terminals:
            processes[terminal.name] = subprocess.Popen(
                [sys.executable, "-c", WATCHED, *terminal.command],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                text=True,
                start_new_session=True,  # Ctrl-C reaches this process, which ends the parties
            )
        for name, process in processes.items():
            reader = threading.Thread(target=_listen, args=(process, told[name], say), daemon=True)
            reader.start()
            readers.append(reader)
        _wait(processes, readers, told)
    finally:
        for process in processes.values():
            _end(process)
        for reader in readers:
            reader.join(5)
        for process in processes.values():
            assert process.stderr is not None
            process.stderr.close()


def _listen(process: subprocess.Popen[str], told: list[str], say: Callable[[str], None]) -> None:
    assert process.stderr is not None
    for line in process.stderr:
        told.append(line.rstrip())
        if not line.startswith(("error ", "  hint:")):
            say(line.rstrip())


def _wait(
    processes: Mapping[str, subprocess.Popen[str]], readers: list[threading.Thread], told: Mapping[str, list[str]]
) -> None:
    waiting = dict(processes)
    while waiting:
        for name, process in list(waiting.items()):
            try:
                status = process.wait(0.1)
            except subprocess.TimeoutExpired:
                continue
            del waiting[name]
            if status != 0:
                for other in waiting.values():  # the others hear of it by themselves; they get a moment to say so
                    try:
                        other.wait(SECONDS_TO_END)
                    except subprocess.TimeoutExpired:
                        _end(other)
                for reader in readers:
                    reader.join(5)
                raise _failure(name, status, told)


def _failure(first: str, status: int, told: Mapping[str, list[str]]) -> UserError:
    """The parties' own errors, each said once; a party that ended without a word is named."""
    faults: list[Fault] = []
    for name in (first, *[other for other in told if other != first]):
        lines = told[name]
        for i, line in enumerate(lines):
            code, _, sentence = line.removeprefix("error ").partition(" ")
            if line.startswith("error ") and code in CODES:
                hint = lines[i + 1].partition("hint: ")[2] if i + 1 < len(lines) else ""
                faults.append(Fault(code, sentence, hint, f"party {name}"))
    return (
        UserError(faults)
        if faults
        else user_error(
            "E402", f'the process of party "{first}" ended by itself (status {status}); all parties were stopped'
        )
    )


def _end(process: subprocess.Popen[str]) -> None:
    if process.poll() is None:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
    process.wait(10)
