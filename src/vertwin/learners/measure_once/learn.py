"""The text that every holder runs: count alone what is its own, multiply with each other holder, then fit in public.

Messages: for each pair of holders one secure product and its reveal; then every holder sends the noisy tables it has
to the other holders, once; the first holder fits and sends the twin, which is a function of those tables.
"""

from __future__ import annotations

import io
from itertools import combinations

import numpy as np

from vertwin.agreement import Agreement, MeasureOnce
from vertwin.encoding import EncodedTable
from vertwin.engine import Input, Program, Session, Settings, Shares
from vertwin.engine.share_codec import decode_shares
from vertwin.learners.measure_once import twin
from vertwin.learners.measure_once.fit_stages import FIRST_LOOK, pairs_to_measure_again
from vertwin.learners.measure_once.secure import GRID, field_bits
from vertwin.learners.plan import Plan
from vertwin.noise import DiscreteGaussian, Entropy
from vertwin.privacy.looks import first_look, second_look
from vertwin.privacy.mechanism import MeasuredTable, PairTables
from vertwin.release import Learned, NoiseShare, NoisyTable

Counts = dict[tuple[str, ...], np.ndarray]
"""Noisy counts by table, integers in units of 1/GRID of a count."""

ALL_PAIRS = "vertwin.learners.measure_once.secure:pair_tables"
CHOSEN_PAIRS = "vertwin.learners.measure_once.secure:chosen_pair_tables"


def learn(encoded: EncodedTable, plan: Plan, session: Session) -> Learned:
    """Every noisy table of the plan, and the twin that follows from them: equal at every holder.

    Formal guarantees:
    * each table is revealed once in each look, with exactly the noise that the mechanism names, drawn afresh from the
      session's entropy; no draw masks two values;
    * a table of one party's columns never leaves it without its noise; a table across parties exists nowhere in the
      clear;
    * two looks together spend at most what the plan's one look would, towards every viewer.
    """
    whole, learner = plan.mechanism, plan.agreement.learner
    assert isinstance(whole, PairTables)
    assert isinstance(learner, MeasureOnce)
    draw = _Drawer(session.entropy, session.me)
    if learner.stages == 1:
        return twin.from_tables((_look(encoded, whole, plan, session, draw),), plan, session)
    first = first_look(whole, session.holders, FIRST_LOOK, learner.variances)
    seen = _look(encoded, first, plan, session, draw)
    again = pairs_to_measure_again(twin.for_fit(seen, plan.agreement))
    session.progress("second look", 0.0, f"{len(again)} of {sum(len(t.columns) == 2 for t in seen)} pair tables")
    second = second_look(whole, first, again, session.holders, learner.variances)
    looks = (seen, _look(encoded, second, plan, session, draw))
    return twin.from_tables(looks, plan, session)


def _look(
    encoded: EncodedTable, mechanism: PairTables, plan: Plan, session: Session, draw: _Drawer
) -> tuple[NoisyTable, ...]:
    """Measure every table of one mechanism, once. Nothing leaves this party before its receipt is there."""
    crossings = [
        Crossing(pair, mechanism, plan.agreement)
        for pair in combinations(session.holders, 2)
        if session.me in pair and _crosses(pair, mechanism, session.holders)
    ]
    own, products = _finished_before(crossings, mechanism, session)
    if own is None:
        own = _own_tables(encoded, mechanism, draw)
        session.progress("own tables", 1.0, f"{len(own)} tables counted and noised")
        products = [_multiply(encoded, crossing, session, draw) for crossing in crossings]
    noisy = dict(own)
    for crossing, shares in zip(crossings, products, strict=True):
        what = f"{len(crossing.blocks)} pair tables of {' and '.join(crossing.pair)}, and every table of one party"
        receipt = session.receipt(shares, what, encode_counts(list(own.values())))
        opened = session.engine.reveal(shares, receipt, crossing.pair)
        assert opened is not None
        noisy |= crossing.split(np.asarray(opened[0]).astype(np.int64))
        session.progress(
            "product", 1.0, f"with {crossing.other(session.me)}: {len(crossing.blocks)} noisy tables opened"
        )
    return _gather(noisy, mechanism, session)


