"""All parties on one machine: as threads computing in the clear, or as real processes under real MPC.

A rehearsal is how an agreement is tried out, how every test runs, and the verb for everything under MPC that a run
between organisations does not take yet. Whatever comes of it is watermarked.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from vertwin import agreement as agreements
from vertwin import tables
from vertwin.agreement import Agreement
from vertwin.engine.spu import check_machine
from vertwin.errors import Faults, UserError
from vertwin.noise import Entropy, SystemEntropy
from vertwin.rehearsal.plain import run_plain
from vertwin.rehearsal.secure import run_secure
from vertwin.rehearsal.session import Progress
from vertwin.release import Content, Release

__all__ = ["rehearse", "run"]


def rehearse(
    agreement: Agreement | str | os.PathLike[str],
    tables: Mapping[str, Any],
    *,
    secure: bool = False,
    progress: Progress | None = None,
) -> Release:
    """Run all parties here: `rehearse("agreement.toml", {"clinic": frame, "insurer": "insurer.csv"}).sample(1000)`.

    `tables` gives each holder's data frame or file. With `secure`, real processes compute under real MPC.
    """
    terms = agreement if isinstance(agreement, Agreement) else agreements.load(Path(agreement))
    return Release(run(terms, tables, secure=secure, progress=progress or _quiet))


def run(
    agreement: Agreement,
    sources: Mapping[str, Any],
    *,
    secure: bool,
    progress: Progress,
    entropies: Mapping[str, Entropy] | None = None,
) -> Content:
    """The content of the release. `entropies` is for tests alone: a test shows that no command can set it."""
    check_machine()
    _check_tables(agreement, sources)
    random = entropies or {party.name: SystemEntropy() for party in agreement.parties}
    held = {name: _payload(source) for name, source in sources.items()} if secure else dict(sources)
    return (run_secure if secure else run_plain)(agreement, held, random, progress)


def _check_tables(agreement: Agreement, sources: Mapping[str, Any]) -> None:
    """Every fault of every party's table at once, before any party is started."""
    faults = Faults()
    holders = [party.name for party in agreement.holders]
    for name in sources:
        if name not in holders:
            faults.add("E721", f"a table for {name}, who holds no data here", f"the holders: {', '.join(holders)}")
    for name in holders:
        if name not in sources:
            faults.add("E721", f"no table for {name}", "give each holder's table by its name")
            continue
        try:
            tables.read(tables.open_source(sources[name]), agreement, name)
        except UserError as error:
            faults.extend(error.faults)
    faults.raise_if_any()


def _payload(source: Any) -> Any:
    """What a party's process is handed: a path stays a path, a frame goes as an Arrow table."""
    if isinstance(source, str | os.PathLike):
        return os.path.abspath(source)
    opened = tables.open_source(source)
    return pa.Table.from_batches(list(opened.batches(opened.names)))


def _quiet(party: str, stage: str, done: float, note: str) -> None:
    """A Python caller who asked for no news gets none."""
