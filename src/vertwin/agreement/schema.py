"""The shape of agreement.toml: which keys there are, of which type and size.

Each model is one table of the file. The description of a field is the hint that a fault at that field carries, and
what a hole in a scaffold asks for. Nothing here looks at two tables at once: that is consistency.py.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field
from pydantic_core import PydanticCustomError

from vertwin.agreement import limits


def _whole(value: Any) -> Any:
    """16.0 is the whole number 16: the two spellings must have one digest."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _sized(value: Any) -> Any:
    """A whole number far outside the floats would overflow; as a float beyond every limit it is refused as such."""
    return value if not isinstance(value, int) or abs(value) <= 10**300 else (1e300 if value > 0 else -1e300)


def _name(value: str) -> str:
    if re.fullmatch(r"[^\W\d_][\w.-]*", value) is None or len(value) > limits.NAME_CHARACTERS:
        raise PydanticCustomError(
            "name",
            "a name begins with a letter and goes on with letters, digits, '_', '-' or '.', at most {most} characters",
            {"most": limits.NAME_CHARACTERS},
        )
    return _normal(value)


def _column_name(value: str) -> str:
    if len(value) > limits.COLUMN_NAME_CHARACTERS:
        raise PydanticCustomError(
            "name", "the name is longer than {most} characters", {"most": limits.COLUMN_NAME_CHARACTERS}
        )
    if not value or value != value.strip() or not value.isprintable():
        raise PydanticCustomError("name", "a name has no control characters and no space at its ends, and is not empty")
    return _normal(value)


def usable_column_name(name: str) -> bool:
    """Whether a table's column can stand in an agreement under its own name."""
    try:
        return _column_name(name) == name and name != "?"
    except PydanticCustomError:
        return False


def _normal(value: str) -> str:
    if unicodedata.normalize("NFC", value) != value:
        raise PydanticCustomError("name", "the name is not in Unicode's composed form (NFC); two spellings look alike")
    return value


def _label(value: str) -> str:
    if not value or not value.isprintable() or len(value) > limits.COLUMN_NAME_CHARACTERS:
        raise PydanticCustomError("label", "a value is written with 1 to 200 printable characters")
    return value


def _text(value: str) -> str:
    if not value.strip() or len(value) > limits.TEXT_CHARACTERS:
        raise PydanticCustomError(
            "text", "the text is empty or longer than {most} characters", {"most": limits.TEXT_CHARACTERS}
        )
    if not all(character.isprintable() or character in "\n\t" for character in value):
        raise PydanticCustomError("text", "the text has control characters")
    return value


def _fingerprint(value: str) -> str:
    if re.fullmatch(r"SHA256:[A-Za-z0-9+/]{43}", value) is None:
        raise PydanticCustomError("key", "this is not the fingerprint of a key")
    return value


Number = Annotated[float, BeforeValidator(_sized), Field(ge=-limits.NUMBER, le=limits.NUMBER, allow_inf_nan=False)]
Size = Annotated[int, BeforeValidator(_whole), Field(ge=1)]
WholeBound = Annotated[int, BeforeValidator(_whole), Field(ge=-int(limits.NUMBER), le=int(limits.NUMBER))]
Positive = Annotated[float, BeforeValidator(_sized), Field(gt=0, le=limits.SIGMA, allow_inf_nan=False)]
Name = Annotated[str, AfterValidator(_name)]
ColumnName = Annotated[str, AfterValidator(_column_name)]
Label = Annotated[str, AfterValidator(_label)]
Text = Annotated[str, AfterValidator(_text)]
Labels = Annotated[list[Label], Field(min_length=1, max_length=limits.CODES)]
Missing = Literal["refuse", "category", "marginal"]


class Table(BaseModel):
    """A table of the file: no key beyond those named, no silent conversion."""

    model_config = ConfigDict(strict=True, extra="forbid")


