"""docs/agreement.md is complete and true: its example is sound, it names every key, choice and limit."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args

import pytest

from vertwin.agreement import limits, parse
from vertwin.agreement.pieces import FULL_BATCH_STEP_SIZE, MINIBATCH_STEP_SIZE
from vertwin.agreement.schema import (
    BINS_TABLES,
    COLUMN_TABLES,
    LEARNER_TABLES,
    BoundTable,
    EngineTable,
    LinkageTable,
    PartyTable,
    PrivacyTable,
    Table,
    TopTable,
)

DOCS = (Path(__file__).parents[2] / "docs" / "agreement.md").read_text(encoding="utf-8")
TABLES: list[type[Table]] = [
    TopTable, PartyTable, LinkageTable, PrivacyTable, EngineTable, BoundTable,
    *COLUMN_TABLES.values(), *BINS_TABLES.values(), *LEARNER_TABLES.values(),
]  # fmt: skip


def test_the_example_is_sound() -> None:
    found = re.search(r"```toml\n(.*?)```", DOCS, re.DOTALL)
    assert found is not None
    agreement = parse(found[1])
    assert {column.domain.kind for column in agreement.columns} == set(COLUMN_TABLES)


@pytest.mark.parametrize("table", TABLES)
def test_every_key_and_choice_is_named(table: type[Table]) -> None:
    for key, field in table.model_fields.items():
        assert re.search(rf"\b{key}\b", DOCS), key
        choices = [choice for choice in get_args(field.annotation) if isinstance(choice, str)]
        for choice in choices:
            assert re.search(rf"\b{choice}\b", DOCS), f"{key} = {choice}"


def test_limits_and_defaults_are_the_ones_in_force() -> None:
    for number in (limits.COLUMNS, limits.COMPONENTS, limits.CELLS_PER_PAIR, limits.PARAMETERS, limits.CODES):
        assert f"{number:,}" in DOCS
    assert f"{limits.PARTIES} parties" in DOCS
    assert f"`{FULL_BATCH_STEP_SIZE}`; `{MINIBATCH_STEP_SIZE}` with minibatches" in DOCS
