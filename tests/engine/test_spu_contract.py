"""What we rely on in SPU, and what we avoid in it: the acceptance list for its next version, or for another engine.

A test here that fails after an upgrade does not mean that our code is wrong, but that a reason for some of it is gone
or a trap has moved.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

SCRIPT = Path(__file__).with_name("spu_contract.py")


def nodes(case: str, size: int, directory: Path, quiet: bool, seconds: float = 60) -> list[tuple[int, str, str]]:
    """(exit status, stdout, stderr) of every node; a node that outlives a dead one is ended by its own id."""
    environment = os.environ | {"QUIET": "1" if quiet else "0"}
    processes = [
        subprocess.Popen(
            [sys.executable, str(SCRIPT), case, str(rank), str(directory)],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(size)
    ]
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and all(process.poll() is None for process in processes):
        time.sleep(0.05)
    results = []
    for process in processes:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(5)
        if process.poll() is None:
            process.kill()
        out, err = process.communicate()
        results.append((process.returncode, out, err))
    return results


@pytest.fixture(scope="module")
def silent(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict, str]:
    results = nodes("silent", 2, tmp_path_factory.mktemp("spu"), quiet=True)
    assert [status for status, _, _ in results] == [0, 0], results
    return json.loads(results[0][2].strip().splitlines()[-1]), results[0][1]


def test_a_private_input_stays_with_its_owner_when_the_flag_is_set(silent):
    found, _ = silent
    assert found["exact"]
    assert all(kept.startswith("Priv2k<") for kept in found["stored"])
    assert found["stored"][0].endswith("0>")
    assert found["stored"][1].endswith("1>")


def test_without_the_flag_the_owner_is_ignored_and_the_result_is_garbage(silent):
    found, _ = silent
    assert not found["exact_without_flag"]
    assert not any(kept.startswith("Priv2k<") for kept in found["stored_without_flag"])


def test_products_wrap_without_a_word_past_the_bound_we_check(silent):
    found, _ = silent
    within, past = found["squares"]
    assert within == pytest.approx((2.0**13 - 1) ** 2, rel=1e-6)
    assert not np.isclose(past, 2.0**28)


def test_what_is_no_number_becomes_one(silent):
    found, _ = silent
    nan, infinite, tiny = found["odd"]
    assert nan == 0
    assert infinite == pytest.approx(2.0**44)
    assert tiny == 0


def test_inverse_roots_outside_their_range_are_zero(silent):
    zero, below, one, above = silent[0]["roots"]
    assert (abs(zero) <= 2.0**-17, abs(below) <= 2.0**-17, abs(above) <= 2.0**-17) == (True, True, True)
    assert one == pytest.approx(1, rel=1e-3)


def test_all_parties_compile_the_same_executable(silent):
    assert silent[0]["same_executable"]


def test_nothing_is_printed_once_logging_was_silenced(silent):
    assert silent[1] == ""


def test_shared_matrices_in_the_small_ring_end_the_process_and_logs_go_to_stdout(tmp_path):
    """Why Settings refuses FM32 for anything but Cheetah with private inputs, and why the node's stdout is a file."""
    results = nodes("shared_fm32", 3, tmp_path, quiet=False)
    assert any(status < 0 for status, _, _ in results), [status for status, _, _ in results]
    assert any(out for _, out, _ in results), "SPU no longer prints unasked"
