"""What the twin kept, as one table for a terminal."""

from __future__ import annotations

import io
from typing import Final

from rich import box
from rich.console import Console, Group
from rich.markup import escape
from rich.table import Table

from vertwin.report.kept import ColumnKept, Kept, PairKept

STRONGEST: Final = 10
OVERSTATED: Final = 1.1  # times the truth's strength: beyond this the twin claims more than there is
HOW_TO_READ: Final = (
    "off by: share of people who would need another value for truth and twin to be equal; in brackets, how far off as "
    "many real people would be, by chance. strength: Cramer's V, 0 = the two columns say nothing about each other, "
    "1 = one tells the other."
)


def as_table(kept: Kept, strongest: int = STRONGEST) -> Group:
    """Every column, the strongest pairs across the parties, and the rest in a line."""
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("", no_wrap=True)
    for name in ("the truth", "the twin", ""):
        table.add_column(name, justify="right", no_wrap=True)
    _section(table, "each column by itself", "off by")
    for column in kept.columns:
        name = f"  {escape(column.column)} [dim]({escape(column.party)})[/dim]"
        table.add_row(name, *_figures(column), _distance(column))
    table.add_section()
    _section(table, "pairs across the parties: strength", "kept")
    shown = [pair for pair in kept.pairs if pair.is_real][:strongest]
    for pair in shown:
        table.add_row(f"  {escape(pair_name(pair))}", f"{pair.truth:.2f}", f"{pair.twin:.2f}", verdict(pair))
    rest = [pair for pair in kept.pairs if pair not in shown]
    if rest:
        worst = max(abs(pair.twin - pair.truth) for pair in rest)
        weaker = "1 weaker pair" if len(rest) == 1 else f"{len(rest)} weaker pairs"
        table.add_row(f"  [dim]{weaker}[/dim]", "", "", f"[dim]off by {worst:.2f} at most[/dim]")
    if kept.interactions:
        table.add_section()
        _section(table, "a pair among some people only: strength", "kept")
        for pair in kept.interactions:
            table.add_row(f"  {escape(pair_name(pair))}", f"{pair.truth:.2f}", f"{pair.twin:.2f}", verdict(pair))
    return Group(f"[bold]{escape(headline(kept))}[/bold]", table, f"[dim]{HOW_TO_READ}[/dim]")


def as_text(kept: Kept, width: int = 100, strongest: int = STRONGEST) -> str:
    """The same without colours, for a file or a pipe."""
    console = Console(file=io.StringIO(), width=width, color_system=None, force_terminal=False, legacy_windows=False)
    console.print(as_table(kept, strongest))
    assert isinstance(console.file, io.StringIO)
    return "\n".join(line.rstrip() for line in console.file.getvalue().splitlines()).strip("\n") + "\n"


def headline(kept: Kept) -> str:
    """The two numbers that matter, as a sentence."""
    columns = f"its columns are off by {100 * kept.mean_distance:.1f} % on average"
    if kept.strength_kept is None:
        return f"Nothing ties the parties' columns together here; {columns}"
    parties = _listed(sorted({pair.parties[side] for pair in kept.pairs for side in (0, 1)}))
    return f"The twin kept {100 * kept.strength_kept:.0f} % of what ties {parties} together; {columns}"


def pair_name(pair: PairKept) -> str:
    name = f"{pair.columns[0]} – {pair.columns[1]}"
    return name if pair.among is None else f"{name}, {pair.among[0]} = {pair.among[1]}"


def verdict(pair: PairKept) -> str:
    """How well a pair was kept, in a word or a number."""
    if pair.kept is not None:
        return f"{100 * pair.kept:.0f} %" + (", overstated" if pair.kept > OVERSTATED else "")
    return "too weak to tell" if pair.twin <= pair.floor else "more than there is"


def _section(table: Table, title: str, last: str) -> None:
    table.add_row(f"[bold]{title}[/bold]", "", "", f"[bold]{last}[/bold]")


def _figures(column: ColumnKept) -> tuple[str, str]:
    if column.mean_truth is not None and column.mean_twin is not None:
        return f"mean {_number(column.mean_truth)}", f"mean {_number(column.mean_twin)}"
    return f"{escape(column.commonest)} {100 * column.share_truth:.1f} %", f"{100 * column.share_twin:.1f} %"


def _distance(column: ColumnKept) -> str:
    return f"{100 * column.distance:.1f} % [dim]({100 * column.floor:.1f})[/dim]"


def _number(value: float) -> str:
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else ", ".join(names[:-1]) + " and " + names[-1]
