"""load, parse and what they make of a sound agreement: terms, defaults, and faults of the file itself."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from vertwin.agreement import Bound, Dpvi, Linkage, MeasureOnce, Party, from_canonical, load, parse
from vertwin.domains import Category, Count, Edges, EqualWidth, Missing, Real
from vertwin.errors import UserError


def one_fault(error: UserError) -> tuple[str, str]:
    (fault,) = error.faults
    assert fault.hint
    return fault.code, fault.place


def test_a_file_becomes_frozen_terms(texts: dict[str, str], tmp_path: Path) -> None:
    path = tmp_path / "agreement.toml"
    path.write_text(texts["measure_once"], encoding="utf-8")
    agreement = load(path)
    assert agreement == load(str(path)) == parse(texts["measure_once"])
    assert agreement.parties == (Party("clinic", None, 30000), Party("insurer", None, 20000))
    assert agreement.linkage == Linkage("exact", ("person_id",))
    assert agreement.learner == MeasureOnce(variances="equal")
    assert agreement.privacy.delta == 1e-6
    assert agreement.privacy.adjacency == "replace_one"
    assert agreement.engine.protocol == "auto"
    age, _, visits, plan, _ = agreement.columns
    assert age.domain == Real(
        bounds=(0.0, 120.0), bins=EqualWidth(count=24), missing=Missing.CATEGORY, source="code book 2024, p. 12"
    )
    assert visits.domain == Count(
        bounds=(0, 60),
        bins=Edges(edges=(0, 1, 5, 61), heaps=(10.0,)),
        missing=Missing.MARGINAL,
        source="law on claims, section 3",
    )
    assert plan.domain == Category(categories=("basic", "full", "none"), source="price list")
    assert [column.family for column in agreement.columns] == [None] * 5


def test_defaults_of_dpvi_follow_from_who_takes_part_and_how_rows_are_taken(texts: dict[str, str]) -> None:
    agreement = parse(texts["dpvi"])
    assert agreement.learner == Dpvi(components=20, steps=100, aggregator="clinic", step_size=0.2, bound=Bound())
    families = ["categorical", "bernoulli", "categorical", "categorical", "categorical"]
    assert [column.family for column in agreement.columns] == families
    learner = parse(texts["dpvi_helper"].replace("steps = 100", 'steps = 9\nsampling = "epochs"\nbatch = 50')).learner
    assert learner == Dpvi(20, 9, "dealer", 0.01, sampling="epochs", batch=50)


def test_a_binary_column_with_missing_as_a_category_is_categorical(texts: dict[str, str]) -> None:
    text = texts["dpvi"].replace('values = ["female", "male"]', 'values = ["female", "male"]\nmissing = "category"')
    sex = parse(text).columns[1]
    assert sex.family == "categorical"
    assert sex.domain.size == 3


def test_terms_are_hashable_and_survive_pickling(texts: dict[str, str]) -> None:
    for text in texts.values():
        agreement = parse(text)
        copy = pickle.loads(pickle.dumps(agreement))
        assert copy == agreement
        assert hash(copy) == hash(agreement)
        assert copy.digest == agreement.digest
        assert from_canonical(agreement.canonical()) == agreement


def test_windows_line_ends_and_a_byte_order_mark_change_nothing(texts: dict[str, str], tmp_path: Path) -> None:
    path = tmp_path / "agreement.toml"
    path.write_bytes(b"\xef\xbb\xbf" + texts["dpvi"].replace("\n", "\r\n").encode())
    assert load(path).digest == parse(texts["dpvi"]).digest


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    for path in [tmp_path / "none.toml", tmp_path, "a\0b"]:
        with pytest.raises(UserError) as caught:
            load(path)
        assert one_fault(caught.value)[0] == "E100"


def test_a_file_that_is_not_utf8_names_its_line(tmp_path: Path) -> None:
    path = tmp_path / "latin.toml"
    path.write_bytes('format = 1\nname = "Äther"\n'.encode("latin-1"))
    with pytest.raises(UserError) as caught:
        load(path)
    assert one_fault(caught.value) == ("E101", "latin.toml line 2")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("format = 1\nname = care\n", 2),
        ("format = 1\nname = 'x'\n[privacy\n", 3),
        ("format = 1\nformat = 1\n", 2),
        ("format = 1\n[a]\n[a]\n", 3),
        ("format = 1,5\n", 1),
        ('format = 1\nname = "x\n', 2),
        ('format = 1\npurpose = """\nx\n', 4),
    ],
)
def test_faults_of_syntax_name_the_line(text: str, line: int) -> None:
    with pytest.raises(UserError) as caught:
        parse(text, where="ours.toml")
    assert one_fault(caught.value) == ("E102", f"ours.toml line {line}")


