"""The process that holds SPU: the only module of the product that imports it.

SPU can end its process from inside C++ (a peer's death, an FM32 product of shared matrices), prints to stdout, wants
its environment set before the import and keeps process-wide state. So it lives here, alone, behind one pipe to the
party's own process: `python -m vertwin.engine.spu_node FD`. What comes through the pipe comes from that process, never
from a peer; a peer's bytes are only ever handed to SPU's own parsers, after their shape was compared with ours.
"""

from __future__ import annotations

import os

# Before spu is imported. Without the first, four spinning OpenMP threads per product cost a factor of 10 to 50 on
# machines with fewer cores than that; without the second, constants in a program would be of 32 bits.
os.environ["OMP_THREAD_LIMIT"] = "1"
os.environ["JAX_ENABLE_X64"] = "1"
os.environ.setdefault("JAX_PLATFORMS", "cpu")

import hashlib  # noqa: E402
import sys  # noqa: E402
from multiprocessing.connection import Connection  # noqa: E402
from typing import Any  # noqa: E402

import jax  # noqa: E402
import numpy as np  # noqa: E402
import spu  # noqa: E402
from spu import libspu  # noqa: E402
from spu.utils import frontend  # noqa: E402

from vertwin.engine.parent_watch import end_with_parent  # noqa: E402
from vertwin.engine.program import Program, Settings  # noqa: E402

ShareBlob = tuple[bytes, list[bytes]]

PROTOCOLS = {"cheetah": libspu.ProtocolKind.CHEETAH, "aby3": libspu.ProtocolKind.ABY3}
FIELDS = {32: libspu.FieldType.FM32, 64: libspu.FieldType.FM64, 128: libspu.FieldType.FM128}
SECRET, PUBLIC = spu.Visibility.VIS_SECRET, spu.Visibility.VIS_PUBLIC

# Far above the longest local computation between two messages: SPU cannot tell slow from dead. Whether a peer lives
# is the party's own business (its link says so, and then it ends this process).
RECEIVE_TIMEOUT_MS = 30 * 60 * 1000
CONNECT_TRIES, CONNECT_INTERVAL_MS = 1200, 50


def versions() -> dict[str, str]:
    """What two parties must have in common, besides the settings, for one program to mean the same."""
    return {"spu": spu.__version__, "jax": jax.__version__, "numpy": np.__version__}


def runtime_config(settings: Settings) -> libspu.RuntimeConfig:
    config = libspu.RuntimeConfig(
        protocol=PROTOCOLS[settings.protocol],
        field=FIELDS[settings.field_bits],
        fxp_fraction_bits=settings.fraction_bits,
    )
    # A private input stays with its owner only with this flag: without it owner_rank is ignored in silence and the
    # result is garbage. `_set` below looks at what became of every input.
    config.experimental_enable_colocated_optimization = True
    config.fxp_exp_mode = libspu.RuntimeConfig.ExpMode.EXP_PADE  # the default Taylor series is off by 6e-3
    return config


