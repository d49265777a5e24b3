"""One party of a secure rehearsal: `python -m vertwin.rehearsal.party FD`, started by the coordinator."""

from __future__ import annotations

import os
import signal
import socket
import sys
import traceback
from multiprocessing.connection import Connection
from pathlib import Path

from vertwin.engine import Settings
from vertwin.engine.parent_watch import end_with_parent
from vertwin.engine.psi_matcher import PsiMatcher
from vertwin.engine.spu import SpuEngine
from vertwin.errors import Fault, UserError
from vertwin.rehearsal.links import SocketLink
from vertwin.rehearsal.receipt import WATERMARK
from vertwin.rehearsal.secure import Assignment
from vertwin.rehearsal.session import RehearsalSession
from vertwin.run import share


def take_part(pipe: Connection) -> None:
    task = pipe.recv()
    assert isinstance(task, Assignment)
    everyone = tuple(party.name for party in task.agreement.parties)
    sockets = {peer: socket.socket(fileno=descriptor) for peer, descriptor in task.descriptors.items()}
    link = SocketLink(task.me, everyone, sockets)
    holders = tuple(party.name for party in task.agreement.holders)

    def addresses(settings: Settings) -> dict[str, str]:
        """Unix sockets in the rehearsal's own directory: short names, since their length is limited to a hundred."""
        numbers = [everyone.index(name) for name in settings.nodes]
        group = "".join(str(number) for number in numbers) + f"-{settings.field_bits}-{settings.fraction_bits}"
        return {name: f"unix:{task.directory}/{group}.{i}" for name, i in zip(settings.nodes, numbers, strict=True)}

    def matching_addresses(channel: str) -> dict[str, str]:
        return {name: f"unix:{task.directory}/{channel}.{holders.index(name)}" for name in holders}

    directory = Path(task.directory)
    engine = SpuEngine(link, task.me, addresses, directory / f"{task.me}.engine.log", WATERMARK)

    def progress(_: str, stage: str, done: float, note: str) -> None:
        pipe.send(("progress", stage, done, note))

    matcher = PsiMatcher(
        link,
        holders,
        matching_addresses,
        task.entropy,
        directory,
        directory / f"{task.me}.matching.log",
        lambda note: progress(task.me, "linkage", 0.0, note),
    )
    helper = task.agreement.helper
    session = RehearsalSession(
        me=task.me,
        holders=holders,
        helper=helper.name if helper else None,
        engine=engine,
        matcher=matcher,
        entropy=task.entropy,
        link=link,
        progress=progress,
    )
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        content = share(task.agreement, task.source, session)
        # Every party has the same release; the first holder's is the one that is written.
        lead = task.me == session.holders[0]
        link.exchange("finished", b"")
        pipe.send(("done", content if lead else None))
    except UserError as error:
        pipe.send(("failed", error.faults))
    except AssertionError:
        # Our own bug. The log stays on this machine; what goes out holds no text of the failure.
        traceback.print_exc()
        pipe.send(("failed", (_bug(task.me),)))
    finally:
        engine.close()
        link.close()


def _bug(me: str) -> Fault:
    return Fault("E499", f'party "{me}" stopped at a check of its own program', "this is a bug of vertwin: report it")


if __name__ == "__main__":
    end_with_parent()
    take_part(Connection(int(sys.argv[1])))
    sys.stdout.flush()
    os._exit(0)
