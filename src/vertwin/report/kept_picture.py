"""What the twin kept, as one picture: PNG and SVG, drawn without a network or a browser, the same bytes every time.

In the order of importance: first what nobody could have seen alone, the associations across the parties; then the
interactions; then each column by itself. Altair and vl-convert (the extra `report`) are imported when a picture is
drawn, not before.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from vertwin.report.kept import Kept, PairKept
from vertwin.report.kept_table import headline, pair_name, verdict

if TYPE_CHECKING:
    import altair

STRONGEST: Final = 12
INVENTED: Final = 3
TRUTH_COLOUR: Final = "#1b1b1b"  # ring and disc are told apart without colour too
TWIN_COLOUR: Final = "#0072b2"
FLOOR_COLOUR: Final = "#d9d9d9"
ROW_HEIGHT: Final = 22
WIDTH: Final = 560
LABELS: Final = 215
PNG_SCALE: Final = 1.6


def write_picture(kept: Kept, png: Path, svg: Path) -> None:
    """Draw `kept` into both files."""
    import vl_convert

    drawing = picture(kept).to_json()
    svg.write_text(vl_convert.vegalite_to_svg(drawing), encoding="utf-8")
    png.write_bytes(vl_convert.vegalite_to_png(drawing, scale=PNG_SCALE))


def picture(kept: Kept) -> altair.VConcatChart:
    """The chart, as Altair describes it."""
    import altair as alt

    shown = shown_pairs(kept)
    real = sum(pair.is_real for pair in shown)
    title = f"1. Across the parties: the {real} strongest of {len(kept.pairs)} associations"
    if real < len(shown):
        title += f", then {len(shown) - real} too weak to tell from chance and noise"
    longest = max([0.1, *(max(pair.truth, pair.twin, pair.floor) for pair in (*shown, *kept.interactions))])
    panels: list[Any] = [
        _pairs_panel(
            shown,
            longest,
            title,
            [
                "A column of one party beside a column of another: no party could have seen how they go together.",
                "Ring = truth. Disc = twin. The nearer the disc to the ring, the better. Grey = mere chance and noise.",
            ],
        )
    ]
    if kept.interactions:
        panels.append(
            _pairs_panel(
                kept.interactions,
                longest,
                f"{len(panels) + 1}. An interaction: one association, among some people only",
                [
                    "Rings that lie apart: the third column changes how the two go together.",
                    "Discs that lie nearer together than the rings: the twin has lost part of that.",
                ],
            )
        )
    panels.append(_columns_panel(kept, f"{len(panels) + 1}. Each column by itself: how far off the twin is"))
    return (
        alt.vconcat(*panels, spacing=30)
        .properties(
            title=alt.TitleParams(headline(kept), fontSize=17, anchor="start", offset=16),
            padding=18,
            background="white",
        )
        .configure_view(stroke=None)
        .configure_axis(labelFontSize=12, titleFontSize=12, titleFontWeight="normal")
        .configure_title(fontSize=14, subtitleFontSize=12, subtitleColor="#444444", subtitlePadding=5, anchor="start")
        .resolve_scale(x="independent", color="independent")
    )


def shown_pairs(kept: Kept) -> tuple[PairKept, ...]:
    """The strongest pairs, then those too weak to tell from none where the twin comes nearest to inventing one."""
    real = [pair for pair in kept.pairs if pair.is_real]
    none = sorted((pair for pair in kept.pairs if not pair.is_real), key=lambda pair: (-pair.twin, pair.columns))
    return (*real[:STRONGEST], *none[:INVENTED])


def _names(sort: Sequence[str], field: str) -> Any:
    """The left-hand axis: equally wide in every panel, so that titles and plots stand in line."""
    import altair as alt

    axis = alt.Axis(
        ticks=False, domain=False, grid=False, labelLimit=LABELS, minExtent=LABELS, maxExtent=LABELS, labelPadding=8
    )
    return alt.Y(f"{field}:N", sort=list(sort), title=None, axis=axis)


def _at_the_right(rows: Any, y: Any) -> Any:
    import altair as alt

    mark = alt.Chart(rows).mark_text(align="left", baseline="middle", fontSize=11.5, color="#444444")
    return mark.encode(y=y, x=alt.value(WIDTH + 10), text="note:N")


def _pairs_panel(pairs: Sequence[PairKept], longest: float, title: str, how_to_read: list[str]) -> Any:
    """Ring and disc on one line for each pair, over a grey bar as long as what chance and noise alone would show."""
    import altair as alt

    rows = alt.Data(
        values=[
            {
                "pair": pair_name(pair),
                "truth": pair.truth,
                "twin": pair.twin,
                "floor": pair.floor,
                "note": f"{verdict(pair)} kept" if pair.is_real and pair.twin <= pair.truth else verdict(pair),
            }
            for pair in pairs
        ]
    )
    scale = alt.Scale(domain=[0, min(1.0, 1.06 * longest)], nice=False)
    y = _names([pair_name(pair) for pair in pairs], "pair")
    axis = alt.Axis(grid=False, tickCount=6)
    truth = alt.X("truth:Q", scale=scale, axis=axis, title="strength of association: 0 = none, 1 = one tells the other")
    twin = alt.X("twin:Q", scale=scale)
    chart = alt.Chart(rows)
    return alt.layer(
        chart.mark_bar(height=12, color=FLOOR_COLOUR).encode(y=y, x=alt.X("floor:Q", scale=scale)),
        chart.mark_rule(strokeWidth=2, color=TWIN_COLOUR, opacity=0.5).encode(y=y, x=truth, x2="twin:Q"),
        chart.mark_point(size=95, strokeWidth=2, opacity=1, color=TRUTH_COLOUR, fill="white").encode(y=y, x=truth),
        chart.mark_point(size=55, opacity=1, filled=True, color=TWIN_COLOUR).encode(y=y, x=twin),
        _at_the_right(rows, y),
    ).properties(width=WIDTH, height=ROW_HEIGHT * len(pairs), title=_title(title, how_to_read))


def _columns_panel(kept: Kept, title: str) -> Any:
    """A bar for each column, in the agreement's order: as long as the share of people in the wrong place."""
    import altair as alt

    rows = [
        {
            "column": f"{column.column} ({column.party})",
            "distance": column.distance,
            "floor": column.floor,
            "note": f"{100 * column.distance:.1f} %",
        }
        for column in kept.columns
    ]
    longest = max([0.05, *(1.06 * max(column.distance, column.floor) for column in kept.columns)])
    y = _names([str(row["column"]) for row in rows], "column")
    x = alt.X(
        "distance:Q",
        scale=alt.Scale(domain=[0, min(1.0, longest)], nice=False),
        title="share of people who would need another value",
        axis=alt.Axis(format=".0%", grid=False, tickCount=6),
    )
    data = alt.Data(values=rows)
    reading = [
        "Bar = share of people who would need another value for twin and truth to be equal: shorter is better.",
        "Black mark = how far off as many real people would be, by chance.",
    ]
    return alt.layer(
        alt.Chart(data).mark_bar(height=12, color=TWIN_COLOUR).encode(y=y, x=x),
        alt.Chart(data).mark_tick(thickness=2, size=18, color=TRUTH_COLOUR).encode(y=y, x="floor:Q"),
        _at_the_right(data, y),
    ).properties(width=WIDTH, height=ROW_HEIGHT * len(rows), title=_title(title, reading))


def _title(title: str, how_to_read: list[str]) -> Any:
    import altair as alt

    return alt.TitleParams(title, subtitle=how_to_read, frame="bounds", offset=8)
