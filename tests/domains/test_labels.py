"""Values that are declared one by one: how the values of a table are matched to them, and what is refused."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from vertwin.domains import Binary, Category, Domain, Ordinal


def codes(domain: Domain, column: pa.Array) -> list[int]:
    return domain.encode(column).codes.tolist()


def test_values_match_as_text() -> None:
    domain = Category(("red", "Grün", "007", "7"))
    assert codes(domain, pa.array(["Grün", "red", "7", "007", "Red", "x"])) == [1, 0, 3, 2, -1, -1]
    assert [fault.row for fault in domain.encode(pa.array(["Grün", "x", "RED"])).faults] == [1, 2]


def test_spaces_at_the_ends_and_unicode_spellings_do_not_matter() -> None:
    domain = Category(("caf\u00e9", "na\u0131ve"))
    assert codes(domain, pa.array([" caf\u00e9", "cafe\u0301 ", "cafe"])) == [0, 0, -1]


def test_numbers_match_labels_that_write_them_plainly() -> None:
    domain = Category(("1", "2.5", "007", "-3"))
    assert codes(domain, pa.array([1, 7, -3])) == [0, -1, 3]
    assert codes(domain, pa.array([1.0, 2.5, 7.0, -3.0, float("inf")])) == [0, 1, -1, 3, -1]
    assert codes(domain, pa.array(["1.0", "2.5", "2.50", "-3.", "7"])) == [0, 1, -1, 3, -1]


def test_large_numbers_match_exactly() -> None:
    domain = Category(("9007199254740993", "9007199254740992"))
    assert codes(domain, pa.array([9007199254740993, 9007199254740992, 9007199254740991])) == [0, 1, -1]


def test_two_labels_for_one_number_match_no_float() -> None:
    domain = Category(("1", "1.0", "2"))
    assert codes(domain, pa.array(["1", "1.0"])) == [0, 1]
    assert codes(domain, pa.array([1.0, 2.0])) == [-1, 2]


def test_booleans() -> None:
    column = pa.array([True, False, None])
    assert codes(Binary(("no", "yes"), missing="marginal"), column) == [1, 0, -1]
    assert codes(Binary(("yes", "no"), missing="marginal"), column) == [0, 1, -1]
    assert codes(Binary(("0", "1"), missing="category"), column) == [1, 0, 2]
    assert codes(Category(("unknown", "True", "False"), missing="marginal"), column) == [1, 2, -1]
    assert codes(Category(("a", "b"), missing="marginal"), column) == [-1, -1, -1]


def test_words_for_no_and_yes_mean_one_thing_in_every_file() -> None:
    domain = Binary(("Yes", "No"))
    assert codes(domain, pa.array(["True", "false", "1", "0", "y", "N", "Yes", "no"])) == [0, 1, 0, 1, 0, 1, 0, 1]
    assert codes(domain, pa.array([1, 0, 2])) == [0, 1, -1]
    assert codes(domain, pa.array([1.0, 0.0, 0.5])) == [0, 1, -1]


def test_booleans_are_refused_where_nothing_says_which_value_is_true() -> None:
    domain = Binary(("female", "male"))
    assert not domain.accepts(pa.bool_())
    assert {fault.code for fault in domain.encode(pa.array([True, False])).faults} == {"E201"}
    assert codes(domain, pa.array(["1", "true", "male"])) == [-1, -1, 1]


def test_the_codes_of_an_ordinal_are_ranks_and_its_natural_values() -> None:
    domain = Ordinal(("low", "middle", "high"), missing="marginal")
    natural = domain.natural(pa.array(["high", None, "low"]))
    assert np.array_equal(natural, [2.0, np.nan, 0.0], equal_nan=True)
    back = domain.from_natural(np.array([1.4, -3.0, 9.0, np.nan]), np.random.default_rng(0))
    assert back.to_pylist() == ["middle", "low", "high", None]


def test_a_dictionary_with_nulls_and_unused_values() -> None:
    column = pa.DictionaryArray.from_arrays(pa.array([1, None, 0], pa.int8()), pa.array(["a", "b", "unused"]))
    assert codes(Category(("b", "a"), missing="marginal"), column) == [0, -1, 1]


@pytest.mark.parametrize(
    ("declared", "message"),
    [
        ((), "no category is declared"),
        (("a", "a"), "declared twice"),
        (("caf\u00e9", "cafe\u0301"), "declared twice"),
        (("a", ""), "empty"),
        (("a", " "), "empty"),
        (("a", "b "), "space"),
        (("a", 1), "in quotes"),
        ("ab", "a list of values"),
    ],
)
def test_lists_that_make_no_sense(declared: tuple[str, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Category(declared)


def test_a_binary_has_two_values() -> None:
    for values in (("a",), ("a", "b", "c")):
        with pytest.raises(ValueError, match="two values"):
            Binary(values)  # type: ignore[arg-type]


def test_the_category_of_missing_values_needs_its_name() -> None:
    assert Category(("missing", "x")).size == 2
    with pytest.raises(ValueError, match="missing"):
        Category(("missing", "x"), missing="category")  # type: ignore[arg-type]
