"""vertwin run: one party of a real run, in its own terminal; the same command at every party, in any order."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vertwin import agreement as agreements
from vertwin.cli import screen
from vertwin.errors import Faults, user_error

if TYPE_CHECKING:
    from vertwin.agreement import Agreement
    from vertwin.ledger.ledger import Ledger
    from vertwin.parties.joining import Prepared
    from vertwin.parties.session import PartySession
    from vertwin.release import Content, Signature


def run(
    agreement: Annotated[Path, typer.Argument(help="The agreement: the same file at every party.")],
    party: Annotated[str, typer.Option("--as", help="Which party this is.")],
    data: Annotated[Path, typer.Option(help="This party's table: CSV, Parquet or Arrow.")],
    output: Annotated[Path | None, typer.Option("-o", "--output", help="The release; default NAME.vertwin.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the output.")] = False,
    state: Annotated[Path | None, typer.Option("--state", help="Keys and ledgers; default: the user's own.")] = None,
    peers: Annotated[Path | None, typer.Option(help="peers.toml; default: beside the keys.")] = None,
) -> None:
    """Take part in a run: link, compute on shares, reveal what the agreement says, sign one release."""
    terms = agreements.load(agreement)
    _refuse_what_is_not_taken_yet(terms)
    target = output or Path(f"{terms.name}.vertwin")
    from vertwin import tables
    from vertwin.engine.spu import check_machine
    from vertwin.ledger.ledger import Ledger
    from vertwin.noise import SystemEntropy
    from vertwin.parties.joining import join, prepare
    from vertwin.parties.session import Folders, PartySession, planned_spending
    from vertwin.parties.state import State
    from vertwin.parties.tunnel import WAIT_SECONDS
    from vertwin.release.files import refuse_existing
    from vertwin.run import share

    # All that can fail by this party's own fault, before anyone is called.
    check_machine()
    folders, entropy = State(state), SystemEntropy()
    prepared = prepare(terms, party, folders, peers)
    table = tables.read(tables.open_source(data), terms, party)
    screen.note(f"{party}: {table.rows} rows agree with the agreement; digest {terms.digest}")
    news = screen.News()
    with (
        Ledger.open(folders.data_set(terms.data_set, party), terms.data_set, party, entropy.bytes) as ledger,
        tempfile.TemporaryDirectory(prefix="vertwin-") as private,
    ):
        if not _is_of_an_unfinished_run(target, ledger):
            refuse_existing(target, force)
        ledger.require_within_budget(planned_spending(terms, table.rows, "0" * 64))
        minutes = WAIT_SECONDS // 60
        screen.note(f"waiting for the other parties, at most {minutes:.0f} minutes; until then Ctrl-C costs nothing")
        with join(prepared, screen.note) as joined:
            session = PartySession(
                prepared, joined, ledger, entropy, Folders(Path(private)), lambda *what: news(party, *what)
            )
            try:
                content = share(terms, data, session)
                assert content is not None
                signatures = _signed_by_all(content, prepared, session)
                _write(target, content, signatures, force or session.resumed, session)
            finally:
                session.engine.close()
    screen.viewers(content.statement)
    screen.say(f"release, signed by {' and '.join(signature.party for signature in signatures)}: {target}")


def _refuse_what_is_not_taken_yet(terms: Agreement) -> None:
    """What only a rehearsal runs today, with its reason: never silently something else."""
    faults = Faults()
    if terms.learner.kind == "dpvi":
        faults.add("E612", "run does not take dpvi yet", place="learner.kind")
    elif terms.learner.stages != 1:
        faults.add("E612", "run does not take a second look yet", place="learner.stages")
    if terms.helper is not None:
        faults.add("E612", "run does not take a helper yet", place="parties")
    if len(terms.holders) > 2:
        faults.add("E612", f"run does not take {len(terms.holders)} holders yet", place="parties")
    faults.raise_if_any()


def _is_of_an_unfinished_run(target: Path, ledger: Ledger) -> bool:
    """Whether this file is the release of a run that a peer has not got yet: then it is made again, not in the way."""
    from vertwin.release import open_release

    waiting = {attempt.release for attempt in ledger.history.attempts if attempt.release and not attempt.closed}
    return bool(waiting) and target.is_file() and open_release(target).digest in waiting


def _signed_by_all(content: Content, prepared: Prepared, session: PartySession) -> list[Signature]:
    """Every party signs the same digest, or nobody has a release."""
    from vertwin.release import Signature, content_digest, sign

    digest = content_digest(content).encode()
    for name, theirs in session.link.exchange("release digest", digest).items():
        if theirs != digest:
            raise user_error("E418", f'party "{name}" has another release than this party; nothing was signed')
    mine = sign(content, session.me, prepared.identity)
    received = session.link.exchange("signature", mine.to_bytes())
    return [mine if name == session.me else Signature.from_bytes(received[name], name) for name in session.everyone]


def _write(target: Path, content: Content, signatures: list[Signature], force: bool, session: PartySession) -> None:
    from vertwin.release import content_digest, write_release

    write_release(target, content, force=force, signatures=signatures)
    session.seal(content_digest(content))
