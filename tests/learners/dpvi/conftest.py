"""Model and learner are float64: every test here runs with x64 enabled in its own thread, and leaves JAX as it was."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from jax.experimental import enable_x64


@pytest.fixture(autouse=True, scope="module")
def float64() -> Iterator[None]:
    with enable_x64():
        yield
