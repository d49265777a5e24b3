"""vertwin identity: a party's keys, and what to send to the peers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from vertwin.cli import screen


def identity(
    name: Annotated[str, typer.Argument(help="The party's name, as in the agreement.")],
    state: Annotated[Path | None, typer.Option(help="The folder of keys and ledgers; ~/.local/state/vertwin.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace keys; agreements know the old ones.")] = False,
) -> None:
    """Make this party's keys, or show those that are there: the fingerprint and the file for the peers."""
    from vertwin.parties import identity as identities
    from vertwin.parties.state import State

    folder = State(state).identity(name)
    if (folder / identities.KEY_FILE).exists() and not force:
        mine = identities.load(name, folder)
        screen.note(f"{name} has an identity already; nothing was changed")
    else:
        mine = identities.create(name, folder, force=force)
        screen.note(f"made new keys for {name}; the private one stays in {folder}")
    screen.say(f'key = "{mine.fingerprint}"')
    screen.say(str(mine.public_file))
    screen.note("The first line goes into the agreement, under the party's name; the file goes to every other party.")
    screen.note("Both are public. Read the fingerprint to each other over the telephone: mail can be forged.")
