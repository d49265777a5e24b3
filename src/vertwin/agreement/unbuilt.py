"""What the design names and the code does not have yet: it parses and is refused here, never ignored.

One table: whoever builds an option deletes its row. The rows look at the file's document, so that they can be asked
even when other parts of the file are faulty.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, cast

from vertwin.agreement.canonical import Document
from vertwin.agreement.terms import Agreement
from vertwin.errors import Fault, UserError


@dataclass(frozen=True)
class Unbuilt:
    """One option: how it is called, the code it is refused with, where it stands, what to write instead."""

    option: str
    code: str
    place: str
    hint: str
    present: Callable[[Document], bool]


def _at(document: Document, path: str) -> Any:
    """The value at `learner.bound.kind`; None where there is none."""
    value: Any = document
    for key in path.split("."):
        value = cast(Document, value).get(key) if isinstance(value, dict) else None
    return value


def _choice(path: str, value: str, code: str, instead: str) -> Unbuilt:
    """A value of an option, for the learner that has this option."""
    key = path.removeprefix("learner.")
    return Unbuilt(f'{key} = "{value}"', code, path, instead, lambda document: _at(document, path) == value)


_NO_POISSON: Final = 'use sampling = "none" or "epochs"'
_HARD: Final = 'use bound = {kind = "hard", clipping_threshold = 1.0}'
_ONE_ROW: Final = "make one row of each person first, and write rows_per_person = 1"
UNBUILT: Final[tuple[Unbuilt, ...]] = (
    _choice("learner.sampling", "poisson", "E600", _NO_POISSON),
    _choice("learner.sampling", "poisson_hidden", "E600", _NO_POISSON),
    _choice("learner.batch_from", "aggregator", "E600", _NO_POISSON),
    _choice("learner.posterior", "full", "E601", 'use posterior = "mean_field"'),
    _choice("learner.bound.kind", "smooth", "E602", _HARD),
    _choice("learner.bound.kind", "statistics", "E602", _HARD),
    _choice("learner.update", "em", "E602", 'use update = "gradient"'),
    _choice("learner.gradient_space", "constrained", "E603", 'use gradient_space = "unconstrained"'),
    _choice("learner.noise", "helper", "E604", 'use noise = "holders"'),
    Unbuilt(
        "fuzzy linkage",
        "E605",
        "linkage.fuzzy",
        'use keys = [...] or kind = "aligned"',
        lambda document: _at(document, "linkage.fuzzy") is not None or _at(document, "linkage.kind") == "fuzzy",
    ),
    Unbuilt(
        "more than one row per person",
        "E606",
        "linkage.rows_per_person",
        _ONE_ROW,
        lambda document: _at(document, "linkage.rows_per_person") not in (None, 1),
    ),
    Unbuilt(
        "approvals", "E607", "approvals", "leave [approvals] out", lambda document: bool(document.get("approvals"))
    ),
)
EQUAL_COUNT: Final = "equal_count"
EQUAL_COUNT_CODE: Final = "E608"  # bins of this kind have no domain object, so the columns' reader meets them


def unbuilt_faults(document: Document) -> list[Fault]:
    """A fault for every option of the document that is not built yet (bins: see equal_count_fault)."""
    return [
        Fault(row.code, f"{row.option} is not built yet", row.hint, row.place)
        for row in UNBUILT
        if row.present(document)
    ]


def equal_count_fault(place: str) -> Fault:
    """The fault of bins that would be cut privately so that each holds as many people."""
    hint = 'use kind = "equal_width" or kind = "edges"'
    return Fault(EQUAL_COUNT_CODE, f'bins of kind "{EQUAL_COUNT}" are not built yet', hint, place)


def refuse_unbuilt(agreement: Agreement) -> None:
    """Raises a UserError that lists every option of the agreement that is not built yet."""
    faults = unbuilt_faults(agreement.canonical())
    if faults:
        raise UserError(faults)
