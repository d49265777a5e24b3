"""Every fault of an agreement has its code, its place and a hint, and all of them are reported at once."""

from __future__ import annotations

import re

import pytest

from vertwin.agreement import limits, parse
from vertwin.errors import CODES, UserError

_KEY = '"SHA256:' + "A" * 43 + '"'
_WIDE = ", ".join(f'"c{i}"' for i in range(1200))
_ALL_LABELS = '["basic", "full", "none"]'

# (code, place, text to change, old, new): one slip, and exactly this fault
CASES: list[tuple[str, str, str, str, str]] = [
    ("E103", "format", "measure_once", "format = 1\n", ""),
    ("E103", "format", "measure_once", "format = 1\n", "format = 2\n"),
    ("E103", "format", "measure_once", "format = 1\n", 'format = "1"\n'),
    ("E103", "format", "measure_once", "format = 1\n", "format = true\n"),
    ("E104", "purpos", "measure_once", "[[parties]]\nname = \"clinic\"", 'purpos = ""\n[[parties]]\nname = "clinic"'),
    ("E104", 'parties[1] "clinic" rows', "measure_once", "rows_at_most = 30000", "rows = 30000"),
    ("E104", 'parties[1] "clinic" retention', "measure_once", "rows_at_most = 30000", 'retention = "1 year"'),
    ("E104", "learner.bound.clip", "dpvi", "steps = 100", "steps = 100\nbound = {clip = 1.0}"),
    ("E105", "purpose", "measure_once", 'purpose = "planning of services"\n', ""),
    ("E105", "privacy.delta", "measure_once", "delta = 1e-6", ""),
    ("E105", "learner.kind", "measure_once", 'kind = "measure_once"\nvariances = "equal"', ""),
    ("E105", 'columns[4] "plan" type', "measure_once", 'type = "category"\n', ""),
    ("E105", 'columns[1] "age" bins.kind', "measure_once", 'kind = "equal_width", count', "count"),
    ("E106", "purpose", "measure_once", 'purpose = "planning of services"', "purpose = 2024-01-01"),
    ("E106", "learner.components", "dpvi", "components = 20", 'components = "20"'),
    ("E106", "learner.components", "dpvi", "components = 20", "components = 20.5"),
    ("E106", "learner.components", "dpvi", "components = 20", "components = true"),
    ("E106", 'columns[4] "plan" categories', "measure_once", _ALL_LABELS, '"basic"'),
    ("E106", 'columns[4] "plan" categories[2]', "measure_once", '"full"', "2"),
    ("E106", "learner.bound", "dpvi", "steps = 100", 'steps = 100\nbound = "hard"'),
    ("E106", "approvals", "measure_once", "[privacy]", "[approvals]\nclinic = 1\n[privacy]"),
    ("E107", "learner.kind", "measure_once", '"measure_once"', '"measure_twice"'),
    ("E107", 'columns[4] "plan" type', "measure_once", 'type = "category"', 'type = "categorical"'),
    ("E107", "privacy.adjacency", "measure_once", "delta = 1e-6", 'delta = 1e-6\nadjacency = "replace"'),
    ("E107", "engine.protocol", "measure_once", "[privacy]", '[engine]\nprotocol = "semi2k"\n[privacy]'),
    ("E108", "learner.components", "dpvi", "components = 20", "components = 0"),
    ("E108", "learner.components", "dpvi", "components = 20", "components = " + "9" * 400),
    ("E108", "learner.steps", "dpvi", "steps = 100", "steps = 100_000_001"),
    ("E108", "learner.step_size", "dpvi", "steps = 100", "steps = 100\nstep_size = -0.1"),
    ("E108", "learner.batch", "dpvi", "steps = 100", 'steps = 100\nsampling = "epochs"\nbatch = 20001'),
    ("E108", 'columns[1] "age" bounds[2]', "measure_once", "[0, 120]", "[0, inf]"),
    ("E108", 'columns[1] "age" bounds[1]', "measure_once", "[0, 120]", "[nan, 120]"),
    ("E108", 'columns[1] "age" bounds[2]', "measure_once", "[0, 120]", "[0, " + "9" * 500 + "]"),
    ("E108", 'columns[1] "age" bounds', "measure_once", "[0, 120]", "[0]"),
    ("E108", 'columns[2] "sex" values', "measure_once", '["female", "male"]', '["female", "male", "x"]'),
    ("E109", "name", "measure_once", "care-and-claims", "care and claims"),
    ("E109", "data_set", "measure_once", "town-2026", "../town"),
    ("E109", "parties[1] name", "measure_once", 'name = "clinic"', 'name = ""'),
    ("E109", "columns[2] name", "measure_once", 'name = "sex"', 'name = "s\\u0000x"'),
    ("E109", 'columns[2] "sex " name', "measure_once", 'name = "sex"', 'name = "sex "'),
    ("E109", 'columns[2] "e\u0301" name', "measure_once", 'name = "sex"', 'name = "e\\u0301"'),
    ("E110", "purpose", "measure_once", "planning of services", "  "),
    ("E110", "purpose", "measure_once", "planning of services", "bell\\u0007"),
    ("E110", 'columns[4] "plan" categories[1]', "measure_once", '"basic"', '""'),
    ("E111", "purpose", "measure_once", "planning of services", "?"),
    ("E111", 'columns[4] "plan" type', "measure_once", 'type = "category"', 'type = "?"'),
    ("E111", "privacy.epsilon.analyst", "measure_once", "analyst = 1.0", 'analyst = "?"'),
    ("E112", 'parties[3] "Analyst"', "dpvi_helper", '"dealer"', '"Analyst"'),
    ("E117", 'parties[3] "dealer"', "dpvi_helper", 'role = "helper"', ""),
    ("E118", 'columns[1] "age" party', "measure_once", 'party = "clinic"', 'party = "clinik"'),
    ("E119", 'columns[1] "age" party', "dpvi_helper", 'party = "clinic"', 'party = "dealer"'),
    ("E120", "parties", "dpvi_helper", "[linkage]", '[[parties]]\nname = "second"\nrole = "helper"\n[linkage]'),
    ("E121", 'parties[1] "clinic" key', "measure_once", "rows_at_most = 30000", 'key = "MD5:00"'),
    ("E122", 'parties[2] "insurer"', "measure_once", "rows_at_most = 20000", f"key = {_KEY}"),
    ("E123", 'parties[3] "dealer" rows_at_most', "dpvi_helper", 'role = "helper"', 'role = "helper"\nrows_at_most = 5'),
    ("E125", "linkage", "measure_once", 'keys = ["person_id"]', ""),
    ("E125", "linkage", "measure_once", 'keys = ["person_id"]', 'keys = ["person_id"]\nkind = "aligned"'),
    ("E125", "linkage", "measure_once", 'keys = ["person_id"]', 'kind = "exact"'),
    ("E126", "linkage.keys", "measure_once", 'keys = ["person_id"]', 'keys = ["a", "a"]'),
    ("E130", 'columns[4] "sex"', "measure_once", 'name = "plan"', 'name = "sex"'),
    ("E131", 'columns[4] "plan" categories', "measure_once", '"full"', '"basic"'),
    ("E131", 'columns[5] "band" levels', "measure_once", '"high"', '"low"'),
    ("E131", 'columns[2] "sex" values', "measure_once", '"female"', '"male"'),
    ("E132", 'columns[1] "age" bounds', "measure_once", "[0, 120]", "[120, 0]"),
    ("E132", 'columns[3] "visits" bounds', "measure_once", "[0, 60]", "[60, 60]"),
    ("E133", 'columns[3] "visits" bins.edges', "measure_once", "[0, 1, 5, 61]", "[0, 5, 1, 61]"),
    ("E133", 'columns[3] "visits" bins.edges', "measure_once", "[0, 1, 5, 61]", "[0, 1, 5, 62]"),
    ("E133", 'columns[3] "visits" bins.edges', "measure_once", "[0, 1, 5, 61]", "[1, 5, 60]"),
    ("E134", 'columns[4] "plan" source', "measure_once", 'source = "price list"\n', ""),
    ("E135", 'columns[1] "age" bins', "measure_once", 'bins = {kind = "equal_width", count = 24}\n', ""),
    ("E136", 'columns[1] "age" bins.kind', "measure_once", '"equal_width"', '"quantile"'),
    ("E137", 'columns[4] "plan" bounds', "measure_once", 'type = "category"', 'type = "category"\nbounds = [0, 1]'),
    ("E137", 'columns[1] "age" bins.edges', "measure_once", "count = 24", "count = 24, edges = [0, 120]"),
    ("E138", 'columns[4] "plan" categories', "measure_once", f"categories = {_ALL_LABELS}\n", ""),
    ("E138", 'columns[5] "band" levels', "measure_once", 'levels = ["low", "middle", "high"]\n', ""),
    ("E138", 'columns[2] "sex" values', "measure_once", 'values = ["female", "male"]\n', ""),
    ("E138", 'columns[3] "visits" bounds', "measure_once", "bounds = [0, 60]\n", ""),
    ("E139", 'columns[4] "plan" family', "dpvi", 'type = "category"', 'type = "category"\nfamily = "beta"'),
    ("E139", 'columns[4] "plan" family', "dpvi", 'type = "category"', 'type = "category"\nfamily = "bernoulli"'),
    ("E140", 'columns[1] "age" family', "dpvi", 'type = "real"', 'type = "real"\nfamily = "beta"'),
    ("E141", 'columns[4] "plan"', "measure_once", '"none"]', '"missing"]\nmissing = "category"'),
    ("E142", 'columns[4] "plan" categories', "measure_once", _ALL_LABELS, '["basic"]'),
    ("E143", 'columns[3] "visits" bins.heaps', "measure_once", "heaps = [10]", "heaps = [99]"),
    ("E143", 'columns[3] "visits" bins.heaps', "measure_once", "heaps = [10]", "heaps = [10, 10]"),
    (
        "E143", 'columns[3] "visits" bins.count', "measure_once",
        'kind = "edges", edges = [0, 1, 5, 61]', 'kind = "equal_width", count = 62',
    ),
    ("E144", "columns", "measure_once", _ALL_LABELS, f"[{_WIDE}, {_WIDE.replace('c', 'd')}]"),
    ("E144", "columns", "dpvi", "components = 20", "components = 10000\nposterior = \"mean_field\"#"),
    ("E145", 'columns[3] "visits" bins.edges', "measure_once", "[0, 1, 5, 61]", "[0, 1.5, 61]"),
    ("E145", 'columns[3] "visits" bins.heaps', "measure_once", "heaps = [10]", "heaps = [1.5]"),
    ("E150", "learner.batch", "measure_once", 'variances = "equal"', 'variances = "equal"\nbatch = 100'),
    ("E150", "learner.variances", "dpvi", "steps = 100", 'steps = 100\nvariances = "equal"'),
    ("E151", "learner.batch", "dpvi", "steps = 100", "steps = 100\nbatch = 100"),
    (
        "E151", "learner.batch_from", "dpvi", "steps = 100",
        'steps = 100\nsampling = "epochs"\nbatch = 10\nbatch_from = "parties"',
    ),
    ("E151", "learner.update", "dpvi", "steps = 100", 'steps = 100\nupdate = "em"'),
    ("E151", "learner.bound.gamma", "dpvi", "steps = 100", "steps = 100\nbound = {gamma = 0.1}"),
    ("E151", 'columns[3] "visits" family', "measure_once", 'type = "count"', 'type = "count"\nfamily = "beta"'),
    ("E152", "learner.components", "dpvi", "components = 20\n", ""),
    ("E152", "learner.steps", "dpvi", "steps = 100\n", ""),
    ("E153", "learner.aggregator", "dpvi", "steps = 100", 'steps = 100\naggregator = "somebody"'),
    ("E154", "learner.noise", "dpvi", "steps = 100", 'steps = 100\nnoise = "helper"'),
    ("E155", "learner.aggregator", "dpvi_helper", "steps = 100", 'steps = 100\nnoise = "helper"'),
    ("E157", "learner.batch", "dpvi", "steps = 100", 'steps = 100\nsampling = "epochs"'),
    ("E160", "engine.protocol", "dpvi", "[privacy]", '[engine]\nprotocol = "aby3"\n[privacy]'),
    ("E162", "learner.sampling", "dpvi", "steps = 100", 'steps = 100\nsampling = "poisson_hidden"\nbatch = 10'),
    ("E170", "privacy", "dpvi", "sigma = 2.042", ""),
    ("E171", "privacy.sigma", "dpvi", "sigma = 2.042", "sigma = 2.042\nepsilon = {analyst = 1.0}"),
    ("E172", "privacy.sigma", "measure_once", "[privacy.epsilon]\nanalyst = 1.0\nparties = 1.2", "sigma = 2.0"),
    ("E173", "privacy.epsilon.analyst", "measure_once", "analyst = 1.0", "analyst = 0"),
    ("E173", "privacy.epsilon.analyst", "measure_once", "analyst = 1.0", "analyst = -1.0"),
    ("E173", "privacy.epsilon.analyst", "measure_once", "analyst = 1.0", "analyst = inf"),
    ("E173", "privacy.epsilon.analyst", "measure_once", "analyst = 1.0", "analyst = nan"),
    ("E174", "privacy.epsilon.insuror", "measure_once", "parties = 1.2", "insuror = 1.2"),
    ("E175", "privacy.delta", "measure_once", "delta = 1e-6", "delta = 1.0"),
    ("E175", "privacy.delta", "measure_once", "delta = 1e-6", "delta = 0"),
    ("E175", "privacy.delta", "measure_once", "delta = 1e-6", "delta = nan"),
    ("E176", "privacy.sigma", "dpvi", "sigma = 2.042", "sigma = 0.0"),
    ("E176", "privacy.sigma", "dpvi", "sigma = 2.042", "sigma = inf"),
    ("E181", "approvals.bank", "measure_once", "[privacy]", '[approvals]\nbank = ["officer"]\n[privacy]'),
]  # fmt: skip


