"""Text files as they come: separators, quotes, encodings, broken rows, large and small blocks."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vertwin.errors import UserError
from vertwin.tables import csv_source
from vertwin.tables.csv_source import CsvSource
from vertwin.tables.source import BrokenRows


def source(path: Path, content: bytes) -> CsvSource:
    path.write_bytes(content)
    return CsvSource(path)


def rows(of: CsvSource, *columns: str) -> list[tuple[str | None, ...]]:
    found: list[tuple[str | None, ...]] = []
    for batch in of.batches(columns or of.names, BrokenRows()):
        found += zip(*batch.to_pydict().values(), strict=True)
    return found


def refused(of: CsvSource) -> tuple[str, str]:
    with pytest.raises(UserError) as caught:
        list(of.batches(of.names, BrokenRows()))
    assert caught.value.__context__ is None
    (fault,) = caught.value.faults
    return fault.code, fault.sentence


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_all_is_text_and_empty_fields_are_missing(tmp_path: Path, end: bytes) -> None:
    of = source(tmp_path / "t.csv", end.join([b"a,b,c", b'007,"x, y",', b'1.50,"",NA', b""]))
    assert of.names == ("a", "b", "c")
    assert rows(of) == [("007", "x, y", None), ("1.50", None, "NA")]
    assert of.storage_types == (("a", "string"), ("b", "string"), ("c", "string"))
    assert rows(of, "c", "a") == [(None, "007"), ("NA", "1.50")]


def test_separators(tmp_path: Path) -> None:
    assert rows(source(tmp_path / "s.csv", b"a;b\n1,5;2\n")) == [("1,5", "2")]
    assert rows(source(tmp_path / "t.csv", b"a\tb\n1\t2\n")) == [("1", "2")]
    assert rows(source(tmp_path / "t.tsv", b"a,b\tc\n1\t2\n")) == [("1", "2")]


def test_a_byte_order_mark_is_no_part_of_a_name(tmp_path: Path) -> None:
    assert source(tmp_path / "t.csv", b"\xef\xbb\xbfa,b\n1,2\n").names == ("a", "b")


def test_a_quoted_field_may_hold_line_breaks(tmp_path: Path) -> None:
    assert rows(source(tmp_path / "t.csv", b'a,b\n1,"x\ny"\n2,z\n')) == [("1", "x\ny"), ("2", "z")]


def test_blank_lines_are_no_rows_except_in_a_table_of_one_column(tmp_path: Path) -> None:
    assert rows(source(tmp_path / "t.csv", b"a,b\n1,2\n\n3,4\n\n")) == [("1", "2"), ("3", "4")]
    assert rows(source(tmp_path / "o.csv", b"a\n1\n\n3\n")) == [("1",), (None,), ("3",)]


def test_not_utf8_names_the_line(tmp_path: Path) -> None:
    padding = b"1,\xc3\xbc\n" * 500_000  # more than one block is read at a time, and letters are cut between them
    of = source(tmp_path / "t.csv", b"a,b\n" + padding + b"1\n2,M\xfcnchen\n")
    assert refused(of) == ("E253", "line 500003 is not UTF-8")
    (tmp_path / "t.csv").write_bytes(b"a,b\n1,2\n" + padding + b"\xff\n")  # and a broken row that is not
    assert refused(of) == ("E253", "line 500003 is not UTF-8")
    with pytest.raises(UserError) as caught:
        source(tmp_path / "h.csv", b"a,\xffb\n1,2\n")
    assert caught.value.codes == ("E253",) and caught.value.__context__ is None


def test_a_header_of_quoted_names_after_blank_lines(tmp_path: Path) -> None:
    of = source(tmp_path / "t.csv", b'\n"a, b","c ""d"""\n1,2\n')
    assert of.names == ("a, b", 'c "d"')
    assert rows(of) == [("1", "2")]


def test_a_quote_that_is_never_closed(tmp_path: Path) -> None:
    lines = b"".join(b"%d,x\n" % row for row in range(50))
    assert refused(source(tmp_path / "t.csv", b'a,b\n1,"x\n' + lines)) == (
        "E254",
        "a quote is opened in row 1 and never closed",
    )
    assert len(rows(source(tmp_path / "s.csv", b'a,b\n1,5" pipe\n' + lines))) == 51


def test_a_quote_that_is_never_closed_in_a_large_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_source, "_BLOCK_BYTES", 1 << 10)
    lines = b"".join(b"%d,s3cr3t\n" % row for row in range(1000))
    code, sentence = refused(source(tmp_path / "t.csv", b"a,b\n" + lines + b'1,"x\n' + lines))
    assert code == "E254" and sentence.startswith("after row ")


@settings(deadline=None, max_examples=60)
@given(st.lists(st.sampled_from(["good", "short", "long", "blank"]), min_size=1, max_size=60), st.integers(16, 80))
def test_broken_rows_are_numbered_rightly_however_the_file_is_cut(
    tmp_path_factory: pytest.TempPathFactory, kinds: list[str], block: int
) -> None:
    texts = {"good": "%d,x", "short": "%d", "long": "%d,x,y", "blank": ""}
    numbered = [kind for kind in kinds if kind != "blank"]
    number, lines = 0, ["a,b"]
    for kind in kinds:
        number += kind != "blank"
        lines.append(texts[kind] % number if kind != "blank" else "")
    path = tmp_path_factory.mktemp("csv") / "t.csv"
    path.write_text("\n".join(lines) + "\n")
    broken, found = BrokenRows(), []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_source, "_BLOCK_BYTES", block)
        for batch in CsvSource(path).batches(["a"], broken):
            found += [int(value) for value in batch.column("a").to_pylist()]
    assert list(broken.numbers) == [row for row, kind in enumerate(numbered, 1) if kind != "good"]
    assert [broken.number_of(index) for index in range(len(found))] == found
