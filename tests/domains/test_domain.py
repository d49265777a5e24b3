"""What holds for every type of domain: the way there and back, missing values, storages, faults without values."""

from __future__ import annotations

import dataclasses
import pickle
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from domains.declared_domains import domains
from hypothesis import given, settings
from hypothesis import strategies as st

from vertwin.domains import Binary, Category, Count, Domain, Edges, EqualWidth, Missing, Ordinal, Real
from vertwin.errors import CODES

EXAMPLES = (
    Binary(("no", "yes")),
    Category(("a", "b", "c")),
    Ordinal(("1", "2", "3")),
    Count((0, 10), EqualWidth(5)),
    Real((0.0, 10.0), EqualWidth(4)),
)


def every_code(domain: Domain, rng: np.random.Generator, rows: int = 200) -> np.ndarray:
    lowest = -1 if domain.missing is Missing.MARGINAL else 0
    return np.append(np.arange(lowest, domain.size), rng.integers(lowest, domain.size, rows))


@settings(deadline=None, max_examples=150)
@given(domains, st.integers(0, 2**32), st.booleans())
def test_decode_lies_in_the_domain_and_encodes_to_the_same_code(domain: Domain, seed: int, with_masses: bool) -> None:
    rng = np.random.default_rng(seed)
    codes = every_code(domain, rng)
    masses = rng.choice([0.0, 1e-9, 1.0, 1e9], domain.size) if with_masses else None
    column = domain.decoder(masses)(codes, rng)
    encoded = domain.encode(column)
    assert encoded.faults == ()
    assert np.array_equal(encoded.codes, codes)


@settings(deadline=None, max_examples=100)
@given(domains, st.integers(0, 2**32))
def test_a_table_in_a_text_file_reads_the_same(domain: Domain, seed: int) -> None:
    rng = np.random.default_rng(seed)
    codes = every_code(domain, rng, 30)
    text = pa.array([None if value is None else str(value) for value in domain.decode(codes, rng).to_pylist()])
    cut = pa.chunked_array([text[:7], text[7:]])
    for column in (text, text.cast(pa.large_string()), text.cast(pa.string_view()), text.dictionary_encode(), cut):
        assert domain.encode(column).faults == ()
        assert np.array_equal(domain.encode(column).codes, codes)


@settings(deadline=None, max_examples=100)
@given(domains, st.integers(0, 2**32))
def test_natural_values_come_back(domain: Domain, seed: int) -> None:
    """Reals up to rounding and the margin, everything else exactly; missing as missing."""
    rng = np.random.default_rng(seed)
    column = domain.decode(every_code(domain, rng, 30), rng)
    natural = domain.natural(column)
    back = domain.from_natural(natural, rng)
    assert back.type == column.type
    if isinstance(domain, Real):
        low, high = domain.bounds
        there = ~np.isnan(natural)
        assert np.array_equal(there, column.is_valid().to_numpy(zero_copy_only=False))
        difference = np.abs(np.array(back.drop_null()) - np.array(column.drop_null()))
        assert (difference <= 1.001e-3 * (high - low)).all()
        assert domain.encode(back.drop_null()).faults == ()
    elif isinstance(domain, Count) and domain.bounds[1] - domain.bounds[0] >= 10**6:
        low, high = domain.bounds
        difference = np.abs(np.array(back.drop_null()) - np.array(column.drop_null()))
        assert (difference <= 1e-12 * (high - low)).all()
    else:
        assert back.equals(column)
    if isinstance(domain, Count | Real):
        assert ((natural > 0) & (natural < 1) | np.isnan(natural)).all()


@pytest.mark.parametrize("domain", EXAMPLES, ids=lambda domain: domain.kind)
def test_a_missing_value_is_what_the_agreement_says(domain: Domain) -> None:
    nothing = pa.array([None, "", "  "], pa.string())
    fields = {field.name: getattr(domain, field.name) for field in dataclasses.fields(domain)}
    refuse = type(domain)(**fields | {"missing": "refuse"}).encode(nothing)
    assert [(fault.row, fault.code) for fault in refuse.faults] == [(0, "E205"), (1, "E205"), (2, "E205")]
    assert refuse.codes.tolist() == [-1, -1, -1]
    category = type(domain)(**fields | {"missing": "category"})
    assert category.encode(nothing).codes.tolist() == [category.size - 1] * 3
    assert category.size == domain.size + 1 == category.own_size + 1
    assert category.labels == (*domain.labels, "missing")
    assert category.decode(np.array([category.size - 1]), np.random.default_rng(0)).to_pylist() == [None]
    marginal = type(domain)(**fields | {"missing": "marginal"}).encode(nothing)
    assert marginal.codes.tolist() == [-1, -1, -1]
    assert category.encode(nothing).faults == marginal.faults == ()


