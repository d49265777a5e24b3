"""SPU itself, without any of our code, as one node of a tiny run: python spu_contract.py CASE RANK DIRECTORY.

Prints one JSON object at rank 0. Started by test_spu_contract.py, ended by it.
"""

from __future__ import annotations

import os

os.environ["OMP_THREAD_LIMIT"] = "1"
os.environ["JAX_ENABLE_X64"] = "1"

import hashlib  # noqa: E402
import json  # noqa: E402
import sys  # noqa: E402

import numpy as np  # noqa: E402
import spu  # noqa: E402
from jax import lax  # noqa: E402
from spu import libspu  # noqa: E402
from spu.utils import frontend  # noqa: E402

SECRET = spu.Visibility.VIS_SECRET


class Raw:
    """A runtime with as little around it as there can be."""

    def __init__(self, directory: str, rank: int, size: int, protocol, field, fraction_bits: int, colocated: bool):
        self.rank = rank
        description = libspu.link.Desc()
        description.recv_timeout_ms = 20_000
        description.connect_retry_times, description.connect_retry_interval_ms = 400, 50
        for i in range(size):
            description.add_party(f"p{i}", f"unix:{directory}/{field}-{fraction_bits}-{colocated:d}.{i}")
        self.config = libspu.RuntimeConfig(protocol=protocol, field=field, fxp_fraction_bits=fraction_bits)
        self.config.experimental_enable_colocated_optimization = colocated
        self.link = libspu.link.create_brpc(description, rank)
        self.runtime, self.io = spu.Runtime(self.link, self.config), spu.Io(size, self.config)

    def run(self, function, *arrays, owners):
        names = [f"i{k}" for k in range(len(arrays))]
        executable, _ = frontend.compile(
            frontend.Kind.JAX, function, list(arrays), {}, names, [SECRET] * len(names), lambda out: ["o"]
        )
        stored = []
        for name, array, owner in zip(names, arrays, owners, strict=True):
            value = array if owner in (self.rank, -1) else np.zeros_like(array)
            self.runtime.set_var(name, self._shares(value, owner)[self.rank])
            stored.append(str(self.runtime.get_var_meta(name).storage_type))
        self.runtime.run(executable)
        share = self.runtime.get_var("o")
        blob = json.dumps([share.meta.hex(), [chunk.hex() for chunk in share.share_chunks]])
        shares = []
        for meta, chunks in map(json.loads, self.link.all_gather(blob)):
            piece = libspu.Share()
            piece.meta, piece.share_chunks = bytes.fromhex(meta), [bytes.fromhex(chunk) for chunk in chunks]
            shares.append(piece)
        digest = hashlib.sha256(executable.SerializeToString()).hexdigest()
        return self.io.reconstruct(shares), stored, digest

    def _shares(self, value, owner):
        if owner >= 0:
            return self.io.make_shares(value, SECRET, owner)
        # shared by rank 0: the others receive their pieces from it
        shares = self.io.make_shares(value, SECRET)
        blob = json.dumps([[s.meta.hex(), [c.hex() for c in s.share_chunks]] for s in shares])
        rebuilt = []
        for meta, chunks in json.loads(self.link.broadcast(blob, 0)):
            piece = libspu.Share()
            piece.meta, piece.share_chunks = bytes.fromhex(meta), [bytes.fromhex(chunk) for chunk in chunks]
            rebuilt.append(piece)
        return rebuilt


def silent(directory: str, rank: int) -> dict:
    """Everything that goes wrong without a word, in one session of two."""
    cheetah, f64 = libspu.ProtocolKind.CHEETAH, libspu.FieldType.FM64
    a, b = np.arange(12, dtype=np.int64).reshape(4, 3), np.arange(8, dtype=np.int64).reshape(4, 2)
    product = lambda x, y: x.T @ y
    kept = Raw(directory, rank, 2, cheetah, f64, 18, True)
    result, stored, digest = kept.run(product, a, b, owners=(0, 1))
    lost = Raw(directory, rank, 2, cheetah, f64, 18, False)
    garbage, stored_lost, _ = lost.run(product, a, b, owners=(0, 1))
    big = np.array([2.0**13 - 1, 2.0**14])
    squares, _, _ = kept.run(lambda x, y: x * y, big, big, owners=(0, 1))
    odd, _, _ = kept.run(lambda x, y: x + 0 * y, np.array([np.nan, np.inf, 1e-7]), np.zeros(3), owners=(0, 1))
    roots, _, _ = kept.run(
        lambda x, y: lax.rsqrt(x + y), np.array([0, 2.0**-19, 1, 2.0**18]), np.zeros(4), owners=(0, 1)
    )
    digests = kept.link.all_gather(digest)
    return {
        "stored": stored,
        "exact": bool((result == a.T @ b).all()),
        "stored_without_flag": stored_lost,
        "exact_without_flag": bool((garbage == a.T @ b).all()),
        "squares": squares.tolist(),
        "odd": odd.tolist(),
        "roots": roots.tolist(),
        "same_executable": len(set(digests)) == 1,
    }


def shared_fm32(directory: str, rank: int) -> dict:
    """The product of two shared matrices in the small ring under ABY3."""
    node = Raw(directory, rank, 3, libspu.ProtocolKind.ABY3, libspu.FieldType.FM32, 8, False)
    a, b = np.ones((3000, 50), np.int32), np.ones((3000, 50), np.int32)
    result, _, _ = node.run(lambda x, y: x.T @ y, a, b, owners=(-1, -1))
    return {"exact": bool((result == 3000).all())}


if __name__ == "__main__":
    case, rank, directory = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    options = libspu.logging.LogOptions()
    if os.environ.get("QUIET") == "1":
        options.enable_console_logger, options.log_level = False, libspu.logging.LogLevel.ERROR
    options.system_log_path = "/dev/null"
    libspu.logging.setup_logging(options)
    found = {"silent": silent, "shared_fm32": shared_fm32}[case](directory, rank)
    sys.stderr.write(json.dumps(found) + "\n")
    sys.stderr.flush()
    os._exit(0)
