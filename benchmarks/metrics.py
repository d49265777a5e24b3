"""How good a twin is: what the benchmarks measure, over the declared codes of an agreement's domains.

nll        mean of -log p(record) over the test records, in nats, every column discretised to its declared codes, so
           that all learners are comparable: a Beta column gives each bin what its distribution function says.
tv1, 2, 3  mean total variation distance between synthetic rows and test rows, over all columns, all pairs of columns,
           and 200 fixed triples. tv2_cross: the pairs whose columns belong to different parties.
gb_auc     area under the ROC curve of gradient boosting, trained on synthetic rows and tested on real ones; lr_auc
           the same for a logistic regression (on one-hot codes).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

if TYPE_CHECKING:
    from vertwin.agreement import Agreement, Column
    from vertwin.release.content import Twin, TwinColumn

Codes = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
TRIPLES: Final = 200
TRIPLES_SEED: Final = 0
BLOCK: Final = 4096  # test records scored at a time


def encode(agreement: Agreement, table: pa.Table) -> Codes:
    """Rows as codes, one column for each of the agreement's; -1 where a missing value says nothing."""
    columns: list[Codes] = []
    for column in agreement.columns:
        encoded = column.domain.encode(table[column.name])
        if encoded.faults:
            raise ValueError(f"column {column.name}: {len(encoded.faults)} values outside its declared domain")
        columns.append(np.asarray(encoded.codes, dtype=np.int64))
    return np.stack(columns, axis=1)


def code_probabilities(column: Column, fitted: TwinColumn) -> Floats:
    """(K, size): what each component gives to each code of the column's domain."""
    match fitted.form:
        case "categorical":
            return np.asarray(fitted.values, dtype=np.float64)
        case "beta":
            return _beta_probabilities(column, fitted.values)
        case _:
            raise ValueError(f"unknown form {fitted.form!r}")


def _beta_probabilities(column: Column, parameters: Floats) -> Floats:
    """The mass of a Beta in each bin, where the paper's learner sees it: integers are widened by a half either way."""
    from scipy.special import betainc

    domain: Any = column.domain
    unit = 1.0 if domain.kind == "count" else 0.0
    low, high = domain.bounds[0], domain.bounds[1] + unit
    spans = [(start, last + unit) for start, last in domain.spans]
    scaled = (np.asarray(spans) - low) / (high - low)
    below = betainc(parameters[:, :1, None], parameters[:, 1:, None], scaled[None])  # (K, bins, 2)
    masses = below[..., 1] - below[..., 0]
    whole = masses.copy()
    for bin_, (start, end) in enumerate(spans):  # a heap inside a bin has a bin of its own
        for inner, (inner_start, inner_end) in enumerate(spans):
            if inner != bin_ and start <= inner_start and inner_end <= end:
                masses[:, bin_] -= whole[:, inner]
    absent = np.zeros((len(parameters), domain.size - len(spans)))
    return np.concatenate([np.maximum(masses, 0.0), absent], axis=1)


def negative_log_likelihood(agreement: Agreement, twin: Twin, test: Codes) -> float:
    """Exact, in nats per record. A value that says nothing (-1) is left out of its record's density."""
    by_name = {fitted.column: fitted for fitted in twin.columns}
    with np.errstate(divide="ignore"):
        log_weights = np.log(twin.weights)
        logs = [np.log(code_probabilities(column, by_name[column.name])) for column in agreement.columns]
    nothing_said = np.zeros((len(log_weights), 1))
    logs = [np.concatenate([log, nothing_said], axis=1) for log in logs]  # code -1 is the last entry
    total = 0.0
    for start in range(0, len(test), BLOCK):
        block = test[start : start + BLOCK]
        log_density = log_weights[:, None] + sum(log[:, block[:, j]] for j, log in enumerate(logs))
        top = log_density.max(axis=0)
        finite = np.where(np.isfinite(top), top, 0.0)
        with np.errstate(divide="ignore"):
            total -= float((finite + np.log(np.exp(log_density - finite).sum(axis=0))).sum())
    return total / len(test)


def total_variation(sizes: Sequence[int], synthetic: Codes, test: Codes, subsets: Sequence[tuple[int, ...]]) -> float:
    """Mean distance over subsets of columns; rows in which one of the subset's columns says nothing do not count."""
    distances: list[float] = []
    for subset in subsets:
        shares: list[Floats] = []
        for codes in (synthetic, test):
            chosen = codes[:, list(subset)]
            chosen = chosen[(chosen >= 0).all(axis=1)]
            shape = tuple(sizes[j] for j in subset)
            counts = np.bincount(np.ravel_multi_index(tuple(chosen.T), shape), minlength=int(np.prod(shape)))
            shares.append(counts / max(counts.sum(), 1))
        distances.append(float(np.abs(shares[0] - shares[1]).sum() / 2))
    return float(np.mean(distances))


def fixed_triples(columns: int, count: int = TRIPLES, seed: int = TRIPLES_SEED) -> list[tuple[int, ...]]:
    """The same triples for everyone: all of them where there are no more than `count`."""
    every = list(combinations(range(columns), 3))
    if len(every) <= count:
        return every
    chosen = np.random.default_rng(seed).choice(len(every), size=count, replace=False)
    return [every[index] for index in sorted(chosen)]


def distances(agreement: Agreement, synthetic: Codes, test: Codes) -> dict[str, float]:
    """tv1, tv2, tv2_cross and tv3."""
    sizes = [column.domain.size for column in agreement.columns]
    parties = [column.party for column in agreement.columns]
    pairs = list(combinations(range(len(sizes)), 2))
    cross = [(a, b) for a, b in pairs if parties[a] != parties[b]]
    subsets: dict[str, Sequence[tuple[int, ...]]] = {
        "tv1": [(j,) for j in range(len(sizes))],
        "tv2": pairs,
        "tv2_cross": cross,
        "tv3": fixed_triples(len(sizes)),
    }
    return {name: total_variation(sizes, synthetic, test, chosen) for name, chosen in subsets.items()}


def classifier_aucs(agreement: Agreement, synthetic: Codes, test: Codes, target: str) -> dict[str, float]:
    """gb_auc and lr_auc for a binary target: trained on synthetic codes, tested on real ones; .5 with one class."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import roc_auc_score

    names = [column.name for column in agreement.columns]
    at = names.index(target)
    others = [j for j in range(len(names)) if j != at]
    sizes = [agreement.columns[j].domain.size for j in others]
    train_y, test_y = synthetic[:, at], test[:, at]
    if len(np.unique(train_y)) < 2:
        return {"gb_auc": 0.5, "lr_auc": 0.5}

    def as_codes(codes: Codes) -> Floats:
        return np.where(codes[:, others] < 0, np.nan, codes[:, others]).astype(np.float64)

    def as_one_hot(codes: Codes) -> Floats:
        return np.concatenate(
            [np.eye(size + 1)[codes[:, j]][:, :size] for j, size in zip(others, sizes, strict=True)], 1
        )

    learners: dict[str, tuple[Any, Callable[[Codes], Floats]]] = {
        "gb_auc": (HistGradientBoostingClassifier(random_state=0), as_codes),
        "lr_auc": (LogisticRegression(max_iter=1000), as_one_hot),
    }
    found: dict[str, float] = {}
    for name, (learner, view) in learners.items():
        learner.fit(view(synthetic), train_y)
        found[name] = float(roc_auc_score(test_y, learner.predict_proba(view(test))[:, 1]))
    return found
