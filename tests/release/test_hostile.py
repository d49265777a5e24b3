"""Files from anywhere: whatever is wrong with one is a coded error, never another exception, in bounded memory."""

from __future__ import annotations

import io
import json
import pickle
import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from release.example import iterated, measured

from vertwin.errors import UserError
from vertwin.release import Content, NoiseShare, Promise, Release, Statement, read_release
from vertwin.release.container import pack, unpack
from vertwin.release.manifest import MANIFEST, digest_of, to_members

GOOD = {"measure_once": pack(to_members(measured())), "dpvi": pack(to_members(iterated()))}
EITHER = pytest.mark.parametrize("kind", list(GOOD))


def read(data: bytes) -> Content:
    return read_release(data, "x").content


def refused(data: bytes) -> tuple[str, ...]:
    with pytest.raises(UserError) as error:
        read(data)
    return error.value.codes


@EITHER
def test_every_changed_byte_is_refused(kind: str) -> None:
    good = GOOD[kind]
    for place in range(0, len(good), 7 if len(good) > 20_000 else 1):
        changed = bytearray(good)
        changed[place] ^= 1 << (place % 8)
        refused(bytes(changed))


@EITHER
def test_every_cut_is_refused(kind: str) -> None:
    for length in range(0, len(GOOD[kind]), 13):
        refused(GOOD[kind][:length])


@given(st.sampled_from(list(GOOD)), st.data())
@settings(deadline=None, max_examples=150)
def test_changed_members_under_a_sound_envelope(kind: str, data: st.DataObject) -> None:
    """An attacker repairs checksums and digests, so the checks behind them must hold on their own."""
    members = {name: bytes(body) for name, body in unpack(GOOD[kind], "x").items()}
    name = data.draw(st.sampled_from(sorted(members)))
    body = bytearray(members[name])
    for _ in range(data.draw(st.integers(1, 4))):
        body[data.draw(st.integers(0, len(body) - 1))] = data.draw(st.integers(0, 255))
    if data.draw(st.booleans()):
        body = body[: data.draw(st.integers(0, len(body)))]
    repaired = repair({**members, name: bytes(body)})
    try:
        content = read(pack(repaired))
    except UserError:
        return
    Release(content).sample(10, threads=1)


def repair(members: dict[str, bytes]) -> dict[str, bytes]:
    """The same members with a manifest that names them as they are, as far as it still can be read."""
    import hashlib

    try:
        manifest = json.loads(members[MANIFEST])
        manifest["members"] = {
            name: hashlib.sha256(body).hexdigest() for name, body in members.items() if name != MANIFEST
        }
        return members | {MANIFEST: (json.dumps(manifest, sort_keys=True, indent=1) + "\n").encode("ascii")}
    except (ValueError, TypeError):
        return members


@given(st.binary(max_size=300))
@settings(deadline=None, max_examples=100)
def test_garbage_is_refused(data: bytes) -> None:
    refused(data)
    refused(b"PK\x03\x04" + data)
    refused(pack({MANIFEST: data}))


def altered(change: Callable[[Any], None], kind: str = "measure_once") -> bytes:
    members = {name: bytes(body) for name, body in unpack(GOOD[kind], "x").items()}
    manifest = json.loads(members[MANIFEST])
    change(manifest)
    text = json.dumps(manifest, sort_keys=True, indent=1) + "\n"
    return pack(members | {MANIFEST: text.encode("ascii")})


def put(*path: Any) -> Callable[[Any], None]:
    *keys, value = path

    def change(manifest: Any) -> None:
        for key in keys[:-1]:
            manifest = manifest[key]
        manifest[keys[-1]] = value

    return change


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (put("format", 2), "E503"),
        (put("format", True), "E503"),
        (put("format", "1"), "E503"),
        (put("kind", "something"), "E501"),
        (put("extra", 1), "E504"),
        (put("watermark", None), "E505"),
        (put("watermark", ""), "E505"),
        (put("learner", "dpvi"), "E504"),
        (put("rows_estimate", 20000), "E504"),  # a whole number where the canonical form has a float
        (put("rows_estimate", float("nan")), "E504"),
        (put("rows_estimate", float("inf")), "E504"),
        (put("twin", "components", 10**18), "E504"),
        (put("twin", "components", -1), "E504"),
        (put("twin", "components", 0), "E504"),
        (put("twin", "columns", 0, "form", "beta"), "E504"),
        (put("twin", "columns", 0, "column", "nobody"), "E504"),
        (put("twin", "columns", []), "E504"),
        (put("tables", []), "E504"),
        (put("tables", 0, "columns", ["nobody"]), "E504"),
        (put("tables", 0, "columns", []), "E504"),
        (put("tables", 0, "columns", ["region"]), "E504"),
        (put("tables", 0, "owners", ["insurer"]), "E504"),
        (put("tables", 0, "noise", []), "E504"),
        (put("tables", 0, "noise", 0, "variance", "0"), "E504"),
        (put("tables", 0, "noise", 0, "variance", "2/4"), "E504"),
        (put("tables", 0, "noise", 0, "variance", "-3"), "E504"),
        (put("tables", 0, "noise", 0, "variance", "1e999999999"), "E504"),
        (put("tables", 0, "noise", 0, "variance", "9" * 5000), "E504"),
        (put("tables", 0, "noise", 0, "holder", "nobody"), "E504"),
        (put("statement", "viewers", 0, "epsilon", -1.0), "E504"),
        (put("statement", "viewers", 0, "delta", 1.0), "E504"),
        (put("statement", "viewers", 0, "adjacency", "other"), "E504"),
        (put("statement", "viewers", 0, "coalition", ["nobody"]), "E504"),
        (put("statement", "viewers", 1, "viewer", "analyst"), "E504"),
        (put("agreement_digest", "0" * 64), "E504"),
        (put("members", "tables.npy", "0" * 64), "E504"),
        (put("members", "other.npy", "0" * 64), "E504"),
        (put("members", {}), "E504"),
        (put("revealed", [{"name": "x", "dtype": "<i8", "shape": [2]}]), "E504"),
    ],
)
def test_a_manifest_that_does_not_fit(change: Callable[[Any], None], code: str) -> None:
    codes = refused(altered(change))
    assert code in codes


