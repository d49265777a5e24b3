"""From a table of the file to its model, or to faults: code, place, sentence and hint for whatever does not fit.

What depends on a faulty field is not checked, so that one slip is not reported twice.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar, cast

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from vertwin.agreement.canonical import Document
from vertwin.agreement.schema import Table
from vertwin.errors import Faults

HOLE: Final = "?"  # in a scaffold: to be filled in by the owner
_UNFILLED: Final = "this is not filled in yet"

AnyTable = TypeVar("AnyTable", bound=Table)

_RANGE = (
    "greater_than",
    "greater_than_equal",
    "less_than",
    "less_than_equal",
    "finite_number",
    "too_long",
    "too_short",
)
_CODES: Final[dict[str, str]] = {
    "missing": "E105",
    "extra_forbidden": "E104",
    "literal_error": "E107",
    "name": "E109",
    "label": "E110",
    "text": "E110",
    "key": "E121",
} | dict.fromkeys(_RANGE, "E108")
# A field whose fault has a code of its own: (general code, field) -> code.
_OWN_CODES: Final[dict[tuple[str, str], str]] = {
    ("E105", "source"): "E134",
    ("E105", "bins"): "E135",
    ("E105", "bounds"): "E138",
    ("E105", "categories"): "E138",
    ("E105", "levels"): "E138",
    ("E105", "values"): "E138",
    ("E105", "components"): "E152",
    ("E105", "steps"): "E152",
    ("E108", "epsilon"): "E173",
    ("E108", "delta"): "E175",
    ("E108", "sigma"): "E176",
}
_TYPE_NAMES: Final[dict[str, str]] = {
    "bool": "a boolean",
    "int": "a whole number",
    "float": "a number",
    "str": "a text",
    "list": "a list",
    "dict": "a table",
    "string_type": "a text (in quotes)",
    "int_type": "a whole number",
    "float_type": "a number",
    "list_type": "a list [...]",
    "dict_type": "a table",
    "model_type": "a table",
}


@dataclass(frozen=True)
class Elsewhere:
    """Keys that are known, but not in this table: they get a sentence of their own, not the advice of a slip."""

    keys: frozenset[str]
    code: str
    sentence: str  # what follows the key in quotes
    hint: str = ""  # empty: the keys that are known here


@dataclass(frozen=True)
class Shaped(Generic[AnyTable]):
    """A table of the file, read: `table` is None if anything is faulty; `sound` are the fields that are not.

    Checks that need a few fields only look at `sound`, so that a fault elsewhere in the table does not hide theirs.
    """

    table: AnyTable | None
    sound: dict[str, Any]
    faulty: frozenset[str]


def shaped(
    model: type[AnyTable], raw: object, place: str, faults: Faults, elsewhere: Elsewhere | None = None
) -> Shaped[AnyTable]:
    """The table `raw` as `model`; what does not fit is added to `faults`."""
    if not isinstance(raw, dict):
        faults.add(
            "E106", f"this is {_type_name(raw)} and has to be a table", "a table stands under [name] or in {...}", place
        )
        return Shaped(None, {}, frozenset(model.model_fields))
    table = cast(Document, raw)
    holes = [key for key in table if table[key] == HOLE and key in model.model_fields]
    for key in holes:
        faults.add("E111", _UNFILLED, _hint(model, key), joined(place, key))
    try:
        read = model.model_validate({key: value for key, value in table.items() if key not in holes})
        if not holes:
            return Shaped(read, vars(read), frozenset())
        bad = frozenset(holes)
    except ValidationError as error:
        details = [each for each in error.errors(include_url=False) if not (each["loc"] and each["loc"][0] in holes)]
        for detail in details:
            _add(model, detail, place, faults, elsewhere)
        bad = frozenset(holes) | {str(each["loc"][0]) for each in details if each["loc"]}
    partial = model.model_construct()  # holds the defaults; each sound field is read again, by itself
    for key in table.keys() & model.model_fields.keys() - bad:
        model.__pydantic_validator__.validate_assignment(partial, key, table[key])
    sound = {key: value for key, value in vars(partial).items() if key not in bad}
    return Shaped(None, sound, bad)


def choice(
    models: Mapping[str, type[AnyTable]], raw: object, key: str, place: str, faults: Faults, *, code: str
) -> type[AnyTable] | None:
    """The model that the key (`type`, `kind`) of a table chooses among several; None, with a fault, if it does not."""
    options = ", ".join(f'"{name}"' for name in models)
    where = joined(place, key)
    if not isinstance(raw, dict):
        faults.add(
            "E106", f"this is {_type_name(raw)} and has to be a table", "a table stands under [name] or in {...}", place
        )
        return None
    chosen = cast(Document, raw).get(key)
    if chosen is None:
        faults.add("E105", f'"{key}" is missing', f"one of {options}", where)
    elif chosen == HOLE:
        faults.add("E111", _UNFILLED, f"one of {options}", where)
    elif not isinstance(chosen, str):
        faults.add("E106", f"this is {_type_name(chosen)} and has to be a text (in quotes)", f"one of {options}", where)
    elif chosen not in models:
        near = difflib.get_close_matches(chosen, models, n=1, cutoff=0.6)
        hint = f'did you mean "{near[0]}"?' if near else "write one of these, in quotes"
        faults.add(code, f"{_shown(chosen)} is not one of {options}", hint, where)
    else:
        return models[chosen]
    return None


def _add(model: type[Table], detail: ErrorDetails, place: str, faults: Faults, elsewhere: Elsewhere | None) -> None:
    """One fault of pydantic's as one of ours."""
    # Pydantic marks the key of a dict's faulty key with "[key]"; it is no part of the place.
    path = [part for part in detail["loc"] if part != "[key]"]
    fields = [part for part in path if isinstance(part, str)]
    where = place
    for part in path:
        where = f"{where}[{part + 1}]" if isinstance(part, int) else joined(where, part)
    hint = _hint(model, fields[0]) if fields else ""
    code = _CODES.get(detail["type"], "E106")
    if detail["input"] == HOLE and detail["type"] != "missing":
        faults.add("E111", _UNFILLED, hint, where)
    elif code == "E104":
        key, owner = fields[-1], _model_at(model, fields[:-1])
        near = difflib.get_close_matches(key, owner.model_fields, n=1, cutoff=0.6)
        if elsewhere is not None and key in elsewhere.keys:
            faults.add(elsewhere.code, f'"{key}" {elsewhere.sentence}', elsewhere.hint or _known(owner), where)
        else:
            hint = f'did you mean "{near[0]}"?' if near else _known(owner)
            faults.add(code, f'the key "{key}" is not known here', hint, where)
    else:
        code = _OWN_CODES.get((code, fields[0]), code) if fields else code
        faults.add(code, _sentence(detail), hint, where)


