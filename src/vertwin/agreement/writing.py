"""An agreement as the text of agreement.toml: readable, every default written out, parse(dumps(a)) == a."""

from __future__ import annotations

import re
from typing import Any, Final, cast

from vertwin.agreement.canonical import Document
from vertwin.agreement.terms import Agreement

_ESCAPES: Final[dict[str, str]] = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}
_LINE: Final = 118  # a longer list goes over several lines


def dumps(agreement: Agreement) -> str:
    """The agreement as TOML. Comments and order of the file it was read from are gone; the terms are the same."""
    return write_document(agreement.canonical())


def write_document(document: Document) -> str:
    """A document as TOML: plain keys first, then a table for each key that holds one."""
    lines = [f"{_key(key)} = {_value(value)}" for key, value in document.items() if not _is_table(value)]
    for key, value in document.items():
        if isinstance(value, dict):
            lines += _table(f"[{_key(key)}]", _key(key), cast(Document, value))
        elif _is_table(value):
            for entry in cast("list[Document]", value):
                lines += ["", f"[[{_key(key)}]]", *[f"{_key(name)} = {_value(item)}" for name, item in entry.items()]]
    return "\n".join(lines) + "\n"


def _table(header: str, name: str, table: Document) -> list[str]:
    """One table; `epsilon` becomes a table of its own below it, other tables inside stand on one line."""
    lines = ["", header]
    lines += [
        f"{_key(key)} = {_value(value)}"
        for key, value in table.items()
        if key != "epsilon" or not isinstance(value, dict)
    ]
    if isinstance(table.get("epsilon"), dict):
        lines += _table(f"[{name}.epsilon]", f"{name}.epsilon", table["epsilon"])
    return lines


def _is_table(value: Any) -> bool:
    """A table, or a list of nothing but tables."""
    if isinstance(value, list) and value:
        return all(isinstance(item, dict) for item in cast("list[Any]", value))
    return isinstance(value, dict)


def _key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else quoted(key)


def quoted(text: str) -> str:
    """A basic string: what TOML cannot hold as it is becomes an escape."""
    written = "".join(
        _ESCAPES.get(character) or (character if character.isprintable() else f"\\U{ord(character):08X}")
        for character in text
    )
    return f'"{written}"'


def _value(value: Any) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case float():
            return repr(value)
        case str():
            return quoted(value)
        case dict():
            items = [f"{_key(key)} = {_value(item)}" for key, item in cast(Document, value).items()]
            return "{ " + ", ".join(items) + " }" if items else "{}"
        case list():
            return _list([_value(item) for item in cast("list[Any]", value)])
        case _:
            raise AssertionError(f"no TOML for {type(value).__name__}")


def _list(items: list[str]) -> str:
    """On one line where it fits, else filled lines."""
    flat = "[" + ", ".join(items) + "]"
    if len(flat) <= _LINE:
        return flat
    lines = ["   "]
    for item in items:
        if len(lines[-1]) + len(item) + 2 > _LINE and lines[-1].strip():
            lines.append("   ")
        lines[-1] += f" {item},"
    return "[\n" + "\n".join(lines) + "\n]"
