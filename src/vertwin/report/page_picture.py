"""The picture of what the twin kept, as a part of a page: its colours are the page's own, light, dark and in print."""

from __future__ import annotations

import re
from typing import Final

from vertwin.report.kept import Kept
from vertwin.report.kept_picture import FLOOR_COLOUR, TRUTH_COLOUR, TWIN_COLOUR, picture

VARIABLES: Final = {
    TRUTH_COLOUR: "--truth",
    TWIN_COLOUR: "--twin",
    FLOOR_COLOUR: "--floor",
    "#000": "--ink",
    "#444444": "--muted",
    "#888": "--line",
    "white": "--paper",
}
_COLOUR: Final = re.compile(r'\b(fill|stroke)="(?!none\b|url|transparent|var)([^"]+)"')
_ROOT: Final = re.compile(r"<svg\b[^>]*?\bwidth=\"([0-9.]+)\" height=\"([0-9.]+)\"[^>]*>")


def inline_picture(kept: Kept, title: str) -> str:
    """SVG to stand inside HTML: no request, no script, no style attribute that a strict policy would refuse."""
    import vl_convert

    drawing = picture(kept).to_dict()
    del drawing["title"]  # the page says it in words, right above
    return themed(vl_convert.vegalite_to_svg(drawing).replace("Black mark", "Upright mark"), title)


def themed(svg: str, title: str) -> str:
    """The same drawing with a variable for each colour; a colour without one is our bug."""

    def colour(found: re.Match[str]) -> str:
        assert found[2] in VARIABLES, f"the picture uses the colour {found[2]}, for which the page has no variable"
        return f'{found[1]}="var({VARIABLES[found[2]]})"'

    root = _ROOT.match(svg)
    assert root and "style=" not in svg and "<script" not in svg and "href=" not in svg[root.end() :]
    attribute = title.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")
    start = f'<svg class="picture" role="img" aria-label="{attribute}" viewBox="0 0 {root[1]} {root[2]}">'
    return start + _COLOUR.sub(colour, svg[root.end() :])
