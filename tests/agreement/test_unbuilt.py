"""Options that the design names and the code lacks: they parse, keep their terms, and are refused with a code."""

from __future__ import annotations

import pytest

from vertwin.agreement import Linkage, from_canonical, parse, refuse_unbuilt
from vertwin.agreement.unbuilt import EQUAL_COUNT_CODE, UNBUILT
from vertwin.errors import CODES, UserError

_EM = 'bound = {kind = "statistics"}\nupdate = "em"'
CASES = [  # (codes, text, old, new)
    (("E600",), "dpvi", "steps = 100", 'steps = 100\nsampling = "poisson"\nbatch = 100'),
    (("E600",), "dpvi_helper", "steps = 100", 'steps = 100\nsampling = "poisson_hidden"\nbatch = 100'),
    (
        ("E600", "E600"),
        "dpvi",
        "steps = 100",
        'steps = 100\nsampling = "poisson"\nbatch = 9\nbatch_from = "aggregator"',
    ),
    (("E601",), "dpvi", "steps = 100", 'steps = 100\nposterior = "full"'),
    (("E602",), "dpvi", "steps = 100", 'steps = 100\nbound = {kind = "smooth", gamma = 0.1}'),
    (("E602",), "dpvi", "steps = 100", 'steps = 100\nbound = {kind = "statistics"}'),
    (("E602", "E602"), "dpvi", "steps = 100", f"steps = 100\n{_EM}"),
    (("E603",), "dpvi", "steps = 100", 'steps = 100\ngradient_space = "constrained"'),
    (("E604",), "dpvi_helper", "steps = 100", 'steps = 100\nnoise = "helper"\naggregator = "clinic"'),
    (("E605",), "dpvi", 'keys = ["person_id"]', 'fuzzy = {names = ["name", "birth"], threshold = 0.9}'),
    (("E605",), "dpvi", 'keys = ["person_id"]', 'kind = "fuzzy"'),
    (("E606",), "dpvi", 'keys = ["person_id"]', 'keys = ["person_id"]\nrows_per_person = 2'),
    (("E607",), "dpvi", "[privacy]", '[approvals]\nclinic = ["data-protection-officer"]\n[privacy]'),
]


@pytest.mark.parametrize(("codes", "name", "old", "new"), CASES)
def test_an_option_parses_and_is_refused(
    texts: dict[str, str], codes: tuple[str, ...], name: str, old: str, new: str
) -> None:
    text = texts[name].replace(old, new, 1)
    with pytest.raises(UserError) as caught:
        parse(text)
    assert caught.value.codes == codes
    assert all("not built yet" in fault.sentence and fault.hint and fault.place for fault in caught.value.faults)
    agreement = parse(text, allow_unbuilt=True)
    with pytest.raises(UserError) as again:
        refuse_unbuilt(agreement)
    assert again.value.codes == codes
    assert from_canonical(agreement.canonical(), allow_unbuilt=True) == agreement
    with pytest.raises(UserError):
        from_canonical(agreement.canonical())


def test_bins_of_equal_counts_are_refused(texts: dict[str, str]) -> None:
    text = texts["dpvi"].replace('"equal_width"', '"equal_count"')
    with pytest.raises(UserError) as caught:
        parse(text)
    assert [(fault.code, fault.place) for fault in caught.value.faults] == [("E608", 'columns[1] "age" bins.kind')]


def test_it_is_said_together_with_other_faults(texts: dict[str, str]) -> None:
    text = texts["dpvi"].replace("steps = 100", 'posterior = "full"')
    with pytest.raises(UserError) as caught:
        parse(text)
    assert caught.value.codes == ("E152", "E601")


def test_best_variances_are_built_for_any_targets(texts: dict[str, str]) -> None:
    for written in ("", 'variances = "best"'):
        refuse_unbuilt(parse(texts["measure_once"].replace('variances = "equal"', written)))


def test_sound_agreements_are_not_refused(texts: dict[str, str]) -> None:
    for text in texts.values():
        refuse_unbuilt(parse(text))


def test_fuzzy_options_have_one_canonical_form(texts: dict[str, str]) -> None:
    options = ['fuzzy = {a = [1, 2], b = "x"}', 'fuzzy = {b = "x", a = [1, 2]}']
    first, second = (
        parse(texts["dpvi"].replace('keys = ["person_id"]', option), allow_unbuilt=True) for option in options
    )
    assert first.digest == second.digest
    assert first.linkage == Linkage("fuzzy", (), 1, '{"a":[1,2],"b":"x"}')
    with pytest.raises(UserError) as caught:
        parse(texts["dpvi"].replace('keys = ["person_id"]', "fuzzy = {when = 2024-01-01}"))
    assert "E106" in caught.value.codes


def test_the_table_and_the_codes_agree() -> None:
    used = {row.code for row in UNBUILT} | {EQUAL_COUNT_CODE}
    assert used == {code for code in CODES if "E600" <= code <= "E609"}
    assert used == {code for case in CASES for code in case[0]} | {"E608"}
