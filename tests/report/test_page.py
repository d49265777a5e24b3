"""The page: what it says, that it asks nothing of anybody, and that nothing in a file can become a part of it."""

from __future__ import annotations

import base64
import hashlib
import re
import sys
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest
from release.example import iterated, kept_promise, measured, signatures_of

from vertwin.errors import UserError
from vertwin.privacy.closed_form import gaussian_mu, guess_probability
from vertwin.privacy.statement import TITLES, rounded_up
from vertwin.release import Promise, Release, Statement
from vertwin.report import page_statement
from vertwin.report.kept import ColumnKept, Kept, PairKept
from vertwin.report.page import page, write_page
from vertwin.report.page_picture import VARIABLES, themed

CONTENT = kept_promise()
SIGNED = Release(CONTENT, signatures_of(CONTENT))


def kept(name: str = "age") -> Kept:
    pairs = tuple(
        PairKept((name, other), ("clinic", "insurer"), strength, strength * 0.8, 0.05, None, None)
        for other, strength in (("grade", 0.5), ("hours", 0.3), ("nothing", 0.01))
    )
    columns = (
        ColumnKept(name, "clinic", "real", 0.02, 0.01, 47.0, 46.5, 12.0, 12.1, "40", 0.1, 0.1),
        ColumnKept("grade", "insurer", "ordinal", 0.01, 0.01, None, None, None, None, "low", 0.5, 0.49),
    )
    among = (replace(pairs[0], among=("smoker", "yes")),)
    return Kept(columns, pairs, among, 1000, 1000)


class Elements(HTMLParser):
    """Every element of a page with its attributes, and whether they are closed in order."""

    VOID = ("meta", "br", "img", "link", "input", "hr")

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_asks_nothing_of_anybody() -> None:
    text = page(SIGNED, kept())
    elements = Elements(text).found
    names = {name for name, _ in elements}
    assert not names & {"script", "link", "img", "iframe", "object", "embed", "form", "a", "base", "image", "use"}
    for name, attributes in elements:
        assert not {"src", "href", "xlink:href", "style", "action"} & set(attributes), name
        assert not [key for key in attributes if key.startswith("on")], name
    assert "@import" not in text
    assert "url(" not in text
    assert re.findall(r"https?://[^\"' <]+", text) == []


