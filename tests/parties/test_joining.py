"""The whole set-up as two organisations do it: keys, files, agreement, and then a link; or the fault that stops it."""

from __future__ import annotations

import os

import pytest
from conftest import in_threads

from vertwin import agreement as agreements
from vertwin.errors import UserError
from vertwin.parties import State, joining
from vertwin.parties import identity as identities
from vertwin.rehearsal import town_agreements

from .conftest import QUICK


@pytest.fixture
def offices(meeting):
    """Each party's state folder, with its keys and its peers.toml; and the agreement text with both keys."""
    text = town_agreements.agreement_text("measure_once")
    names = ("clinic", "insurer")
    states = {name: State(meeting.folder / name) for name in names}
    made = {name: identities.create(name, states[name].identity(name)) for name in names}
    ports = {name: meeting.port() for name in names}
    for name, other in (names, names[::-1]):
        (states[name].identity(name) / "peers.toml").write_text(
            f'listen = "127.0.0.1:{ports[name]}"\n[[peers]]\nname = "{other}"\n'
            f'address = "localhost:{ports[other]}"\nidentity = "{os.fspath(made[other].public_file)}"\n'
        )
        text = text.replace(f'name = "{name}"', f'name = "{name}"\nkey = "{made[name].fingerprint}"', 1)
    return states, text


def together(states, texts):
    def party(name):
        try:
            prepared = joining.prepare(agreements.parse(texts[name]), name, states[name])
            with joining.join(prepared, lambda _: None, 10, QUICK) as joined:
                words = joined.link.exchange("word", name.encode())
                return words, sorted(joined.greetings)
        except UserError as error:
            return error.codes

    return in_threads({name: lambda name=name: party(name) for name in states})


def test_two_offices_meet(offices):
    states, text = offices
    words = {"clinic": b"clinic", "insurer": b"insurer"}
    met = together(states, dict.fromkeys(states, text))
    assert met == {"clinic": (words, ["insurer"]), "insurer": (words, ["clinic"])}


def test_two_versions_of_the_agreement_do_not_meet(offices):
    states, text = offices
    other = text.replace('purpose = "', 'purpose = "another purpose, ', 1)
    assert other != text
    assert together(states, {"clinic": text, "insurer": other}) == {"clinic": ("E440",), "insurer": ("E440",)}


def test_whoever_is_no_party_or_has_no_keys_stops_before_anything_listens(offices, tmp_path):
    states, text = offices
    agreement = agreements.parse(text)
    for me, state, code in (
        ("register", states["clinic"], "E426"),
        ("insurer", states["clinic"], "E421"),
        ("clinic", State(tmp_path / "new"), "E421"),
    ):
        with pytest.raises(UserError) as caught:
            joining.prepare(agreement, me, state)
        assert caught.value.codes == (code,)