class TopTable(Table):
    """The keys that stand before the first table; the tables themselves are read one by one."""

    format: Any = Field(None, description="format = 1")
    name: Name = Field(description="a short name of this agreement: it becomes the name of the release")
    purpose: Text = Field(description="what the release is for, in a sentence: the statement prints it")
    data_set: Name = Field(description="the owner-given name that the ledgers count under")
    controller: Text | None = Field(None, description="who is responsible for the data")
    legal_basis: Text | None = Field(None, description="what allows this use of the data")
    recipients: Annotated[list[Text], Field(max_length=1000)] = Field([], description="who will get the release")
    retention: Text | None = Field(None, description="how long the release is kept")
    parties: Any = None
    linkage: Any = None
    columns: Any = None
    learner: Any = None
    privacy: Any = None
    engine: Any = None
    approvals: Any = None


class PartyTable(Table):
    name: Name = Field(description="the party's name: letters, digits, '_', '-', '.'")
    key: Annotated[str, AfterValidator(_fingerprint)] | None = Field(
        None, description='"SHA256:" and 43 characters of base64, as `vertwin identity` prints it; it may be left out'
    )
    rows_at_most: Annotated[Size, Field(le=limits.ROWS)] | None = Field(
        None, description="an upper bound on the party's number of rows, which may be known to all"
    )
    role: Literal["holder", "helper"] = Field("holder", description='"holder" of columns, or "helper" without data')


class LinkageTable(Table):
    kind: Literal["aligned", "exact", "fuzzy"] | None = Field(
        None, description='kind = "aligned" (row i is the same person everywhere), or keys = [...], or fuzzy = {...}'
    )
    keys: Annotated[list[ColumnName], Field(min_length=1, max_length=100)] | None = Field(
        None, description='columns that every holder has and that name a person, e.g. keys = ["person_id"]'
    )
    fuzzy: dict[str, Any] | None = Field(None, description="options of fuzzy linkage (not built yet)")
    rows_per_person: Annotated[Size, Field(le=1_000_000)] = Field(1, description="rows of one person: 1")


class EqualWidthTable(Table):
    kind: Literal["equal_width"]
    count: Annotated[Size, Field(le=limits.CODES)] = Field(description="the number of bins")
    heaps: Annotated[list[Number], Field(max_length=1000)] = Field([], description="values with a bin of their own")


class EdgesTable(Table):
    kind: Literal["edges"]
    edges: Annotated[list[Number], Field(min_length=2, max_length=limits.CODES)] = Field(
        description="lower edges in rising order, then the upper end"
    )
    heaps: Annotated[list[Number], Field(max_length=1000)] = Field([], description="values with a bin of their own")


class EqualCountTable(Table):
    kind: Literal["equal_count"]
    count: Annotated[Size, Field(le=limits.CODES)] = Field(description="the number of bins")


class ColumnTable(Table):
    """What a column of every type has."""

    name: ColumnName = Field(description="the column's name in its holder's table")
    party: str = Field(description="the name of the party that holds the column")
    missing: Missing = Field("refuse", description='"refuse", "category" or "marginal"')
    source: Text = Field(description="where the domain is written down, e.g. a page of the code book; never the table")
    family: Literal["bernoulli", "categorical", "beta"] | None = Field(
        None, description='dpvi only: "bernoulli", "categorical" or "beta"'
    )


class BinaryTable(ColumnTable):
    type: Literal["binary"]
    values: Annotated[list[Label], Field(min_length=2, max_length=2)] = Field(
        description='the two values as text, first the one counted as 0, e.g. values = ["no", "yes"]'
    )


class CategoryTable(ColumnTable):
    type: Literal["category"]
    categories: Labels = Field(description='every value that may occur, as text: categories = ["a", "b", "c"]')


class OrdinalTable(ColumnTable):
    type: Literal["ordinal"]
    levels: Labels = Field(description='every level as text, in rising order: levels = ["low", "middle", "high"]')


class CountTable(ColumnTable):
    type: Literal["count"]
    bounds: Annotated[list[WholeBound], Field(min_length=2, max_length=2)] = Field(
        description="the smallest and the largest whole number that may occur: bounds = [0, 120]"
    )
    bins: dict[str, Any] = Field(
        description='bins = {kind = "equal_width", count = 24} or {kind = "edges", edges = […]}'
    )


class RealTable(ColumnTable):
    type: Literal["real"]
    bounds: Annotated[list[Number], Field(min_length=2, max_length=2)] = Field(
        description="the smallest and the largest number that may occur: bounds = [0.0, 250.0]"
    )
    bins: dict[str, Any] = Field(
        description='bins = {kind = "equal_width", count = 24} or {kind = "edges", edges = […]}'
    )


