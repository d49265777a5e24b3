"""From one table of the file to one term: parties, linkage, learner, privacy, engine, approvals.

Each function gives None (or leaves an entry out) for a table that has faults of its own; defaults that depend on
other options are filled in here, so that a term never means two things.
"""

from __future__ import annotations

from typing import Any, Final, cast

from pydantic import TypeAdapter, ValidationError

from vertwin.agreement import limits
from vertwin.agreement.canonical import Document, canonical_bytes
from vertwin.agreement.schema import (
    LEARNER_TABLES,
    BoundTable,
    DpviTable,
    EngineTable,
    LinkageTable,
    MeasureOnceTable,
    PartyTable,
    PrivacyTable,
    Text,
    TopTable,
)
from vertwin.agreement.shape import HOLE, Elsewhere, choice, shaped
from vertwin.agreement.terms import Bound, Dpvi, EngineChoice, Linkage, MeasureOnce, Party, Privacy, Targets
from vertwin.errors import Faults

FULL_BATCH_STEP_SIZE: Final = 0.2  # Adam's, where every step sees all rows; found best for some 100 steps
MINIBATCH_STEP_SIZE: Final = 0.01  # Adam's, for the many noisy steps of small batches
MISPLACED: Final = Elsewhere(
    frozenset(TopTable.model_fields),
    "E104",
    "does not belong here",
    "in TOML a key belongs to the last [table] above it: write this one above the first table",
)


def read_top(document: Document, faults: Faults) -> TopTable | None:
    return shaped(TopTable, document, "", faults).table


def read_parties(raw: object, faults: Faults) -> list[Party | None]:
    """One entry for every table [[parties]]; None where its name or role is not known.

    With other faults a party still counts: its columns belong to it.
    """
    parties: list[Party | None] = []
    for place, table in entries(raw, "parties", faults):
        sound = shaped(PartyTable, table, place, faults, MISPLACED).sound
        known = "name" in sound and "role" in sound
        parties.append(
            Party(sound["name"], sound.get("key"), sound.get("rows_at_most"), sound["role"]) if known else None
        )
    return parties


def entries(raw: object, name: str, faults: Faults) -> list[tuple[str, object]]:
    """The tables of an array of tables, each with its place: `columns[2] "age"`, counted from one."""
    if raw is None or raw == []:
        faults.add("E105", f"there is no table [[{name}]]", f"write one [[{name}]] for each", name)
        return []
    if not isinstance(raw, list):
        faults.add("E106", f"this has to be a list of tables, [[{name}]]", f"write [[{name}]] with two brackets", name)
        return []
    placed: list[tuple[str, object]] = []
    for index, table in enumerate(cast("list[object]", raw), start=1):
        title = text_of(table, "name")
        named = title is not None and title.isprintable() and 0 < len(title) <= limits.COLUMN_NAME_CHARACTERS
        placed.append((f"{name}[{index}]" + (f' "{title}"' if named else ""), table))
    return placed


def text_of(table: object, key: str) -> str | None:
    """The text under a key of a table that may be faulty; None where there is none, or a hole."""
    value = cast(Document, table).get(key) if isinstance(table, dict) else None
    return value if isinstance(value, str) and value != HOLE else None


def read_linkage(raw: object, faults: Faults) -> Linkage | None:
    hint = 'write [linkage] with kind = "aligned", or keys = ["person_id"]'
    if raw is None:
        faults.add("E105", "there is no table [linkage]", hint, "linkage")
        return None
    read = shaped(LinkageTable, raw, "linkage", faults, MISPLACED).table
    if read is None:
        return None
    told = ("exact" if read.keys is not None else None, "fuzzy" if read.fuzzy is not None else None)
    kinds = {kind for kind in (*told, read.kind) if kind is not None}
    if len(kinds) != 1 or (read.kind == "exact" and read.keys is None):
        sentence = "it is not said how rows are linked" if len(kinds) < 2 else "two ways to link are given"
        faults.add("E125", sentence, hint, "linkage")
        return None
    keys = tuple(read.keys or ())
    if len(set(keys)) < len(keys):
        faults.add("E126", "a key is named twice", "name each key column once", "linkage.keys")
        return None
    fuzzy = None
    if read.fuzzy is not None:
        try:
            fuzzy = canonical_bytes(read.fuzzy).decode("ascii")
        except (TypeError, ValueError, RecursionError):
            hint = "write dates and infinities as texts"
            faults.add("E106", "only texts, numbers, booleans, lists and tables are possible", hint, "linkage.fuzzy")
            return None
    match kinds.pop():
        case "exact":
            return Linkage("exact", keys, read.rows_per_person)
        case "fuzzy":
            return Linkage("fuzzy", (), read.rows_per_person, fuzzy if fuzzy is not None else "{}")
        case _:
            return Linkage("aligned", (), read.rows_per_person)


def learner_kind(raw: object) -> str | None:
    """The kind of the learner, where it is a known one: columns need to know it."""
    kind = text_of(raw, "kind")
    return kind if kind in LEARNER_TABLES else None