@pytest.mark.parametrize(
    "revealed",
    [
        {"shape": [10**15, 10**15]},
        {"shape": [-3, -4]},
        {"shape": []},
        {"shape": [10**400]},
        {"shape": [12]},
        {"dtype": "|O"},
        {"dtype": "<i8"},
        {"name": "../x"},
        {"name": "agreement"},
    ],
)
def test_a_revealed_array_that_does_not_fit(revealed: dict[str, Any]) -> None:
    assert "E504" in refused(altered(lambda manifest: manifest["revealed"][0].update(revealed), "dpvi"))


def test_declared_sizes_cost_no_memory() -> None:
    huge = altered(put("twin", "components", 10**12))
    tracemalloc.start()
    refused(huge)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20 * len(huge) + 2_000_000


class _Loud:
    def __reduce__(self) -> tuple[Any, ...]:
        return (pytest.exit, ("a pickle was loaded",))


def test_pickled_arrays_are_never_loaded() -> None:
    members = {name: bytes(body) for name, body in unpack(GOOD["measure_once"], "x").items()}
    objects = io.BytesIO()
    np.save(objects, np.array([_Loud()], dtype=object), allow_pickle=True)
    for body in (objects.getvalue(), pickle.dumps(_Loud())):
        assert refused(pack(repair({**members, "twin.npy": body}))) == ("E504",)


def test_members_too_many_or_too_few() -> None:
    members = {name: bytes(body) for name, body in unpack(GOOD["measure_once"], "x").items()}
    assert refused(pack({**members, "more.json": b"[]"})) == ("E504",)
    for name in members:
        assert refused(pack({key: body for key, body in members.items() if key != name}))[0] in ("E501", "E504")
    less = {name: body for name, body in members.items() if name != "tables.npy"}
    assert refused(pack(repair(less))) == ("E504",)


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000, "1" * 10_000, "\udcff", "NaN", "[]", "null"])
def test_json_that_is_no_manifest_or_no_agreement(text: str) -> None:
    body = text.encode("utf-8", "surrogateescape")
    members = {name: bytes(data) for name, data in unpack(GOOD["measure_once"], "x").items()}
    assert refused(pack(members | {MANIFEST: body}))[0] in ("E501", "E504")
    assert refused(pack(repair(members | {"agreement.json": body})))[0] == "E504"


def spoiled(content: Content, change: Callable[[Any], None]) -> Content:
    """The content with the values of its first twin column (and weights) changed by `change`."""
    first = content.twin.columns[0]
    values, weights = first.values.copy(), content.twin.weights.copy()
    change((values, weights))
    columns = (replace(first, values=values), *content.twin.columns[1:])
    return replace(content, twin=replace(content.twin, weights=weights, columns=columns))


def set_at(array: int, place: Any, value: float) -> Callable[[Any], None]:
    def change(both: Any) -> None:
        both[array][place] = value

    return change


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, -0.1, 1.5, 1e308])
@pytest.mark.parametrize(("array", "place"), [(0, (1, 0)), (1, 0)])
def test_probabilities_that_are_none(array: int, place: Any, value: float, tmp_path: Path) -> None:
    content = spoiled(measured(), set_at(array, place, value))
    assert refused(pack(to_members(content))) == ("E504",)
    with pytest.raises(UserError):
        Release(content)


@pytest.mark.parametrize("value", [np.nan, np.inf, 0.0, -1.0])
def test_beta_parameters_that_are_none(value: float) -> None:
    content = iterated()
    columns = list(content.twin.columns)
    values = columns[2].values.copy()
    values[0, 0] = value
    columns[2] = replace(columns[2], values=values)
    assert refused(pack(to_members(replace(content, twin=replace(content.twin, columns=tuple(columns)))))) == ("E504",)


def test_every_contradiction_of_a_content_is_reported_at_once() -> None:
    content = measured()
    wrong = replace(
        content,
        watermark=None,
        statement=Statement("x", (Promise("analyst", (), -1.0, 2.0, "other"),)),
        tables=(replace(content.tables[0], noise=(NoiseShare("nobody", Fraction(-1)),)), *content.tables),
        rows_estimate=float("nan"),
    )
    with pytest.raises(UserError) as error:
        Release(wrong)
    assert error.value.codes.count("E504") >= 6
    assert "E505" in error.value.codes


def test_the_digest_covers_every_member() -> None:
    members = to_members(measured())
    other = to_members(replace(measured(), tables=measured().tables[:-1]))
    assert digest_of(members) != digest_of(other)
    assert digest_of(members) == digest_of(to_members(measured()))
