"""A plain run of dpvi in threads, from agreements and codes made here: no files, no linkage, no release."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from unsafe_entropy import UnsafeSeededEntropy

from vertwin.agreement import Agreement, Bound, Column, Dpvi, Linkage, Party, Privacy
from vertwin.encoding import EncodedTable
from vertwin.engine.matching import PlainMatcher, PlainMatchingHub
from vertwin.engine.plain import PlainEngine, PlainHub
from vertwin.learners.dpvi import learn
from vertwin.learners.dpvi.mechanism import plan_mechanism
from vertwin.learners.plan import Plan
from vertwin.rehearsal.links import queue_links
from vertwin.rehearsal.receipt import WATERMARK
from vertwin.rehearsal.session import RehearsalSession
from vertwin.release import Learned, Statement


def agreement_of(
    columns: Mapping[str, tuple[Column, ...]],
    *,
    components: int = 3,
    steps: int = 10,
    batch: int | None = None,
    threshold: float = 1.0,
    sigma: float = 1.0,
    step_size: float = 0.2,
    decay: str = "cosine",
    helper: bool = True,
    aggregator: str | None = None,
) -> Agreement:
    """Holders by name, and a helper unless told otherwise."""
    parties = [Party(name) for name in columns] + ([Party("helper", role="helper")] if helper else [])
    learner = Dpvi(
        components=components,
        steps=steps,
        aggregator=aggregator or next(iter(columns)),
        step_size=step_size,
        sampling="none" if batch is None else "epochs",
        batch=batch,
        bound=Bound("hard", threshold),
        decay=decay,  # type: ignore[arg-type]
    )
    return Agreement(
        format=1,
        name="test",
        purpose="a test",
        data_set="made-up",
        parties=tuple(parties),
        linkage=Linkage("aligned"),
        columns=tuple(column for held in columns.values() for column in held),
        learner=learner,
        privacy=Privacy(delta=1e-5, sigma=sigma),
    )


def table_of(
    party: str,
    columns: tuple[Column, ...],
    values: Mapping[str, np.ndarray],
) -> EncodedTable:
    """Codes and natural values straight from arrays: floats are natural values, integers codes."""
    rows = len(values[columns[0].name])
    codes = np.stack(
        [values[c.name] if values[c.name].dtype.kind == "i" else np.zeros(rows, int) for c in columns], axis=1
    ).astype(np.int32)
    natural = {c.name: values[c.name] for c in columns if values[c.name].dtype.kind == "f"}
    return EncodedTable(party, columns, rows, codes, natural)


def rehearse(agreement: Agreement, values: Mapping[str, np.ndarray], seed: int = 0) -> dict[str, Learned | None]:
    """Every party's result; the first failure of any of them is raised."""
    rows = len(next(iter(values.values())))
    plan = Plan(agreement, rows, plan_mechanism(agreement, rows), Statement())
    everyone = tuple(party.name for party in agreement.parties)
    hub, links = PlainHub(), queue_links(everyone)
    matching = PlainMatchingHub(tuple(party.name for party in agreement.holders))
    results: dict[str, Learned | None] = {}
    failures: list[BaseException] = []

    def take_part(name: str) -> None:
        session = RehearsalSession(
            name,
            tuple(party.name for party in agreement.holders),
            agreement.helper.name if agreement.helper else None,
            PlainEngine(hub, name, WATERMARK),
            PlainMatcher(matching, name),
            UnsafeSeededEntropy(f"{seed} {name}"),
            links[name],
            lambda *_: None,
        )
        session.rows = rows
        held = agreement.columns_of(name)
        try:
            results[name] = learn(table_of(name, held, values) if held else None, plan, session)
        except BaseException as error:
            failures.append(error)
            links[name].abandon()
            hub.abandon(name)

    threads = [threading.Thread(target=take_part, args=(name,), daemon=True) for name in everyone]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    return results


def with_learner(agreement: Agreement, **changes: object) -> Agreement:
    return replace(agreement, learner=replace(agreement.learner, **changes))  # type: ignore[arg-type]
