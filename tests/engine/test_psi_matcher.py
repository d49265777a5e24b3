"""The matcher of real runs: the plain matcher's result, by processes that may die, and nothing left on the disk."""

from __future__ import annotations

import json
import os
import re
import signal
import stat
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
from conftest import in_threads
from unsafe_entropy import UnsafeSeededEntropy

from vertwin.engine import psi_matcher
from vertwin.engine.psi_matcher import PsiMatcher
from vertwin.engine.psi_process import PsiProcess
from vertwin.errors import UserError
from vertwin.noise import SystemEntropy
from vertwin.rehearsal.links import queue_links

PARTIES = ("clinic", "insurer")


def hashes(people):
    return np.array([f"{person * 0x9E3779B97F4A7C15F39CC0605CEDC835 % 2**128:032x}" for person in people], dtype="S32")


@dataclass
class Pair:
    """Two matchers on this machine, and what each tells its person."""

    directory: Path
    matchers: dict[str, PsiMatcher] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def __post_init__(self):
        self.links = queue_links(PARTIES)
        for name in PARTIES:
            folder = self.directory / name
            folder.mkdir()
            self.matchers[name] = PsiMatcher(
                self.links[name], PARTIES, self.addresses, SystemEntropy(), folder, self.log(name), self.notes.append
            )

    def log(self, name):
        return self.directory / f"{name}.log"

    def addresses(self, channel):
        return {name: f"unix:{self.directory}/{channel}.{place}" for place, name in enumerate(PARTIES)}

    def match(self, tables):
        return in_threads({name: lambda name=name: self.matchers[name].intersect(tables[name]) for name in PARTIES})

    def codes(self, tables):
        def party(name):
            try:
                self.matchers[name].intersect(tables[name])
            except UserError as error:
                self.links[name].abandon()
                return error.codes
            return ()

        return in_threads({name: lambda name=name: party(name) for name in PARTIES})


@pytest.fixture
def pair(tmp_path):
    return Pair(tmp_path)


