from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vertwin.errors import UserError
from vertwin.privacy.closed_form import gaussian_mu
from vertwin.privacy.mechanism import MeasuredTable, NoiseShare, PairTables, all_tables, calibrate

ANALYST: frozenset[str] = frozenset()
DEMOGRAPHICS, FINANCES = frozenset({"demographics"}), frozenset({"finances"})
ADULT = {f"d{i}": "demographics" for i in range(7)} | {f"f{i}": "finances" for i in range(6)}


def limit(epsilon: float, delta: float) -> float:
    return gaussian_mu(epsilon, delta) ** 2 * (1 - 1e-14)


# --- the sensitivity, by brute force ---


def counts(table: np.ndarray, columns: tuple[int, ...], sizes: tuple[int, ...]) -> np.ndarray:
    """One table of counts; a record that lacks one of the columns (code -1) is in no cell."""
    cells = np.zeros([sizes[c] for c in columns])
    for row in table:
        if all(row[c] >= 0 for c in columns):
            cells[tuple(row[c] for c in columns)] += 1
    return cells


def release(table: np.ndarray, sizes: tuple[int, ...], owners: str, coalition: str) -> np.ndarray:
    """All one-way and pair tables that the coalition's own columns do not determine, as one long vector."""
    names = range(len(sizes))
    groups = [(a,) for a in names] + list(itertools.combinations(names, 2))
    parts = [counts(table, g, sizes).ravel() for g in groups if not {owners[c] for c in g} <= set(coalition)]
    return np.concatenate([np.zeros(0), *parts])


@pytest.mark.parametrize("coalition", ["", "p", "q", "pq"])
def test_replacing_a_record_moves_the_tables_by_at_most_two_each_squared(coalition: str) -> None:
    sizes, owners = (2, 2, 3), "pqq"
    tables = [g for g in [(0,), (1,), (2,), (0, 1), (0, 2), (1, 2)] if not {owners[c] for c in g} <= set(coalition)]
    domain = list(itertools.product(*[[-1, *range(size)] for size in sizes]))
    rest = np.array([[0, 1, 2], [1, -1, 0]])
    worst = 0.0
    for old, new in itertools.product(domain, domain):
        if any(old[c] != new[c] for c in range(3) if owners[c] in coalition):
            continue  # the coalition's own columns are fixed
        before = release(np.vstack([rest, old]), sizes, owners, coalition)
        after = release(np.vstack([rest, new]), sizes, owners, coalition)
        worst = max(worst, float(((before - after) ** 2).sum()))
    assert worst == 2 * len(tables)  # never more, and the bound is attained


@pytest.mark.parametrize("coalition", ["", "p", "q", "r", "pq", "pr", "qr"])
def test_three_parties_all_of_a_coalitions_portions_fixed_any_subset_of_the_others_changed(coalition: str) -> None:
    """P = 3, by brute force: never more than the formula; changing all of the others' portions attains it."""
    sizes, owners, rest = (2, 2, 2), "pqr", np.array([[0, 1, 1]])
    names = {"x": "p", "y": "q", "z": "r"}
    mechanism = PairTables(
        tuple(
            MeasuredTable(columns, who, tuple(NoiseShare(h, Fraction(1)) for h in who))
            for columns, who in all_tables(names)
        )
    )
    domain = list(itertools.product((0, 1), repeat=3))
    worst: dict[int, float] = {}
    for old, new in itertools.product(domain, domain):
        changed = [c for c in range(3) if old[c] != new[c]]
        if any(owners[c] in coalition for c in changed):
            continue
        total = 0.0  # each table by its own hidden noise, as mu squared counts
        for columns, who in all_tables(names):
            if set(who) <= set(coalition):
                continue
            group = tuple("xyz".index(name) for name in columns)
            moved = counts(np.vstack([rest, old]), group, sizes) - counts(np.vstack([rest, new]), group, sizes)
            total += float((moved**2).sum()) / sum(h not in coalition for h in who)
        worst[len(changed)] = max(worst.get(len(changed), 0.0), total)
    promised = mechanism.mu_squared(coalition)
    assert max(worst.values()) <= promised
    assert worst[3 - len(coalition)] == pytest.approx(promised, rel=1e-3)


