"""The loader of the Adult data, on made-up files in UCI's form; on the real data where they are."""

from __future__ import annotations

from pathlib import Path

import adult
import pytest

UCI_DATA = """\
39, State-gov, 77516, Bachelors, 13, Never-married, Adm-clerical, Not-in-family, White, Male, 2174, 0, 40, \
United-States, <=50K
50, ?, 83311, Bachelors, 13, Married-civ-spouse, ?, Husband, White, Male, 0, 0, 13, United-States, >50K

"""
UCI_TEST = """\
|1x3 Cross validator
25, Private, 226802, 11th, 7, Never-married, Machine-op-inspct, Own-child, Black, Male, 0, 0, 40, United-States, <=50K.
"""
TRAIN_ROWS = [
    ("39", "State-gov", "77516", "Bachelors", "13", "Never-married", "Adm-clerical", "Not-in-family", "White", "Male",
     "2174", "0", "40", "United-States", "<=50K"),
    ("50", "", "83311", "Bachelors", "13", "Married-civ-spouse", "", "Husband", "White", "Male",
     "0", "0", "13", "United-States", ">50K"),
]  # fmt: skip
TEST_ROWS = [
    ("25", "Private", "226802", "11th", "7", "Never-married", "Machine-op-inspct", "Own-child", "Black", "Male",
     "0", "0", "40", "United-States", "<=50K"),
]  # fmt: skip


@pytest.fixture
def uci(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder as UCI hands it out, with two rows and one; our digests and counts made theirs."""
    folder = tmp_path / "uci"
    folder.mkdir()
    (folder / "adult.data").write_text(UCI_DATA, encoding="utf-8")
    (folder / "adult.test").write_text(UCI_TEST, encoding="utf-8")
    digests = {"train.csv": adult.digest(TRAIN_ROWS), "test.csv": adult.digest(TEST_ROWS)}
    monkeypatch.setattr(adult, "DIGESTS", digests)
    monkeypatch.setattr(adult, "COMPLETE_ROWS", {"train.csv": 1, "test.csv": 1})
    monkeypatch.setattr(adult, "FILLED", tmp_path / "filled")
    monkeypatch.delenv(adult.VARIABLE, raising=False)
    return folder


def test_ucis_files_become_ours(uci: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert adult.main(["--from", str(uci), "--into", str(adult.FILLED)]) == 0
    assert "digests right" in capsys.readouterr().out
    assert adult.read_rows(adult.FILLED / "train.csv") == TRAIN_ROWS
    assert adult.read_rows(adult.FILLED / "test.csv") == TEST_ROWS
    loaded = adult.load()
    assert loaded.train.to_pylist()[0]["age"] == 39
    assert loaded.train.num_rows == 1  # the other has no workclass
    assert loaded.test.to_pylist()[0] == {
        name: int(value) if name in adult.NUMBERS else value
        for name, value in zip(adult.COLUMNS, TEST_ROWS[0], strict=True)
    }


def test_the_variable_comes_first(uci: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    adult.fill(uci, tmp_path / "elsewhere")
    with pytest.raises(adult.AdultNotFound):
        adult.load()
    monkeypatch.setenv(adult.VARIABLE, str(tmp_path / "elsewhere"))
    assert adult.folder() == tmp_path / "elsewhere"
    assert adult.load().test.num_rows == 1


def test_where_they_are_nowhere_the_message_says_what_to_do(uci: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(adult.VARIABLE, "/nowhere")
    with pytest.raises(adult.AdultNotFound, match=r"make adult FROM=.*") as raised:
        adult.load()
    assert "/nowhere" in str(raised.value)
    assert "UCI" in str(raised.value)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("adult.data", UCI_DATA.replace("39,", "38,")),
        ("adult.data", UCI_DATA.splitlines()[0] + "\n"),
        ("adult.data", UCI_DATA + UCI_DATA),
        ("adult.data", "<html>not found</html>\n"),
        ("adult.test", UCI_DATA),
        ("adult.test", ""),
    ],
)
def test_other_rows_are_refused_and_nothing_is_written(
    uci: Path, name: str, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (uci / name).write_text(text, encoding="utf-8")
    assert adult.main(["--from", str(uci), "--into", str(adult.FILLED)]) == 2
    assert name in capsys.readouterr().err
    assert not adult.FILLED.exists()


def test_a_folder_without_the_files_is_refused(uci: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (uci / "adult.test").unlink()
    assert adult.main(["--from", str(uci), "--into", str(adult.FILLED)]) == 2
    assert "has no adult.test" in capsys.readouterr().err


def test_a_filled_folder_that_was_changed_is_refused(uci: Path) -> None:
    adult.fill(uci, adult.FILLED)
    changed = (adult.FILLED / "train.csv").read_text(encoding="utf-8").replace("2174", "2175")
    (adult.FILLED / "train.csv").write_text(changed, encoding="utf-8")
    with pytest.raises(adult.AdultDamaged, match=r"train\.csv is not Adult's adult\.data"):
        adult.load()
    (adult.FILLED / "train.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    with pytest.raises(adult.AdultDamaged, match="does not begin"):
        adult.load()


def test_the_digest_tells_fields_and_rows_apart() -> None:
    rows = [("a", "bc"), ("d",)]
    others = ([("ab", "c"), ("d",)], [("a", "bc", "d")], [("d",), ("a", "bc")], [("a", "bc")])
    assert len({adult.digest(each) for each in (rows, *others)}) == 5


def test_the_real_data() -> None:
    try:
        data = adult.load()
    except adult.AdultNotFound as error:
        pytest.skip(str(error))
    assert (data.train.num_rows, data.test.num_rows) == (30_162, 15_060)
    assert data.train.column_names == list(adult.COLUMNS)
