"""SpuEngine besides its results: parties that differ stop, a process that ends is told, nothing outlives its owner."""

from __future__ import annotations

import os
import signal
import time

import numpy as np
import pytest
from conftest import SpuParties, in_threads

from vertwin.engine import Input, Program, Settings
from vertwin.errors import UserError


def program(nodes, **changes):
    kept = {"function": "secure_functions:inverse_roots", "fraction_bits": 18} | changes
    return Program(
        kept["function"],
        (Input("x", nodes[0], (3,), "float64"),),
        Settings("cheetah", 64, kept["fraction_bits"], nodes),
    )


def test_parties_with_different_programs_stop_before_they_compute(cheetah):
    """SPU itself would compute garbage and end with success."""
    nodes = cheetah.nodes
    texts = {nodes[0]: program(nodes), nodes[1]: program(nodes, function="secure_functions:negative")}
    inputs = {nodes[0]: {"x": np.ones(3)}, nodes[1]: {}}
    codes = []

    def party(name):
        try:
            cheetah.engines[name].run(texts[name], inputs[name])
        except UserError as error:
            codes.append(error.codes)

    in_threads({name: lambda name=name: party(name) for name in nodes})
    assert codes == [("E410",), ("E410",)]


def test_an_engine_process_that_is_killed_is_told_and_leaves_nothing():
    parties = SpuParties(("clinic", "insurer"))
    try:
        both = program(parties.nodes)
        parties.run(both, {"x": np.ones(3)})
        engine = parties.engines["clinic"]
        (process,) = engine.process_ids
        os.kill(process, signal.SIGKILL)
        with pytest.raises(UserError) as caught:
            engine.run(both, {"x": np.ones(3)})
        assert caught.value.codes == ("E403",)
        others = parties.engines["insurer"].process_ids
    finally:
        parties.close()
    for process in others:
        assert not alive(process)


def test_what_the_program_wants_of_a_party_is_exactly_what_it_passes(cheetah):
    both = program(cheetah.nodes)
    with pytest.raises(AssertionError, match="passes"):
        cheetah.engines[cheetah.nodes[1]].run(both, {"x": np.ones(3)})


def alive(process: int) -> bool:
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return False
        time.sleep(0.05)
    return True


def test_what_the_engine_cannot_compile_is_told_without_a_stack(cheetah):
    both = program(cheetah.nodes, function="secure_functions:refused")
    with pytest.raises(UserError) as caught:
        cheetah.engines[cheetah.nodes[0]].run(both, {"x": np.ones(3)})
    assert caught.value.codes == ("E404",)
    assert "Traceback" not in str(caught.value)


def test_an_engine_that_does_not_load_is_told(tmp_path, monkeypatch):
    """As on a processor without the instructions that SPU wants: its import raises."""
    (tmp_path / "spu").mkdir()
    (tmp_path / "spu" / "__init__.py").write_text("raise RuntimeError('no AVX')\n")
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}{os.pathsep}{os.environ['PYTHONPATH']}")
    parties = SpuParties(("clinic", "insurer"))
    try:
        with pytest.raises(UserError) as caught:
            parties.engines["insurer"].run(program(parties.nodes), {})
        assert caught.value.codes == ("E304",)
    finally:
        parties.close()
