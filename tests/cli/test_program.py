"""How commands end: exit statuses, and machines on which a party cannot run."""

from __future__ import annotations

import subprocess
import sys

import pytest

from vertwin.cli import main, program
from vertwin.engine import spu as engine


@pytest.fixture
def release_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def ends(capsys, *arguments: str) -> tuple[int, str]:
    status = main(list(arguments))
    return status, capsys.readouterr().err


def test_a_partys_command_on_another_python_says_what_to_install(release_folder, monkeypatch, capsys):
    monkeypatch.setattr(engine.sys, "version_info", (3, 13, 0))
    status, err = ends(capsys, "demo", "--out", "demo")
    assert (status, "E301" in err, "Python 3.11" in err) == (3, True, True)
    assert not (release_folder / "demo").exists()


def test_a_partys_command_without_the_engine_says_what_to_install(release_folder, monkeypatch, capsys):
    monkeypatch.setattr(engine.util, "find_spec", lambda name: None)
    status, err = ends(capsys, "demo", "--out", "demo")
    assert (status, "E302" in err, "vertwin[party]" in err) == (3, True, True)


@pytest.mark.parametrize(
    ("raised", "status", "said"),
    [
        (KeyboardInterrupt(), 130, "interrupted"),
        (OSError(28, "No space left on device"), 3, "E309"),
    ],
)
def test_what_ends_a_command_from_outside(monkeypatch, capsys, raised, status, said):
    def stop(*_, **__):
        raise raised

    monkeypatch.setattr(program, "app", stop)
    found, err = ends(capsys, "check", "x.toml")
    assert found == status
    assert said in err


def test_no_command_can_set_the_noise(capsys):
    """Seeded noise exists in tests alone: no option of a command that draws noise names a seed or entropy."""
    for command in ("demo", "rehearse"):
        main([command, "--help"])
        shown = capsys.readouterr().out.lower()
        assert "seed" not in shown
        assert "entropy" not in shown


def test_a_bug_of_ours_ends_in_its_kind_and_never_in_its_text(monkeypatch, capsys):
    def stop(*_, **__):
        raise KeyError("a private cell")

    monkeypatch.setattr(program, "app", stop)
    found, err = ends(capsys, "check", "x.toml")
    assert found == 3
    assert "E499" in err
    assert "KeyError" in err
    assert "private cell" not in err
    assert "Traceback" not in err


def test_without_assertions_nothing_is_computed(release_folder):
    """Some guarantees are held by assertions: python -O would take them out in silence."""
    command = [sys.executable, "-O", "-m", "vertwin", "demo", "--out", "demo"]
    found = subprocess.run(command, capture_output=True, text=True, timeout=60, cwd=release_folder)
    assert found.returncode == 3
    assert "E305" in found.stderr
