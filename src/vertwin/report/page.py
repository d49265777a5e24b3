"""The report of a release: one page that needs nothing but itself, for the officer who signs and the one who uses it.

No script, no request to anywhere: the page's own policy forbids both, and allows its one style sheet by its digest.
The same input gives the same bytes. Jinja2 and the chart libraries (the extra `report`) are imported when a page is
made, not before.
"""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import Any, Final

from vertwin.errors import user_error
from vertwin.release import Release, whole_file
from vertwin.report import page_statement
from vertwin.report.kept import ColumnKept, Kept, PairKept
from vertwin.report.kept_table import headline, pair_name, verdict

STRONGEST: Final = 12
Facts = Sequence[tuple[str, Sequence[str]]]


def page(release: Release, kept: Kept | None = None, *, facts: Facts | None = None) -> str:
    """The page as HTML.

    kept: what the twin kept of a known truth, where there is one (the embedded example); else the page says why not.
    facts: what the promise is about, as (heading, sentences); by default those that follow from the release.
    """
    try:
        from jinja2 import Environment, StrictUndefined
        from markupsafe import Markup

        picture = "" if kept is None else _picture(kept)
    except ImportError:
        raise user_error("E534", "the report needs packages that are not installed here") from None
    folder = resources.files("vertwin.report")
    style = folder.joinpath("page.css").read_text(encoding="utf-8")
    template = Environment(autoescape=True, undefined=StrictUndefined, keep_trailing_newline=True).from_string(
        folder.joinpath("page.html.j2").read_text(encoding="utf-8")
    )
    agreement = release.agreement
    return template.render(
        style=Markup(style),
        style_digest=Markup("sha256-" + base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()),
        title=agreement.name,
        purpose=agreement.purpose,
        summary=_summary(release),
        standing=page_statement.standing(release),
        rehearsal=release.watermark is not None,
        viewers=page_statement.viewers(release),
        shared=page_statement.shared_assumptions(release),
        no_promise=release.statement.text,
        facts=page_statement.facts(release) if facts is None else facts,
        kept=None if kept is None else _kept(kept, Markup(picture)),
        notes=release.content.notes,
        digest=release.digest,
        agreement_digest=agreement.digest,
        signers=[(signature.party, signature.fingerprint) for signature in release.signatures],
        version=release.content.product_version,
        learner=release.content.learner,
        checking=_checking(release),
    )


def write_page(
    path: str | os.PathLike[str],
    release: Release,
    kept: Kept | None = None,
    *,
    facts: Facts | None = None,
    force: bool = False,
) -> Path:
    """The same into a file, whole or not at all. Returns the path."""
    final = Path(path)
    text = page(release, kept, facts=facts)
    with whole_file(final, force) as temporary:
        temporary.write_text(text, encoding="utf-8")
    return final


def _picture(kept: Kept) -> str:
    from vertwin.report.page_picture import inline_picture

    return inline_picture(kept, f"Chart. {headline(kept)}.")


def _summary(release: Release) -> str:
    agreement = release.agreement
    parts = [f"{party.name} ({len(agreement.columns_of(party.name))} columns)" for party in agreement.holders]
    rows = release.rows_estimate
    people = "" if rows is None else f", about {round(rows):,} people"
    return f"A differentially private twin of one table whose columns lie with {page_statement.listed(parts)}{people}."


def _checking(release: Release) -> str:
    if release.watermark is not None:
        return "A rehearsal proves nothing about who made it: one person ran every party, and could see every table."
    return (
        "“vertwin verify” checks the signatures, every byte and every epsilon. Compare the keys above with those that "
        "the parties publish: that a key is theirs, no file can prove."
    )


def _kept(kept: Kept, picture: Any) -> dict[str, Any]:
    real = [pair for pair in kept.pairs if pair.is_real]
    tables = [
        {"title": "pairs across the parties: strength", "rows": [_pair(pair) for pair in real[:STRONGEST]]},
        {"title": "a pair among some people only: strength", "rows": [_pair(pair) for pair in kept.interactions]},
    ]
    return {
        "headline": headline(kept),
        "why": "Here the truth is known, since these people are made up. Between real organisations nobody holds both "
        "sides, and what a twin lost cannot be looked up.",
        "picture": picture,
        "columns": [_column(column) for column in kept.columns],
        "pairs": [table for table in tables if table["rows"]],
        "rest": _rest(kept, real),
    }


def _column(column: ColumnKept) -> dict[str, str]:
    if column.mean_truth is not None and column.mean_twin is not None:
        truth, twin = f"mean {_number(column.mean_truth)}", f"mean {_number(column.mean_twin)}"
    else:
        truth, twin = f"{column.commonest} {100 * column.share_truth:.1f} %", f"{100 * column.share_twin:.1f} %"
    return {
        "name": column.column,
        "party": column.party,
        "truth": truth,
        "twin": twin,
        "off": f"{100 * column.distance:.1f} %",
        "chance": f"{100 * column.floor:.1f} %",
    }


def _pair(pair: PairKept) -> dict[str, str]:
    return {"name": pair_name(pair), "truth": f"{pair.truth:.2f}", "twin": f"{pair.twin:.2f}", "kept": verdict(pair)}


def _rest(kept: Kept, real: list[PairKept]) -> str:
    weak = len(kept.pairs) - len(real)
    sentences = []
    if len(real) > STRONGEST:
        sentences.append(f"{len(real) - STRONGEST} weaker pairs are left out.")
    if weak:
        sentences.append(f"{weak} pairs are too weak to tell from chance and noise.")
    return " ".join(sentences)


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"
