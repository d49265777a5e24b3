"""vertwin rehearse: all parties here, on one machine, in the clear or under real multi-party computation."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vertwin import agreement as agreements
from vertwin.cli import screen
from vertwin.errors import Faults

if TYPE_CHECKING:
    from vertwin.agreement import Agreement


def rehearse(
    agreement: Annotated[Path, typer.Argument(help="The agreement.")],
    data: Annotated[list[str], typer.Option(help="A party's table: --data clinic=clinic.csv, once for each holder.")],
    secure: Annotated[bool, typer.Option("--secure", help="Real processes and real MPC instead of threads.")] = False,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="The release; default NAME.vertwin.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the output.")] = False,
    state: Annotated[Path | None, typer.Option("--state", help="Keys and ledgers; default: the user's own.")] = None,
) -> None:
    """Run all parties of an agreement here and write a release, watermarked as a rehearsal."""
    terms = agreements.load(agreement)
    sources = _sources(data, [party.name for party in terms.holders])
    target = output or Path(f"{terms.name}.vertwin")
    from vertwin import rehearsal  # JAX and what comes with it: not before the agreement could be read
    from vertwin.release import write_release
    from vertwin.release.files import refuse_existing

    refuse_existing(target, force)  # before minutes of computing, not after
    content = rehearsal.run(terms, sources, secure=secure, progress=screen.News())
    write_release(target, content, force=force)
    _list(terms, secure, state)
    screen.viewers(content.statement)
    for remark in content.notes:
        screen.say(remark)
    screen.note(f"watermark: {content.watermark}")
    screen.say(f"release: {target}")


def _list(terms: Agreement, secure: bool, state: Path | None) -> None:
    """In the ledger of every holder that keeps one here: a rehearsal is listed, and counts nothing."""
    from vertwin.ledger.ledger import Ledger
    from vertwin.noise import SystemEntropy
    from vertwin.parties.state import State

    folders = State(state)
    for holder in terms.holders:
        if (folders.root / "data" / terms.data_set / holder.name / "ledger.jsonl").exists():
            folder = folders.data_set(terms.data_set, holder.name)
            with Ledger.open(folder, terms.data_set, holder.name, SystemEntropy().bytes) as ledger:
                ledger.record_rehearsal(terms.name, terms.digest, secure)


def _sources(data: list[str], holders: list[str]) -> dict[str, Path]:
    """--data NAME=FILE, one for each holder: everything that is wrong with them at once."""
    faults, found = Faults(), dict[str, Path]()
    for item in data:
        name, equals, path = item.partition("=")
        if not equals or not path:
            faults.add("E721", f"--data {item}: write it as PARTY=FILE", f"for instance --data {holders[0]}=table.csv")
        elif name not in holders:
            faults.add("E721", f"--data names {name}, who holds no data here", f"the holders: {', '.join(holders)}")
        elif name in found:
            faults.add("E721", f"--data names {name} twice")
        else:
            found[name] = Path(path)
    for name in holders:
        if name not in found and not faults:
            faults.add("E721", f"no table for {name}", f"add --data {name}=FILE")
    faults.raise_if_any()
    return found
