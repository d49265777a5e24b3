"""The state folder: where it is, who may enter, and names that must not become paths."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from vertwin.errors import UserError
from vertwin.parties import State


def test_the_state_lies_where_the_user_or_the_system_says(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", os.fspath(tmp_path))
    assert State().root == tmp_path / "vertwin"
    monkeypatch.setenv("XDG_STATE_HOME", "relative")
    monkeypatch.setenv("HOME", os.fspath(tmp_path))
    assert State().root == tmp_path / ".local" / "state" / "vertwin"
    assert State(tmp_path / "x").identity("clinic") == tmp_path / "x" / "identities" / "clinic"
    assert State(Path("~/y")).data_set("town-2026", "clinic") == tmp_path / "y" / "data" / "town-2026" / "clinic"


def test_folders_are_private_and_others_are_refused(tmp_path):
    state = State(tmp_path / "state")
    folder = state.data_set("town", "clinic")
    for made in (state.root, state.root / "data", folder.parent, folder):
        assert stat.S_IMODE(made.stat().st_mode) == 0o700
    folder.chmod(0o755)
    with pytest.raises(UserError) as caught:
        state.data_set("town", "clinic")
    assert caught.value.codes == ("E423",) and f"chmod 700 {folder}" in str(caught.value)


@pytest.mark.parametrize("name", ["", ".", "..", "../x", "a/b", "/x", "a\0b", "1a", "a" * 65, "e\u0301", "a b", "a\n"])
def test_a_name_never_becomes_a_path(tmp_path, name):
    state = State(tmp_path)
    for made in (state.identity, lambda name: state.data_set(name, "x"), lambda name: state.data_set("x", name)):
        with pytest.raises(UserError) as caught:
            made(name)
        assert caught.value.codes == ("E109",)
    assert not [path for path in tmp_path.rglob("*") if path.name not in ("data", "x", "identities")]