def test_adding_a_record_moves_each_table_by_at_most_one() -> None:
    sizes, owners = (2, 2, 3), "pqq"
    domain = list(itertools.product(*[[-1, *range(size)] for size in sizes]))
    rest = np.array([[0, 1, 2], [1, -1, 0]])
    before = release(rest, sizes, owners, "")
    moved = [float(((release(np.vstack([rest, new]), sizes, owners, "") - before) ** 2).sum()) for new in domain]
    assert max(moved) == 6


# --- mu squared ---


def test_mu_squared_of_every_coalition_by_hand() -> None:
    """Three parties, one column each; variances that differ by table and holder."""
    share = {"p": Fraction(2), "q": Fraction(3), "r": Fraction(5)}
    owner_of = {"x": "p", "y": "q", "z": "r"}
    tables = tuple(
        MeasuredTable(columns, owners, tuple(NoiseShare(h, share[h]) for h in owners))
        for columns, owners in all_tables(owner_of)
    )
    mechanism = PairTables(tables, "add_remove")
    by_hand = {
        "": 1 / 2 + 1 / 3 + 1 / 5 + 1 / (2 + 3) + 1 / (2 + 5) + 1 / (3 + 5),
        "p": 2 * (1 / 3 + 1 / 5 + 1 / 3 + 1 / 5 + 1 / (3 + 5)),
        "q": 2 * (1 / 2 + 1 / 5 + 1 / 2 + 1 / (2 + 5) + 1 / 5),
        "pq": 2 * (1 / 5 + 1 / 5 + 1 / 5),
        "pqr": 0.0,
    }
    for coalition, expected in by_hand.items():
        got = mechanism.mu_squared(coalition)
        assert expected <= got <= expected * (1 + 1e-4)  # the price of being discrete: 4 squared grid units
        assert mechanism.adjacency_for(coalition) == ("replace_one" if coalition else "add_remove")


def test_a_coalition_that_knows_all_the_noise_of_a_table_gets_no_promise() -> None:
    table = MeasuredTable(("x", "y"), ("p", "q"), (NoiseShare("p", Fraction(9)),))
    assert PairTables((table,)).mu_squared("p") == math.inf
    assert PairTables((table,)).epsilon(1e-6, "p") == math.inf
    assert PairTables((table,)).mu_squared("q") < math.inf


SPLITS = st.lists(st.sampled_from("pqrs"), min_size=2, max_size=7).filter(lambda owners: len(set(owners)) > 1)


@settings(deadline=None, max_examples=60)
@given(SPLITS, st.integers(1, 2**20), st.fractions(1, 50))
def test_more_noise_is_a_smaller_epsilon_for_every_viewer(owners: list[str], units: int, factor: Fraction) -> None:
    owner_of = {f"c{i}": owner for i, owner in enumerate(owners)}

    def mechanism(scale: Fraction) -> PairTables:
        share = Fraction(math.ceil((16 + units) * scale), 2**16)
        return PairTables(
            tuple(
                MeasuredTable(columns, who, tuple(NoiseShare(h, share) for h in who))
                for columns, who in all_tables(owner_of)
            )
        )

    for size in range(len(set(owners))):
        for coalition in itertools.combinations(sorted(set(owners)), size):
            assert mechanism(factor).epsilon(1e-6, coalition) <= mechanism(Fraction(1)).epsilon(1e-6, coalition)


@settings(deadline=None, max_examples=60)
@given(SPLITS, st.randoms())
def test_a_bigger_coalition_knows_more_when_what_is_protected_is_held_fixed(owners: list[str], rng: object) -> None:
    """Only the tables that the big coalition does not own: among these its mu is at least that of every part of it."""
    owner_of = {f"c{i}": owner for i, owner in enumerate(owners)}
    names = sorted(set(owners))
    big = names[: rng.randint(1, len(names) - 1)]  # type: ignore[attr-defined]
    protected = [(columns, who) for columns, who in all_tables(owner_of) if not set(who) <= set(big)]
    mechanism = PairTables(
        tuple(MeasuredTable(columns, who, tuple(NoiseShare(h, Fraction(1)) for h in who)) for columns, who in protected)
    )
    for size in range(len(big)):
        for small in itertools.combinations(big, size):
            assert mechanism.mu_squared(small) <= mechanism.mu_squared(big)


