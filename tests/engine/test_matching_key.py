"""The joint key: one at all parties, new in every run, and nobody can choose its part after seeing another's."""

from __future__ import annotations

import pytest
from conftest import in_threads
from unsafe_entropy import UnsafeSeededEntropy

from vertwin.engine.matching_key import joint_key
from vertwin.errors import UserError
from vertwin.noise import SystemEntropy
from vertwin.rehearsal.links import QueueLink, queue_links

PARTIES = ("clinic", "insurer", "register")


def keys(entropies, purpose="purpose"):
    links = queue_links(tuple(entropies))
    return in_threads(
        {
            name: lambda name=name: joint_key(links[name], entropies[name], purpose, tuple(entropies))
            for name in entropies
        }
    )


def seeded(*changes, parties=PARTIES):
    return {name: UnsafeSeededEntropy(f"{name} again" if name in changes else name) for name in parties}


@pytest.mark.parametrize("parties", [PARTIES[:2], PARTIES])
def test_every_party_has_the_same_key(parties):
    made = keys(seeded(parties=parties))
    assert len(set(made.values())) == 1
    assert {len(key) for key in made.values()} == {32}


def test_every_partys_bytes_and_the_purpose_decide():
    made = [keys(seeded(*changes))["clinic"] for changes in ((), *((name,) for name in PARTIES))]
    made.append(keys(seeded(), purpose="another")["clinic"])
    made += [keys(dict.fromkeys(PARTIES, SystemEntropy()))["clinic"] for _ in range(2)]
    assert len(set(made)) == len(made)


class LateChooser(QueueLink):
    """Opens bytes that it chooses when it has seen the other's."""

    opened = b"x" * 32

    def send(self, to, payload):
        heading, _, _ = payload.partition(b"\0")
        super().send(to, heading + b"\0" + self.opened if heading.endswith(b"/open") else payload)


class Echo(QueueLink):
    """Commits to and opens what it has just heard: it would have no part of its own in the key."""

    def send(self, to, payload):
        super().send(to, self._heard)

    def hear(self, from_):
        self._heard = self.receive(from_)


@pytest.mark.parametrize("opened", [b"x" * 32, b"", b"x" * 33])
def test_other_bytes_than_the_promised_ones_stop_everyone_else(opened):
    honest, cheat = queue_links(PARTIES[:2]).values()
    cheat = LateChooser(cheat.me, cheat.everyone, cheat._queues)
    cheat.opened = opened

    def party(link):
        try:
            return joint_key(link, SystemEntropy(), "purpose", PARTIES[:2])
        except UserError as error:
            return error.codes

    ends = in_threads({"clinic": lambda: party(honest), "insurer": lambda: party(cheat)})
    assert ends["clinic"] == ("E413",)


def test_repeating_the_others_words_is_no_part_of_a_key():
    links = queue_links(PARTIES[:2])
    echo = Echo("insurer", PARTIES[:2], links["insurer"]._queues)

    def repeats():
        for _ in range(2):
            echo.hear("clinic")
            echo.send("clinic", b"")

    def party():
        with pytest.raises(UserError) as caught:
            joint_key(links["clinic"], SystemEntropy(), "purpose", PARTIES[:2])
        return caught.value.codes

    assert in_threads({"clinic": party, "insurer": repeats})["clinic"] == ("E413",)
