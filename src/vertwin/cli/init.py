"""vertwin init: the scaffold of an agreement, from column names and storage types alone."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from vertwin import agreement as agreements
from vertwin.cli import screen
from vertwin.errors import Faults


def init(
    data: Annotated[list[str], typer.Option(help="A party's table: --data clinic=clinic.csv. Its rows are not read.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="Where the scaffold goes.")] = Path("agreement.toml"),
    name: Annotated[str, typer.Option(help="The agreement's name.")] = "my-agreement",
    force: Annotated[bool, typer.Option("--force", help="Overwrite the output.")] = False,
) -> None:
    """Write an agreement to fill in. Only column names and storage types are read: domains are declared by people."""
    from vertwin import tables
    from vertwin.release import whole_file

    faults, columns = Faults(), dict[str, list[tuple[str, str]]]()
    for item in data:
        party, equals, path = item.partition("=")
        if not equals or not path or party in columns:
            faults.add("E721", f"--data {item}: write it as PARTY=FILE, each party once")
            continue
        columns[party] = list(tables.storage_types(tables.open_source(Path(path))))
    faults.raise_if_any()
    named = [{column for column, _ in of_party} for of_party in columns.values()]
    shared = sorted(set.intersection(*named)) if len(named) > 1 else []  # what all tables have can only be a key
    with whole_file(output, force=force) as file:
        file.write_text(agreements.scaffold(columns, name=name, keys=shared), encoding="utf-8")
    screen.say(f"scaffold: {output}")
    screen.note("Declare each column's domain from a code book, not from the table: a domain read off private rows")
    screen.note(
        "would itself tell of them (the oldest person, the rarest diagnosis). Then: vertwin check " + str(output)
    )
    if shared:
        screen.note(f"Every table has {', '.join(shared)}: taken as the linkage's keys, which are never released.")
    if any(Path(item.partition("=")[2]).suffix.lower() in (".csv", ".tsv") for item in data):
        screen.note("In a CSV all columns are text: where one holds numbers, change its type to count or real first.")