def faults_of(text: str) -> list[tuple[str, str]]:
    with pytest.raises(UserError) as caught:
        parse(text, allow_unbuilt=True)
    assert all(fault.sentence for fault in caught.value.faults)
    assert all(fault.hint for fault in caught.value.faults)
    return [(fault.code, fault.place) for fault in caught.value.faults]


def changed(text: str, old: str, new: str) -> str:
    assert old in text
    return text.replace(old, new, 1)


@pytest.mark.parametrize(("code", "place", "name", "old", "new"), CASES)
def test_one_slip_is_one_fault(texts: dict[str, str], code: str, place: str, name: str, old: str, new: str) -> None:
    text = changed(texts[name], old, new)
    if code == "E122":
        text = changed(text, "rows_at_most = 30000", f"key = {_KEY}")
    if code == "E144" and name == "dpvi":
        text = changed(text, _ALL_LABELS, f"[{_WIDE}]")
    assert faults_of(text) == [(code, place)]


def test_a_helper_as_a_holders_name_is_reserved(texts: dict[str, str]) -> None:
    assert faults_of(texts["measure_once"].replace('"clinic"', '"helper"')) == [("E112", 'parties[1] "helper"')]


def test_one_holder_is_not_enough(texts: dict[str, str]) -> None:
    alone = texts["measure_once"].replace('"insurer"', '"clinic"').replace('[[parties]]\nname = "clinic"\n', "", 1)
    alone = alone.replace("rows_at_most = 30000", "")
    assert faults_of(alone) == [("E116", "parties")]
    helped = changed(
        texts["measure_once"], 'name = "insurer"\nrows_at_most = 20000', 'name = "insurer"\nrole = "helper"'
    )
    assert ("E116", "parties") in faults_of(helped)


