"""What the ledger asks of a disk, one primitive at a time, and what it builds from them.

Nothing is on the disk before `sync` (a file's bytes) or `sync_folder` (its name) has returned: between two primitives
the process may be killed and the machine may lose its power. The tests stop at every one of them.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import final

PART = ".part"  # the ending of a file that has not got its name yet: swept away when the ledger is opened


class Disk(ABC):
    """The primitives. Each raises OSError when the system refuses; none follows a symbolic link in the last place."""

    @abstractmethod
    def read(self, path: Path) -> bytes | None:
        """The whole content; None if there is no such file."""

    @abstractmethod
    def create(self, path: Path) -> None:
        """A new, empty file that its owner alone can read; FileExistsError if there is one."""

    @abstractmethod
    def append(self, path: Path, data: bytes) -> None: ...

    @abstractmethod
    def overwrite(self, path: Path, data: bytes) -> None:
        """From the file's first byte on, in place."""

    @abstractmethod
    def truncate(self, path: Path, size: int) -> None: ...

    @abstractmethod
    def sync(self, path: Path) -> None: ...

    @abstractmethod
    def rename(self, old: Path, new: Path) -> None:
        """Within one folder; what had the new name is replaced."""

    @abstractmethod
    def remove(self, path: Path) -> None: ...

    @abstractmethod
    def sync_folder(self, folder: Path) -> None: ...

    @abstractmethod
    def make_folder(self, folder: Path) -> None:
        """With all above it, for its owner alone; nothing happens if it is there."""

    @abstractmethod
    def names(self, folder: Path) -> tuple[str, ...]:
        """What lies in a folder, sorted; nothing if there is no such folder."""

    @abstractmethod
    def lock(self, path: Path) -> Callable[[], None]:
        """Hold a file for this process alone, until the returned function is called or the process ends.

        BlockingIOError if another process holds it.
        """


def append_durably(disk: Disk, path: Path, data: bytes) -> None:
    disk.append(path, data)
    disk.sync(path)


def put_durably(disk: Disk, path: Path, data: bytes) -> None:
    """A whole file: before it returns there is the old one or none, and never a half one."""
    part = path.with_name(path.name + PART)
    if disk.read(part) is not None:
        disk.remove(part)
    disk.create(part)
    disk.append(part, data)
    disk.sync(part)
    disk.rename(part, path)
    disk.sync_folder(path.parent)


def erase_durably(disk: Disk, path: Path) -> None:
    """Overwritten, then removed. What a copying file system, a flash disk or a backup kept is beyond this."""
    content = disk.read(path)
    if content is not None:
        disk.overwrite(path, bytes(len(content)))
        disk.sync(path)
        disk.remove(path)
        disk.sync_folder(path.parent)


@final
class SystemDisk(Disk):
    """The file system. A file stays open from its first write to its `sync`, so that no error of a write is lost."""

    def __init__(self) -> None:
        self._open: dict[Path, int] = {}

    def read(self, path: Path) -> bytes | None:
        try:
            handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except FileNotFoundError:
            return None
        with os.fdopen(handle, "rb") as file:
            return file.read()

    def create(self, path: Path) -> None:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))

    def append(self, path: Path, data: bytes) -> None:
        handle = self._handle(path)
        os.lseek(handle, 0, os.SEEK_END)
        _write_all(handle, data)

    def overwrite(self, path: Path, data: bytes) -> None:
        handle = self._handle(path)
        os.lseek(handle, 0, os.SEEK_SET)
        _write_all(handle, data)

    def truncate(self, path: Path, size: int) -> None:
        os.ftruncate(self._handle(path), size)

    def sync(self, path: Path) -> None:
        handle = self._handle(path)
        del self._open[path]
        try:
            _sync(handle)
        finally:
            os.close(handle)

    def rename(self, old: Path, new: Path) -> None:
        os.replace(old, new)

    def remove(self, path: Path) -> None:
        if path in self._open:
            os.close(self._open.pop(path))
        path.unlink()

    def sync_folder(self, folder: Path) -> None:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(handle)
        except OSError as error:
            if error.errno != errno.EINVAL:  # some network file systems write names through and refuse this
                raise
        finally:
            os.close(handle)

    def make_folder(self, folder: Path) -> None:
        missing = [above for above in (folder, *folder.parents) if not above.exists()]
        for above in reversed(missing):
            above.mkdir(mode=0o700, exist_ok=True)
            self.sync_folder(above.parent)

    def names(self, folder: Path) -> tuple[str, ...]:
        try:
            return tuple(sorted(os.listdir(folder)))
        except FileNotFoundError:
            return ()

    def lock(self, path: Path) -> Callable[[], None]:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BaseException:
            os.close(handle)
            raise
        return lambda: os.close(handle)

    def _handle(self, path: Path) -> int:
        if path not in self._open:
            self._open[path] = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
        return self._open[path]


def _write_all(handle: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(handle, rest) :]


def _sync(handle: int) -> None:
    """Through the disk's own cache too, where the system distinguishes that (macOS)."""
    full = getattr(fcntl, "F_FULLFSYNC", None)
    if full is not None:
        with contextlib.suppress(OSError):
            fcntl.fcntl(handle, full)
            return
    os.fsync(handle)
