"""What no table of the file can see alone: parties against columns, learner against parties, sizes against all.

Every check looks at what could be read and keeps silent where something it needs is itself faulty, so that one slip
is one fault.
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import cast

from vertwin.agreement import limits
from vertwin.agreement.canonical import Document
from vertwin.agreement.terms import (
    ANALYST,
    PARTIES,
    Column,
    Dpvi,
    EngineChoice,
    MeasureOnce,
    Party,
)
from vertwin.errors import Faults


@dataclass(frozen=True)
class Draft:
    """The terms that could be read, in the file's order; None where a table is faulty.

    `names` and `owners` are the raw texts of the columns (None where there is no text), since a column with a faulty
    domain still belongs to somebody.
    """

    parties: list[Party | None]
    columns: list[Column | None]
    places: list[str]  # of the columns
    names: list[str | None]
    owners: list[str | None]
    learner: MeasureOnce | Dpvi | None
    learner_kind: str | None
    privacy: Document  # as written: whom it names matters even where a number is faulty
    engine: EngineChoice | None

    @property
    def known_parties(self) -> list[Party]:
        return [party for party in self.parties if party is not None]

    @property
    def holders(self) -> list[Party]:
        return [party for party in self.known_parties if party.role == "holder"]

    @property
    def helper(self) -> Party | None:
        return next((party for party in self.known_parties if party.role == "helper"), None)

    @property
    def parties_complete(self) -> bool:
        """No party is faulty: only then can a name be said to be nobody's."""
        return bool(self.parties) and None not in self.parties


def check_parties(draft: Draft, faults: Faults) -> None:
    places: dict[str, str] = {}
    keys: dict[str, str] = {}
    if len(draft.parties) > limits.PARTIES:
        faults.add("E108", f"{len(draft.parties)} parties, at most {limits.PARTIES} are possible", place="parties")
    for index, party in enumerate(draft.parties, start=1):
        if party is None:
            continue
        place = f'parties[{index}] "{party.name}"'
        folded = party.name.casefold()  # names become names of files, and some file systems ignore case
        if folded in places:
            faults.add("E115", f"{places[folded]} has this name already", "give every party its own name", place)
        places.setdefault(folded, f"parties[{index}]")
        if folded in (ANALYST, PARTIES) or (folded == "helper" and party.role == "holder"):
            hint = 'choose another name; "analyst", "parties" and "helper" mean something else in an agreement'
            faults.add("E112", "this name is reserved", hint, place)
        if party.key is not None:
            if party.key in keys:
                faults.add("E122", f"{keys[party.key]} has this key already", "each party has its own key", place)
            keys.setdefault(party.key, f"parties[{index}]")
        if party.role == "helper" and party.rows_at_most is not None:
            faults.add("E123", "rows_at_most does not belong to a helper", "leave it out", f"{place} rows_at_most")
    helpers = [party for party in draft.known_parties if party.role == "helper"]
    if len(helpers) > 1:
        faults.add("E120", f"there are {len(helpers)} helpers", "an agreement has one helper at most", "parties")
    if draft.parties and len(draft.parties) - len(helpers) < 2:
        hint = "a second organisation that holds columns about the same people is needed"
        faults.add("E116", "fewer than two parties hold columns", hint, "parties")


def check_keys(draft: Draft, keys: tuple[str, ...], faults: Faults) -> None:
    """A key of the linkage names a person: as a column it would be released."""
    for place, name in zip(draft.places, draft.names, strict=True):
        if name is not None and name in keys:
            hint = "leave this column out: keys link the tables and are never released"
            faults.add("E183", f'"{name}" is a key of the linkage', hint, place)


def check_columns(draft: Draft, faults: Faults) -> None:
    if len(draft.columns) > limits.COLUMNS:
        faults.add("E108", f"{len(draft.columns)} columns, at most {limits.COLUMNS} are possible", place="columns")
    seen: dict[str, str] = {}
    names = [party.name for party in draft.known_parties]
    for place, name, owner in zip(draft.places, draft.names, draft.owners, strict=True):
        if name is not None:
            if name in seen:
                hint = "a name stands for one column of one party; rename one of the two in its table"
                faults.add("E130", f"{seen[name]} has this name already", hint, place)
            seen.setdefault(name, place.split(" ")[0])
        if owner is None:
            continue
        if draft.helper is not None and owner == draft.helper.name:
            faults.add("E119", f'"{owner}" is a helper and holds no columns', "name a holder", f"{place} party")
        elif owner not in names and draft.parties_complete:
            near = difflib.get_close_matches(owner, names, n=1, cutoff=0.6)
            hint = f'did you mean "{near[0]}"?' if near else f"the parties are {', '.join(names)}"
            faults.add("E118", f'"{owner}" is not one of the parties', hint, f"{place} party")
    if None in draft.owners or any(owner not in names for owner in draft.owners):
        return  # the column that seems to be missing may be the one whose party is misspelt
    for index, party in enumerate(draft.parties, start=1):
        if party is not None and party.role == "holder" and party.name not in draft.owners:
            hint = 'give it a column, or role = "helper" if it only computes'
            faults.add("E117", "this party holds no column", hint, f'parties[{index}] "{party.name}"')


