"""Tables as measured, and as the twin has them; the second are what sampling tends to."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pyarrow as pa
import pytest
from release import example
from release.example import iterated, measured

from vertwin import agreement as agreements
from vertwin.domains import Count
from vertwin.errors import UserError
from vertwin.release import Content, Release, marginals
from vertwin.release.beta import cumulative


def test_a_measured_table_is_the_noisy_counts_in_persons() -> None:
    release = Release(measured())
    pair = next(table for table in release.tables if table.columns == ("age", "hours"))
    found = release.marginal(("age", "hours"))
    assert np.array_equal(found.counts * 256, pair.counts)
    assert found.variance == pytest.approx(50.0)
    assert found.standard_deviation == pytest.approx(50**0.5)
    turned = release.marginal(["hours", "age"])
    assert np.array_equal(turned.counts, found.counts.T)
    assert turned.labels == found.labels[::-1]
    assert np.array_equal(release.marginal("age").counts * 256, release.tables[2].counts)


def test_a_marginal_as_an_arrow_table() -> None:
    marginal = Release(measured()).marginal(("smoker", "grade"))
    table = marginal.to_table()
    assert table.column_names == ["smoker", "grade", "count", "sd"]
    assert table.num_rows == 9
    row = table.slice(5, 1).to_pylist()[0]
    assert (row["smoker"], row["grade"]) == ("yes", "high")
    assert row["count"] == marginal.counts[1, 2]
    assert row["sd"] == marginal.standard_deviation
    assert Release(measured()).marginal("age", "twin").to_table()["sd"].null_count == 6


@pytest.mark.parametrize("content", [measured(), iterated()], ids=["measure_once", "dpvi"])
def test_the_twins_marginals_are_what_its_rows_tend_to(content: Content) -> None:
    """Fixed seed; 200,000 rows, 5.5 standard deviations (4e-8 a cell, some 200 cells)."""
    rows = 200_000
    release = Release(replace(content, rows_estimate=float(rows)))
    table = release.sample(rows, seed=8)
    domains = {column.name: column.domain for column in content.agreement.columns}
    codes = {name: domain.encode(table[name]).codes for name, domain in domains.items()}
    for pair in combinations(domains, 2):
        sizes = [domains[name].size for name in pair]
        counts = np.bincount(codes[pair[0]] * sizes[1] + codes[pair[1]], minlength=sizes[0] * sizes[1]).reshape(sizes)
        expected = release.marginal(pair, "twin").counts
        assert expected.sum() == pytest.approx(rows, rel=1e-6)
        assert (np.abs(counts - expected) / np.sqrt(np.maximum(expected, 1.0))).max() < 5.5, pair
        assert np.allclose(expected.sum(axis=1), release.marginal(pair[0], "twin").counts)


def test_without_a_number_of_rows_the_twin_gives_shares() -> None:
    release = Release(replace(measured(), rows_estimate=None))
    assert release.marginal("age", "twin").counts.sum() == pytest.approx(1)


@pytest.mark.parametrize(
    ("columns", "source", "code"),
    [
        ("nobody", "measured", "E522"),
        (("age", "nobody"), "twin", "E522"),
        (("age", "age"), "measured", "E522"),
        ((), "measured", "E522"),
        (("age", "hours", "grade"), "twin", "E522"),
        ("age", "neither", "E522"),
    ],
)
def test_marginals_that_do_not_exist(columns: object, source: str, code: str) -> None:
    with pytest.raises(UserError) as refused:
        Release(measured()).marginal(columns, source)  # type: ignore[arg-type]
    assert refused.value.codes == (code,)


def test_a_table_that_was_not_measured() -> None:
    with pytest.raises(UserError) as refused:
        Release(iterated()).marginal(("age", "hours"))
    assert refused.value.codes == ("E523",)


def test_a_table_of_too_many_cells_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(marginals, "_MOST_CELLS", 10)
    with pytest.raises(UserError) as refused:
        Release(measured()).marginal(("age", "hours"), "twin")
    assert refused.value.codes == ("E521",)


@pytest.mark.parametrize("heaps", ["", ", heaps = [0, 40, 49, 50]"])
def test_bins_of_a_beta_column_with_heaps(heaps: str) -> None:
    """The bins' masses against the sum over whole numbers, each of which is a unit interval of the scale."""
    text = example.HEAD + example.COLUMNS.replace(", heaps = [40]", heaps) + example.MEASURE_ONCE
    hours = agreements.parse(text).columns[-1].domain
    assert isinstance(hours, Count)
    parameters = np.array([[2.0, 3.0], [0.5, 7.0]])
    each = np.diff(cumulative(np.arange(101) / 100, parameters[:, :1], parameters[:, 1:]), axis=1)
    codes = hours.encode(pa.array(np.arange(100))).codes
    expected = np.array([np.bincount(codes, row, minlength=hours.size) for row in each])
    assert np.allclose(marginals.beta_masses(hours, parameters), expected, atol=1e-12)
