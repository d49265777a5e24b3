"""The picture: drawn without a network, the same bytes every time, with every name as it is written."""

from __future__ import annotations

import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from pathlib import Path

import pytest
from report.test_kept_table import AGE, KEPT, STRONG, WEAK

from vertwin.report import kept_picture
from vertwin.report.kept_picture import INVENTED, STRONGEST, picture, shown_pairs, write_picture

ODD = 'b[0].c <"\\>'


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("drawn")
    odd = replace(KEPT, columns=(*KEPT.columns, replace(AGE, column=ODD)))
    write_picture(odd, folder / "kept.png", folder / "kept.svg")
    return folder / "kept.png", folder / "kept.svg"


def test_both_files_are_pictures(drawn: tuple[Path, Path]) -> None:
    png, svg = drawn
    assert png.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    assert len(png.read_bytes()) > 10_000
    assert ElementTree.parse(svg).getroot().tag == "{http://www.w3.org/2000/svg}svg"


def test_the_picture_says_what_is_seen(drawn: tuple[Path, Path]) -> None:
    text = " ".join("".join(part.itertext()) for part in ElementTree.parse(drawn[1]).iter())
    for words in ("The twin kept 90 %", "age – plan", "90 % kept", "smoker = yes", "Ring = truth", ODD + " (clinic)"):
        assert words in text


def test_the_picture_fetches_nothing(drawn: tuple[Path, Path]) -> None:
    text = drawn[1].read_text(encoding="utf-8")
    for address in ("http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"):  # names of formats, not places
        text = text.replace(address, "")
    assert "http" not in text
    assert "<script" not in text
    assert "@import" not in text


def test_the_same_bytes_every_time(drawn: tuple[Path, Path], tmp_path: Path) -> None:
    odd = replace(KEPT, columns=(*KEPT.columns, replace(AGE, column=ODD)))
    write_picture(odd, tmp_path / "again.png", tmp_path / "again.svg")
    assert (tmp_path / "again.png").read_bytes() == drawn[0].read_bytes()
    assert (tmp_path / "again.svg").read_bytes() == drawn[1].read_bytes()


def test_without_interactions_there_are_two_panels() -> None:
    titles = [panel.title.text for panel in picture(replace(KEPT, interactions=())).vconcat]
    assert [title[:2] for title in titles] == ["1.", "2."]
    assert "Each column" in titles[1]


def test_the_strongest_are_shown_then_what_the_twin_may_have_invented() -> None:
    real = [replace(STRONG, columns=(f"r{i}", "x"), truth=0.9 - i / 100) for i in range(STRONGEST + 5)]
    none = [replace(WEAK, columns=(f"w{i}", "x"), twin=i / 100) for i in range(INVENTED + 5)]
    shown = shown_pairs(replace(KEPT, pairs=(*real, *none)))
    assert shown[:STRONGEST] == tuple(real[:STRONGEST])
    assert shown[STRONGEST:] == tuple(reversed(none))[:INVENTED]


def test_importing_draws_nothing_and_loads_no_chart() -> None:
    code = f"import sys, {kept_picture.__name__}; sys.exit('altair' in sys.modules or 'vl_convert' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
