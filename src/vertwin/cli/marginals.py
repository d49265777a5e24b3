"""vertwin marginals: one noisy table of a release, with the standard deviation of its noise."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from vertwin.cli import screen


def marginals(
    release: Annotated[Path, typer.Argument(help="The release.")],
    columns: Annotated[list[str], typer.Argument(help="One column, or two.")],
    twin: Annotated[bool, typer.Option("--twin", help="From the fitted twin instead of the noisy tables.")] = False,
) -> None:
    """Print the counts of one column, or of two crossed: as measured, or as the fitted twin has them."""
    from vertwin.release import open_release

    marginal = open_release(release).marginal(columns, source="twin" if twin else "measured")
    screen.say(marginal.as_text())