class Node:
    """One runtime: a link to the other nodes of its settings, compiled programs, and the shares of finished runs."""

    def __init__(self, settings: Settings, me: str, addresses: dict[str, str]) -> None:
        self.settings, self.rank = settings, settings.nodes.index(me)
        self.config = runtime_config(settings)
        self.io = spu.Io(len(settings.nodes), self.config)
        self.executables: dict[str, Any] = {}
        self.constants: dict[str, str] = {}
        description = libspu.link.Desc()
        description.recv_timeout_ms = RECEIVE_TIMEOUT_MS
        description.connect_retry_times = CONNECT_TRIES
        description.connect_retry_interval_ms = CONNECT_INTERVAL_MS
        description.throttle_window_size = 0  # with a window, a stopped peer ends this process instead of raising
        description.retry_opts.max_retry = 1000
        # With the default connection a peer that listens 0.2 s later costs seconds at the start of a link.
        description.brpc_channel_connection_type = "pooled"
        description.retry_opts.retry_interval_ms = description.retry_opts.max_retry_interval_ms = 50
        description.retry_opts.retry_interval_incr_ms = 0
        for name in settings.nodes:
            description.add_party(name, addresses[name])
        self.link = libspu.link.create_brpc(description, self.rank)
        self.runtime = spu.Runtime(self.link, self.config)

    def compile(self, program: Program) -> str:
        """Compile once; the digest is the same at every party that has the same text, or something is wrong."""
        names = [f"{program.digest[:16]}.{spec.name}" for spec in program.inputs]
        examples = [np.zeros(spec.shape, spec.dtype) for spec in program.inputs]
        visibility = [PUBLIC if spec.owner is None else SECRET for spec in program.inputs]
        executable, _ = frontend.compile(
            frontend.Kind.JAX,
            program.resolve(),
            examples,
            {},
            names,
            visibility,
            lambda outputs: [f"{program.digest[:16]}.output.{i}" for i in range(len(outputs))],
        )
        self.executables[program.digest] = executable
        return hashlib.sha256(executable.SerializeToString()).hexdigest()

    def run(self, program: Program, inputs: dict[str, np.ndarray]) -> list[ShareBlob]:
        executable = self.executables[program.digest]
        for name, spec in zip(executable.input_names, program.inputs, strict=True):
            mine = spec.name in inputs
            value = inputs[spec.name] if mine else np.zeros(spec.shape, spec.dtype)
            self._set(name, value, None if spec.owner is None else self.settings.nodes.index(spec.owner))
        self.runtime.run(executable)
        shares = [self.runtime.get_var(name) for name in executable.output_names]
        for name in list(executable.input_names) + list(executable.output_names):
            self.runtime.del_var(name)
        return [(share.meta, list(share.share_chunks)) for share in shares]

    def _set(self, name: str, value: np.ndarray, owner: int | None) -> None:
        if owner is None:
            self.runtime.set_var(name, self.io.make_shares(value, PUBLIC)[self.rank])
            return
        self.runtime.set_var(name, self.io.make_shares(value, SECRET, owner)[self.rank])
        kept = str(self.runtime.get_var_meta(name).storage_type)
        if not (kept.startswith("Priv2k<") and kept.rstrip(">").endswith(f",{owner}")):
            raise RuntimeError(f"input {name} is stored as {kept}: it would not stay with its owner")


def open_shares(settings: Settings, outputs: list[list[ShareBlob]]) -> list[np.ndarray]:
    """Each output from every node's share of it. Shares of a peer must look exactly like ours, or nothing is read."""
    io = spu.Io(len(settings.nodes), runtime_config(settings))
    opened: list[np.ndarray] = []
    for blobs in outputs:
        if len({_likeness(meta) for meta, _ in blobs}) != 1:
            raise ValueError("the shares of one output are of different kinds")
        shares = []
        for meta, chunks in blobs:
            share = libspu.Share()
            share.meta, share.share_chunks = meta, chunks
            shares.append(share)
        opened.append(np.asarray(io.reconstruct(shares)))
    return opened


def _likeness(meta: bytes) -> tuple[str, ...]:
    parsed = libspu.ValueMeta()  # pyright: ignore[reportCallIssue]  (its stub is a dataclass, the class is not)
    if not parsed.ParseFromString(meta):
        raise ValueError("a share's description cannot be read")
    return (str(parsed.data_type), str(parsed.visibility), str(parsed.shape.dims), str(parsed.storage_type))


def _silence() -> None:
    options = libspu.logging.LogOptions()
    options.enable_console_logger = False
    options.log_level = libspu.logging.LogLevel.ERROR
    options.system_log_path = "/dev/null"
    libspu.logging.setup_logging(options)


def serve(pipe: Connection) -> None:
    """Answer commands until the pipe closes. Every answer is ("ok", result) or ("error", text without stack)."""
    node: Node | None = None
    while True:
        try:
            command, *arguments = pipe.recv()
        except (EOFError, OSError):
            return
        try:
            if command == "versions":
                result: Any = versions()
            elif command == "link":
                node = Node(*arguments)
                result = None
            elif command == "open":
                result = open_shares(*arguments)
            elif command in ("compile", "run"):
                assert node is not None
                result = getattr(node, command)(*arguments)
            else:
                raise ValueError(f"unknown command {command}")
            pipe.send(("ok", result))
        except Exception as error:  # the text of SPU's errors carries a native stack: cut it off
            pipe.send(("error", str(error).partition("Stacktrace")[0].strip()[:500]))


if __name__ == "__main__":
    _silence()
    end_with_parent()
    serve(Connection(int(sys.argv[1])))
    os._exit(0)  # stop_link would wait for peers that may be gone
