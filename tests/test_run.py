"""The way stays on one page, and reads in the order of the data."""

from __future__ import annotations

from pathlib import Path

import vertwin

TEXT = (Path(vertwin.__file__).parent / "run.py").read_text()


def test_it_fits_on_one_page():
    assert len(TEXT.splitlines()) <= 80


def test_the_stages_stand_in_the_order_of_the_data():
    stages = [
        "tables.read(",
        "linkage.link(",
        "encoding.encode(",
        "planning.plan(",
        "planning.compare(",
        "learners.learn(",
        "seal(learned",
    ]
    places = [TEXT.index(stage) for stage in stages]
    assert places == sorted(places)