def read_learner(raw: object, parties: list[Party | None], faults: Faults) -> MeasureOnce | Dpvi | None:
    """The learner with what depends on other options filled in; its options are checked against each other."""
    if raw is None:
        faults.add("E105", "there is no table [learner]", 'write [learner] with kind = "measure_once"', "learner")
        return None
    model = choice(LEARNER_TABLES, raw, "kind", "learner", faults, code="E107")
    if model is None:
        return None
    known = frozenset(key for table in LEARNER_TABLES.values() for key in table.model_fields)
    others = Elsewhere(known, "E150", f'does not belong to the learner "{learner_kind(raw)}"')
    read = shaped(model, raw, "learner", faults, others)
    if model is DpviTable and isinstance(raw, dict):
        _check_combination(read.sound, frozenset(cast(Document, raw)), faults)
    match read.table:
        case MeasureOnceTable() as table:
            stages = 2 if table.stages == 2 else 1
            return MeasureOnce(table.components, table.variances, table.restarts, stages, table.noise)
        case DpviTable() as table:
            return _dpvi(table, parties)
        case _:
            return None


def _check_combination(sound: dict[str, Any], written: frozenset[str], faults: Faults) -> None:
    """Options of dpvi that do not go together; a rule looks only where the options it needs are sound."""

    def needs(condition: bool, option: str, sentence: str, hint: str, code: str = "E151") -> None:
        if not condition:
            faults.add(code, sentence, hint, f"learner.{option}")

    if "sampling" in sound:
        sampling = sound["sampling"]
        if sampling == "none":
            sentence = 'with sampling = "none" every step takes all rows'
            needs("batch" not in written, "batch", sentence, 'leave batch out, or use sampling = "epochs"')
        else:
            sentence = f'sampling = "{sampling}" needs a minibatch size'
            needs("batch" in written, "batch", sentence, "give batch, e.g. batch = 1000", "E157")
        if sampling != "poisson":
            sentence = 'only sampling = "poisson" has a choice of who draws the minibatch'
            needs("batch_from" not in written, "batch_from", sentence, "leave batch_from out")
    if "bound" not in sound:
        return
    bound: BoundTable = sound["bound"]
    if bound.kind == "statistics":
        sentence, hint = 'bound = {kind = "statistics"} clips nothing', "leave clipping_threshold out"
        needs(bound.clipping_threshold is None, "bound.clipping_threshold", sentence, hint)
        sentence, hint = 'with bound = {kind = "statistics"} no gradient is revealed', "leave gradient_space out"
        needs(sound.get("gradient_space") != "constrained", "gradient_space", sentence, hint)
    else:
        sentence, hint = 'update = "em" goes with bound = {kind = "statistics"} only', 'use update = "gradient"'
        needs(sound.get("update") != "em", "update", sentence, hint)
    if bound.kind != "smooth":
        needs(bound.gamma is None, "bound.gamma", 'gamma belongs to bound = {kind = "smooth"}', "leave gamma out")


def _dpvi(read: DpviTable, parties: list[Party | None]) -> Dpvi:
    helper = next((party.name for party in parties if party is not None and party.role == "helper"), None)
    first = next((party.name for party in parties if party is not None), "")
    step_size = FULL_BATCH_STEP_SIZE if read.sampling == "none" else MINIBATCH_STEP_SIZE
    return Dpvi(
        components=read.components,
        steps=read.steps,
        aggregator=read.aggregator or helper or first,
        step_size=read.step_size or step_size,
        posterior=read.posterior,
        sampling=read.sampling,
        batch=read.batch,
        batch_from=(read.batch_from or "parties") if read.sampling == "poisson" else None,
        bound=_bound(read.bound),
        gradient_space=read.gradient_space,
        update=read.update,
        decay=read.decay,
        noise=read.noise,
    )


def _bound(read: BoundTable) -> Bound:
    if read.kind == "statistics":
        return Bound("statistics", None, None)
    return Bound(read.kind, read.clipping_threshold or 1.0, read.gamma)


def read_privacy(raw: object, faults: Faults) -> Privacy | None:
    if raw is None:
        hint = "write [privacy] with delta, and [privacy.epsilon] with a target for the analyst"
        faults.add("E105", "there is no table [privacy]", hint, "privacy")
        return None
    read = shaped(PrivacyTable, raw, "privacy", faults, MISPLACED).table
    return None if read is None else Privacy(read.delta, read.adjacency, Targets(read.epsilon), read.sigma)


def read_engine(raw: object, faults: Faults) -> EngineChoice | None:
    if raw is None:
        return EngineChoice()
    read = shaped(EngineTable, raw, "engine", faults, MISPLACED).table
    return None if read is None else EngineChoice(read.protocol)


def read_approvals(raw: object, faults: Faults) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Roles by party, sorted by party: the order of a table's keys means nothing."""
    try:
        roles = TypeAdapter(dict[str, list[Text]]).validate_python(raw or {}, strict=True)
    except ValidationError:
        hint = 'e.g. clinic = ["data-protection-officer"]'
        faults.add("E106", "this has to be a table of lists of texts, one for each party", hint, "approvals")
        return ()
    return tuple(sorted((party, tuple(names)) for party, names in roles.items()))
