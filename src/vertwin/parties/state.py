"""Where a party keeps what must outlive a run: keys, ledgers, stored shares. One folder per user.

STATE/identities/NAME           identity.key, NAME.identity.pem, peers.toml
STATE/data/DATA_SET/PARTY       ledger.jsonl, pending/, ...
"""

from __future__ import annotations

import os
import re
import stat
import unicodedata
from pathlib import Path

from vertwin.agreement import limits
from vertwin.errors import user_error


class State:
    """The state folder. Its subfolders are of mode 0700: whoever else can write there could rewrite a ledger."""

    def __init__(self, root: Path | None = None) -> None:
        self.root = (root if root is not None else _default()).expanduser().absolute()

    def identity(self, name: str) -> Path:
        """The folder of a party's keys, made if it is missing."""
        return self._folder("identities", _checked(name))

    def data_set(self, data_set: str, party: str) -> Path:
        """The folder of one party's ledger on one data set, made if it is missing."""
        return self._folder("data", _checked(data_set), _checked(party))

    def _folder(self, *names: str) -> Path:
        self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder = self.root
        for name in names:
            folder = folder / name
            folder.mkdir(mode=0o700, exist_ok=True)
            refuse_open(folder)
        return folder


def refuse_open(path: Path) -> None:
    """Stop if anybody but the owner may touch this private file or folder."""
    status = path.stat()
    if status.st_uid != os.geteuid():
        raise user_error("E423", "it belongs to another user of this machine", place=str(path))
    if status.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        mode = "700" if stat.S_ISDIR(status.st_mode) else "600"
        raise user_error("E423", "other users of this machine may open it", f"chmod {mode} {path}", str(path))


def _default() -> Path:
    configured = os.environ.get("XDG_STATE_HOME", "")
    base = Path(configured) if os.path.isabs(configured) else Path.home() / ".local" / "state"
    return base / "vertwin"


def usable_name(name: str) -> bool:
    """The agreement's own rule for names, again: here a name becomes a folder, so `..` and `/` must not pass."""
    plain = re.fullmatch(r"[^\W\d_][\w.-]*", name) is not None and len(name) <= limits.NAME_CHARACTERS
    return plain and unicodedata.normalize("NFC", name) == name


def _checked(name: str) -> str:
    if not usable_name(name):
        raise user_error(
            "E109",
            f"{name[: limits.NAME_CHARACTERS]!r} cannot be the name of a party or a data set",
            "begin with a letter and go on with letters, digits, '_', '-' or '.'",
        )
    return name