def check_learner(draft: Draft, faults: Faults) -> None:
    learner, protocol = draft.learner, draft.engine.protocol if draft.engine is not None else "auto"
    if not draft.parties_complete:
        return
    alone = len(draft.holders) == 2 and draft.helper is None
    if protocol == "aby3" and alone:
        hint = 'add a party with role = "helper", or use protocol = "cheetah"'
        faults.add("E160", "aby3 computes between three parties, and there are two", hint, "engine.protocol")
    if protocol == "aby3" and draft.learner_kind == "measure_once":
        hint = "leave the protocol out: measure_once multiplies between two holders at a time, under cheetah"
        faults.add("E160", "measure_once does not run under aby3", hint, "engine.protocol")
    if learner is None:
        return
    if learner.noise == "helper" and draft.helper is None:
        hint = 'add a party with role = "helper", or use noise = "holders"'
        faults.add("E154", "there is no helper to draw the noise", hint, "learner.noise")
    if isinstance(learner, Dpvi):
        _check_dpvi(learner, protocol, draft, faults)


def _check_dpvi(learner: Dpvi, protocol: str, draft: Draft, faults: Faults) -> None:
    helper = draft.helper
    names = [party.name for party in draft.known_parties]
    if learner.aggregator not in names:
        hint = f"the parties are {', '.join(names)}"
        faults.add("E153", f'"{learner.aggregator}" is not one of the parties', hint, "learner.aggregator")
    if protocol == "cheetah" and len(draft.holders) > 2:
        hint = 'use protocol = "aby3" or "auto"'
        faults.add(
            "E161", f"cheetah computes between two holders, there are {len(draft.holders)}", hint, "engine.protocol"
        )
    if learner.noise == "helper" and helper is not None and learner.aggregator == helper.name:
        hint = "name a holder as the aggregator"
        faults.add("E155", "who drew the noise could take it off what it aggregates", hint, "learner.aggregator")
    if learner.sampling == "poisson_hidden" and (helper is None or protocol == "cheetah"):
        hint = 'add a party with role = "helper" and use protocol = "aby3"'
        faults.add("E162", "a hidden minibatch is shared out by a helper under aby3", hint, "learner.sampling")
    why = {
        "epochs": "fixed disjoint minibatches are private for replaced records only",
        "poisson": "a padded minibatch depends on the number of rows, which add_remove protects",
    }.get(learner.sampling)
    if why is not None and draft.privacy.get("adjacency") == "add_remove":
        faults.add("E156", why, 'use adjacency = "replace_one" or sampling = "none"', "learner.sampling")
    rows = [holder.rows_at_most for holder in draft.holders if holder.rows_at_most is not None]
    if learner.batch is not None and rows and learner.batch > min(rows):
        hint = "a minibatch is a part of the rows"
        faults.add(
            "E108", f"batch is {learner.batch}, and a holder has at most {min(rows)} rows", hint, "learner.batch"
        )
    if learner.bound.kind == "statistics":
        for place, column in zip(draft.places, draft.columns, strict=True):
            if column is not None and column.family == "beta":
                hint = 'use family = "categorical", or bound = {kind = "hard"}'
                faults.add("E163", "a Beta column has no bounded statistics", hint, f"{place} family")


def check_privacy(draft: Draft, faults: Faults) -> None:
    sigma, learner = draft.privacy.get("sigma"), draft.learner
    epsilon = draft.privacy.get("epsilon")
    if draft.privacy and sigma is None and not epsilon:
        hint = "write a table [privacy.epsilon] with analyst = 1.0"
        faults.add("E170", "no target is given", hint, "privacy")
    if sigma is not None and epsilon:
        hint = "with targets the noise follows; with sigma the epsilons are reported"
        faults.add("E171", "both targets and sigma are given", hint, "privacy.sigma")
    if sigma is not None and draft.learner_kind == "measure_once":
        hint = "give a target under [privacy.epsilon]"
        faults.add("E172", "measure_once has no single sigma: each table has its noise", hint, "privacy.sigma")
    if not draft.parties_complete or not isinstance(epsilon, dict):
        return
    aggregator = learner.aggregator if isinstance(learner, Dpvi) else None
    viewers = [ANALYST, PARTIES, *(party.name for party in draft.known_parties)]
    if draft.helper is not None and draft.helper.name != aggregator:
        viewers.remove(draft.helper.name)
    for viewer in cast(Document, epsilon):
        place = f"privacy.epsilon.{viewer}"
        if draft.helper is not None and viewer == draft.helper.name and viewer not in viewers:
            faults.add("E174", "the helper sees nothing that is revealed", "leave this target out", place)
        elif viewer not in viewers:
            near = difflib.get_close_matches(viewer, viewers, n=1, cutoff=0.6)
            hint = f'did you mean "{near[0]}"?' if near else f"the viewers are {', '.join(viewers)}"
            faults.add("E174", f'"{viewer}" is not a viewer', hint, place)


def check_size(draft: Draft, faults: Faults) -> None:
    """Refuses a product of domains that nobody could compute or learn from; limits.py says where and why."""
    cells: dict[str, int] = {}
    for column in draft.columns:
        if column is not None:
            cells[column.party] = cells.get(column.party, 0) + column.domain.size
    hint = "declare fewer categories or wider bins, or leave columns out"
    if isinstance(draft.learner, MeasureOnce):
        for first, second in combinations_with_replacement(sorted(cells), 2):
            pairs = cells[first] * cells[second] if first != second else cells[first] * (cells[first] + 1) // 2
            if pairs > limits.CELLS_PER_PAIR:
                whose = f'"{first}" and "{second}"' if first != second else f'"{first}" alone'
                limit = f"at most {limits.CELLS_PER_PAIR:,} are possible"
                sentence = f"the pair tables of {whose} have {pairs:,} cells, {limit}"
                faults.add("E144", sentence, hint, "columns")
    elif isinstance(draft.learner, Dpvi):
        parameters = draft.learner.components * (1 + sum(cells.values()))
        if parameters > limits.PARAMETERS:
            sentence = f"the model has {parameters:,} parameters, at most {limits.PARAMETERS:,} are possible"
            faults.add("E144", sentence, hint + ", or take fewer components", "columns")