def test_the_policy_allows_this_style_sheet_and_nothing_else() -> None:
    text = page(SIGNED, kept())
    (policy,) = [
        attributes["content"]
        for name, attributes in Elements(text).found
        if attributes.get("http-equiv") == "Content-Security-Policy"
    ]
    (style,) = re.findall(r"<style>(.*?)</style>", text, flags=re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert policy == f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    assert text.index("Content-Security-Policy") < text.index("<style>")
    assert "prefers-color-scheme: dark" in style
    assert "@media print" in style


def test_equal_input_gives_equal_bytes() -> None:
    assert page(SIGNED, kept()) == page(SIGNED, kept())


def test_it_says_what_each_viewer_is_promised() -> None:
    text = page(SIGNED, kept())
    for promise in SIGNED.viewers:
        assert promise.epsilon is not None and rounded_up(promise.epsilon, 3) in text
        assert promise.viewer in text
    assert "Signed by clinic and insurer." in text
    for signature in SIGNED.signatures:
        assert signature.fingerprint.replace("+", "&#43;") in text or signature.fingerprint in text
    assert SIGNED.digest in text
    assert "The twin kept 80 %" in text
    assert "rehearsal" not in text[text.index("<body>") :].lower()


def test_a_guess_is_never_said_to_be_worse_than_it_is() -> None:
    analyst = page_statement.viewers(SIGNED)[0]
    exact = guess_probability(gaussian_mu(1.0, 1e-6))
    assert analyst.right is not None
    assert exact <= analyst.right / 100 < exact + 0.002
    by_hand = Release(replace(iterated(), statement=Statement("x", (Promise("analyst", (), 1.0, 0.0, "replace_one"),))))
    (implied,) = page_statement.viewers(by_hand)
    assert implied.right == 73.2  # e / (1 + e) = 0.73106, rounded up


def test_the_statement_is_the_signed_one_or_follows_from_the_noise() -> None:
    assert [heading for heading, _ in page_statement.facts(SIGNED)] == list(TITLES)
    assert page_statement.facts(Release(iterated())) == ()
    words = "unit of privacy: One person. All of it.\nadjacency: replaced: by anything."
    content = replace(CONTENT, statement=replace(CONTENT.statement, text=words))
    release = Release(content, signatures_of(content))
    assert page_statement.facts(release) == (
        ("unit of privacy", ("One person. All of it.",)),
        ("adjacency", ("replaced: by anything.",)),
    )
    assert "<dt>Unit of privacy</dt>" in page(release)


def test_a_viewer_without_a_promise_is_named_with_the_reason() -> None:
    viewers = page_statement.viewers(Release(measured()))
    assert [viewer.right_text == "no promise" for viewer in viewers] == [False, False, True]
    text = page(Release(measured()))
    assert "Nothing is promised towards this viewer" in text
    assert "no promise" in text


def test_a_huge_epsilon_is_certainty_and_no_overflow() -> None:
    statement = Statement("x", (Promise("analyst", (), 20_020.0, 1e-6, "replace_one"),))
    (viewer,) = page_statement.viewers(Release(replace(iterated(), statement=statement)))
    assert viewer.right == 100.0


def test_a_rehearsal_is_called_one_and_a_missing_statement_is_said() -> None:
    text = page(Release(iterated()))
    assert "Not signed. Rehearsal:" in text
    assert "This release makes no promise" in text
    assert "cannot be looked up" in text
    assert "signed by" not in text.lower()


def test_what_all_promises_rest_on_is_said_once() -> None:
    assert page_statement.shared_assumptions(SIGNED) == ("every party drew its noise",)
    assert page(SIGNED).count("every party drew its noise") == 1


def test_nothing_in_a_release_becomes_markup() -> None:
    evil = "</style><script>alert(1)</script><img src=x onerror=y>\"'&"
    content = replace(iterated(), watermark=f"rehearsal {evil}", notes=(evil,))
    text = page(Release(content), kept(evil), facts=((evil, (evil,)),))
    assert {name for name, _ in Elements(text).found}.isdisjoint({"script", "img"})
    assert "<script" not in text


def test_the_picture_takes_the_colours_of_the_page() -> None:
    text = page(SIGNED, kept())
    drawing = text[text.index('<svg class="picture"') :]
    drawing = drawing[: drawing.index("</svg>")]
    colours = set(re.findall(r'(?:fill|stroke)="([^"]+)"', drawing))
    assert colours <= {"none", *(f"var({name})" for name in VARIABLES.values())}
    style = text[: text.index("</style>")]
    for name in VARIABLES.values():
        assert style.count(f"{name}: ") == 3, f"{name}: light, dark and print"
    assert 'aria-label="Chart. The twin kept 80 %' in drawing
    with pytest.raises(AssertionError):
        themed('<svg width="1" height="1"><rect fill="#123456"/></svg>', "x")


def test_it_is_written_whole_and_not_over_another(tmp_path: Path) -> None:
    path = write_page(tmp_path / "report.html", SIGNED)
    before = path.read_text(encoding="utf-8")
    assert before.startswith("<!DOCTYPE html>")
    with pytest.raises(UserError) as refused:
        write_page(path, SIGNED, kept())
    assert refused.value.codes == ("E510",)
    assert path.read_text(encoding="utf-8") == before


def test_without_the_report_extra_one_sentence_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(UserError) as refused:
        page(SIGNED)
    assert refused.value.codes == ("E534",)
    assert refused.value.exit_status == 3
