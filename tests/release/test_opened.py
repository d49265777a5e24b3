"""A release goes into a file and comes back; it is sampled and its tables are read."""

from __future__ import annotations

import os
import resource
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from release.example import WATERMARK, iterated, measured

from vertwin.domains import Missing
from vertwin.errors import UserError
from vertwin.release import (
    Content,
    NoiseShare,
    Promise,
    Release,
    Statement,
    container,
    manifest,
    open_release,
    opened,
    write_release,
)
from vertwin.release.sampling import BLOCK_ROWS

CONTENTS = pytest.mark.parametrize("content", [measured(), iterated()], ids=["measure_once", "dpvi"])


def same(one: Content, other: Content) -> bool:
    """Equal in everything that the format holds."""
    plain = ("agreement", "learner", "watermark", "statement", "rows_estimate", "notes", "product_version")
    arrays = [(one.twin.weights, other.twin.weights)]
    arrays += [(a.values, b.values) for a, b in zip(one.twin.columns, other.twin.columns, strict=True)]
    arrays += [(a.counts, b.counts) for a, b in zip(one.tables, other.tables, strict=True)]
    arrays += [(a.values, b.values) for a, b in zip(one.revealed, other.revealed, strict=True)]
    return (
        all(getattr(one, name) == getattr(other, name) for name in plain)
        and [(t.columns, t.owners, t.noise) for t in one.tables]
        == [(t.columns, t.owners, t.noise) for t in other.tables]
        and [(c.column, c.form) for c in one.twin.columns] == [(c.column, c.form) for c in other.twin.columns]
        and [array.name for array in one.revealed] == [array.name for array in other.revealed]
        and all(a.dtype == b.dtype and np.array_equal(a, b) for a, b in arrays)
    )


@CONTENTS
def test_what_is_written_is_read(content: Content, tmp_path: Path) -> None:
    path = write_release(tmp_path / "small.vertwin", content)
    release = open_release(path)
    assert same(release.content, content)
    assert release.digest == Release(content).digest
    assert release.watermark == WATERMARK
    assert WATERMARK in repr(release)
    assert os.listdir(tmp_path) == ["small.vertwin"]


@CONTENTS
def test_one_content_has_one_file(content: Content, tmp_path: Path) -> None:
    first = write_release(tmp_path / "one.vertwin", content)
    second = write_release(tmp_path / "two.vertwin", open_release(first))
    assert first.read_bytes() == second.read_bytes()


def test_a_release_is_not_written_over(tmp_path: Path) -> None:
    path = write_release(tmp_path / "small.vertwin", measured())
    before = path.read_bytes()
    with pytest.raises(UserError) as refused:
        write_release(path, iterated())
    assert refused.value.codes == ("E510",)
    assert path.read_bytes() == before
    write_release(path, iterated(), force=True)
    assert open_release(path).content.learner == "dpvi"


def test_a_full_disk_while_writing_a_release(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (500, hard))
    try:
        with pytest.raises(UserError) as refused:
            write_release(tmp_path / "small.vertwin", measured())
        with pytest.raises(UserError) as refused_too:
            Release(measured()).write_sample(tmp_path / "twin.parquet", 100_000)
        with pytest.raises(UserError) as refused_as_well:
            Release(measured()).write_sample(tmp_path / "twin.csv", 100_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert refused.value.codes == refused_too.value.codes == refused_as_well.value.codes == ("E511",)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("watermark", [None, ""])
def test_a_release_is_signed_or_watermarked(watermark: str | None, tmp_path: Path) -> None:
    with pytest.raises(UserError) as refused:
        write_release(tmp_path / "small.vertwin", replace(measured(), watermark=watermark))
    assert refused.value.codes == ("E505",)
    assert os.listdir(tmp_path) == []


@given(
    st.floats(allow_nan=False, allow_infinity=False),
    st.floats(0, 1e300),
    st.floats(0, 1, exclude_max=True),
    st.fractions(min_value=Fraction(1, 10**20), max_value=10**30, max_denominator=10**20),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=30),
)
@settings(deadline=None, max_examples=100)
def test_numbers_and_texts_come_back_exactly(
    rows: float, epsilon: float, delta: float, variance: Fraction, text: str
) -> None:
    content = measured()
    first, *others = content.tables
    changed = replace(
        content,
        rows_estimate=rows,
        statement=Statement(text, (Promise("analyst", (), epsilon, delta, "add_remove", (text,)),)),
        tables=(replace(first, noise=(NoiseShare("clinic", variance),)), *others),
        notes=(text,),
        watermark=f"rehearsal: {text}",
    )
    data = container.pack(manifest.to_members(changed))
    assert same(manifest.from_members(container.unpack(data, "x"), "x"), changed)


def test_statement_and_viewers() -> None:
    release = Release(measured())
    assert [promise.viewer for promise in release.viewers] == ["analyst", "clinic", "insurer"]
    analyst = release.statement.towards("analyst")
    assert analyst is not None
    assert analyst.epsilon == 1.0
    assert analyst.adjacency == "replace_one"
    assert release.statement.towards("nobody") is None
    assert Release(iterated()).statement.text == "no privacy statement yet"
    assert [column.name for column in release.columns] == ["smoker", "region", "age", "grade", "hours"]


# --- sampling -----------------------------------------------------------------------------------------------------