def overlapping(people):
    """Half of each party's people are the other's too; each has them in an order of its own."""
    rng = np.random.default_rng(7)
    return {
        "clinic": hashes(rng.permutation(people).tolist()),
        "insurer": hashes((people // 2 + rng.permutation(people)).tolist()),
    }


def check(tables, rows):
    common = [tables[name][rows[name]] for name in PARTIES]
    assert np.array_equal(common[0], common[1])
    assert np.array_equal(common[0], np.intersect1d(*tables.values()))


def test_what_the_plain_matcher_finds_and_no_trace_of_it(pair):
    tables = overlapping(2000)
    rows = pair.match(tables)
    check(tables, rows)
    assert len(rows["clinic"]) == 1000
    assert pair.notes == []
    for name in PARTIES:
        assert list((pair.directory / name).iterdir()) == []
        assert pair.matchers[name].process_ids == ()
        log = pair.log(name).read_bytes()
        assert stat.S_IMODE(pair.log(name).stat().st_mode) == 0o600
        assert not any(key in log for key in tables[name][:200].tolist())
        (trace,) = set(re.findall(rb"/tmp/psi_\S+\.trace", log))
        assert not os.path.exists(trace)


@pytest.mark.parametrize(("clinic", "insurer"), [([5], [9]), ([5], [5])])
def test_one_person_each(pair, clinic, insurer):
    tables = {"clinic": hashes(clinic), "insurer": hashes(insurer)}
    rows = pair.match(tables)
    check(tables, rows)
    assert len(rows["clinic"]) == (clinic == insurer)


def killer(matcher, times):
    """Ends the first so many processes of one party, as soon as each is there."""

    def watch():
        killed = set()
        deadline = time.monotonic() + 60
        while len(killed) < times and time.monotonic() < deadline:
            for process in set(matcher.process_ids) - killed:
                os.kill(process, signal.SIGKILL)
                killed.add(process)
            time.sleep(0.005)

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    return thread


def test_a_process_that_is_killed_is_replaced_at_both_parties(pair):
    tables = overlapping(100)
    killer(pair.matchers["insurer"], 1)
    check(tables, pair.match(tables))
    assert sorted(pair.notes) == [
        'attempt 1 of 3 failed (the matching process of party "insurer" failed); trying again',
        "attempt 1 of 3 failed (the matching process of this party ended by itself (status -9)); trying again",
    ]
    assert [list((pair.directory / name).iterdir()) for name in PARTIES] == [[], []]


def test_a_process_that_is_killed_every_time_stops_both(pair, monkeypatch):
    monkeypatch.setattr(psi_matcher, "ATTEMPTS", 2)
    killer(pair.matchers["insurer"], 2)
    assert pair.codes(overlapping(100)) == {"clinic": ("E417",), "insurer": ("E414",)}


def test_an_address_that_cannot_be_used(pair, monkeypatch):
    monkeypatch.setattr(psi_matcher, "ATTEMPTS", 1)
    monkeypatch.setattr(
        pair.matchers["clinic"], "_addresses", lambda channel: dict.fromkeys(PARTIES, "unix:/no/such/x")
    )
    assert pair.codes(overlapping(100)) == {"clinic": ("E415",), "insurer": ("E417",)}
    assert "Stacktrace" not in pair.log("clinic").read_text()


def test_a_peer_that_does_not_answer_is_not_waited_for_for_ever(pair, monkeypatch):
    """As a stopped process, or addresses that lead elsewhere: both are told the same."""
    monkeypatch.setattr(psi_matcher, "ATTEMPTS", 1)
    monkeypatch.setattr(psi_matcher, "LEAST_SECONDS", 2)
    for name in PARTIES:
        monkeypatch.setattr(
            pair.matchers[name], "_addresses", lambda c, n=name: {p: f"unix:{pair.directory}/{n}.{p}" for p in PARTIES}
        )
    codes = pair.codes(overlapping(100))
    assert set(codes.values()) in ({("E416",)}, {("E416",), ("E417",)})


def test_a_peer_that_is_gone_ends_the_wait_at_once(pair):
    links, answers = pair.links, {}

    def leaves():
        links["insurer"].exchange("matching", answers["same"])
        links["insurer"].exchange("matching/psi.1", b"")
        while not pair.matchers["clinic"].process_ids:
            time.sleep(0.01)
        links["insurer"].abandon()

    answers["same"] = said(pair, 100)
    codes = in_threads({"clinic": lambda: error_codes(pair, 100), "insurer": leaves}, 30)
    assert codes["clinic"] == ("E401",)
    assert pair.notes == []
    assert list((pair.directory / "clinic").iterdir()) == []


def said(pair, rows, **changes):
    """What the matcher of the other party would say first."""
    from importlib import metadata

    from vertwin.version import VERSION

    fields = {"vertwin": VERSION, "spu": metadata.version("spu"), "protocol": "rr22", "parties": list(PARTIES)}
    return json.dumps(fields | {"rows": rows} | changes).encode()


def error_codes(pair, people):
    with pytest.raises(UserError) as caught:
        pair.matchers["clinic"].intersect(hashes(range(people)))
    return caught.value.codes


@pytest.mark.parametrize("changes", [{"vertwin": "0"}, {"spu": "0.9.4"}, {"protocol": "kkrt"}, {"parties": ["x", "y"]}])
def test_parties_that_differ_stop_before_any_process(pair, changes):
    """SPU compares nothing: with other settings its processes end each other, or hang."""
    pair.links["insurer"].send("clinic", b"matching\0" + said(pair, 100, **changes))
    assert error_codes(pair, 100) == ("E410",)


@pytest.mark.parametrize("message", [b"", b"\xff", b"[]", b"7", b'{"vertwin": 1}'])
def test_a_peer_that_says_something_else(pair, message):
    pair.links["insurer"].send("clinic", b"matching\0" + message)
    assert error_codes(pair, 100) == ("E410",)


@pytest.mark.parametrize("rows", [0, -1, "7", 1.5, None, True, 2**41])
def test_a_peer_without_a_number_of_rows(pair, rows):
    pair.links["insurer"].send("clinic", b"matching\0" + said(pair, rows))
    assert error_codes(pair, 100) == ("E271",)


def test_what_goes_into_the_files_is_shuffled_and_has_one_more(pair):
    """Without the extra key a digest of few keys could be guessed; without the shuffle places would tell ranks."""
    matcher = pair.matchers["clinic"]
    keys = hashes(range(500))
    prepared = [matcher._prepared(keys) for _ in range(2)]
    for each in prepared:
        assert set(keys.tolist()) < set(each.tolist())
        assert len(np.unique(each)) == 501
        assert not np.array_equal(each[:500], keys)
    assert not np.array_equal(*prepared)


def test_the_entropy_that_is_drawn_does_not_depend_on_the_rows(pair):
    after = []
    for people in (1, 500):
        matcher, entropy = pair.matchers["clinic"], UnsafeSeededEntropy("clinic")
        matcher._entropy = entropy
        matcher._prepared(hashes(range(people)))
        after.append(entropy.bytes(8))
    assert after[0] == after[1]


@pytest.mark.parametrize("name", ["plain", "with a space; touch x"])
def test_files_are_this_users_alone_and_paths_are_plain(tmp_path, name):
    """PSI hands its paths to a shell."""
    directory = tmp_path / name
    directory.mkdir()
    process = PsiProcess("clinic", PARTIES, dict.fromkeys(PARTIES, "unix:/no/such/x"), hashes(range(5)), 20, directory)
    place = process._directory
    try:
        assert re.fullmatch(r"[A-Za-z0-9/._-]+", str(place))
        assert (place.parent == directory) == (name == "plain")
        assert stat.S_IMODE(place.stat().st_mode) == 0o700
        assert stat.S_IMODE((place / "in.csv").stat().st_mode) == 0o600
        assert (place / "in.csv").read_bytes().split() == [b"key", *hashes(range(5)).tolist()]
        with open(f"/proc/{process.process_id}/cmdline", "rb") as line:
            assert hashes([1])[0] not in line.read()
    finally:
        process.end(tmp_path / "log")
    assert not place.exists()


@pytest.mark.parametrize("left", [None, b"", b'"row"\n' + b"0" * 32, b'"key"\n' + b"0" * 31, b'"key"\nNULL\n'])
def test_a_result_that_cannot_be_read_is_refused(tmp_path, left):
    from vertwin.engine.psi_process import _read

    path = tmp_path / "out.csv"
    if left is not None:
        path.write_bytes(left)
    with pytest.raises(UserError) as caught:
        _read(path)
    assert caught.value.codes == ("E415",)


@pytest.mark.slow
def test_a_million_people(pair):
    tables = overlapping(1_000_000)
    start = time.monotonic()
    check(tables, pair.match(tables))
    assert time.monotonic() - start < 120
