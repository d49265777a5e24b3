"""vertwin sample: synthetic rows from a release, as many as wanted, in bounded memory."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from vertwin.cli import screen


def sample(
    release: Annotated[Path, typer.Argument(help="The release.")],
    rows: Annotated[int, typer.Option("-n", "--rows", help="How many synthetic rows.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="twin.parquet or twin.csv.")],
    force: Annotated[bool, typer.Option("--force", help="Overwrite the output.")] = False,
) -> None:
    """Draw synthetic rows from a release. This spends no privacy: draw as many as you like."""
    from vertwin.release import open_release

    opened = open_release(release)
    opened.write_sample(output, rows, force=force)
    if opened.watermark:
        screen.note(f"watermark: {opened.watermark}")
    screen.say(f"{rows} synthetic rows: {output}")