@CONTENTS
def test_rows_lie_in_the_declared_domains(content: Content) -> None:
    table = Release(content).sample(5000, seed=7)
    assert table.num_rows == 5000
    for column in content.agreement.columns:
        values = table[column.name].combine_chunks()
        if column.domain.missing is not Missing.CATEGORY:
            assert values.null_count == 0
        assert not column.domain.encode(values).faults


@CONTENTS
def test_rows_depend_on_the_seed_and_on_nothing_else(content: Content) -> None:
    release = Release(content)
    rows = BLOCK_ROWS + 1000
    table = release.sample(rows, seed=3, threads=1)
    assert table.equals(release.sample(rows, seed=3, threads=3))
    streamed = list(release.sample_batches(rows, batch_rows=40_000, seed=3))
    assert [batch.num_rows for batch in streamed] == [40_000, rows - 40_000]
    assert pa.Table.from_batches(streamed).equals(table)
    assert not table.equals(release.sample(rows, seed=4))
    assert not release.sample(50).equals(release.sample(50)), "without a seed the operating system's entropy is used"


def test_a_stream_is_not_computed_ahead() -> None:
    """Bounded memory: a trillion rows can be begun."""
    stream = Release(measured()).sample_batches(10**12, batch_rows=1000)
    assert next(stream).num_rows == 1000
    stream.close()


@pytest.mark.parametrize("rows", [0, -1, 1.5, True, None, "10", 10**13, float("nan")])
def test_a_number_of_rows_is_a_whole_number(rows: object, tmp_path: Path) -> None:
    release = Release(measured())
    for refused_call in (
        lambda: release.sample(rows),  # type: ignore[arg-type]
        lambda: release.sample_batches(rows),  # type: ignore[arg-type]
        lambda: release.write_sample(tmp_path / "twin.csv", rows),  # type: ignore[arg-type]
    ):
        with pytest.raises(UserError) as refused:
            refused_call()
        assert refused.value.codes == ("E520",)
    assert os.listdir(tmp_path) == []
    assert release.sample(np.int64(3)).num_rows == 3


@pytest.mark.parametrize("wrong", [{"seed": -1}, {"seed": 1.5}, {"threads": 0}])
def test_seeds_and_threads_are_whole_numbers(wrong: dict[str, int]) -> None:
    with pytest.raises(UserError) as refused:
        Release(measured()).sample(10, **wrong)
    assert refused.value.codes == ("E520",)


def test_a_table_too_large_for_memory_is_refused_before_it_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opened, "_memory", lambda: 10_000)
    with pytest.raises(UserError) as refused:
        Release(measured()).sample(1000)
    assert refused.value.codes == ("E521",)
    assert "write_sample" in str(refused.value)


@CONTENTS
def test_a_synthetic_table_as_parquet_and_as_csv(content: Content, tmp_path: Path) -> None:
    release = Release(content)
    release.write_sample(tmp_path / "twin.parquet", 3000, seed=1)
    release.write_sample(tmp_path / "twin.csv", 3000, seed=1)
    table = parquet.read_table(tmp_path / "twin.parquet")
    assert table.equals(release.sample(3000, seed=1))
    metadata = parquet.read_metadata(tmp_path / "twin.parquet").metadata
    assert metadata[b"vertwin.watermark"].decode() == WATERMARK
    assert metadata[b"vertwin.agreement"].decode() == content.agreement.digest
    read = csv.read_csv(tmp_path / "twin.csv")
    assert read.column_names == table.column_names
    assert read.num_rows == 3000
    assert read["hours"].to_pylist() == table["hours"].to_pylist()
    assert sorted(os.listdir(tmp_path)) == ["twin.csv", "twin.parquet"]


def test_a_synthetic_table_is_not_written_over_or_as_something_unknown(tmp_path: Path) -> None:
    release = Release(measured())
    path = release.write_sample(tmp_path / "twin.CSV", 10)
    before = path.read_bytes()
    with pytest.raises(UserError) as refused:
        release.write_sample(path, 10)
    assert refused.value.codes == ("E510",)
    assert path.read_bytes() == before
    release.write_sample(path, 10, force=True)
    for name in ("twin.xlsx", "twin"):
        with pytest.raises(UserError) as refused:
            release.write_sample(tmp_path / name, 10)
        assert refused.value.codes == ("E512",)
    assert os.listdir(tmp_path) == ["twin.CSV"]


# --- files that are no release --------------------------------------------------------------------------------------


def test_paths_that_hold_no_release(tmp_path: Path) -> None:
    (tmp_path / "empty.vertwin").touch()
    (tmp_path / "text.vertwin").write_text("hello")
    os.mkfifo(tmp_path / "pipe.vertwin")
    with (tmp_path / "large.vertwin").open("wb") as file:
        file.truncate((1 << 30) + 1)
    with (tmp_path / "zeros.vertwin").open("wb") as file:
        file.truncate(1 << 30)
    wanted = {"none.vertwin": "E500", ".": "E500", "pipe.vertwin": "E500", "a\0b": "E500"}
    wanted |= {"empty.vertwin": "E501", "text.vertwin": "E501", "zeros.vertwin": "E501", "large.vertwin": "E502"}
    for name, code in wanted.items():
        with pytest.raises(UserError) as refused:
            open_release(tmp_path / name)
        assert refused.value.codes == (code,), name
