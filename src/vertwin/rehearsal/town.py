"""The embedded example: the people of a town, whom a clinic and an insurer both know, with a truth to be judged by.

Real tables cannot serve as an example: nobody knows what is true beyond them, and nobody may hand them out. Here the
population is *defined* by the text below, so a twin can be held against what really holds rather than against
another sample. Everything is public: the seeds stand here, the data are made up, and nobody in them exists.

What the town holds, and a good twin should show although no organisation sees both sides of it:

- the older a person, the likelier retired; students are young (age -> employment);
- the more severe an illness, the likelier a disability pension, most of all with the joints or the mind;
- who visits the clinic often makes many claims (visits -> claims), and the severely ill cost more;
- people of better means smoke less, weigh less and choose larger plans;
- an interaction of three columns: smoking makes care dearer only for people past 45 (smoker x age -> yearly cost).

Missing values: a body-mass index is missing mostly where a person seldom visits (so "missing" says something, and is
a category), an employment is more often not stated by those without one (a category too), and an income band is
missing by chance alone (so it says nothing: marginal). All other columns are complete (refuse).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

Floats = np.ndarray
PEOPLE: Final = 20_000
SEED: Final = 2026  # public, as is everything here: these people do not exist
TRUTH_SEED: Final = 62_02
MOST_COUNTED: Final = 30  # visits and claims beyond this are counted as so many
COST_CAP: Final = 30_000.0  # what one person costs beyond this, a reinsurer pays

DIAGNOSES: Final = ("none", "asthma_copd", "diabetes", "heart", "cancer", "joints", "mental", "other")
SEVERITIES: Final = ("none", "mild", "moderate", "severe")
PLANS: Final = ("basic", "standard", "plus", "private")
EMPLOYMENTS: Final = ("employed", "self_employed", "unemployed", "student", "retired", "at_home")
INCOME_BANDS: Final = ("below_15k", "15k_to_25k", "25k_to_40k", "40k_to_60k", "60k_to_90k", "above_90k")
CLINIC_COLUMNS: Final = ("age", "sex", "bmi", "smoker", "diagnosis", "severity", "visits")
INSURER_COLUMNS: Final = ("plan", "claims", "yearly_cost", "employment", "income_band", "disability_pension")


@dataclass(frozen=True)
class Dependency:
    """Something true of the town that reaches across both organisations: what a twin is asked to keep."""

    columns: tuple[str, ...]
    sentence: str


DEPENDENCIES: Final = (
    Dependency(("age", "employment"), "students are young, the retired are old"),
    Dependency(("severity", "disability_pension"), "the severely ill more often have a disability pension"),
    Dependency(("visits", "claims"), "who visits the clinic often makes many claims"),
    Dependency(("severity", "yearly_cost"), "the severely ill cost more"),
    Dependency(("diagnosis", "disability_pension"), "joints and the mind lead to a pension more often"),
    Dependency(("bmi", "income_band"), "people of better means weigh less"),
    Dependency(("smoker", "income_band"), "people of better means smoke less"),
)
# The cost of smoking grows with age, past 45 only: no table of two columns holds this whole.
INTERACTION: Final = Dependency(("age", "yearly_cost", "smoker"), "age makes care dearer for smokers above all")


class Streams:
    """One stream of public randomness per quantity, named."""

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def of(self, name: str) -> np.random.Generator:
        return np.random.Generator(np.random.PCG64([self._seed, *name.encode()]))

    def uniform(self, name: str, n: int) -> Floats:
        return self.of(name).random(n)

    def normal(self, name: str, n: int) -> Floats:
        return self.of(name).standard_normal(n)

    def logistic(self, name: str, n: int) -> Floats:
        u = np.clip(self.uniform(name, n), 1e-12, 1 - 1e-12)
        return np.log(u / (1 - u))


def population(people: int = PEOPLE, seed: int = SEED) -> pa.Table:
    """Every person as they are, in all data columns of both organisations, nothing missing.

    Each quantity draws from a stream of its own, so that a column changed later leaves the others as they were.
    """
    draw = Streams(seed)
    means = draw.normal("means", people)  # social position: nobody records it, much depends on it
    age = _ages(draw, people)
    sex = np.where(draw.uniform("sex", people) < 0.505 + 0.07 * (age > 78), "female", "male")
    male = sex == "male"
    temptation = -0.95 - 0.65 * means + 0.3 * male - 0.03 * np.maximum(age - 60, 0)
    smoker = draw.uniform("smoker", people) < _logistic(temptation)
    bmi = _body_mass(draw, age, means)
    diagnosis = _pick(draw, "diagnosis", _diagnosis_odds(age, male, smoker, bmi))
    burden = 0.025 * (age - 45) + 0.5 * smoker + 0.06 * (bmi - 26) + 0.5 * (diagnosis == DIAGNOSES.index("cancer"))
    burden += draw.logistic("burden", people)
    severity = np.where(diagnosis == 0, 0, 1 + (burden > 0.4) + (burden > 2.0))
    visits = _visits(draw, severity, people)
    employment = _pick(draw, "employment", _employment_odds(age, male, means, severity))
    pension = draw.uniform("pension", people) < _pension_chance(age, diagnosis, severity)
    income = _incomes(draw, age, employment, means, pension)
    plan = _pick(draw, "plan", _plan_odds(age, income, severity))
    claims = _claims(draw, visits, plan, people)
    cost = _costs(draw, age, smoker, severity, claims, plan)
    return pa.table(
        {
            "age": pa.array(age.astype(np.int64)),
            "sex": pa.array(sex.tolist()),
            "bmi": pa.array(bmi),
            "smoker": pa.array(np.where(smoker, "yes", "no").tolist()),
            "diagnosis": _named(DIAGNOSES, diagnosis),
            "severity": _named(SEVERITIES, severity),
            "visits": pa.array(visits.astype(np.int64)),
            "plan": _named(PLANS, plan),
            "claims": pa.array(claims.astype(np.int64)),
            "yearly_cost": pa.array(cost),
            "employment": _named(EMPLOYMENTS, employment),
            "income_band": _named(INCOME_BANDS, income),
            "disability_pension": pa.array(np.where(pension, "yes", "no").tolist()),
        }
    )


def recorded(people: pa.Table, seed: int = SEED, marginal: bool = True) -> pa.Table:
    """The same people as the two organisations have them on file: with values missing.

    `marginal=False` leaves the income band complete: it is missing by chance alone, so its truth is that of everyone.
    """
    draw = Streams(seed)
    n = people.num_rows
    visits = people["visits"].to_numpy()
    employment = np.asarray(people["employment"].to_pylist())
    unmeasured = draw.uniform("bmi missing", n) < 0.03 + 0.20 * (visits == 0)
    unstated = draw.uniform("employment missing", n) < 0.03 + 0.12 * np.isin(employment, ("unemployed", "at_home"))
    by_chance = (draw.uniform("income missing", n) < 0.08) & marginal
    for name, missing in (("bmi", unmeasured), ("employment", unstated), ("income_band", by_chance)):
        place = people.column_names.index(name)
        blank = pa.scalar(None, people[name].type)
        people = people.set_column(place, name, pc.if_else(pa.array(missing), blank, people[name]))
    return people


def truth(people: int = 200_000, seed: int = TRUTH_SEED) -> pa.Table:
    """What holds in the town: ten towns' worth of people who are in nobody's files, drawn by the same law.

    Independent of the 20,000, so a twin that had copied them would gain nothing here.
    """
    return recorded(population(people, seed), seed, marginal=False)


def _ages(draw: Streams, n: int) -> Floats:
    """18 to 95: about as many of every age to sixty, fewer after."""
    years = np.arange(18, 96)
    weights = np.where(years < 60, 1.0, np.exp(-(((years - 60) / 19.0) ** 2)))
    return years[np.searchsorted(np.cumsum(weights / weights.sum())[:-1], draw.uniform("age", n), side="right")]


def _body_mass(draw: Streams, age: Floats, means: Floats) -> Floats:
    centre = 23.2 + 0.085 * (np.minimum(age, 65) - 18) - 1.7 * means
    return np.round(np.clip(centre * np.exp(0.14 * draw.normal("bmi", len(age))), 14.5, 59.5), 1)


def _diagnosis_odds(age: Floats, male: Floats, smoker: Floats, bmi: Floats) -> Floats:
    years = (age - 50) / 10
    return np.stack(
        [
            0.85 - 0.42 * years,
            -1.6 + 1.5 * smoker + 0.12 * years,
            -2.0 + 0.30 * years + 0.14 * (bmi - 26),
            -2.2 + 0.55 * years + 0.5 * male + 0.6 * smoker,
            -2.6 + 0.45 * years + 0.4 * smoker,
            -0.9 + 0.25 * years + 0.05 * (bmi - 26),
            -1.0 - 0.15 * years - 0.4 * male,
            np.full(len(age), -0.8),
        ],
        axis=1,
    )


def _visits(draw: Streams, severity: Floats, n: int) -> Floats:
    """Many zeros: who is not ill often does not come at all; the rest by an over-dispersed count."""
    away = draw.uniform("away", n) < np.array([0.55, 0.15, 0.06, 0.02])[severity]
    rate = np.array([0.9, 2.2, 4.5, 9.0])[severity] * np.exp(0.55 * draw.normal("habit", n) - 0.15)
    return np.where(away, 0, np.minimum(draw.of("visits").poisson(rate), MOST_COUNTED))


def _employment_odds(age: Floats, male: Floats, means: Floats, severity: Floats) -> Floats:
    young, old = np.maximum(26 - age, 0), age - 64.5
    return np.stack(
        [
            1.9 - 0.02 * young - 0.35 * severity - 0.22 * np.maximum(old, 0),
            -0.3 + 0.25 * means - 0.2 * severity - 0.10 * np.maximum(old, 0) - 0.25 * young,
            -0.7 - 0.55 * means + 0.3 * severity - 0.5 * np.maximum(old, 0),
            -1.2 + 0.60 * young + 0.3 * means - 0.10 * np.maximum(age - 26, 0),
            -1.0 + 0.75 * old,
            -0.9 - 0.6 * male - 0.3 * means + 0.2 * severity - 0.3 * np.maximum(old, 0),
        ],
        axis=1,
    )


def _pension_chance(age: Floats, diagnosis: Floats, severity: Floats) -> Floats:
    disabling = np.isin(diagnosis, (DIAGNOSES.index("joints"), DIAGNOSES.index("mental")))
    before_retirement = _logistic(-4.8 + 1.5 * severity + 1.1 * disabling + 0.02 * (age - 45))
    return np.where(age < 66, before_retirement, 0.02)


def _incomes(draw: Streams, age: Floats, employment: Floats, means: Floats, pension: Floats) -> Floats:
    base = np.array([2.8, 2.9, 0.5, 0.1, 1.6, 0.8])[employment]
    rise = 0.025 * np.minimum(age - 40, 15) * (employment < 2)
    level = base + rise + 0.95 * means - 0.6 * pension + 0.7 * draw.normal("income", len(age))
    return np.clip(np.floor(level + 0.5), 0, len(INCOME_BANDS) - 1).astype(np.int64)


def _plan_odds(age: Floats, income: Floats, severity: Floats) -> Floats:
    basic, standard = 0.9 - 0.35 * income, np.full(len(age), 0.6)
    plus, private = -0.6 + 0.25 * income + 0.2 * severity, -2.4 + 0.7 * income - 0.01 * (age - 45)
    return np.stack([basic, standard, plus, private], axis=1)


def _claims(draw: Streams, visits: Floats, plan: Floats, n: int) -> Floats:
    """Most visits become a claim, more of them on a larger plan; a few come from elsewhere (dentist, glasses)."""
    share = np.array([0.55, 0.65, 0.8, 0.9])[plan]
    elsewhere = draw.of("elsewhere").poisson(np.array([0.2, 0.35, 0.5, 0.6])[plan])
    return np.minimum(draw.of("claims").binomial(visits.astype(np.int64), share) + elsewhere, MOST_COUNTED)


def _costs(draw: Streams, age: Floats, smoker: Floats, severity: Floats, claims: Floats, plan: Floats) -> Floats:
    """Log-normal: a few people cost a hundred times the median. The town's interaction stands in the third line."""
    log_cost = 4.7 + 0.55 * severity + 0.45 * np.log1p(claims) + 0.12 * plan
    log_cost += 0.006 * (age - 45)
    log_cost += smoker * 0.045 * np.maximum(age - 45, 0)
    return np.round(np.clip(np.exp(log_cost + 0.75 * draw.normal("cost", len(age))), 1.0, COST_CAP), 2)


def _pick(draw: Streams, name: str, log_odds: Floats) -> Floats:
    odds = np.exp(log_odds - log_odds.max(axis=1, keepdims=True))
    steps = np.cumsum(odds / odds.sum(axis=1, keepdims=True), axis=1)[:, :-1]
    return (draw.uniform(name, len(odds))[:, None] >= steps).sum(axis=1)


def _logistic(x: Floats) -> Floats:
    return 1 / (1 + np.exp(-x))


def _named(names: tuple[str, ...], codes: Floats) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int32)), pa.array(names)).dictionary_decode()
