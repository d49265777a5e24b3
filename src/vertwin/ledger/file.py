"""The ledger's file: appended to by one process at a time, read again in full before anything else is done.

Three files in the folder belong together:

    ledger.jsonl    the entries
    ledger.mark     (count, head) of the last append that returned: written after it, replaced whole
    ledger.lock     held by the process that appends

A crash leaves at most one entry beyond the mark: whole (kept) or cut off (removed: its append never returned, so
nothing was done on the strength of it). Fewer entries than the mark says were lost or taken away: that is refused, as
is any line that differs from what was written. Whoever puts back an older copy of *all* files is found out by the
peers, who hold this ledger's signed heads (heads.py).
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Set
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from vertwin.errors import UserError, user_error
from vertwin.ledger.chain import SALT_BYTES, Head, Line, is_cut_off, is_digest, make_line, read_lines
from vertwin.ledger.disk import PART, Disk, append_durably, put_durably
from vertwin.ledger.entries import ClockSet, Entry, Opened

LEDGER: Final = "ledger.jsonl"
MARK: Final = "ledger.mark"
LOCK: Final = "ledger.lock"
CLOCK_TOLERANCE: Final = timedelta(minutes=5)  # a clock that is being set right may step back by this much

Clock = Callable[[], datetime]
FreshBytes = Callable[[int], bytes]


def system_clock() -> datetime:
    return datetime.now(UTC)


class LedgerFile:
    """The file, open for appending. Made by `open_file`; `close` lets other processes have it.

    Formal guarantees:
    * an append that returned is on the disk, and any later loss of it is noticed when the file is opened again;
    * an append that did not return is either there in whole or not at all;
    * after an append that failed nothing can be appended until the file has been opened, and checked, again.
    """

    def __init__(
        self,
        folder: Path,
        disk: Disk,
        clock: Clock,
        fresh: FreshBytes,
        lines: tuple[Line, ...],
        release: Callable[[], None],
    ) -> None:
        self.folder = folder
        self._disk, self._clock, self._fresh, self._release = disk, clock, fresh, release
        self._lines = lines
        self._usable = True

    @property
    def lines(self) -> tuple[Line, ...]:
        return self._lines

    @property
    def head(self) -> Head:
        return self._lines[-1].head

    def append(self, entry: Entry) -> Line:
        """Write one entry, force it to the disk, and only then return. COST: three syncs of the disk."""
        assert self._usable, "this ledger failed or was closed: open it again"
        line = make_line(self.head, self._time(entry), entry, self._fresh(SALT_BYTES))
        self._usable = False
        try:
            append_durably(self._disk, self.folder / LEDGER, line.encode())
            _put_mark(self._disk, self.folder, line.head)
        except OSError as error:
            raise cannot_write(error, self.folder) from error
        self._usable = True
        self._lines += (line,)
        return line

    def close(self) -> None:
        self._usable = False
        release, self._release = self._release, lambda: None
        release()

    def _time(self, entry: Entry) -> datetime:
        now = self._clock().astimezone(UTC).replace(microsecond=0)
        last = self._lines[-1].time
        if now >= last or isinstance(entry, ClockSet):
            return now
        if last - now <= CLOCK_TOLERANCE:
            return last
        raise user_error(
            "E545",
            f"the clock says {now:%Y-%m-%d %H:%M} UTC, the ledger's last entry is of {last:%Y-%m-%d %H:%M} UTC",
            "set the clock right; if it is right now and was ahead before: vertwin ledger clock",
            str(self.folder / LEDGER),
        )


def open_file(
    folder: Path, opened: Opened, disk: Disk, clock: Clock, fresh: FreshBytes, traces: Set[str]
) -> LedgerFile:
    """Take the ledger for this process, check every line, mend what a crash left; make a new one if there is none.

    `traces`: names in the folder that say that there was a ledger. Then its absence is a loss, not a beginning.
    """
    try:
        disk.make_folder(folder)
        release = disk.lock(folder / LOCK)
    except BlockingIOError as error:
        raise user_error("E543", "another process is using this ledger", place=str(folder)) from error
    except OSError as error:
        raise cannot_write(error, folder) from error
    try:
        lines = _recover(folder, opened, disk, clock, fresh, traces)
        return LedgerFile(folder, disk, clock, fresh, lines, release)
    except OSError as error:
        release()
        raise cannot_write(error, folder) from error
    except BaseException:
        release()
        raise


def read_file(folder: Path, disk: Disk) -> tuple[Line, ...]:
    """The entries, for looking only: no lock is taken, nothing is mended; a running append does not disturb."""
    try:
        mark = _read_mark(disk, folder)  # before the ledger: that is never behind
        content = disk.read(folder / LEDGER)
    except OSError as error:
        raise user_error("E540", f"the ledger cannot be read ({_reason(error)})", place=str(folder)) from error
    if content is None:
        raise user_error("E540", "there is no ledger here", place=str(folder))
    return _checked(folder, content, mark)[0]


def cannot_write(error: OSError, folder: Path) -> UserError:
    sentence = f"the ledger cannot be written ({_reason(error)}); nothing more is revealed"
    return user_error("E547", sentence, place=str(folder))


def _recover(
    folder: Path, opened: Opened, disk: Disk, clock: Clock, fresh: FreshBytes, traces: Set[str]
) -> tuple[Line, ...]:
    names = disk.names(folder)
    for name in names:
        if name.endswith(PART):
            disk.remove(folder / name)
    mark = _read_mark(disk, folder)
    content = disk.read(folder / LEDGER)
    if content is None:
        if mark is not None or traces & set(names):
            raise _gone(folder, "the ledger is gone: other files say that there was one")
        now = clock().astimezone(UTC).replace(microsecond=0)
        first = make_line(None, now, opened, fresh(SALT_BYTES))
        put_durably(disk, folder / LEDGER, first.encode())
        return (first,)
    lines, tail = _checked(folder, content, mark)
    found = lines[0].entry
    assert isinstance(found, Opened)
    if (found.data_set, found.party) != (opened.data_set, opened.party):
        raise user_error(
            "E542",
            f'this is the ledger of party "{found.party}" on the data set "{found.data_set}"',
            f'for "{opened.party}" on "{opened.data_set}" put its own ledger there, or name the right --state folder',
            str(folder / LEDGER),
        )
    if tail:
        disk.truncate(folder / LEDGER, len(content) - len(tail))
    if mark is None or mark != lines[-1].head:
        disk.sync(folder / LEDGER)  # after a killed process its last append may be in memory only
    elif tail:
        disk.sync(folder / LEDGER)
    return lines


def confirm(disk: Disk, file: LedgerFile) -> None:
    """Let the mark say what the file holds: the last step of opening, after all else is in its place."""
    try:
        if _read_mark(disk, file.folder) != file.head:
            _put_mark(disk, file.folder, file.head)
    except OSError as error:
        raise cannot_write(error, file.folder) from error


def _checked(folder: Path, content: bytes, mark: Head | None) -> tuple[tuple[Line, ...], bytes]:
    """The entries and the cut-off rest, held against the mark."""
    place = str(folder / LEDGER)
    lines, tail = read_lines(content, place)
    confirmed = 0 if mark is None else mark.count
    if not lines or len(lines) < confirmed:
        raise _gone(folder, f"the ledger had {confirmed} entries and now has {len(lines)}: its end was lost or cut off")
    if mark is None and len(lines) > 1:
        raise _gone(folder, f"{MARK} is gone, which says where the ledger ended")
    if mark is not None and lines[mark.count - 1].digest != mark.digest:
        raise user_error("E541", f"line {mark.count} is not the one that was written there", place=place)
    if mark is not None and len(lines) > mark.count + 1:
        raise user_error("E541", f"{MARK} is older than the ledger, or entries were added by hand", place=place)
    if tail and not is_cut_off(tail, len(lines) + 1):
        raise user_error("E541", "what follows the last line is no entry that was cut off", place=place)
    return lines, tail


def _gone(folder: Path, sentence: str) -> UserError:
    return user_error("E544", sentence, place=str(folder / LEDGER))


def _put_mark(disk: Disk, folder: Path, head: Head) -> None:
    text = json.dumps({"count": head.count, "head": head.digest}, sort_keys=True) + "\n"
    put_durably(disk, folder / MARK, text.encode())


def _read_mark(disk: Disk, folder: Path) -> Head | None:
    content = disk.read(folder / MARK)
    if content is None:
        return None
    try:
        document = json.loads(content)
        count, digest = document["count"], document["head"]
        if not (isinstance(count, int) and count > 0 and is_digest(digest)):
            raise ValueError
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise user_error("E541", "the file is not what was written there", place=str(folder / MARK)) from error
    return Head(count, digest)


def _reason(error: OSError) -> str:
    return os.strerror(error.errno) if error.errno else type(error).__name__
