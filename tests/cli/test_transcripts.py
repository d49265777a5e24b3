"""Every command as a terminal shows it: a transcript is a file, run in this process, compared line by line.

    $ vertwin check agreement.toml        a command, run in a folder with the files that `prepare` makes
    what it prints on stdout              (what differs from run to run is masked, see MASKS; progress is left out)
    ! what it prints on stderr
    ? 2                                   its exit status, where it is not 0

    $ rm release.vertwin                  also: rm, cp, append FILE TEXT, ls

VERTWIN_WRITE_TRANSCRIPTS=1 writes the files anew from what the commands print: read the difference before committing.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
from pathlib import Path

import pytest

from vertwin.cli import main

FOLDER = Path(__file__).parent / "transcripts"
REPOSITORY = Path(__file__).resolve().parents[2]
NEWS = re.compile(r"^ +\d+\.\d s  ")  # progress: parties are threads, so its lines come in any order
MASKS = (
    (re.compile(r"\d+ pseudo-counts, misfit \d\.\d+"), "<r> pseudo-counts, misfit <x>"),
    (re.compile(r"\b\d+ seconds in all"), "0 seconds in all"),
    (re.compile(r" +-?\d+\.\d │$"), " <count> │"),
    (re.compile(r"^ +(the twin's|noise: sd)"), r"\1"),
    (re.compile(r"[0-9a-f]{64}"), "<digest>"),
)


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The small town of three organisations, and files with something wrong in each."""
    from vertwin.rehearsal import town_files

    folder = tmp_path_factory.mktemp("transcripts")
    town_files.write(town_files.make_three(people=400), folder)
    for name in ("agreement.toml", "dpvi.toml"):
        shutil.copy(REPOSITORY / "examples" / "three" / name, folder / name)
    clinic = (folder / "clinic.csv").read_text().splitlines()
    broken = clinic.copy()
    broken[3] += ",one,more"
    (folder / "broken.csv").write_text("\n".join(broken) + "\n")
    (folder / "short.csv").write_text("\n".join(clinic[:100]) + "\n")
    (folder / "empty.csv").write_text(clinic[0] + "\n")
    (folder / "named.parquet").write_text("\n".join(clinic) + "\n")
    (folder / "notes.txt").write_text("not a table\n")
    return folder


def run(line: str) -> None:
    words = shlex.split(line)
    if words[0] == "append":
        with Path(words[1]).open("a") as file:
            file.write(words[2] + "\n")
    elif words[0] == "rm":
        for name in words[1:]:
            Path(name).unlink()
    elif words[0] == "cp":
        shutil.copy(words[1], words[2])
    elif words[0] == "replace":  # FILE OLD NEW
        path = Path(words[1])
        assert words[2] in path.read_text(), f"{words[2]!r} is not in {path}"
        path.write_text(path.read_text().replace(words[2], words[3]))
    else:
        raise AssertionError(f"no such command in a transcript: {line}")


def masked(text: str) -> list[str]:
    lines = []
    for line in text.splitlines():
        if NEWS.match(line):
            continue
        for pattern, instead in MASKS:
            line = pattern.sub(instead, line)
        lines.append(line.rstrip())
    return lines


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.txt")), ids=lambda path: path.stem)
def test_transcript(path: Path, prepared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys):
    shutil.copytree(prepared, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "110")
    expected = path.read_text().splitlines()
    seen: list[str] = []
    for line in expected:
        if line.startswith("#"):
            seen.append(line)
        if not line.startswith("$ "):
            continue
        seen += ["", line] if seen and seen[-1] != "" and not seen[-1].startswith("#") else [line]
        command = line[2:]
        if not command.startswith("vertwin"):
            run(command)
            continue
        capsys.readouterr()
        status = main(shlex.split(command)[1:])
        out, err = capsys.readouterr()
        seen += masked(out) + [f"! {text}".rstrip() for text in masked(err)]
        if status:
            seen.append(f"? {status}")
        assert not list(tmp_path.glob("*.part")), "a command left a half-written file"
    if os.environ.get("VERTWIN_WRITE_TRANSCRIPTS"):
        path.write_text("\n".join(seen) + "\n")
    assert [line for line in seen if line] == [line for line in expected if line]