def _crosses(pair: tuple[str, str], mechanism: PairTables, holders: tuple[str, ...]) -> bool:
    """Whether two holders multiply in this look: where a table of theirs is measured, or where one of them would have
    no product at all, and so no receipt before its own tables leave."""
    across = {frozenset(table.owners) for table in mechanism.tables if len(table.owners) == 2}
    alone = {name for name in holders if not any(name in owners for owners in across)}
    return frozenset(pair) in across or bool(alone & set(pair))


def _finished_before(
    crossings: list[Crossing], mechanism: PairTables, session: Session
) -> tuple[Counts | None, list[Shares]]:
    """Tables and shares of an attempt that was cut off while they were exchanged: the same are sent again."""
    earlier = session.earlier()
    if earlier is None:
        return None, []
    (crossing,) = crossings
    program = crossing.program(session.rows)
    shares = session.engine.restore(program, decode_shares(earlier.shares, 1, session.me), earlier.run)
    mine = [table.columns for table in mechanism.tables if table.owners == (session.me,)]
    own = dict(zip(mine, decode_counts(earlier.beside, len(mine)), strict=True))
    session.progress("own tables", 1.0, "an earlier attempt is finished: nothing is computed or drawn again")
    return own, [shares]


class _Drawer:
    """One party's noise: a sampler for each variance, every draw used once."""

    def __init__(self, entropy: Entropy, me: str) -> None:
        self._entropy, self._me = entropy, me
        self._samplers: dict[int, DiscreteGaussian] = {}

    def noise(self, table: MeasuredTable, shape: tuple[int, ...]) -> np.ndarray:
        """Fresh noise for every cell of a table, in grid units; zeros where the plan has this party draw none."""
        variance = table.grid_variance(self._me)
        if variance == 0:
            return np.zeros(shape, np.int64)
        sampler = self._samplers.setdefault(variance, DiscreteGaussian(variance))
        return sampler.sample(int(np.prod(shape)), self._entropy).reshape(shape)


def _own_tables(encoded: EncodedTable, mechanism: PairTables, draw: _Drawer) -> Counts:
    """Tables of this party's columns alone: no MPC, only its own noise."""
    sizes = {column.name: column.domain.size for column in encoded.columns}
    found: Counts = {}
    for table in mechanism.tables:
        if all(name in sizes for name in table.columns):
            shape = tuple(sizes[name] for name in table.columns)
            counts = count(encoded, table.columns, shape)
            found[table.columns] = GRID * counts + draw.noise(table, shape)
    return found


def count(encoded: EncodedTable, columns: tuple[str, ...], shape: tuple[int, ...]) -> np.ndarray:
    """Exact counts of a table; a row in which a column is missing without a code of its own counts nowhere."""
    codes = [encoded.codes[:, encoded.names.index(name)].astype(np.int64) for name in columns]
    present = np.logical_and.reduce([code >= 0 for code in codes])
    flat = np.ravel_multi_index([code[present] for code in codes], shape)
    return np.bincount(flat, minlength=int(np.prod(shape))).reshape(shape).astype(np.int64)


