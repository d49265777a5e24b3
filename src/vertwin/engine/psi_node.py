"""The process that holds one private set intersection: `python -m vertwin.engine.psi_node FD`.

SPU's PSI can end its process from inside C++ (a peer without rows, a peer's death), prints to stdout, and reads and
writes files only. So it runs here, once, in a process of its own: the party's process writes the input, sends one
Task through the pipe, reads the output and removes every file (`psi_matcher.py`, which also sets TMPDIR and the umask).
"""

from __future__ import annotations

import os

os.environ["OMP_THREAD_LIMIT"] = "1"  # before spu is imported: spinning OpenMP threads cost a factor of 10 to 50

import contextlib  # noqa: E402
import sys  # noqa: E402
import time  # noqa: E402
from multiprocessing.connection import Connection  # noqa: E402

from spu import libspu, psi  # noqa: E402

from vertwin.engine.parent_watch import end_with_parent  # noqa: E402
from vertwin.engine.psi_task import COLUMN, Task  # noqa: E402

TRIES, INTERVAL_MS = 100_000, 50  # how long to go on is the party's own business
PAUSE_SECONDS = 0.2


def intersect(task: Task) -> int:
    """Write the common keys to the task's output; gives their number."""
    description = libspu.link.Desc()
    description.recv_timeout_ms = task.seconds * 1000
    description.throttle_window_size = 0  # with a window, or few retries, a peer's fault ends this process
    description.connect_retry_times, description.connect_retry_interval_ms = TRIES, INTERVAL_MS
    description.retry_opts.max_retry, description.retry_opts.retry_interval_ms = TRIES, INTERVAL_MS
    description.retry_opts.max_retry_interval_ms = INTERVAL_MS
    description.retry_opts.retry_interval_incr_ms = 0
    # With one connection for all, a peer that listens 0.2 s later costs 3 to 4 s: a refused connection is then looked
    # at again every three seconds only.
    description.brpc_channel_connection_type = "pooled"
    for name in task.parties:
        description.add_party(name, task.addresses[name])
    link = libspu.link.create_brpc(description, task.parties.index(task.me))
    # Called right after the link was made, half of the runs hung: a party that enters late misses the first message.
    link.barrier()
    time.sleep(PAUSE_SECONDS)
    report = psi.psi_execute(
        psi.PsiExecuteConfig(
            protocol_conf=psi.PsiProtocolConfig(
                protocol=psi.PsiProtocol.PROTOCOL_RR22, receiver_rank=0, broadcast_result=True
            ),
            input_params=psi.InputParams(path=task.source, selected_keys=[COLUMN], keys_unique=True),
            # Unordered: the order is made from the keys afterwards, so that no other column and no sort of SPU's
            # decides whether two parties' rows belong together.
            output_params=psi.OutputParams(path=task.target, disable_alignment=True),
        ),
        link,
    )
    return int(report.intersection_count)


def serve(pipe: Connection) -> None:
    """One task, one answer: ("ok", number) or ("error", kind of error); the text stays in the log of this machine."""
    task = pipe.recv()
    assert isinstance(task, Task)
    try:
        pipe.send(("ok", intersect(task)))
    except Exception as error:
        sys.stderr.write(str(error).partition("Stacktrace")[0].strip() + "\n")
        sys.stderr.flush()
        pipe.send(("error", type(error).__name__))
    # Stay until the party says so: what this end of the link has not sent yet, the peer would wait for.
    with contextlib.suppress(EOFError, OSError):
        pipe.recv()


if __name__ == "__main__":
    end_with_parent()
    serve(Connection(int(sys.argv[1])))
    sys.stdout.flush()
    os._exit(0)  # stop_link would wait for a peer that may be gone
