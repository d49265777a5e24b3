"""The Python in docs/release.md runs as it stands, and the format it describes is the one that is written."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from release.example import KnownIdentity, iterated, kept_promise, signatures_of

from vertwin.release import verify
from vertwin.release.manifest import MANIFEST, to_members
from vertwin.release.signatures import MEMBER

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs" / "release.md").read_text(encoding="utf-8")


def test_the_few_lines_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    code = re.findall(r"```python\n(.*?)```", TEXT, flags=re.DOTALL)[0]
    shutil.copy(ROOT / "tests" / "vectors" / "release_1_measure_once.vertwin", tmp_path / "small.vertwin")
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "docs/release.md", "exec"), {})  # our own page
    assert (tmp_path / "twin.parquet").exists()
    assert "analyst 1.0" in capsys.readouterr().out


def test_the_parties_lines_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = re.findall(r"```python\n(.*?)```", TEXT, flags=re.DOTALL)[1]
    monkeypatch.chdir(tmp_path)
    content = kept_promise()
    received = signatures_of(content)[1].to_bytes()
    given = {"content": content, "identity": KnownIdentity("clinic"), "received": received}
    exec(compile(code, "docs/release.md", "exec"), given)  # our own page
    assert verify(tmp_path / "small.vertwin").signers


def test_every_key_and_member_is_described() -> None:
    import json

    members = to_members(iterated())
    for key in json.loads(members[MANIFEST]):
        assert f"`{key}`" in TEXT, key
    for name in (*members, MEMBER):
        assert f"`{re.sub(r'revealed/.*', 'revealed/NAME.npy', name)}`" in TEXT, name