class MeasureOnceTable(Table):
    kind: Literal["measure_once"]
    components: Annotated[Size, Field(le=limits.COMPONENTS)] | None = Field(
        None, description="components of the mixture; left out, a public rule chooses them from the noisy tables"
    )
    variances: Literal["best", "equal"] = Field("best", description='"best" or "equal"')
    restarts: Annotated[Size, Field(le=limits.RESTARTS)] = Field(8, description="fits that the twin averages")
    stages: Annotated[Size, Field(le=2)] = Field(1, description="1, or 2: measure, look, measure again where it pays")
    noise: Literal["holders", "helper"] = Field("holders", description='who draws the noise: "holders" or "helper"')


class BoundTable(Table):
    kind: Literal["hard", "smooth", "statistics"] = Field("hard", description='"hard", "smooth" or "statistics"')
    clipping_threshold: Positive | None = Field(None, description="C, the bound on the norm of a record's gradient")
    gamma: Positive | None = Field(None, description="smooth only: the norm is sqrt(|g|^2 + gamma^2)")


class DpviTable(Table):
    kind: Literal["dpvi"]
    components: Annotated[Size, Field(le=limits.COMPONENTS)] = Field(description="components of the mixture, e.g. 20")
    steps: Annotated[Size, Field(le=limits.STEPS)] = Field(description="the number of steps, fixed beforehand")
    posterior: Literal["mean_field", "full"] = Field("mean_field", description='"mean_field" or "full"')
    sampling: Literal["none", "epochs", "poisson", "poisson_hidden"] = Field(
        "none", description='"none" (all rows in each step), "epochs", "poisson" or "poisson_hidden"'
    )
    batch: Annotated[Size, Field(le=limits.ROWS)] | None = Field(None, description="rows in a minibatch")
    batch_from: Literal["parties", "aggregator"] | None = Field(None, description='"parties" or "aggregator"')
    aggregator: str | None = Field(None, description="a party's name; left out, the helper or else the first holder")
    bound: BoundTable = Field(
        default_factory=lambda: BoundTable.model_validate({}),
        description='bound = {kind = "hard", clipping_threshold = 1.0}',
    )
    gradient_space: Literal["unconstrained", "constrained"] = Field(
        "unconstrained", description='"unconstrained" or "constrained"'
    )
    update: Literal["gradient", "em"] = Field("gradient", description='"gradient", or "em" for bound "statistics"')
    step_size: Annotated[Positive, Field(le=1e3)] | None = Field(None, description="Adam's step size")
    decay: Literal["cosine", "none"] = Field("cosine", description='how the step size falls: "cosine" or "none"')
    noise: Literal["holders", "helper"] = Field("holders", description='who draws the noise: "holders" or "helper"')


class PrivacyTable(Table):
    delta: Annotated[Number, Field(gt=0, lt=1)] = Field(description="between 0 and 1 and below 1/rows, e.g. 1e-6")
    adjacency: Literal["replace_one", "add_remove"] = Field(
        "replace_one",
        description='"replace_one" (a person\'s values change) or "add_remove" (a person is there or not)',
    )
    epsilon: dict[str, Annotated[Number, Field(gt=0, le=limits.EPSILON)]] | None = Field(
        None, description='a target for any viewer: "analyst", "parties" or a holder\'s name, e.g. analyst = 1.0'
    )
    sigma: Positive | None = Field(None, description="dpvi only, in place of targets: the noise multiplier")


class EngineTable(Table):
    protocol: Literal["auto", "cheetah", "aby3"] = Field("auto", description='"auto", "cheetah" or "aby3"')


COLUMN_TABLES: dict[str, type[ColumnTable]] = {
    "binary": BinaryTable,
    "category": CategoryTable,
    "ordinal": OrdinalTable,
    "count": CountTable,
    "real": RealTable,
}
BINS_TABLES: dict[str, type[Table]] = {
    "equal_width": EqualWidthTable,
    "edges": EdgesTable,
    "equal_count": EqualCountTable,
}
LEARNER_TABLES: dict[str, type[Table]] = {"measure_once": MeasureOnceTable, "dpvi": DpviTable}
