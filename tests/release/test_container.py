"""The envelope: ordinary ZIP tools open it, and there is one way to write it."""

from __future__ import annotations

import io
import zipfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vertwin.errors import UserError
from vertwin.release.container import MOST_MEMBERS, pack, unpack

NAMES = st.from_regex(r"[a-z0-9_]{1,8}(/[a-z0-9_]{1,8})?\.[a-z]{1,4}", fullmatch=True)


@given(st.dictionaries(NAMES, st.binary(max_size=60), max_size=5))
@settings(deadline=None, max_examples=60)
def test_unpack_gives_what_was_packed_and_zip_tools_agree(members: dict[str, bytes]) -> None:
    data = pack(members)
    if members:
        assert {name: bytes(body) for name, body in unpack(data, "x").items()} == members
    with zipfile.ZipFile(io.BytesIO(data)) as opened:
        assert opened.namelist() == sorted(members)
        assert {name: opened.read(name) for name in opened.namelist()} == members
        assert opened.testzip() is None


def test_every_changed_byte_and_every_cut_is_refused() -> None:
    data = pack({"a.json": b"some text", "b/c.npy": bytes(range(20))})
    for place in range(len(data)):
        for flip in (1, 0x20, 0x80, 0xFF):
            changed = bytearray(data)
            changed[place] ^= flip
            with pytest.raises(UserError):
                unpack(bytes(changed), "x")
        with pytest.raises(UserError):
            unpack(data[:place], "x")
    with pytest.raises(UserError):
        unpack(data + b"\0", "x")


@pytest.mark.parametrize("name", ["../x.json", "/x.json", "a/../b.json", "A.json", "a\\b.json", "a.json\0", "a//b.npy"])
def test_names_that_leave_the_folder_or_are_not_plain_are_refused(name: str) -> None:
    with pytest.raises(UserError) as refused:
        unpack(_zip({name: b"1"}), "x")
    assert refused.value.codes == ("E502",)


def test_what_other_zip_writers_do_is_refused() -> None:
    twice = io.BytesIO()
    with zipfile.ZipFile(twice, "w") as file:
        file.writestr("a.json", b"1")
        with pytest.warns(UserWarning, match="Duplicate"):
            file.writestr("a.json", b"2")
    bomb = io.BytesIO()
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("a.npy", bytes(50_000_000))
    for data in (
        twice.getvalue(),
        bomb.getvalue(),
        _zip({"a.json": b"1"}),
        b"PK\x05\x06" + bytes(18),
        b"",
        b"PK\x03\x04",
    ):
        with pytest.raises(UserError):
            unpack(data, "x")


def test_no_end_of_members_is_taken() -> None:
    many = pack({f"{number:05d}.x": b"" for number in range(MOST_MEMBERS)})
    assert len(unpack(many, "x")) == MOST_MEMBERS
    with pytest.raises(UserError) as refused:
        pack({f"{number:05d}.x": b"" for number in range(MOST_MEMBERS + 1)})
    assert refused.value.codes == ("E507",)


def _zip(members: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as file:
        for name, body in members.items():
            info = zipfile.ZipInfo(name)
            info.filename = name
            file.writestr(info, body)
    return out.getvalue()
