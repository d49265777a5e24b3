"""Programs as data: what cannot be written down, and what a digest covers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from vertwin.engine.program import Input, Program, Settings, check_input

SETTINGS = Settings("cheetah", 32, 8, ("a", "b"))
PROGRAM = Program("secure_functions:pair_product", (Input("x", "a", (2, 3), "int32"),), SETTINGS)


@pytest.mark.parametrize(
    "wrong",
    [
        {"protocol": "semi2k"},  # its trusted first party can open everything
        {"protocol": "aby3", "nodes": ("a", "b", "c")},  # FM32 under ABY3 ends the process
        {"nodes": ("a", "b", "c")},
        {"nodes": ("a", "a")},
        {"field_bits": 16},
        {"fraction_bits": 40},
    ],
)
def test_settings_that_cannot_be_written_down(wrong):
    with pytest.raises(AssertionError):
        replace(SETTINGS, **wrong)


def test_every_part_changes_the_digest():
    others = [
        replace(PROGRAM, function="secure_functions:arithmetic"),
        replace(PROGRAM, inputs=(Input("x", "b", (2, 3), "int32"),)),
        replace(PROGRAM, inputs=(Input("x", "a", (2, 4), "int32"),)),
        replace(PROGRAM, inputs=(Input("x", "a", (2, 3), "int64"),)),
        replace(PROGRAM, settings=replace(SETTINGS, fraction_bits=9)),
        replace(PROGRAM, options=(("grid", 256),)),
    ]
    assert len({PROGRAM.digest, *(other.digest for other in others)}) == 1 + len(others)
    assert replace(PROGRAM).digest == PROGRAM.digest


def test_only_functions_of_this_package_can_be_named():
    with pytest.raises(AssertionError):
        replace(PROGRAM, function="os:system").resolve()


@pytest.mark.parametrize(
    ("dtype", "value"),
    [("float64", np.nan), ("float64", np.inf), ("float64", 2.0**60), ("int32", 2**31), ("int32", -(2**31) - 1)],
)
def test_what_the_ring_would_swallow_in_silence_is_stopped(dtype, value):
    with pytest.raises(AssertionError):
        check_input(Input("x", "a", (1,), dtype), np.array([value]), SETTINGS)


def test_a_wrong_shape_is_stopped():
    with pytest.raises(AssertionError, match="shape"):
        check_input(Input("x", "a", (2,), "int32"), np.zeros(3, int), SETTINGS)