# --- calibration ---


def test_the_figures_of_the_adult_split() -> None:
    tables = all_tables(ADULT)
    assert len(tables) == 91
    for adjacency, epsilon, sd in (
        ("add_remove", 1.0, 35.588),
        ("replace_one", 1.0, 50.329),
        ("add_remove", 0.5, 67.08),
        ("add_remove", 3.0, 13.265),
    ):
        mechanism = calibrate(tables, {ANALYST: limit(epsilon, 1e-5)}, adjacency)
        assert mechanism.table("d0", "f5").noise_sd == pytest.approx(sd, abs=0.01)
        assert mechanism.table("d0").noise_sd == pytest.approx(sd, abs=0.01)
        assert 0.9999 * epsilon < mechanism.epsilon(1e-5) <= epsilon
    for delta, demographics, finances in ((1e-6, 1.080, 1.119), (1e-5, 1.082, 1.121)):
        mechanism = calibrate(tables, {ANALYST: limit(1.0, delta)}, "replace_one")
        assert mechanism.epsilon(delta, DEMOGRAPHICS) == pytest.approx(demographics, abs=0.001)
        assert mechanism.epsilon(delta, FINANCES) == pytest.approx(finances, abs=0.001)


def test_shares_are_equal_whole_grid_units_and_add_up() -> None:
    table = calibrate(all_tables(ADULT), {ANALYST: limit(1.0, 1e-6)}, "replace_one").table("d0", "f0")
    assert [share.holder for share in table.noise] == ["demographics", "finances"]
    assert table.grid_variance("demographics") == table.grid_variance("finances") > 0
    assert table.grid_variance("nobody") == 0
    assert table.variance == Fraction(table.grid_variance("demographics") * 2, 2**16)


def test_best_variances_bring_every_viewer_to_its_target() -> None:
    """All three at 1.0: cross tables cost at most 1.2 times the sd that the analyst's target alone needs."""
    goal = limit(1.0, 1e-6)
    alone = calibrate(all_tables(ADULT), {ANALYST: goal}, "replace_one").table("d0", "f0").noise_sd
    mechanism = calibrate(
        all_tables(ADULT), dict.fromkeys((ANALYST, DEMOGRAPHICS, FINANCES), goal), "replace_one", "best"
    )
    for coalition in (ANALYST, DEMOGRAPHICS, FINANCES):
        assert 0.999 < mechanism.epsilon(1e-6, coalition) <= 1.0
    cross = mechanism.table("d0", "f0")
    assert cross.noise_sd / alone == pytest.approx(1.18, abs=0.01)
    assert mechanism.table("d0").noise_sd / alone == pytest.approx(0.91, abs=0.01)
    assert mechanism.table("f0").noise_sd / alone == pytest.approx(0.88, abs=0.01)
    shares = sorted(float(share.variance / cross.variance) for share in cross.noise)
    assert shares == pytest.approx([0.473, 0.527], abs=0.01)


def test_for_the_analyst_alone_best_is_equal() -> None:
    goal = {ANALYST: limit(1.0, 1e-6)}
    equal, best = (calibrate(all_tables(ADULT), goal, "replace_one", kind) for kind in ("equal", "best"))
    total = [float(sum(table.variance for table in mechanism.tables)) for mechanism in (equal, best)]
    assert total[1] == pytest.approx(total[0], rel=1e-5)


TARGET = st.floats(0.05, 10)


