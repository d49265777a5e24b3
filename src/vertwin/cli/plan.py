"""vertwin plan: what an agreement promises to whom, with how much noise and at what cost, before anything runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from vertwin import agreement as agreements
from vertwin.cli import screen
from vertwin.errors import user_error


def plan(
    agreement: Annotated[Path, typer.Argument(help="The agreement.")],
    rows: Annotated[int | None, typer.Option(help="How many people are in all the tables, about.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="For machines: one JSON object on stdout.")] = False,
) -> None:
    """Print the promise to every viewer, the noise, the price of each target and the cost, before anything runs."""
    terms = agreements.load(agreement)
    expected = rows
    if expected is None:
        least = [holder.rows_at_most for holder in terms.holders if holder.rows_at_most is not None]
        if not least:
            raise user_error("E707", "how many people the plan is for is not known", "add --rows N")
        expected = min(least)
    from vertwin import planning

    outlook = planning.look_ahead(terms, expected)
    if as_json:
        screen.say(json.dumps(outlook.as_json(), indent=1, allow_nan=False))
        return
    screen.viewers(outlook.plan.statement)
    for section in outlook.sections:
        screen.say(f"\n{section.title}")
        for sentence in section.sentences:
            screen.say(f"  {sentence}")
    if outlook.prices:
        table = Table(
            title="\nthe price of each target: noise, with the analyst's target alone as 1", title_justify="left"
        )
        for heading in ("target", "noise", "across parties"):
            table.add_column(heading, justify="left" if heading == "target" else "right")
        for price in outlook.prices:
            table.add_row(price.viewer, f"{price.noise:.3f}", "" if price.cross is None else f"{price.cross:.3f}")
        screen.show(table)
    if outlook.forms:
        table = Table(title="\nways to sample, same targets and passes, the cheapest first", title_justify="left")
        for heading in ("sampling", "steps", "sigma", "noise of a pass", "rows under MPC"):
            table.add_column(heading, justify="left" if heading == "sampling" else "right")
        for form in outlook.forms:
            numbers = (f"{form.steps:,}", f"{form.sigma:.3g}", f"{form.noise_per_pass:.4g}", f"{form.rows_computed:,}")
            table.add_row(form.name, *numbers)
        screen.show(table)
    cost = outlook.cost
    screen.say(
        f"\nabout {cost.rounds:,} dependent messages, {cost.bytes / 1e6:,.0f} MB and {cost.minutes:,.2g} minutes of "
        "secure computation, measured on two cores of one machine"
    )
    screen.say(f"for {expected:,} rows; digest of the plan {outlook.plan.digest}")
    for warning in outlook.warnings:
        screen.note(f"warning: {warning}")
