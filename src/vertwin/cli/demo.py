"""vertwin demo: a clinic and an insurer of a made-up town, from two tables to a synthetic one, as two real parties."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from vertwin.cli import screen
from vertwin.errors import Faults

if TYPE_CHECKING:
    from vertwin.agreement import Agreement
    from vertwin.release import Release

TWIN_ROWS = 20_000
RUN = """\
Each party is a process of its own, as in two terminals of two organisations: its own keys, ledger, port and table.
They find the people whom both have by private set intersection, compute on shares by the SPU engine under the
Cheetah protocol, through mutual TLS with pinned keys, and sign one release. The noise is the operating system's.
What is not real: both run on this machine, started by one person, and the town's people are made up."""
REHEARSAL = """\
This is a secure rehearsal: every party is a process of its own, and what they compute together is computed on
shares, by the SPU engine under the ABY3 protocol, with a helper as third. The noise is the operating system's.
What is not real: one person started all of them on one machine, so the release is watermarked, not signed."""


def demo(
    out: Annotated[Path, typer.Option(help="Where all files go.")] = Path("vertwin-demo"),
    learner: Annotated[
        Literal["measure_once", "dpvi"], typer.Option(help="measure_once, or dpvi, the paper's algorithm.")
    ] = "measure_once",
    force: Annotated[bool, typer.Option("--force", help="Overwrite the files of an earlier demo.")] = False,
) -> None:
    """Two organisations here, as real parties: linkage, real MPC, one signed release, a synthetic table, a report."""
    from vertwin import agreement as agreements
    from vertwin.engine.spu import check_machine
    from vertwin.rehearsal import town, town_agreements, town_files

    check_machine()
    start = time.monotonic()
    names = ("agreement.toml", "twin.parquet", "report.html", "kept.txt", "kept.png", "kept.svg")
    releases = ("clinic.vertwin", "insurer.vertwin") if learner == "measure_once" else ("town.vertwin",)
    _refuse_existing([out / name for name in (*names, *releases)], force)
    out.mkdir(parents=True, exist_ok=True)

    linked = learner == "measure_once"
    terms = agreements.parse(town_agreements.agreement_text(learner, linked=linked))
    made = town_files.make()
    tables = {"clinic": made.clinic, "insurer": made.insurer} if linked else dict(made.aligned)
    town_files.write(tables, out / "data")
    clinic, insurer = (len(terms.columns_of(name)) for name in ("clinic", "insurer"))
    screen.note(
        f"A clinic ({clinic} columns of {tables['clinic'].num_rows} people) and an insurer ({insurer} columns of"
    )
    screen.note(f"{tables['insurer'].num_rows} people) know different things. Neither shows the other a row.")
    screen.note((RUN if linked else REHEARSAL) + "\n")

    release = _two_terminals(terms, out) if linked else _secure_rehearsal(terms, out)
    release.write_sample(out / "twin.parquet", TWIN_ROWS, force=True)
    screen.note("")
    _kept(release, town.truth(), made.clinic_aligned.num_rows, out)
    screen.viewers(release.statement)
    for remark in release.content.notes:
        screen.say(remark)
    _files(out, releases, linked)
    screen.note(f"{time.monotonic() - start:.0f} seconds in all")


def _two_terminals(terms: Agreement, out: Path) -> Release:
    """The real thing: `vertwin run` once for each party, then what anybody can do with the file: verify it."""
    from vertwin.rehearsal.two_terminals import reserved_ports, run_all, set_up
    from vertwin.release import verify

    parties = [party.name for party in terms.holders]
    tables = {name: out / "data" / f"{name}.parquet" for name in parties}
    with reserved_ports(len(parties)) as ports:
        terminals = set_up(terms, tables, dict(zip(parties, ports, strict=True)), out)
        run_all(terminals, screen.note)
    verified = verify(terminals[0].release)
    assert terminals[0].release.read_bytes() == terminals[1].release.read_bytes()
    signers = " and ".join(signer.party for signer in verified.signers)
    screen.note(f"verified: signed by {signers}, the same file at both; epsilons recomputed from the file")
    return verified.release


def _secure_rehearsal(terms: Agreement, out: Path) -> Release:
    from vertwin import rehearsal
    from vertwin.agreement import dumps
    from vertwin.release import Release, whole_file, write_release

    with whole_file(out / "agreement.toml", force=True) as file:
        file.write_text(dumps(terms), encoding="utf-8")
    sources = {party.name: str(out / "data" / f"{party.name}_aligned.parquet") for party in terms.holders}
    for name, source in sources.items():
        Path(out / "data" / f"{name}.parquet").rename(source)
    content = rehearsal.run(terms, sources, secure=True, progress=screen.News())
    write_release(out / "town.vertwin", content, force=True)
    return Release(content)


def _files(out: Path, releases: tuple[str, ...], linked: bool) -> None:
    how = "signed by both, the same at both" if linked else "a rehearsal's: watermarked, not signed"
    screen.say(f"\nThe files, in {out}:")
    screen.say("  report.html     start here: the promise to each viewer, what the twin kept; open it in a browser")
    screen.say(f"  {', '.join(releases)}    the release: noisy tables, twin, statement ({how})")
    screen.say(f"  twin.parquet    {TWIN_ROWS} synthetic people; for more:")
    screen.say(f"                  vertwin sample {out / releases[0]} -n 1000000 -o more.csv")
    screen.say("  kept.png        what the twin kept, as a picture; kept.txt: as a table; kept.svg: to print")
    screen.say("  agreement.toml  what both signed;  data/: the two private tables (these people do not exist)")
    if linked:
        screen.say("  parties/        each party's own state: keys and ledger (vertwin ledger town-2026 --state ...)")


def _refuse_existing(targets: list[Path], force: bool) -> None:
    faults = Faults()
    for target in targets:
        if target.exists() and not force:
            faults.add("E510", "this file is there already", "name another folder with --out, or --force", str(target))
    faults.raise_if_any()


def _kept(release: Release, truth: Any, people: int, out: Path) -> None:
    """Hold the twin against the known truth of the made-up town: a table, a picture, a page."""
    from vertwin.rehearsal.town import INTERACTION
    from vertwin.release import whole_file
    from vertwin.report import kept, kept_picture, kept_table
    from vertwin.report.page import write_page

    cross = [table for table in release.content.tables if len(table.owners) > 1]
    noise = max((table.variance**0.5 for table in cross), default=0.0)
    triple = (INTERACTION.columns[0], INTERACTION.columns[1], INTERACTION.columns[2])
    result = kept.compare(
        release.sample(200_000), truth, release.agreement, people=people, noise_sd=noise, interactions=(triple,)
    )
    text = kept_table.as_text(result)
    with whole_file(out / "kept.txt", force=True) as file:
        file.write_text(text, encoding="utf-8")
    kept_picture.write_picture(result, out / "kept.png", out / "kept.svg")
    write_page(out / "report.html", release, result, force=True)
    screen.say(text)
