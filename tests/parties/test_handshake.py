"""The handshake: every field that must be equal is compared, at both sides, and named."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from conftest import in_threads
from hypothesis import given, settings
from hypothesis import strategies as st

from vertwin.errors import UserError
from vertwin.parties import handshake, hello, shake_hands
from vertwin.rehearsal.links import queue_links

PRINTS = {"clinic": "SHA256:c", "insurer": "SHA256:i"}


def meet(clinic, insurer):
    links = queue_links(("clinic", "insurer"))

    def party(name, mine):
        try:
            return shake_hands(links[name], mine, PRINTS)
        except UserError as error:
            return error

    said = {"clinic": clinic, "insurer": insurer}
    return in_threads({name: lambda name=name: party(name, said[name]) for name in said})


def greetings():
    return tuple(hello(name, PRINTS[name], "aa11") for name in PRINTS)


def test_equal_parties_meet_and_know_each_others_word():
    clinic, insurer = greetings()
    assert meet(clinic, insurer) == {"clinic": {"insurer": insurer}, "insurer": {"clinic": clinic}}
    assert clinic.spu == "0.9.5" and clinic.python == "3.11"


@pytest.mark.parametrize("field", ["protocol", "vertwin", "agreement", "python", "spu", "jax", "numpy"])
def test_a_difference_is_named_at_both_sides(field):
    clinic, insurer = greetings()
    met = meet(clinic, replace(insurer, **{field: "other\n\x1b[2J"}))
    for error in met.values():
        assert error.codes == ("E440" if field == "agreement" else "E410",)
        assert handshake._CALLED[field].partition(" ")[0] in str(error)
    assert "\x1b" not in str(met["clinic"])


def test_all_differences_come_at_once():
    clinic, insurer = greetings()
    met = meet(clinic, replace(insurer, jax="1", numpy="2", agreement="bb"))
    assert sorted(met["clinic"].codes) == ["E410", "E410", "E440"]


def test_a_run_under_another_partys_name_is_refused():
    clinic, insurer = greetings()
    assert meet(clinic, replace(insurer, name="clinic"))["clinic"].codes == ("E442",)
    assert meet(clinic, replace(insurer, fingerprint="SHA256:x"))["clinic"].codes == ("E442",)


@given(
    st.binary(max_size=60)
    | st.recursive(st.none() | st.text() | st.floats(), st.lists).map(lambda x: b"hello\0" + json.dumps(x).encode())
    | st.just(b"hello\0" + b"[" * 5000)
    | st.just(b"hello\0" + json.dumps(dict.fromkeys(handshake.Hello.__annotations__, 1)).encode())
)
@settings(deadline=None, max_examples=60)
def test_any_garbage_is_a_coded_error(message):
    links = queue_links(("clinic", "insurer"))
    links["insurer"].send("clinic", message)
    with pytest.raises(UserError) as caught:
        shake_hands(links["clinic"], greetings()[0], PRINTS)
    assert caught.value.codes == ("E441",)


def test_the_handshake_through_real_tunnels(pair):
    tunnels, links = pair.joined()
    prints = {name: pair.identities[name].fingerprint for name in tunnels}

    def party(name):
        try:
            return shake_hands(links[name], hello(name, prints[name], "aa" if name == "clinic" else "bb"), prints)
        except UserError as error:
            tunnels[name].close(error.codes)
            return error.codes

    assert set(in_threads({name: lambda name=name: party(name) for name in tunnels}).values()) == {("E440",)}
