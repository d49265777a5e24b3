"""From a file, a text or a canonical document to an Agreement, or to every fault of it at once."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Final, cast

from vertwin.agreement.canonical import Document
from vertwin.agreement.columns import read_columns
from vertwin.agreement.consistency import (
    Draft,
    check_columns,
    check_keys,
    check_learner,
    check_parties,
    check_privacy,
    check_size,
)
from vertwin.agreement.pieces import (
    learner_kind,
    read_approvals,
    read_engine,
    read_learner,
    read_linkage,
    read_parties,
    read_privacy,
    read_top,
)
from vertwin.agreement.terms import FORMAT, Agreement
from vertwin.agreement.unbuilt import unbuilt_faults
from vertwin.errors import Fault, Faults, UserError, user_error

_LARGEST_FILE: Final = 50_000_000  # bytes; an agreement of 2,000 columns with long code books stays far below


def load(path: str | Path) -> Agreement:
    """The agreement in the file at `path`; a UserError lists every fault of it."""
    path = Path(path)
    hint = "give the path of the agreement file; `vertwin init` writes one"
    try:
        if path.stat().st_size > _LARGEST_FILE:
            raise user_error("E100", f"{path} is too large to be an agreement", hint)
        content = path.read_bytes()
    except (OSError, ValueError) as error:  # ValueError: a path that no system knows, with a null in it
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise user_error("E100", f"cannot read {path}: {why}", hint) from error
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise user_error(
            "E101", "the file is not UTF-8 text", "save it as UTF-8", f"{path.name} line {line}"
        ) from error
    return parse(text, where=path.name)


def parse(text: str, where: str = "agreement.toml", *, allow_unbuilt: bool = False) -> Agreement:
    """The agreement written in `text`; `where` names the text in faults of syntax.

    `allow_unbuilt` lets options pass that are not built yet (unbuilt.py): for whoever builds or describes them.
    """
    try:
        document = tomllib.loads(text.removeprefix("\ufeff"))
    except (tomllib.TOMLDecodeError, RecursionError, ValueError) as error:
        raise UserError(_syntax_fault(str(error), text, where)) from error
    return from_canonical(document, allow_unbuilt=allow_unbuilt)


def from_canonical(document: Document, *, allow_unbuilt: bool = False) -> Agreement:
    """The agreement of a document in the shape of the file, as Agreement.canonical() makes it and releases carry it."""
    faults = Faults()
    _check_format(document, faults)
    top = read_top(document, faults)
    parties = read_parties(document.get("parties"), faults)
    linkage = read_linkage(document.get("linkage"), faults)
    learner = read_learner(document.get("learner"), parties, faults)
    read = read_columns(document.get("columns"), learner_kind(document.get("learner")), faults)
    privacy = read_privacy(document.get("privacy"), faults)
    engine = read_engine(document.get("engine"), faults)
    approvals = read_approvals(document.get("approvals"), faults)
    written = document.get("privacy")
    draft = Draft(
        parties=parties,
        columns=read.columns,
        places=read.places,
        names=read.names,
        owners=read.owners,
        learner=learner,
        learner_kind=learner_kind(document.get("learner")),
        privacy=cast(Document, written) if isinstance(written, dict) else {},
        engine=engine,
    )
    check_parties(draft, faults)
    check_columns(draft, faults)
    check_keys(draft, linkage.keys if linkage is not None else (), faults)
    check_learner(draft, faults)
    check_privacy(draft, faults)
    check_size(draft, faults)
    names = [party.name for party in draft.known_parties]
    for party, _ in approvals:
        if party not in names and draft.parties_complete:
            hint = f"the parties are {', '.join(names)}"
            faults.add("E181", f'"{party}" is not one of the parties', hint, f"approvals.{party}")
    if not allow_unbuilt:
        faults.extend(unbuilt_faults(document))
    faults.raise_if_any()
    # Whatever is None or left out above has added its fault.
    columns = tuple(column for column in read.columns if column is not None)
    assert len(columns) == len(read.columns)
    assert draft.parties_complete
    assert top is not None
    assert linkage is not None
    assert learner is not None
    assert privacy is not None
    assert engine is not None
    return Agreement(
        format=FORMAT,
        name=top.name,
        purpose=top.purpose,
        data_set=top.data_set,
        parties=tuple(draft.known_parties),
        linkage=linkage,
        columns=columns,
        learner=learner,
        privacy=privacy,
        engine=engine,
        controller=top.controller,
        legal_basis=top.legal_basis,
        recipients=tuple(top.recipients),
        retention=top.retention,
        approvals=approvals,
    )


def _check_format(document: Document, faults: Faults) -> None:
    """A file of another version has other rules: nothing else of it can be judged."""
    written = document.get("format")
    hint = f"write format = {FORMAT} as the first line"
    if written is None:
        faults.add("E103", "the version of the format is missing", hint, "format")
    elif isinstance(written, bool) or written != FORMAT:
        hint = f"this version of vertwin reads format = {FORMAT}; a newer file needs a newer vertwin"
        raise user_error("E103", "the version of the format is not known", hint, "format")


def _syntax_fault(message: str, text: str, where: str) -> Fault:
    found = re.search(r" \(at (?:line (\d+), column \d+|end of document)\)$", message)
    if found is None:
        return Fault("E102", "this is not TOML", "see toml.io for how it is written", where)
    line = found[1] or str(text.count("\n") + 1)
    sentence = message[: found.start()]
    hint = "texts stand in quotes, lists in [...], and numbers have a point and no comma"
    if any(word in sentence for word in ("overwrite", "twice", "declare", "mutate")):
        hint = "a key can be given once only, and a table can be opened once only"
    return Fault("E102", f"this is not TOML: {sentence[:1].lower()}{sentence[1:]}", hint, f"{where} line {line}")
