"""PlainEngine: the same programs in the clear, for rehearsals in one process and as the twin of every test.

The parties of a plain rehearsal are threads that run the same text. They meet here: each brings the inputs it owns,
one of them computes, all go on with a handle. Nothing is protected: it is said so in every release that comes of it.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import jax
import numpy as np
from jax.experimental import enable_x64

from vertwin.engine.base import Engine, Shares, check_receipt
from vertwin.engine.fixed_point import fixed_point
from vertwin.engine.program import Program, check_input
from vertwin.errors import user_error
from vertwin.ledger.receipt import Receipt


@dataclass(repr=False)
class _Meeting:
    """One run of one program: the inputs brought so far, and the outputs once everyone is there."""

    inputs: dict[str, np.ndarray] = field(default_factory=dict)
    arrived: set[str] = field(default_factory=set)
    outputs: tuple[np.ndarray, ...] | None = None
    left: int = 0


class PlainHub:
    """Where the threads of one plain rehearsal meet. A party that fails calls `abandon`, which frees the others."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._meetings: dict[str, _Meeting] = {}
        self._failed: str | None = None

    def abandon(self, name: str) -> None:
        with self._condition:
            self._failed = self._failed or name
            self._condition.notify_all()

    def meet(self, name: str, program: Program, attempt: int, inputs: Mapping[str, np.ndarray]) -> tuple[Any, ...]:
        """Bring inputs, wait for the program's other parties, take the outputs."""
        key = f"{program.digest}:{attempt}"
        with self._condition:
            meeting = self._meetings.setdefault(key, _Meeting())
            meeting.inputs.update(inputs)
            meeting.arrived.add(name)
            if meeting.arrived == set(program.settings.nodes):
                meeting.outputs = self._compute(program, meeting.inputs)
                self._condition.notify_all()
            while meeting.outputs is None:
                if self._failed is not None:
                    raise user_error("E401", f'party "{self._failed}" stopped before the computation was done')
                self._condition.wait()
            meeting.left += 1
            if meeting.left == len(meeting.arrived):
                del self._meetings[key]
            return meeting.outputs

    def _compute(self, program: Program, inputs: Mapping[str, np.ndarray]) -> tuple[np.ndarray, ...]:
        # x64 is switched on for this computation alone; importing or calling vertwin never changes a caller's JAX.
        with enable_x64():
            outputs = _compiled(program)(*[inputs[spec.name] for spec in program.inputs])
            return tuple(np.asarray(output) for output in outputs)


@lru_cache(maxsize=64)
def _compiled(program: Program) -> Any:
    """Once per process for each program: many short rehearsals run the same ones."""
    return jax.jit(fixed_point(program.resolve(), program.settings.field_bits, program.settings.fraction_bits))


class PlainEngine(Engine):
    """One party's door to the hub."""

    def __init__(self, hub: PlainHub, me: str, watermark: str) -> None:
        self._hub, self._me, self._watermark = hub, me, watermark
        self._attempts: dict[str, int] = {}

    def run(self, program: Program, inputs: Mapping[str, np.ndarray]) -> Shares:
        mine = {spec.name for spec in program.inputs if spec.owner in (None, self._me)}
        assert set(inputs) == mine, f"{self._me} passes {sorted(inputs)}, the program wants {sorted(mine)} of it"
        specs = {spec.name: spec for spec in program.inputs}
        checked = {name: check_input(specs[name], value, program.settings) for name, value in inputs.items()}
        attempt = self._attempts.get(program.digest, 0) + 1
        self._attempts[program.digest] = attempt
        outputs = self._hub.meet(self._me, program, attempt, checked)
        return Shares(program.digest, attempt, len(outputs), outputs)

    def reveal(self, shares: Shares, receipt: Receipt, to: Sequence[str]) -> tuple[np.ndarray, ...] | None:
        check_receipt(shares, receipt, self._watermark)
        if self._me not in to:
            return None
        assert isinstance(shares.held, tuple)
        return tuple(np.array(output) for output in shares.held)

    def restore(self, program: Program, held: object, run: int) -> Shares:
        raise AssertionError("a plain rehearsal stores no shares")

    def close(self) -> None:
        """Nothing to end: the hub lives as long as its rehearsal."""
