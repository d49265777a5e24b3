"""Model and learner are float64: every test here runs with x64 enabled in its own thread, and leaves JAX as it was."""

from __future__ import annotations

from collections.abc import Iterator

import jax
import pytest
from jax.experimental import enable_x64


@pytest.fixture(autouse=True, scope="module")
def float64() -> Iterator[None]:
    before = jax.config.values["jax_disable_most_optimizations"]
    jax.config.update("jax_disable_most_optimizations", True)  # compiling takes longer here than computing
    with enable_x64():
        yield
    jax.config.update("jax_disable_most_optimizations", before)
