"""vertwin demo: a clinic and an insurer of a made-up town, from two tables to a synthetic one, under real MPC."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from vertwin.cli import screen
from vertwin.errors import Faults

TWIN_ROWS = 20_000
REAL = """\
What is real here: every party is a process of its own that reads its own table; what they compute together is
computed on shares, by the SPU engine under {protocol};
the noise comes from the operating system and is exact.
What is not: one person started all of them on one machine, so the release is watermarked as a rehearsal."""
PROTOCOLS = {"cheetah": "the Cheetah protocol, between two", "aby3": "the ABY3 protocol, with a helper as third"}


def demo(
    out: Annotated[Path, typer.Option(help="Where all files go.")] = Path("vertwin-demo"),
    learner: Annotated[
        Literal["measure_once", "dpvi"], typer.Option(help="measure_once, or dpvi, the paper's algorithm.")
    ] = "measure_once",
    force: Annotated[bool, typer.Option("--force", help="Overwrite the files of an earlier demo.")] = False,
) -> None:
    """All parties as real processes here, real MPC, embedded data: release, synthetic table, what it kept."""
    from vertwin import agreement as agreements
    from vertwin import rehearsal
    from vertwin.engine.spu import check_machine
    from vertwin.rehearsal import town, town_agreements, town_files
    from vertwin.release import Release, whole_file, write_release

    check_machine()
    start = time.monotonic()
    targets = {name: out / name for name in ("agreement.toml", "town.vertwin", "twin.parquet", "kept.txt", "kept.png")}
    _refuse_existing(list(targets.values()), force)
    out.mkdir(parents=True, exist_ok=True)

    terms_text = town_agreements.agreement_text(learner)
    terms = agreements.parse(terms_text)
    made = town_files.make()
    town_files.write(made.aligned, out / "data")
    with whole_file(targets["agreement.toml"], force=True) as file:
        file.write_text(terms_text, encoding="utf-8")

    rows = made.clinic_aligned.num_rows
    clinic, insurer = (len(terms.columns_of(name)) for name in ("clinic", "insurer"))
    screen.note(f"A clinic ({clinic} columns) and an insurer ({insurer} columns) know different things about the same")
    screen.note(f"{rows} people of a made-up town. Neither shows the other a row.")
    screen.note(REAL.format(protocol=PROTOCOLS[terms.protocol]))
    screen.note("")
    sources = {name: str(out / "data" / f"{name}.parquet") for name in made.aligned}
    content = rehearsal.run(terms, sources, secure=True, progress=screen.News())
    write_release(targets["town.vertwin"], content, force=True)
    release = Release(content)
    release.write_sample(targets["twin.parquet"], TWIN_ROWS, force=True)
    screen.note("")
    _kept(release, town.truth(), rows, targets)
    screen.viewers(content.statement)
    for remark in content.notes:
        screen.say(remark)
    screen.say("")
    screen.say(f"The files, in {out}:")
    screen.say("  town.vertwin    the release: noisy tables, twin, agreement (a rehearsal's: watermarked, not signed)")
    screen.say(
        f"  twin.parquet    {TWIN_ROWS} synthetic people; for more: "
        f"vertwin sample {targets['town.vertwin']} -n 1000000 -o more.csv"
    )
    screen.say("  kept.png        what the twin kept, as a picture; kept.txt: as a table; kept.svg: to print")
    screen.say(
        "  agreement.toml  what both signed;  data/: the two private tables (made up: these people do not exist)"
    )
    screen.note(f"{time.monotonic() - start:.0f} seconds in all")


def _refuse_existing(targets: list[Path], force: bool) -> None:
    faults = Faults()
    for target in targets:
        if target.exists() and not force:
            faults.add("E510", "this file is there already", "name another folder with --out, or --force", str(target))
    faults.raise_if_any()


def _kept(release: Any, truth: Any, rows: int, targets: dict[str, Path]) -> None:
    """Hold the twin against the known truth of the made-up town: for the eyes, a table and a picture."""
    from vertwin.rehearsal.town import INTERACTION
    from vertwin.release import whole_file
    from vertwin.report import kept, kept_picture, kept_table

    cross = [table for table in release.content.tables if len(table.owners) > 1]
    noise = max((table.variance**0.5 for table in cross), default=0.0)
    triple = (INTERACTION.columns[0], INTERACTION.columns[1], INTERACTION.columns[2])
    result = kept.compare(
        release.sample(200_000), truth, release.agreement, people=rows, noise_sd=noise, interactions=(triple,)
    )
    text = kept_table.as_text(result)
    with whole_file(targets["kept.txt"], force=True) as file:
        file.write_text(text, encoding="utf-8")
    kept_picture.write_picture(result, targets["kept.png"], targets["kept.png"].with_suffix(".svg"))
    screen.say(text)
