"""The families a column can have, in one table. A new one is a file beside these and a line here (docs/families.md)."""

from __future__ import annotations

from typing import Final

from vertwin.agreement import Column
from vertwin.errors import user_error
from vertwin.model.families.bernoulli import Bernoulli
from vertwin.model.families.beta import Beta
from vertwin.model.families.categorical import Categorical
from vertwin.model.families.family import ExponentialFamily, Family, LinearMap, apply_jacobian

FAMILIES: Final[dict[str, type[Family]]] = {
    "bernoulli": Bernoulli,
    "categorical": Categorical,
    "beta": Beta,
}

__all__ = ["FAMILIES", "ExponentialFamily", "Family", "LinearMap", "apply_jacobian", "family_of"]


def family_of(column: Column) -> Family:
    """The family that a column names, else Bernoulli where its domain is a plain yes or no, else categorical."""
    if column.family is None:
        return Bernoulli.of(column.domain) or Categorical(column.domain.size)
    if column.family not in FAMILIES:
        raise user_error(
            "E750", f'there is no family "{column.family}"', f"one of {', '.join(FAMILIES)}", f"column {column.name}"
        )
    family = FAMILIES[column.family].of(column.domain)
    if family is None:
        raise user_error(
            "E751",
            f'the family "{column.family}" does not fit a {column.domain.kind} domain of {column.domain.size} codes',
            'bernoulli wants "binary" without a code for missing values, beta wants "real" or "count"',
            f"column {column.name}",
        )
    return family