@pytest.mark.parametrize("domain", EXAMPLES, ids=lambda domain: domain.kind)
def test_columns_of_nothing(domain: Domain) -> None:
    assert len(domain.encode(pa.array([], pa.string())).codes) == 0
    assert len(domain.encode(pa.chunked_array([], pa.string())).codes) == 0
    assert len(domain.natural(pa.chunked_array([], pa.string()))) == 0
    assert domain.encode(pa.nulls(2)).codes.tolist() == [-1, -1]
    assert len(domain.decode(np.empty(0, dtype=np.int16), np.random.default_rng(0))) == 0
    assert len(domain.from_natural(np.empty(0), np.random.default_rng(0))) == 0


@pytest.mark.parametrize("domain", EXAMPLES, ids=lambda domain: domain.kind)
@pytest.mark.parametrize("column", [pa.array([[1]]), pa.array([b"1"]), pa.array([0], pa.timestamp("s"))], ids=str)
def test_a_wrong_storage_type_is_a_fault_of_every_row(domain: Domain, column: pa.Array) -> None:
    assert not domain.accepts(column.type)
    assert [fault.code for fault in domain.encode(column).faults] == ["E201"]


@pytest.mark.parametrize("domain", EXAMPLES, ids=lambda domain: domain.kind)
def test_a_fault_names_row_and_rule_never_the_value(domain: Domain) -> None:
    secret = "s3cr3t-4711"
    for column in (pa.array(["1", secret]), pa.array(["1", None, secret, "98765"]), pa.array([1, 98765])):
        encoded = domain.encode(column)
        assert encoded.faults
        assert set(encoded.codes[[fault.row for fault in encoded.faults]].tolist()) == {-1}
        for text in (repr(encoded), repr(encoded.faults), repr(encoded.faulty), str(encoded.faulty)):
            assert secret not in text and "98765" not in text
        assert all(fault.code in CODES for fault in encoded.faults)


def test_rows_are_counted_across_chunks() -> None:
    column = pa.chunked_array([["a", "b"], [], ["x", "a"], [None]])
    faults = Category(("a", "b")).encode(column).faults
    assert [(fault.row, fault.code) for fault in faults] == [(2, "E204"), (4, "E205")]


def test_a_code_that_is_none_of_the_domain_is_our_bug() -> None:
    for domain in EXAMPLES:
        for code in (-2, domain.size):
            with pytest.raises(AssertionError):
                domain.decode(np.array([code]), np.random.default_rng(0))
        with pytest.raises(AssertionError):
            domain.decoder(np.ones(domain.size + 1))


@settings(deadline=None, max_examples=30)
@given(domains)
def test_domains_are_frozen_hashable_and_survive_pickling(domain: Domain) -> None:
    before = pickle.loads(pickle.dumps(domain))
    assert len(domain.labels) == domain.size == len(set(domain.labels))
    domain.encode(pa.nulls(1))
    assert {domain: 1}[before] == 1
    assert pickle.loads(pickle.dumps(domain)) == domain
    with pytest.raises(AttributeError):
        domain.source = "elsewhere"  # type: ignore[misc]


def test_lists_become_tuples_and_words_become_meanings() -> None:
    assert hash(Category(["a", "b"], missing="marginal"))  # type: ignore[arg-type]
    assert Category(["a"]) == Category(("a",))  # type: ignore[arg-type]
    assert hash(Real([0, 1], Edges([0, 0.5, 1]))) == hash(Real((0, 1), Edges((0, 0.5, 1))))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="nothing"):
        Category(("a",), missing="nothing")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "column",
    [
        pa.array([0, 7, None], pa.int8()),
        pa.array([0, 7, None], pa.uint64()),
        pa.array([0.0, 7.0, float("nan")]),
        pa.array(np.array([0.0, 7.0, np.nan], dtype=np.float16)),
        pa.array([Decimal("0.00"), Decimal("7.00"), None]),
        pa.array(["0", " 7 ", ""]),
        pa.array(["0.0", "+7e0", "NaN"]),
        pa.array(["0", "7.", None]).dictionary_encode(),
        pa.array(["0", "7", None], pa.string_view()),
    ],
    ids=lambda column: str(column.type),
)
def test_storages_of_numbers(column: pa.Array) -> None:
    count = Count((0, 10), EqualWidth(11), missing=Missing.MARGINAL)
    real = Real((0, 10), EqualWidth(10), missing=Missing.MARGINAL)
    ordinal = Ordinal(tuple(str(level) for level in range(8)), missing=Missing.MARGINAL)
    for domain in (count, real) if "+7e0" in column.to_pylist() else (count, real, ordinal):
        assert domain.encode(column).faults == ()
        assert domain.encode(column).codes.tolist() == [0, 7, -1]
