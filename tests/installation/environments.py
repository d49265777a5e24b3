"""Environments with the base installation alone, as an analyst has it: requirements/base.txt and the wheel.

They lie in git-ignored folders `.venv-base-3.N` of the checkout and are made again when base.txt changes. Only the
first making costs time and the package index; the wheel is built and put in anew for every test run.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
REQUIREMENTS = ROOT / "requirements" / "base.txt"
LATER = ("3.14", "3.13", "3.12")


def environment(interpreter: str, version: str) -> Path:
    """The Python of an environment for this interpreter that holds the base installation and today's vertwin."""
    folder = ROOT / f".venv-base-{version}"
    python = folder / "bin" / "python"
    stamp = folder / "base.sha256"
    wanted = hashlib.sha256(REQUIREMENTS.read_bytes()).hexdigest()
    with (Path(sys.prefix) / "base.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # two test runs at once share the folder
        if not (stamp.exists() and stamp.read_text() == wanted and _runs(str(python))):
            shutil.rmtree(folder, ignore_errors=True)
            _run([interpreter, "-m", "venv", "--without-pip", str(folder)])
            _install(python, ["--require-hashes", "-r", str(REQUIREMENTS)])
            stamp.write_text(wanted)
        wheels = folder / "wheel"
        shutil.rmtree(wheels, ignore_errors=True)
        _run([sys.executable, "-m", "flit_core.wheel", "--outdir", str(wheels)])
        (wheel,) = wheels.glob("*.whl")
        _install(python, ["--no-deps", "--no-index", "--force-reinstall", str(wheel)])
    return python


def later_interpreter() -> tuple[str, str] | None:
    """Another Python than the party's, newest first: (path, version), or None if this machine has none."""
    folders = [
        Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions",
        Path.home() / ".local/share/uv/python",
    ]
    for version in LATER:
        found = shutil.which(f"python{version}")
        candidates = [found] if found else []
        for folder in folders:
            candidates += [str(path) for path in sorted(folder.glob(f"*/bin/python{version}"))]
        for candidate in candidates:
            if _runs(candidate):
                return candidate, version
    return None


def run(python: Path, *arguments: str) -> str:
    """Standard output of a script in such an environment, where nothing of ours is on the path but the wheel."""
    clean = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    done = subprocess.run(
        [str(python), "-W", "error", *arguments],
        cwd=python.parents[1],
        env=clean,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def _install(python: Path, what: list[str]) -> None:
    """With uv, which takes a second; with pip where uv is not there, or where only pip knows the package index."""
    uv = Path(sys.executable).with_name("uv")
    if uv.exists():
        arguments = [str(uv), "pip", "install", "--quiet", "--python", str(python), *what]
        if subprocess.run(arguments, cwd=ROOT, capture_output=True, timeout=300).returncode == 0:
            return
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--only-binary", ":all:"]
    _run([*pip, *what])


def _runs(python: str) -> bool:
    try:
        return subprocess.run([python, "-c", "import venv"], capture_output=True, timeout=30).returncode == 0
    except OSError:
        return False


def _run(arguments: list[str]) -> None:
    done = subprocess.run(arguments, cwd=ROOT, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, f"{' '.join(arguments)}\n{done.stdout}{done.stderr}"