@pytest.mark.parametrize("text", ["x = " + "[" * 5000, "x = " + "9" * 5000])
def test_text_that_breaks_the_reader_is_a_fault_too(text: str) -> None:
    with pytest.raises(UserError) as caught:
        parse(text)
    assert caught.value.codes == ("E102",)


@pytest.mark.parametrize(
    ("name", "protocol"), [("measure_once", "cheetah"), ("dpvi", "cheetah"), ("dpvi_helper", "aby3")]
)
def test_auto_follows_from_who_takes_part(texts: dict[str, str], name: str, protocol: str) -> None:
    assert parse(texts[name]).protocol == protocol


def test_a_protocol_that_is_named_stays(texts: dict[str, str]) -> None:
    assert parse(texts["dpvi_helper"] + '[engine]\nprotocol = "cheetah"\n').protocol == "cheetah"


def test_who_is_who(texts: dict[str, str]) -> None:
    agreement = parse(texts["dpvi_helper"])
    assert [party.name for party in agreement.holders] == ["clinic", "insurer"]
    assert agreement.helper == Party("dealer", role="helper")
    assert parse(texts["dpvi"]).helper is None
    assert agreement.party("insurer").rows_at_most == 20000
    with pytest.raises(KeyError):
        agreement.party("bank")
    assert [column.name for column in agreement.columns_of("insurer")] == ["visits", "plan", "band"]
    assert agreement.columns_of("dealer") == ()


def test_targets_are_written_out_and_the_smaller_one_counts(texts: dict[str, str]) -> None:
    agreement = parse(texts["measure_once"])
    assert dict(agreement.privacy.epsilon) == {"analyst": 1.0, "parties": 1.2}
    assert agreement.targets() == {"analyst": 1.0, "clinic": 1.2, "insurer": 1.2}
    text = texts["measure_once"].replace("parties = 1.2", "parties = 1.2\nclinic = 0.5\ninsurer = 3")
    assert parse(text).targets() == {"analyst": 1.0, "clinic": 0.5, "insurer": 1.2}


def test_targets_are_a_frozen_mapping(texts: dict[str, str]) -> None:
    targets = parse(texts["measure_once"]).privacy.epsilon
    assert len(targets) == 2
    assert "analyst" in targets
    assert targets["parties"] == 1.2
    with pytest.raises(KeyError):
        targets["clinic"]
    with pytest.raises(TypeError):
        targets["analyst"] = 9.0  # type: ignore[index]
    assert repr(targets) == "Targets({'analyst': 1.0, 'parties': 1.2})"
    assert targets != 3


@pytest.mark.parametrize("name", ["parties", "columns"])
def test_an_empty_list_of_tables_is_no_table(texts: dict[str, str], name: str) -> None:
    document = parse(texts["measure_once"]).canonical() | {name: []}
    with pytest.raises(UserError) as caught:
        from_canonical(document)
    assert "E105" in caught.value.codes


def test_a_key_of_the_linkage_cannot_be_a_column(texts: dict[str, str]) -> None:
    """It names a person: as a column it would be released, although keys never are."""
    document = parse(texts["measure_once"]).canonical()
    document["linkage"] = {"keys": ["sex"], "rows_per_person": 1}
    with pytest.raises(UserError) as caught:
        from_canonical(document)
    assert caught.value.codes == ("E183",)
