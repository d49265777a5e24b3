"""vertwin marginals: one noisy table of a release, with the standard deviation of its noise."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.markup import escape
from rich.table import Table

from vertwin.cli import screen
from vertwin.errors import user_error


def marginals(
    release: Annotated[Path, typer.Argument(help="The release.")],
    columns: Annotated[list[str], typer.Argument(help="One column, or two.")],
    twin: Annotated[bool, typer.Option("--twin", help="From the fitted twin instead of the noisy tables.")] = False,
) -> None:
    """Print the counts of one column, or of two crossed: as measured, or as the fitted twin has them."""
    from vertwin.release import open_release

    if len(columns) not in (1, 2):
        raise user_error("E522", f"{len(columns)} columns were named", "name one column, or two")
    opened = open_release(release)
    name = columns[0] if len(columns) == 1 else (columns[0], columns[1])
    marginal = opened.marginal(name, source="twin" if twin else "measured")
    sd = marginal.standard_deviation
    table = Table(title="the twin's" if sd is None else f"noise: sd {sd:.1f}")
    for heading in (*columns, "count"):
        table.add_column(heading, justify="right" if heading == "count" else "left")
    for place, count in np.ndenumerate(marginal.counts):
        labels = [names[i] for names, i in zip(marginal.labels, place, strict=True)]
        table.add_row(*map(escape, labels), f"{count:.1f}")
    screen.show(table)
    if opened.watermark:
        screen.note(f"watermark: {opened.watermark}")
