"""vertwin check: an agreement, and a party's table against it: every disagreement at once, before anyone is called."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from vertwin import agreement as agreements
from vertwin.cli import screen
from vertwin.errors import user_error


def check(
    agreement: Annotated[Path, typer.Argument(help="The agreement.")],
    party: Annotated[str | None, typer.Option("--as", help="Whose table --data is.")] = None,
    data: Annotated[Path | None, typer.Option(help="That party's table: CSV, Parquet or Arrow.")] = None,
) -> None:
    """Read the agreement, and a party's table against it; list what is wrong by column and row, never by value."""
    terms = agreements.load(agreement)
    if (party is None) != (data is None):
        raise user_error("E722", "--as and --data go together", "vertwin check agreement.toml --as NAME --data FILE")
    if party is not None and data is not None:
        holders = [holder.name for holder in terms.holders]
        if party not in holders:
            raise user_error("E721", f"{party} holds no data here", f"the holders: {', '.join(holders)}")
        from vertwin import tables

        table = tables.read(tables.open_source(data), terms, party)
        screen.say(
            f"table of {party}: {table.rows} rows agree with the {len(terms.columns_of(party))} declared columns"
        )
    screen.say(
        f"agreement {terms.name}: {len(terms.holders)} holders, {len(terms.columns)} columns, {terms.learner.kind}"
    )
    screen.say(f"digest {terms.digest}")