@settings(deadline=None, max_examples=40)
@given(SPLITS, st.dictionaries(st.sampled_from(["", "p", "q", "r", "s"]), TARGET, min_size=1), st.booleans())
def test_every_target_is_met_and_best_is_never_dearer(owners: list[str], targets: dict[str, float], add: bool) -> None:
    tables = all_tables({f"c{i}": owner for i, owner in enumerate(owners)})
    limits = {frozenset(name): limit(epsilon, 1e-6) for name, epsilon in targets.items()}
    adjacency = "add_remove" if add else "replace_one"
    equal = calibrate(tables, limits, adjacency, "equal")
    best = calibrate(tables, limits, adjacency, "best")
    for mechanism in (equal, best):
        for name, epsilon in targets.items():
            assert mechanism.epsilon(1e-6, name) <= epsilon
        assert all(math.isfinite(mechanism.mu_squared(owner)) for owner in owners)  # the parties without a target too
    cost = [float(sum(table.variance for table in mechanism.tables)) for mechanism in (equal, best)]
    assert cost[1] <= cost[0] * (1 + 1e-6) + 1e-3


def test_best_is_within_half_a_per_cent_of_a_general_optimiser() -> None:
    from scipy.optimize import minimize

    counts, goals = {"p": 6, "q": 3, "pq": 8}, {"": 0.05, "p": 0.06, "q": 0.045}
    tables = [((f"{key}{i}",), tuple(key)) for key, count in counts.items() for i in range(count)]
    best = calibrate(tables, {frozenset(name): goal for name, goal in goals.items()}, "replace_one", "best")
    ours = float(sum(table.variance for table in best.tables))

    def cost(x: np.ndarray) -> float:
        p, q, a, b = np.exp(x)
        return math.log(6 * p + 3 * q + 8 * (a + b))

    def slack(x: np.ndarray) -> np.ndarray:
        p, q, a, b = np.exp(x)
        used = [2 * (6 / p + 3 / q + 8 / (a + b)), 2 * (3 / q + 8 / b), 2 * (6 / p + 8 / a)]
        return np.array([math.log(goal / value) for goal, value in zip(goals.values(), used, strict=True)])

    result = minimize(cost, np.full(4, 7.0), constraints={"type": "ineq", "fun": slack}, method="SLSQP", tol=1e-8)
    assert slack(result.x).min() > -1e-6
    assert ours == pytest.approx(math.exp(result.fun), rel=1e-3)


@pytest.mark.parametrize("targets", [{"": 1.0, "d": 1.0}, {"": 1.0, "f": 1.0}, {"f": 1.0}, {"": 1.0, "f": 0.5}])
def test_a_target_more_is_never_cheaper_and_nobody_is_left_without_a_promise(targets: dict[str, float]) -> None:
    """Where parties have no target, the sum is within 0.5 % of what the given targets alone would take."""
    owner_of = {f"d{i}": "d" for i in range(7)} | {f"f{i}": "f" for i in range(6)}

    def total(wanted: dict[str, float]) -> float:
        limits = {frozenset(name): limit(epsilon, 1e-6) for name, epsilon in wanted.items()}
        mechanism = calibrate(all_tables(owner_of), limits, "replace_one", "best")
        assert all(mechanism.epsilon(1e-6, name) <= epsilon for name, epsilon in wanted.items())
        assert all(math.isfinite(mechanism.epsilon(1e-6, name)) for name in ("", "d", "f"))
        return float(sum(table.variance for table in mechanism.tables))

    alone = total(targets)
    for name in {"", "d", "f"} - targets.keys():
        assert total({**targets, name: 50.0}) >= alone / 1.005
        assert total({**targets, name: 1.0}) >= alone / 1.005


def test_without_one_partys_share_the_shared_tables_lose_it_and_its_own_keep_it() -> None:
    mechanism = calibrate(all_tables(ADULT), {ANALYST: limit(1.0, 1e-6)}, "replace_one")
    cheated = mechanism.without_share_of("finances")
    assert cheated.table("d0", "f0").variance == mechanism.table("d0", "f0").variance / 2
    assert cheated.table("f0", "f1") == mechanism.table("f0", "f1")
    assert cheated.epsilon(1e-6) == pytest.approx(1.227, abs=0.001)
    assert mechanism.without_share_of("nobody") == mechanism


def test_noise_too_small_for_its_grid_is_refused() -> None:
    with pytest.raises(UserError) as caught:
        PairTables((MeasuredTable(("x",), ("p",), (NoiseShare("p", Fraction(1, 2**16)),)),))
    assert caught.value.codes == ("E702",)
