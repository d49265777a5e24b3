"""Whole files or none."""

from __future__ import annotations

import errno
import os
import resource
import stat
from pathlib import Path

import pytest

from vertwin.errors import UserError
from vertwin.release import files
from vertwin.release.files import whole_file


def write(path: Path, content: bytes, force: bool = False) -> None:
    with whole_file(path, force) as temporary:
        temporary.write_bytes(content)


def test_a_file_appears_with_ordinary_permissions_and_nothing_else(tmp_path: Path) -> None:
    write(tmp_path / "a.bin", b"one")
    assert (tmp_path / "a.bin").read_bytes() == b"one"
    assert os.listdir(tmp_path) == ["a.bin"]
    assert stat.S_IMODE((tmp_path / "a.bin").stat().st_mode) & 0o600 == 0o600


def test_an_existing_file_stays_unless_forced(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    path.write_bytes(b"old")
    with pytest.raises(UserError) as refused:
        write(path, b"new")
    assert refused.value.codes == ("E510",)
    assert path.read_bytes() == b"old"
    write(path, b"new", force=True)
    assert path.read_bytes() == b"new"
    assert os.listdir(tmp_path) == ["a.bin"]


def test_a_file_that_appears_while_we_write_stays(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    with pytest.raises(UserError) as refused, whole_file(path) as temporary:  # noqa: PT012
        temporary.write_bytes(b"ours")
        path.write_bytes(b"theirs")
    assert refused.value.codes == ("E510",)
    assert path.read_bytes() == b"theirs"
    assert os.listdir(tmp_path) == ["a.bin"]


def test_a_dangling_link_is_not_written_through(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UserError):
        write(path, b"new")
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.parametrize("failure", [KeyboardInterrupt, RuntimeError])
def test_an_interrupted_write_leaves_nothing(tmp_path: Path, failure: type[BaseException]) -> None:
    with pytest.raises(failure), whole_file(tmp_path / "a.bin") as temporary:  # noqa: PT012
        temporary.write_bytes(b"half")
        raise failure
    assert os.listdir(tmp_path) == []


def test_a_disk_without_hard_links_still_gets_its_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_links(source: Path, target: Path) -> None:
        raise OSError(errno.EPERM, "no links here")

    monkeypatch.setattr(files.os, "link", no_links)
    write(tmp_path / "a.bin", b"one")
    assert os.listdir(tmp_path) == ["a.bin"]


def test_a_full_disk_is_one_coded_error_and_no_half_file(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
    try:
        with pytest.raises(UserError) as refused:
            write(tmp_path / "a.bin", bytes(5000))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert refused.value.codes == ("E511",)
    assert refused.value.exit_status == 3
    assert "full" in str(refused.value)
    assert os.listdir(tmp_path) == []


def test_no_space_when_forced_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "a.bin"
    path.write_bytes(b"old")
    with pytest.raises(UserError) as refused, whole_file(path, force=True) as temporary:  # noqa: PT012
        temporary.write_bytes(b"half")
        raise OSError(errno.ENOSPC, "no space")
    assert refused.value.codes == ("E511",)
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["a.bin"]


def test_folders_are_refused_before_anything_is_written(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none" / "a.bin"):
        with pytest.raises(UserError) as refused:
            write(path, b"x")
        assert refused.value.codes == ("E510",)
