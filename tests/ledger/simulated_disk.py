"""A disk in memory that stops at any primitive, and forgets what was not forced to it when the power goes.

`stop_at` counts primitives that change something; the one with that number is not done, or (an append) done in part.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

from vertwin.ledger.disk import Disk


class Stopped(BaseException):
    """The process is gone: no `except Exception` sees it."""


CRASHES = ("killed", "all", "nothing", "names", "half", "zeros")


class _File:
    def __init__(self, data: bytes = b"", durable: bytes = b"") -> None:
        self.data, self.durable = data, durable


class SimulatedDisk(Disk):
    """Files by path. `tree` is what the process sees; `forced` is what a folder's sync has made last."""

    def __init__(self) -> None:
        self.tree: dict[Path, _File] = {}
        self.forced: dict[Path, _File] = {}
        self.steps = 0
        self.stop_at: int | None = None
        self.fraction = 0.0
        self.error: OSError | None = None
        self.locked: set[Path] = set()

    # --- what happens to it -------------------------------------------------------------------------------------

    def after(self, how: str) -> SimulatedDisk:
        """The disk that the next process finds: `killed`, or the power went.

        Of what was not forced to it the disk then keeps all, nothing, the names alone, or half of every append.
        """
        found = SimulatedDisk()
        source = self.tree if how in ("killed", "all", "names") else self.forced
        for path, file in source.items():
            durable, data = file.durable, file.data
            if how == "killed":
                found.tree[path] = _File(data, durable)
                continue
            kept = {
                "all": data,
                "nothing": durable,
                "names": durable,
                "half": _half(durable, data),
                "zeros": _zeros(durable, data),
            }[how]
            found.tree[path] = _File(kept, kept)
        found.forced = {path: file for path, file in found.tree.items() if how != "killed" or path in self.forced}
        return found

    def copy(self) -> SimulatedDisk:
        return self.after("all")

    # --- the primitives -----------------------------------------------------------------------------------------

    def read(self, path: Path) -> bytes | None:
        file = self.tree.get(path)
        return None if file is None else file.data

    def create(self, path: Path) -> None:
        self._step()
        if path in self.tree:
            raise FileExistsError(17, "exists")
        self.tree[path] = _File()

    def append(self, path: Path, data: bytes) -> None:
        self._step(lambda part: self._put(path, self.tree[path].data + data[: round(part * len(data))]))
        self._put(path, self.tree[path].data + data)

    def overwrite(self, path: Path, data: bytes) -> None:
        self._step()
        self._put(path, data + self.tree[path].data[len(data) :])

    def truncate(self, path: Path, size: int) -> None:
        self._step()
        self._put(path, self.tree[path].data[:size])

    def sync(self, path: Path) -> None:
        self._step()
        self.tree[path].durable = self.tree[path].data

    def rename(self, old: Path, new: Path) -> None:
        self._step()
        self.tree[new] = self.tree.pop(old)

    def remove(self, path: Path) -> None:
        self._step()
        del self.tree[path]

    def sync_folder(self, folder: Path) -> None:
        self._step()
        self.forced = {path: file for path, file in self.forced.items() if path.parent != folder}
        self.forced |= {path: file for path, file in self.tree.items() if path.parent == folder}

    def make_folder(self, folder: Path) -> None:
        """Folders are there."""

    def names(self, folder: Path) -> tuple[str, ...]:
        return tuple(sorted(path.name for path in self.tree if path.parent == folder))

    def lock(self, path: Path) -> Callable[[], None]:
        if path in self.locked:
            raise BlockingIOError(11, "locked")
        self.locked.add(path)
        return lambda: self.locked.discard(path)

    def _put(self, path: Path, data: bytes) -> None:
        self.tree[path].data = data

    def _step(self, partly: Callable[[float], None] = lambda _: None) -> None:
        self.steps += 1
        if self.stop_at is not None and self.steps >= self.stop_at:
            if self.steps == self.stop_at:
                partly(self.fraction)
            if self.error is not None:
                raise self.error
            raise Stopped(f"at primitive {self.steps} in {threading.current_thread().name}")


def _half(durable: bytes, data: bytes) -> bytes:
    """An append of which half came to the disk; other changes came whole."""
    return durable + data[len(durable) :][: (len(data) - len(durable)) // 2] if data.startswith(durable) else data


def _zeros(durable: bytes, data: bytes) -> bytes:
    """An append of which a third came to the disk, while the file has its new length already."""
    if not data.startswith(durable):
        return durable
    rest = data[len(durable) :]
    return durable + rest[: len(rest) // 3] + bytes(len(rest) - len(rest) // 3)
