"""tools/set_up.sh on machines that lack something: one sentence that says what to install, and exit status 3."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
TOOLS = ("sh", "cat", "cksum", "tr", "awk", "df", "rm", "touch", "tail", "env", "dirname")


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """A checkout without .venv, and a PATH that holds nothing but a few standard tools."""
    for name in ("tools", "requirements"):
        shutil.copytree(REPOSITORY / name, tmp_path / name)
    shutil.copy(REPOSITORY / "pyproject.toml", tmp_path)
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in TOOLS:
        (programs / name).symlink_to(str(shutil.which(name)))
    put(programs, "uname", 'case "$1" in -s) echo Linux;; -m) echo x86_64;; esac')
    return tmp_path


def put(programs: Path, name: str, text: str) -> None:
    path = programs / name
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def a_python(version: str = "3.11", modules: str = "", library: bool = True) -> str:
    """A stand-in that answers the script's questions: its version, the venv module, libgomp."""
    answers = [
        f'case "$2" in *version_info*) [ "{version}" = 3.11 ]; exit $?;;',
        f"*ensurepip*) exit {1 if modules == 'no venv' else 0};;",
        f"*libgomp*) exit {0 if library else 1};;",
        "esac",
        'case "$1" in --version) echo "Python 3.11.9";; esac',
        "exit 9",
    ]
    return "\n".join(answers)


def stops(machine: Path, **environment: str) -> str:
    found = subprocess.run(
        ["sh", "tools/set_up.sh"],
        cwd=machine,
        env={"PATH": str(machine / "bin"), **environment},
        capture_output=True,
        text=True,
        timeout=20,
    )
    assert found.returncode == 3, found
    (line,) = found.stderr.strip().splitlines()
    assert not (machine / ".venv").exists()
    return line


def test_no_python_says_what_to_install_and_how_much_disk_it_takes(machine):
    line = stops(machine)
    assert "python3.11" in line
    assert "2 GB of disk" in line


def test_another_python_is_not_taken(machine):
    put(machine / "bin", "python3", a_python("3.13"))
    assert "install python3.11" in stops(machine)
    assert "is not a Python 3.11" in stops(machine, PYTHON="python3")


def test_without_the_venv_module(machine):
    put(machine / "bin", "python3.11", a_python(modules="no venv"))
    assert "python3.11-venv" in stops(machine)


def test_without_libgomp(machine):
    put(machine / "bin", "python3.11", a_python(library=False))
    assert "libgomp1" in stops(machine)


def test_on_a_platform_that_the_engine_has_no_build_for(machine):
    put(machine / "bin", "uname", 'case "$1" in -s) echo Darwin;; -m) echo x86_64;; esac')
    assert "no build for Darwin on x86_64" in stops(machine)


def test_a_full_disk_is_told_before_anything_is_made(machine):
    (machine / "bin" / "df").unlink()
    put(machine / "bin", "python3.11", a_python())
    put(machine / "bin", "df", 'echo "Filesystem 1024-blocks Used Available"; echo "/dev/x 9 9 1000"')
    assert "0 MB free" in stops(machine)


def test_uv_fetches_the_python_where_there_is_none(machine):
    put(machine / "bin", "uv", f'echo "uv $*" >> {machine}/asked; [ "$2" = install ]')
    found = subprocess.run(
        ["sh", "tools/set_up.sh"], cwd=machine, env={"PATH": str(machine / "bin")}, capture_output=True, timeout=20
    )
    assert found.returncode != 0  # this uv finds nothing
    assert "python install 3.11" in (machine / "asked").read_text()


def test_everything_a_party_needs_imports_together():
    """Resolved is not imported: pyarrow 26 resolves beside SPU's NumPy and then fails. A process of its own."""
    code = (
        "import spu, jax, numpyro, optax, dp_accounting, pyarrow, altair, vl_convert, jinja2, sklearn, pandas, polars;"
        "print(polars.DataFrame({'a': [1]}).to_arrow().num_rows)"
    )
    python = REPOSITORY / ".venv" / "bin" / "python"
    environment = {**os.environ, "OMP_THREAD_LIMIT": "1"}
    found = subprocess.run([str(python), "-c", code], capture_output=True, text=True, timeout=60, env=environment)
    assert found.stdout.strip() == "1", found.stderr
