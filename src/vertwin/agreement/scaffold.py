"""The first text of an agreement, for `vertwin init`: made from column names and storage types, never from a value.

What a column may hold is left open, as "?", for its owner to fill in. Reading it off the table would disclose the
table: a list of categories tells that somebody has the rarest one, a range tells the age of the oldest person, and
all parties and every recipient of the release read the agreement. parse() of a scaffold reports each "?" that is left.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Literal

from vertwin.agreement.schema import usable_column_name
from vertwin.agreement.shape import HOLE
from vertwin.agreement.writing import quoted

_HEAD: Final = """\
# An agreement between organisations that hold different columns about the same people. All of them sign this one file.
# Fill in every "?"; `vertwin check` lists those that are left, and every other fault, at once.
#
# Why the domains are not filled in: vertwin looked at the names and storage types of your columns, not at one value.
# A domain read off a private table would disclose it: the list of categories tells that somebody has the rarest one,
# the bounds tell the age of the oldest person, and everybody who gets the release reads this file. So declare what
# *may* occur, from a code book, a law or a form, and say in `source` where that is written.
format = 1
"""
_COLUMN_COMMENTS: Final[dict[str, str]] = {
    "category": """\
type = "category"                # or "ordinal" with levels = [...] in rising order, "binary" with values = [...];
                                 # numbers kept as text: "count" or "real", with bounds = [...] and bins = {...}
categories = "?"                 # every value that may occur: ["a", "b", "c"]
""",
    "binary": """\
type = "binary"
values = ["no", "yes"]           # how false and true are written in the twin
""",
    "count": """\
type = "count"                   # or "category", "ordinal", "binary" where the number is only a code
bounds = "?"                     # the smallest and the largest number that may occur: [0, 120]
bins = "?"                       # {kind = "equal_width", count = 24} or {kind = "edges", edges = [0, 18, 65, 121]}
""",
    "real": """\
type = "real"
bounds = "?"                     # the smallest and the largest number that may occur: [0.0, 250.0]
bins = "?"                       # {kind = "equal_width", count = 24} or {kind = "edges", edges = [0.0, 50.0, 250.0]}
""",
}
_TYPE_OF_STORAGE: Final[tuple[tuple[str, str], ...]] = (  # beginning of the storage type's name, column type
    ("bool", "binary"),
    ("int", "count"),
    ("uint", "count"),
    ("double", "real"),
    ("float", "real"),
    ("halffloat", "real"),
    ("decimal", "real"),
    ("string", "category"),
    ("large_string", "category"),
    ("utf8", "category"),
    ("large_utf8", "category"),
    ("str", "category"),
    ("object", "category"),
    ("enum", "category"),
    ("categor", "category"),
    ("dictionary", "category"),
    ("null", "category"),
)
_LEARNERS: Final[dict[str, str]] = {
    "measure_once": """\
[learner]
kind = "measure_once"            # measures all pairs of columns in one release; "dpvi" is the iterative learner
""",
    "dpvi": """\
[learner]
kind = "dpvi"                    # the iterative learner; "measure_once" measures all pairs of columns in one release
components = 20
steps = 100
""",
}
_TAIL: Final = """
[privacy]
delta = 1e-6                     # below one over the number of people
adjacency = "replace_one"        # what is hidden: whether one person's values were these or any others

[privacy.epsilon]                # how much a viewer may learn: smaller is more private; all targets are met
analyst = 1.0                    # whoever gets the release; a target for a party can stand beside it
"""


def scaffold(
    tables: Mapping[str, Iterable[tuple[str, object]]],
    *,
    name: str = HOLE,
    keys: Sequence[str] = (),
    learner: Literal["measure_once", "dpvi"] = "measure_once",
) -> str:
    """TOML with a "?" wherever the owners have to decide.

    `tables` gives for each party the name and storage type (as Arrow, pandas or polars call it) of each column; `keys`
    are columns that name a person: they are used for linkage and never released. With one party alone a second is
    left open.
    """
    lines = [_HEAD + f"name = {quoted(name)}".ljust(32) + " # a short name of this agreement"]
    lines.append('purpose = "?"                    # what the release is for, in a sentence')
    lines.append('data_set = "?"                   # the name that every party\'s ledger counts under')
    lines.append('# controller = "..."')
    lines.append('# legal_basis = "..."')
    lines.append('# recipients = ["..."]')
    lines.append('# retention = "..."')
    for party in [*tables, *([HOLE] if len(tables) < 2 else [])]:
        remark = "                       # the other organisation" if party == HOLE else ""
        lines.append(f"\n[[parties]]\nname = {quoted(party)}{remark}")
        lines.append("# rows_at_most = 100000          # an upper bound that everybody may know")
        lines.append('# key = "SHA256:..."             # from `vertwin identity`; needed to run, not to check or plan')
    lines.append(_linkage(keys))
    taken: dict[str, str] = {}
    for party, columns in tables.items():
        lines.append(f"\n# --- columns of {quoted(party)}")
        for column, storage in columns:
            if column not in keys:
                lines.append(_column(party, column, str(storage), taken))
                taken.setdefault(column, party)
    lines += ["", _LEARNERS[learner] + _TAIL.rstrip("\n")]
    return "\n".join(lines) + "\n"


def _linkage(keys: Sequence[str]) -> str:
    written = "[" + ", ".join(quoted(key) for key in keys) + "]" if keys else quoted(HOLE)
    return f"""
[linkage]
# Columns in every table that name a person, e.g. ["person_id"]. Where row i of every table is the same person, write
# kind = "aligned" in place of keys.
keys = {written}
rows_per_person = 1              # the unit of privacy is a person"""


def _column(party: str, name: str, storage: str, taken: Mapping[str, str]) -> str:
    """The table of one column; as a comment where the column cannot stand in an agreement as it is."""
    obstacle = None
    kind = next((kind for start, kind in _TYPE_OF_STORAGE if storage.lower().startswith(start)), None)
    if not usable_column_name(name):
        obstacle = "has a name with control characters or outer spaces: rename it in the table"
    elif name in taken:
        obstacle = f"is named like a column of {quoted(taken[name])}: a key for linkage, or rename it in the table"
    elif kind is None:
        obstacle = f"is stored as {quoted(storage)}: turn it into text, whole numbers, numbers or booleans first"
    if obstacle is not None or kind is None:
        return f"\n# the column {quoted(name)} {obstacle}"
    return (
        f"\n[[columns]]\nname = {quoted(name)}\nparty = {quoted(party)}\n{_COLUMN_COMMENTS[kind]}"
        'missing = "refuse"               # or "category" (missing says something), "marginal" (it says nothing)\n'
        'source = "?"                     # where this domain is written down, e.g. "code book 2024, p. 12"'
    )
