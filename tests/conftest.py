"""What all tests share: one SPU session per protocol for a whole test run, and running parties as threads."""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

TESTS = Path(__file__).resolve().parent
# Engine and party processes find the functions and the seeded entropy of the tests by name.
os.environ["PYTHONPATH"] = os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)


def in_threads(parties: Mapping[str, Callable[[], Any]], seconds: float = 120) -> dict[str, Any]:
    """Run every party's function in a thread of its own; raise the first error, and never wait for ever."""
    results: dict[str, Any] = {}
    errors: list[BaseException] = []

    def take_part(name: str, function: Callable[[], Any]) -> None:
        try:
            results[name] = function()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=take_part, args=item, daemon=True) for item in parties.items()]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(seconds)
    if errors:
        raise errors[0]
    assert len(results) == len(parties), "a party did not end in time"
    return results


class SpuParties:
    """The engines of one protocol: real engine processes, one for each node, joined by unix sockets."""

    def __init__(self, nodes: tuple[str, ...]) -> None:
        from vertwin.engine.spu import SpuEngine
        from vertwin.rehearsal.links import queue_links
        from vertwin.rehearsal.receipt import WATERMARK

        self.nodes = nodes
        self.directory = Path(tempfile.mkdtemp(prefix="vertwin-test-"))
        self.links = queue_links(nodes)
        self.engines = {
            name: SpuEngine(self.links[name], name, self._addresses, self.directory / f"{name}.log", WATERMARK)
            for name in nodes
        }

    def _addresses(self, settings: Any) -> dict[str, str]:
        group = f"{settings.field_bits}-{settings.fraction_bits}"
        return {name: f"unix:{self.directory}/{group}-{settings.nodes.index(name)}" for name in settings.nodes}

    def run(self, program: Any, inputs: Mapping[str, Any], to: tuple[str, ...] | None = None) -> dict[str, Any]:
        """Run a program at all nodes and open it at `to` (the first node): what each node gets."""
        from vertwin.rehearsal.receipt import issue

        opened_at = to or self.nodes[:1]

        def party(name: str) -> Any:
            mine = {spec.name: inputs[spec.name] for spec in program.inputs if spec.owner in (None, name)}
            shares = self.engines[name].run(program, mine)
            return self.engines[name].reveal(shares, issue(shares), opened_at)

        return in_threads({name: lambda name=name: party(name) for name in program.settings.nodes})

    def close(self) -> None:
        for engine in self.engines.values():
            engine.close()
        shutil.rmtree(self.directory, ignore_errors=True)


@pytest.fixture(scope="session")
def cheetah() -> Iterator[SpuParties]:
    parties = SpuParties(("clinic", "insurer"))
    yield parties
    parties.close()


@pytest.fixture(scope="session")
def aby3() -> Iterator[SpuParties]:
    parties = SpuParties(("clinic", "insurer", "helper"))
    yield parties
    parties.close()