@pytest.mark.parametrize("second", ["clinic", "Clinic"])
def test_a_party_named_twice(texts: dict[str, str], second: str) -> None:
    text = changed(texts["measure_once"], 'name = "insurer"', f'name = "{second}"')
    assert ("E115", f'parties[2] "{second}"') in faults_of(text)


@pytest.mark.parametrize("sampling", ["epochs", "poisson"])
def test_minibatches_with_add_remove_are_refused(texts: dict[str, str], sampling: str) -> None:
    text = changed(texts["dpvi"], "steps = 100", f'steps = 100\nsampling = "{sampling}"\nbatch = 100')
    text = changed(text, "delta = 1e-6", 'delta = 1e-6\nadjacency = "add_remove"')
    assert faults_of(text) == [("E156", "learner.sampling")]


def test_cheetah_does_not_take_three_holders_for_dpvi(texts: dict[str, str]) -> None:
    text = changed(texts["dpvi"], "[linkage]", '[[parties]]\nname = "register"\n[linkage]')
    text = changed(text, 'name = "band"\nparty = "insurer"', 'name = "band"\nparty = "register"')
    assert parse(text).protocol == "aby3"
    text += '[engine]\nprotocol = "cheetah"\n'
    assert faults_of(text) == [("E161", "engine.protocol")]