def _sentence(detail: ErrorDetails) -> str:
    kind, value = detail["type"], detail["input"]
    context = detail.get("ctx", {})
    if kind == "missing":
        return f'"{detail["loc"][-1]}" is missing'
    if kind == "literal_error":
        return f"{_shown(value)} is not one of {str(context['expected']).replace(chr(39), chr(34))}"
    if kind in _TYPE_NAMES:
        return f"this is {_type_name(value)} and has to be {_TYPE_NAMES[kind]}"
    if kind == "too_long":
        return f"the list has {context['actual_length']} entries, at most {context['max_length']} are possible"
    if kind == "too_short":
        return f"the list has {context['actual_length']} entries, at least {context['min_length']} are needed"
    if isinstance(value, float) and not math.isfinite(value):
        return f"{value} is not a finite number"
    if kind in _RANGE:
        rule = detail["msg"].removeprefix("Input should be ")
        return f"{_shown(value)} is out of range: it has to be {rule}"
    return detail["msg"]


def _hint(model: type[Table], field: str) -> str:
    info = model.model_fields.get(field)
    return (info.description or "") if info is not None else ""


def _model_at(model: type[Table], path: list[str]) -> type[Table]:
    """The model of a nested table; only a table written as a field of another (dpvi's bound) is nested here."""
    for part in path:
        info = model.model_fields.get(part)
        if info is not None and isinstance(info.annotation, type) and issubclass(info.annotation, Table):
            model = info.annotation
    return model


def _known(model: type[Table]) -> str:
    return "the keys known here: " + ", ".join(model.model_fields)


def joined(place: str, key: str) -> str:
    """`learner` and `batch` make `learner.batch`; `columns[2] "age"` and `bounds` make `columns[2] "age" bounds`."""
    if not place:
        return key
    return f"{place} {key}" if place.endswith(('"', "]")) else f"{place}.{key}"


def _type_name(value: object) -> str:
    return _TYPE_NAMES.get(type(value).__name__, "a date or time")


def _shown(value: object) -> str:
    text = f'"{value}"' if isinstance(value, str) else repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
