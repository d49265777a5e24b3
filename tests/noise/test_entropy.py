from __future__ import annotations

import inspect
import pickle

import pytest
from unsafe_entropy import UnsafeSeededEntropy

from vertwin.noise import SystemEntropy


def test_system_entropy_takes_no_seed() -> None:
    assert list(inspect.signature(SystemEntropy).parameters) == []
    with pytest.raises(TypeError):
        SystemEntropy(1)  # type: ignore[call-arg]


def test_system_entropy_gives_as_many_bytes_as_asked_and_never_twice() -> None:
    entropy = SystemEntropy()
    assert [len(entropy.bytes(n)) for n in (0, 1, 7, 100_000)] == [0, 1, 7, 100_000]
    assert len({entropy.bytes(32) for _ in range(1000)}) == 1000  # a repeat has probability below 2^-236


def test_unsafe_entropy_is_one_stream_however_it_is_cut() -> None:
    whole = UnsafeSeededEntropy(5).bytes(100_000)
    other = UnsafeSeededEntropy(5)
    assert b"".join(other.bytes(n) for n in (0, 1, 32_767, 1, 2, 60_000, 7_229)) == whole
    assert UnsafeSeededEntropy(6).bytes(100) != whole[:100]


def test_unsafe_entropy_pickles_with_its_position() -> None:
    entropy = UnsafeSeededEntropy("a")
    entropy.bytes(12_345)
    copy = pickle.loads(pickle.dumps(entropy))
    assert copy.bytes(40_000) == entropy.bytes(40_000)