class Crossing:
    """The pair tables of two holders as one matrix: which cells are whose, and which are measured at all."""

    def __init__(self, pair: tuple[str, str], mechanism: PairTables, agreement: Agreement) -> None:
        self.pair = pair
        columns = [agreement.columns_of(name) for name in pair]
        sizes = [[column.domain.size for column in columns[side]] for side in (0, 1)]
        self.shape = (sum(sizes[0]), sum(sizes[1]))
        self.chosen = np.zeros(self.shape, np.int64)
        self.blocks: dict[MeasuredTable, tuple[slice, slice, bool]] = {}
        for i, a in enumerate(columns[0]):
            for j, b in enumerate(columns[1]):
                rows = slice(sum(sizes[0][:i]), sum(sizes[0][: i + 1]))
                cols = slice(sum(sizes[1][:j]), sum(sizes[1][: j + 1]))
                turned = (b.name, a.name) in mechanism.by_columns
                table = mechanism.by_columns.get((b.name, a.name) if turned else (a.name, b.name))
                if table is not None:
                    self.blocks[table] = (rows, cols, turned)
                    self.chosen[rows, cols] = 1

    def other(self, me: str) -> str:
        return self.pair[1] if me == self.pair[0] else self.pair[0]

    def noise(self, draw: _Drawer) -> np.ndarray:
        """One party's noise for every measured cell."""
        noise = np.zeros(self.shape, np.int64)
        for table, (rows, cols, _) in self.blocks.items():
            noise[rows, cols] = draw.noise(table, (rows.stop - rows.start, cols.stop - cols.start))
        return noise

    def split(self, counts: np.ndarray) -> Counts:
        """The opened matrix as tables, axes in the order of each table's columns."""
        return {
            table.columns: counts[rows, cols].T if turned else counts[rows, cols]
            for table, (rows, cols, turned) in self.blocks.items()
        }

    def program(self, people: int) -> Program:
        """Where only some tables are measured, a public mask blots out the others before anything is opened."""
        largest = max((sum(table.grid_variance(name) for name in self.pair) for table in self.blocks), default=0)
        bits = field_bits(people, largest**0.5)
        dtype = "int32" if bits == 32 else "int64"
        inputs = [
            Input("one_hot_a", self.pair[0], (people, self.shape[0]), dtype),
            Input("one_hot_b", self.pair[1], (people, self.shape[1]), dtype),
            Input("noise_a", self.pair[0], self.shape, dtype),
            Input("noise_b", self.pair[1], self.shape, dtype),
        ]
        settings = Settings("cheetah", bits, 8 if bits == 32 else 18, self.pair)
        if self.chosen.all():
            return Program(ALL_PAIRS, tuple(inputs), settings)
        return Program(CHOSEN_PAIRS, (*inputs, Input("chosen", None, self.shape, dtype)), settings)


def _multiply(encoded: EncodedTable, crossing: Crossing, session: Session, draw: _Drawer) -> Shares:
    """One secure product, both parties' noise inside: shares, of which nothing is opened here."""
    people = session.rows
    program = crossing.program(people)
    side = "a" if session.me == crossing.pair[0] else "b"
    brought = {f"one_hot_{side}": encoded.one_hot(0, people), f"noise_{side}": crossing.noise(draw)}
    if program.function == CHOSEN_PAIRS:
        brought["chosen"] = crossing.chosen
    cells = f"{crossing.shape[0]} x {crossing.shape[1]} cells"
    session.progress("product", 0.0, f"with {crossing.other(session.me)}: {people} rows, {cells}")
    return session.engine.run(program, brought)


def _gather(noisy: Counts, mechanism: PairTables, session: Session) -> tuple[NoisyTable, ...]:
    """Every table at every holder: each sends those it alone owns, and those it shares with a later holder."""
    mine = [
        table for table in mechanism.tables if table.columns in noisy and _sender(table, session.holders) == session.me
    ]
    payload = encode_counts([noisy[table.columns] for table in mine])
    known: Counts = {}
    for name, received in session.link.exchange("noisy tables", payload, session.holders).items():
        theirs = [table for table in mechanism.tables if _sender(table, session.holders) == name]
        known |= dict(zip([table.columns for table in theirs], decode_counts(received, len(theirs)), strict=True))
    for columns, counts in noisy.items():
        assert np.array_equal(known[columns], counts), "two holders have different noisy tables of the same columns"
    return tuple(
        NoisyTable(
            columns=table.columns,
            owners=table.owners,
            noise=tuple(NoiseShare(share.holder, share.variance * GRID**2) for share in table.noise),
            counts=known[table.columns],
        )
        for table in mechanism.tables
    )


def _sender(table: MeasuredTable, holders: tuple[str, ...]) -> str:
    return min(table.owners, key=holders.index)


def encode_counts(tables: list[np.ndarray]) -> bytes:
    buffer = io.BytesIO()
    for counts in tables:
        np.save(buffer, counts.astype("<i8"), allow_pickle=False)
    return buffer.getvalue()


def decode_counts(payload: bytes, tables: int) -> list[np.ndarray]:
    buffer = io.BytesIO(payload)
    return [np.load(buffer, allow_pickle=False) for _ in range(tables)]