def test_statistics_are_not_bounded_for_a_beta_column(texts: dict[str, str]) -> None:
    text = changed(texts["dpvi"], "steps = 100", 'steps = 100\nbound = {kind = "statistics"}')
    text = changed(text, 'type = "count"', 'type = "count"\nfamily = "beta"')
    assert faults_of(text) == [("E163", 'columns[3] "visits" family')]


@pytest.mark.parametrize(
    ("options", "place"),
    [
        ('bound = {kind = "statistics", clipping_threshold = 1.0}', "learner.bound.clipping_threshold"),
        ('bound = {kind = "statistics"}\ngradient_space = "constrained"', "learner.gradient_space"),
        ('bound = {kind = "statistics", gamma = 0.1}', "learner.bound.gamma"),
    ],
)
def test_options_that_statistics_leave_no_meaning(texts: dict[str, str], options: str, place: str) -> None:
    assert faults_of(changed(texts["dpvi"], "steps = 100", f"steps = 100\n{options}")) == [("E151", place)]


def test_the_helper_is_a_viewer_only_as_the_aggregator(texts: dict[str, str]) -> None:
    text = changed(texts["dpvi_helper"], "sigma = 2.042", "epsilon = {dealer = 1.0}")
    assert parse(text).targets() == {"dealer": 1.0}
    text = changed(text, "steps = 100", 'steps = 100\naggregator = "clinic"')
    assert faults_of(text) == [("E174", "privacy.epsilon.dealer")]


