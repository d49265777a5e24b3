"""peers.toml: what a right one says, and every fault of a wrong one at once."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vertwin import agreement as agreements
from vertwin.errors import UserError
from vertwin.parties import peers
from vertwin.parties.peers import Address
from vertwin.rehearsal import town_agreements

RIGHT = """
listen = "0.0.0.0:7443"
[[peers]]
name = "insurer"
address = "vertwin.insurer.example:7443"
identity = "insurer.identity.pem"
"""


@pytest.fixture
def office(pair):
    """The clinic's desk: its peers.toml beside the insurer's file, and the agreement of both, keys included."""
    (pair.folder / "insurer.identity.pem").write_bytes(pair.identities["insurer"].shown.pem)
    text = town_agreements.agreement_text("measure_once")
    for name in ("clinic", "insurer"):
        key = f'name = "{name}"\nkey = "{pair.identities[name].fingerprint}"'
        text = text.replace(f'name = "{name}"', key, 1)
    agreement = agreements.parse(text)
    mine = pair.identities["clinic"].fingerprint

    def load(content, terms=agreement, fingerprint=mine):
        path = pair.folder / "peers.toml"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return peers.load(path, terms, "clinic", fingerprint)

    return load


def faults(office, content, **options):
    with pytest.raises(UserError) as caught:
        office(content, **options)
    return sorted(caught.value.codes)


def test_a_right_file(office, pair):
    read = office(RIGHT)
    assert read.listen == Address("0.0.0.0", 7443)
    assert read["insurer"].address == Address("vertwin.insurer.example", 7443)
    assert read["insurer"].identity.fingerprint == pair.identities["insurer"].fingerprint
    assert read.file == str(pair.folder / "peers.toml")


def test_all_faults_of_a_file_at_once(office):
    wrong = """
    listen = 7443
    colour = "red"
    [[peers]]
    name = "clinic"
    address = "there"
    identity = "nowhere.pem"
    port = 1
    [[peers]]
    address = "a:1"
    """
    assert faults(office, wrong) == sorted(
        ["E427", "E425", "E425", "E427", "E422", "E425", "E425", "E426", "E426", "E426"]
    )


@pytest.mark.parametrize("content", [b"\xff", b"listen = ", b"[" * 100_000])
def test_what_is_not_toml(office, content):
    assert faults(office, content) == ["E424"]


def test_a_file_that_is_not_there(pair, office):
    office(RIGHT)
    terms = agreements.parse(town_agreements.agreement_text("measure_once"))
    with pytest.raises(UserError) as caught:
        peers.load(pair.folder / "nothing.toml", terms, "clinic", "")
    assert caught.value.codes == ("E424",)


def test_empty_doubled_and_unknown_peers(office):
    assert faults(office, 'listen = "0.0.0.0:1"') == ["E425", "E426"]
    assert faults(office, RIGHT + RIGHT.replace('listen = "0.0.0.0:7443"', "")) == ["E426"]
    assert "E426" in faults(office, RIGHT.replace('name = "insurer"', 'name = "stranger"'))


def test_keys_must_be_the_agreed_ones(office, pair):
    assert faults(office, RIGHT, fingerprint=pair.identities["insurer"].fingerprint) == ["E428"]
    other = pair.identity("insurer", "-again")
    (pair.folder / "insurer.identity.pem").write_bytes(other.shown.pem)
    assert faults(office, RIGHT) == ["E428"]
    (pair.folder / "insurer.identity.pem").write_bytes(pair.identities["clinic"].shown.pem)
    assert faults(office, RIGHT) == ["E428", "E428"]  # another party's file: name and key are wrong
    keyless = agreements.parse(town_agreements.agreement_text("measure_once"))
    assert faults(office, RIGHT, terms=keyless)[-2:] == ["E428", "E428"]


@pytest.mark.parametrize(
    ("text", "host"), [("a.b:1", "a.b"), ("[::1]:65535", "::1"), ("10.0.0.1:80", "10.0.0.1"), ("localhost:7443", "")]
)
def test_addresses_are_written_as_they_are_read(text, host):
    assert str(Address.parse(text)) == text
    assert Address.parse(text).host == host or not host


@given(st.text(max_size=20))
@settings(deadline=None, max_examples=200)
def test_any_text_is_an_address_or_a_value_error(text):
    with contextlib.suppress(ValueError):
        assert Address.parse(str(Address.parse(text))) == Address.parse(text)
