"""Files that appear whole or not at all.

Everything the product writes for a user goes through `whole_file`: the bytes go to a temporary file in the same
folder, are forced to the disk, and take the final name in one step. A crash, a full disk or Ctrl-C leaves what was
there before, and no half file beside it.
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
from collections.abc import Generator
from pathlib import Path

from vertwin.errors import UserError, user_error

_NO_LINKS = {errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL, errno.EMLINK, errno.EACCES}


@contextlib.contextmanager
def whole_file(path: str | os.PathLike[str], force: bool = False) -> Generator[Path]:
    """Yields the path of a temporary file to fill; at the end it becomes `path`.

    Without `force` an existing file is never replaced, also not one that appears while we write. An `OSError` from
    inside the block that means "no room" or "not allowed" becomes the coded error.
    """
    final = Path(path)
    refuse_existing(final, force)
    temporary = final.with_name(f".{final.name[:80]}.{secrets.token_hex(6)}.part")
    try:
        temporary.touch(mode=0o644, exist_ok=False)
        yield temporary
        _to_disk(temporary)
        _take_name(temporary, final, force)
        with contextlib.suppress(OSError):  # some file systems cannot force a folder
            _to_disk(final.parent)
    except OSError as error:
        raise _could_not_write(error, final) from error
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)


def refuse_existing(final: Path, force: bool) -> None:
    """The checks that need no writing, for a caller who wants to stop before a long computation."""
    if final.is_dir():
        raise user_error("E510", "this is a folder, a file was to be written", "name a file in it", str(final))
    if not force and (final.exists() or final.is_symlink()):
        raise _exists(final)
    if not final.parent.is_dir():
        raise user_error("E510", "its folder does not exist", "make the folder first", str(final))


def _to_disk(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _take_name(temporary: Path, final: Path, force: bool) -> None:
    if force:
        temporary.replace(final)
        return
    try:
        os.link(temporary, final)  # unlike a rename, a link fails if somebody took the name meanwhile
    except FileExistsError:
        raise _exists(final) from None
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        if final.exists():
            raise _exists(final) from None
        temporary.replace(final)


def _exists(final: Path) -> UserError:
    return user_error("E510", "this file exists and is left as it is", "another name, or --force", str(final))


def _could_not_write(error: OSError, final: Path) -> UserError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        sentence = "the disk, or the quota on it, is full; nothing was written"
        return user_error("E511", sentence, "free some room or write to another disk", str(final))
    reason = os.strerror(error.errno) if error.errno else type(error).__name__
    return user_error("E511", f"could not be written ({reason}); nothing was left behind", place=str(final))
