"""Real engine processes for the benchmarks: one set per protocol, joined by unix sockets, opened like a rehearsal's."""

from __future__ import annotations

import shutil
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from vertwin.engine import Program, Settings
from vertwin.engine.spu import SpuEngine
from vertwin.rehearsal.links import queue_links
from vertwin.rehearsal.receipt import WATERMARK, issue


class Parties:
    """The engines of the nodes of one protocol. Use as a context; every process has ended afterwards."""

    def __init__(self, nodes: Sequence[str]) -> None:
        self.nodes = tuple(nodes)
        self.directory = Path(tempfile.mkdtemp(prefix="vertwin-bench-"))
        links = queue_links(self.nodes)
        self.engines = {
            n: SpuEngine(links[n], n, self._addresses, self.directory / f"{n}.log", WATERMARK) for n in self.nodes
        }

    def _addresses(self, settings: Settings) -> dict[str, str]:
        group = f"{settings.field_bits}-{settings.fraction_bits}"
        return {name: f"unix:{self.directory}/{group}-{i}" for i, name in enumerate(settings.nodes)}

    def __enter__(self) -> Parties:
        return self

    def __exit__(self, *_: object) -> None:
        for engine in self.engines.values():
            engine.close()
        shutil.rmtree(self.directory, ignore_errors=True)

    def run(self, program: Program, inputs: Mapping[str, np.ndarray]) -> tuple[np.ndarray, ...]:
        """Run at all nodes, open at the first."""

        def party(name: str) -> Any:
            mine = {spec.name: inputs[spec.name] for spec in program.inputs if spec.owner in (None, name)}
            shares = self.engines[name].run(program, mine)
            return self.engines[name].reveal(shares, issue(shares), self.nodes[:1])

        return in_threads({name: lambda name=name: party(name) for name in self.nodes})[self.nodes[0]]


def in_threads(parties: Mapping[str, Callable[[], Any]]) -> dict[str, Any]:
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
        thread.join()
    if errors:
        raise errors[0]
    return results