def test_all_faults_are_reported_at_once(texts: dict[str, str]) -> None:
    text = texts["dpvi"]
    slips = [
        ("components = 20", "components = 0"),
        ("steps = 100", 'steps = 100\nupdate = "em"'),
        ("[0, 120]", "[120, 0]"),
        ('source = "code book 2024, p. 12"\n', 'colour = "red"\n'),
        ('"full"', '"basic"'),
        ("[0, 1, 5, 61]", "[0, 5, 1, 61]"),
        ("delta = 1e-6", "delta = 2"),
        ("sigma = 2.042", "sigma = 2.042\nepsilon = {nobody = 1.0}"),
        ("rows_at_most = 30000", 'key = "x"'),
    ]
    for old, new in slips:
        text = changed(text, old, new)
    assert sorted(code for code, _ in faults_of(text)) == sorted(
        ["E108", "E151", "E132", "E134", "E104", "E131", "E133", "E175", "E171", "E174", "E121"]
    )


def test_a_slip_of_the_pen_gets_the_right_key(texts: dict[str, str]) -> None:
    for old, new, meant in [
        ("rows_at_most", "rows_at_mots", "rows_at_most"),
        ("[linkage]", "[linkge]", "linkage"),
        ('variances = "equal"', 'varainces = "equal"', "variances"),
        ("delta =", "detla =", "delta"),
    ]:
        with pytest.raises(UserError) as caught:
            parse(changed(texts["measure_once"], old, new))
        assert f'did you mean "{meant}"?' in [fault.hint for fault in caught.value.faults]


def test_an_unknown_party_gets_the_right_name(texts: dict[str, str]) -> None:
    with pytest.raises(UserError, match=re.escape('did you mean "clinic"?')):
        parse(changed(texts["measure_once"], 'party = "clinic"', 'party = "clinik"'))


@pytest.mark.parametrize("key", ["parties", "linkage", "columns", "learner", "privacy", "engine", "approvals"])
@pytest.mark.parametrize("value", ["3", '"x"', "[1]", "true", "2024-01-01", "[[]]", "{}", "[{}]", "{kind = 3}"])
def test_no_table_of_a_wrong_type_goes_further_than_a_fault(key: str, value: str) -> None:
    with pytest.raises(UserError) as caught:
        parse(f"format = 1\n{key} = {value}\n")
    assert len(caught.value.faults) > 1


def test_limits_are_finite_and_generous() -> None:
    assert limits.CELLS_PER_PAIR >= 200 * 90 * 50
    assert limits.NUMBER < 2**53


def test_every_code_of_this_part_is_triggered_by_a_test() -> None:
    """E100 to E102 are in test_reading.py, the E6xx in test_unbuilt.py; those with a test of their own are named."""
    own_tests = {"E115", "E116", "E156", "E161", "E163"}
    here = {case[0] for case in CASES} | own_tests | {"E100", "E101", "E102", "E183"}
    assert here == {code for code in CODES if code.startswith("E1")}
