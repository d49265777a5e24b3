"""Content <-> the members of the file. `release.json` is the list of everything else, with its digest.

Because release.json names every other member with its SHA-256, the digest of that one member is the digest of the
release: what the parties sign. It is JSON in one canonical form, so that no two spellings of one content exist.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, Final, Literal, cast

import numpy as np
from pydantic import BaseModel, ConfigDict, ValidationError

from vertwin.agreement import Agreement
from vertwin.agreement.canonical import canonical_bytes
from vertwin.agreement.reading import from_canonical
from vertwin.errors import UserError, user_error
from vertwin.release import arrays
from vertwin.release.arrays import DType
from vertwin.release.content import (
    Content,
    Form,
    NoiseShare,
    NoisyTable,
    Promise,
    Revealed,
    Statement,
    Twin,
    TwinColumn,
)

FORMAT: Final = 1
KIND: Final = "vertwin release"
MANIFEST: Final = "release.json"
AGREEMENT: Final = "agreement.json"
TABLES: Final = "tables.npy"
TWIN: Final = "twin.npy"
_SEPARATION: Final = b"vertwin release, format 1\n"  # no other kind of document can have the same digest
_LONGEST_TEXT: Final = 16 << 20  # of release.json and agreement.toml: far above any real one, harmless to parse
_RATIONAL: Final = re.compile(r"[1-9][0-9]{0,49}(/[1-9][0-9]{0,49})?")


class _Strict(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, allow_inf_nan=False)


class _Share(_Strict):
    holder: str
    variance: str  # a whole number or a fraction, exact


class _Table(_Strict):
    columns: tuple[str, ...]
    owners: tuple[str, ...]
    noise: tuple[_Share, ...]


class _Promise(_Strict):
    viewer: str
    coalition: tuple[str, ...]
    epsilon: float | None
    delta: float
    adjacency: str
    assumptions: tuple[str, ...]


class _Statement(_Strict):
    text: str
    viewers: tuple[_Promise, ...]


class _TwinColumn(_Strict):
    column: str
    form: Literal["categorical", "beta"]


class _Twin(_Strict):
    components: int
    columns: tuple[_TwinColumn, ...]


class _Revealed(_Strict):
    name: str
    dtype: Literal["<i8", "<f8"]
    shape: tuple[int, ...]


class _Manifest(_Strict):
    kind: Literal["vertwin release"]
    format: int
    product_version: str
    learner: str
    watermark: str | None
    agreement_digest: str
    rows_estimate: float | None
    statement: _Statement
    tables: tuple[_Table, ...]
    twin: _Twin
    revealed: tuple[_Revealed, ...]
    notes: tuple[str, ...]
    members: dict[str, str]  # name -> SHA-256, of every member but this one


def to_members(content: Content) -> dict[str, bytes]:
    """The members that hold this content."""
    flat = [table.counts.ravel() for table in content.tables]
    twin = content.twin
    members = {
        AGREEMENT: canonical_bytes(content.agreement.canonical()),
        TABLES: arrays.to_bytes(np.concatenate(flat) if flat else np.zeros(0, np.int64), "<i8"),
        TWIN: arrays.to_bytes(np.column_stack([twin.weights, *(column.values for column in twin.columns)]), "<f8"),
    }
    for array in content.revealed:
        members[_revealed_member(array.name)] = arrays.to_bytes(array.values, array.dtype)
    manifest = _Manifest(
        kind=KIND,
        format=FORMAT,
        product_version=content.product_version,
        learner=content.learner,
        watermark=content.watermark,
        agreement_digest=content.agreement.digest,
        rows_estimate=None if content.rows_estimate is None else float(content.rows_estimate),
        statement=_Statement(
            text=content.statement.text,
            viewers=tuple(_Promise(**vars(promise)) for promise in content.statement.promises),
        ),
        tables=tuple(
            _Table(
                columns=table.columns,
                owners=table.owners,
                noise=tuple(_Share(holder=share.holder, variance=str(share.variance)) for share in table.noise),
            )
            for table in content.tables
        ),
        twin=_Twin(
            components=twin.weights.size,
            columns=tuple(_TwinColumn(column=column.column, form=column.form) for column in twin.columns),
        ),
        revealed=tuple(
            _Revealed(name=array.name, dtype=array.dtype, shape=array.values.shape) for array in content.revealed
        ),
        notes=content.notes,
        members={name: hashlib.sha256(data).hexdigest() for name, data in members.items()},
    )
    return {**members, MANIFEST: _canonical(manifest.model_dump(mode="json"))}


def digest_of(members: Mapping[str, bytes | memoryview]) -> str:
    """The digest of a release, in hex."""
    state = hashlib.sha256(_SEPARATION)
    state.update(members[MANIFEST])
    return state.hexdigest()


def from_members(members: Mapping[str, memoryview], place: str) -> Content:
    """The content of these members, all but the signatures; what is no release at all is refused.

    Whether the content is sound, and signed, `Release` checks: every contradiction at once.
    """
    manifest = _read_manifest(members, place)
    for name, digest in manifest.members.items():
        if name not in members or hashlib.sha256(members[name]).hexdigest() != digest:
            raise _contradiction(f"{name} is not the one that {MANIFEST} names", place)
    revealed = {_revealed_member(array.name): array for array in manifest.revealed}
    wanted = {AGREEMENT, TABLES, TWIN, *revealed}
    if set(manifest.members) != wanted or set(members) != wanted | {MANIFEST}:
        raise _contradiction("it has members too many or too few for its format", place)
    agreement = _read_agreement(bytes(members[AGREEMENT]), manifest.agreement_digest, place)
    return Content(
        agreement=agreement,
        learner=manifest.learner,
        twin=_read_twin(manifest, agreement, members[TWIN], place),
        watermark=manifest.watermark,
        statement=Statement(
            manifest.statement.text,
            tuple(Promise(**dict(viewer)) for viewer in manifest.statement.viewers),
        ),
        tables=_read_tables(manifest, agreement, members[TABLES], place),
        revealed=tuple(
            Revealed(array.name, _read_array(members[name], array.dtype, array.shape, name, place))
            for name, array in revealed.items()
        ),
        rows_estimate=manifest.rows_estimate,
        notes=manifest.notes,
        product_version=manifest.product_version,
    )


def _read_manifest(members: Mapping[str, memoryview], place: str) -> _Manifest:
    raw = bytes(members.get(MANIFEST, b""))
    if not raw:
        raise user_error("E501", "this is a ZIP file, but not a vertwin release", place=place)
    if len(raw) > _LONGEST_TEXT:
        raise _contradiction(f"its {MANIFEST} is longer than the format allows", place)
    try:
        document: Any = json.loads(raw)
    except (ValueError, RecursionError):
        raise _contradiction(f"its {MANIFEST} is not JSON", place) from None
    table = cast(dict[str, Any], document) if isinstance(document, dict) else {}
    kind, version = table.get("kind"), table.get("format")
    if kind != KIND:
        raise user_error("E501", "this is a ZIP file, but not a vertwin release", place=place)
    if type(version) is not int or version != FORMAT:
        sentence = f"this release has format {str(version)[:20]}; this vertwin reads format {FORMAT}"
        raise user_error("E503", sentence, "a newer vertwin may read it: upgrade", place)
    try:
        manifest = _Manifest.model_validate_json(raw)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"])[:100]
        raise _contradiction(f"{MANIFEST}, {where}: {first['msg']}", place) from None
    if _canonical(manifest.model_dump(mode="json")) != raw:
        raise _contradiction(f"its {MANIFEST} is not in canonical form", place)
    return manifest


def _read_agreement(raw: bytes, digest: str, place: str) -> Agreement:
    if len(raw) > _LONGEST_TEXT:
        raise _contradiction(f"its {AGREEMENT} is longer than the format allows", place)
    try:
        document: Any = json.loads(raw)
        if not isinstance(document, dict):
            raise _contradiction("its agreement is not a table", place)
        agreement = from_canonical(cast(dict[str, Any], document))
    except UserError as error:
        raise _contradiction(f"its agreement is not sound: {error.faults[0].sentence}", place) from None
    except (ValueError, RecursionError):
        raise _contradiction("its agreement is not JSON", place) from None
    if agreement.digest != digest or canonical_bytes(agreement.canonical()) != raw:
        raise _contradiction(f"its agreement is not the one that {MANIFEST} names", place)
    return agreement


def _read_twin(manifest: _Manifest, agreement: Agreement, data: memoryview, place: str) -> Twin:
    domains = {column.name: column.domain for column in agreement.columns}
    forms: dict[str, Form] = {column.column: column.form for column in manifest.twin.columns}
    if list(forms) != list(domains) or len(forms) != len(manifest.twin.columns):
        raise _contradiction("the twin's columns are not the agreement's, in its order", place)
    widths = {name: 2 if form == "beta" else domains[name].size for name, form in forms.items()}
    block = _read_array(data, "<f8", (manifest.twin.components, 1 + sum(widths.values())), TWIN, place)
    columns: list[TwinColumn] = []
    start = 1
    for name, width in widths.items():
        columns.append(TwinColumn(name, forms[name], np.ascontiguousarray(block[:, start : start + width])))
        start += width
    return Twin(np.ascontiguousarray(block[:, 0]), tuple(columns))


def _read_tables(manifest: _Manifest, agreement: Agreement, data: memoryview, place: str) -> tuple[NoisyTable, ...]:
    domains = {column.name: column.domain for column in agreement.columns}
    shapes: list[tuple[int, ...]] = []
    for table in manifest.tables:
        if not 1 <= len(table.columns) <= 3 or not set(table.columns) <= set(domains):
            raise _contradiction("a table is not over one to three columns of the agreement", place)
        shapes.append(tuple(domains[name].size for name in table.columns))
    sizes = [int(np.prod(shape, dtype=object)) for shape in shapes]
    flat = _read_array(data, "<i8", (sum(sizes),), TABLES, place)
    tables: list[NoisyTable] = []
    start = 0
    for table, shape, size in zip(manifest.tables, shapes, sizes, strict=True):
        noise = tuple(NoiseShare(share.holder, _rational(share.variance, place)) for share in table.noise)
        tables.append(NoisyTable(table.columns, table.owners, noise, flat[start : start + size].reshape(shape)))
        start += size
    return tuple(tables)


def _read_array(data: memoryview, dtype: DType, shape: tuple[int, ...], name: str, place: str) -> arrays.Array:
    if len(shape) > 4 or any(not 0 <= length < 1 << 40 for length in shape):
        raise _contradiction(f"{name} has a shape that no array has", place)
    return arrays.from_bytes(data, dtype, shape, f"{place}: {name}")


def _rational(text: str, place: str) -> Fraction:
    if _RATIONAL.fullmatch(text) and str(value := Fraction(text)) == text:
        return value
    raise _contradiction("a variance is not a positive whole number or fraction in lowest terms", place)


def _revealed_member(name: str) -> str:
    return f"revealed/{name}.npy"


def _canonical(document: object) -> bytes:
    return (json.dumps(document, sort_keys=True, indent=1, allow_nan=False) + "\n").encode("ascii")


def _contradiction(sentence: str, place: str) -> UserError:
    return user_error("E504", sentence, "the file was altered, or written by something else than vertwin", place)
