"""The text that every party of dpvi runs: the paper's Algorithm 1, for two or more holders and one aggregator.

Each step: the aggregator broadcasts theta and what the step uses of it in public, as integers, and all compare a digest
of them; each holder computes its local part and draws its share of the noise; the nodes run the secure step; the sums
are opened at the aggregator alone, which adds prior and entropy and moves on.

COST, each step: one broadcast of K x (1 + 3 D) 32-bit integers, one exchange of digests between all, the secure step
(secure.py) and one message to the aggregator. Peers learn the parameters of every step, which follow from noisy sums.
"""

from __future__ import annotations

import numpy as np
from jax.experimental import enable_x64

from vertwin.encoding import EncodedTable
from vertwin.engine import Input, Program, Session, Settings
from vertwin.errors import user_error
from vertwin.learners.dpvi import secure
from vertwin.learners.dpvi.batches import Batches, learner_of, public_seed
from vertwin.learners.dpvi.local import LocalPart
from vertwin.learners.dpvi.mechanism import (
    clip_for,
    grid_bits_for,
    layouts_for,
    packing_for,
    settings_for,
)
from vertwin.learners.dpvi.parameters import Codec, Layout, PublicParameters, digest
from vertwin.learners.dpvi.secure import HardClip
from vertwin.learners.dpvi.step import Ascent, State
from vertwin.learners.dpvi.trajectory import learned_from
from vertwin.learners.plan import Plan
from vertwin.model.packing import Block, Packing
from vertwin.model.posterior import MeanField
from vertwin.noise import DiscreteGaussian
from vertwin.privacy.mechanism import GradientReleases
from vertwin.release import Learned


def learn(encoded: EncodedTable | None, plan: Plan, session: Session) -> Learned | None:
    """Run dpvi; every party gets the same result. None at a helper that neither computes nor aggregates.

    Formal guarantees:
      - what one step reveals is the output of secure.gradient_step with every holder's fresh share of the mechanism's
        noise in it, once, and to the aggregator alone;
      - rows, batches and arrays enter the step as the mechanism says; nothing else of them reaches a peer.
    """
    # x64 is local to this thread: a caller's JAX, and the threads of the other parties, are left as they are.
    with enable_x64():
        run = _Run(encoded, plan, session)
        return run.to_the_end() if session.me in run.participants else None


class _Run:
    """One party's part in one run."""

    def __init__(self, encoded: EncodedTable | None, plan: Plan, session: Session) -> None:
        assert isinstance(plan.mechanism, GradientReleases)
        agreement = plan.agreement
        self.plan, self.session, self.mechanism = plan, session, plan.mechanism
        self.learner = learner_of(agreement)
        self.packing = packing_for(agreement)
        self.layouts = layouts_for(agreement, self.packing)
        self.clip = clip_for(agreement)
        self.settings = settings_for(agreement)
        self.batches = Batches.of(agreement, plan.rows)
        self.codec = Codec(self.packing, self.layouts, self.settings.fraction_bits)
        self.program = step_program(
            self.packing, self.layouts, self.clip, self.settings, self.batches.size, self.mechanism.grid_bits
        )
        holders = tuple(party.name for party in agreement.holders)
        roles = {*holders, *self.settings.nodes, self.learner.aggregator}
        self.participants = tuple(name for name in session.everyone if name in roles)
        self.aggregates = session.me == self.learner.aggregator
        # An aggregator that does not compute (a helper beside cheetah) gets the noisy sums from a node that does.
        computes = self.learner.aggregator in self.settings.nodes
        self.opens = self.learner.aggregator if computes else self.settings.nodes[0]
        self.number = self.packing.holders.index(session.me) if session.me in self.packing.holders else None
        self.part = None if encoded is None else self._local_part(encoded)
        variance = self.mechanism.grid_variance(session.me)
        self.noise = DiscreteGaussian(variance) if variance else None

    def _local_part(self, encoded: EncodedTable) -> LocalPart:
        assert self.number is not None
        layout = self.layouts[self.number]
        values = [values_of(encoded, block) for block in layout.blocks]
        return LocalPart(layout, values, self.clip, holds_weights=self.number == 0, holders=len(self.layouts))

    def to_the_end(self) -> Learned:
        """All steps, then the last posterior from the aggregator to everybody."""
        steps = self.learner.steps
        ascent = Ascent(
            self.packing,
            steps=steps,
            step_size=self.learner.step_size,
            decay=self.learner.decay,
            fraction=self.batches.fraction,
        )
        randomness = np.random.default_rng(public_seed(self.plan.agreement, "eta"))
        state = ascent.start(randomness) if self.aggregates else None
        for number, batch in enumerate(self.batches.steps(steps)):
            eta = randomness.normal(size=self.packing.shape) if self.aggregates else None
            state = self._step(number, batch, ascent, state, eta)
            if (number + 1) % max(1, steps // 100) == 0:
                self.session.progress("gradient", (number + 1) / steps, f"step {number + 1} of {steps}")
        return learned_from(self.plan, self.packing, self._last(state))

    def _step(
        self, number: int, batch: np.ndarray, ascent: Ascent, state: State | None, eta: np.ndarray | None
    ) -> State | None:
        payload = b"" if state is None or eta is None else self.codec.encode(ascent.sample(state, eta))
        parameters = self.codec.decode(self._broadcast(number, payload))
        revealed = self._reveal(number, parameters, batch) if self.session.me in self.settings.nodes else None
        if self.opens != self.learner.aggregator:
            revealed = self._pass_on(revealed)
        if state is None or eta is None:
            return None
        assert revealed is not None
        return ascent.advance(state, revealed, parameters.theta, eta)

    def _broadcast(self, number: int, payload: bytes) -> bytes:
        """The aggregator's bytes at every participant, and proof that all have the same."""
        link, group = self.session.link, self.participants
        if self.aggregates:
            link.broadcast("parameters", payload, to=group)
        else:
            payload = link.receive_on("parameters", self.learner.aggregator)
        mine = digest(number, payload)
        for name, theirs in link.exchange("digest", mine, among=group).items():
            if theirs != mine:
                raise user_error(
                    "E756",
                    f'in step {number + 1} party "{name}" holds other parameters than this one',
                    "run the same version of vertwin at every party, and start again",
                )
        return payload

    def _reveal(self, number: int, parameters: PublicParameters, batch: np.ndarray) -> np.ndarray | None:
        """Run the secure step and open it at one node: integers of the output grid, as the gradient's floats."""
        inputs: dict[str, np.ndarray] = public_inputs(parameters)
        if self.number is not None:
            assert self.part is not None
            prepared = self.part.prepare(parameters, self.number, batch)
            own = (prepared.densities, prepared.squared_norms, prepared.statistics, self._noise())
            inputs |= dict(zip(private_names(self.number), own, strict=True))
        shares = self.session.engine.run(self.program, inputs)
        receipt = self.session.receipt(shares, f"noisy gradient {number + 1} of {self.learner.steps}")
        opened = self.session.engine.reveal(shares, receipt, (self.opens,))
        if opened is None:
            return None
        whole = np.round(np.asarray(opened[0], dtype=np.float64) * 2.0**self.settings.fraction_bits)
        return whole * 2.0**-self.mechanism.grid_bits

    def _noise(self) -> np.ndarray:
        """A fresh share of the noise, in integers of the grid, written as multiples of the engine's smallest unit."""
        shape = self.packing.shape
        if self.noise is None:
            return np.zeros(shape)
        drawn = self.noise.sample(shape[0] * shape[1], self.session.entropy)
        return drawn.reshape(shape) * 2.0**-self.settings.fraction_bits

    def _pass_on(self, revealed: np.ndarray | None) -> np.ndarray | None:
        link = self.session.link
        if self.session.me == self.opens:
            assert revealed is not None
            link.broadcast("gradient", revealed.astype("<f8").tobytes(), to=(self.learner.aggregator,))
            return None
        if not self.aggregates:
            return None
        return np.frombuffer(link.receive_on("gradient", self.opens), dtype="<f8").reshape(self.packing.shape)

    def _last(self, state: State | None) -> MeanField:
        """The end of the trajectory: the aggregator's floats, byte for byte, at everybody."""
        payload = b""
        if state is not None:
            both = np.stack([np.asarray(state.posterior.mean), np.asarray(state.posterior.log_scale)])
            if not np.isfinite(both).all():
                raise user_error("E757", "the posterior is no longer finite", "lower learner.step_size")
            payload = both.astype("<f8").tobytes()
        received = self._broadcast(self.learner.steps, payload)
        mean, log_scale = np.frombuffer(received, dtype="<f8").reshape(2, *self.packing.shape)
        return MeanField(mean, log_scale)  # type: ignore[arg-type] - NumPy at the edge of the learner


def values_of(encoded: EncodedTable, block: Block) -> np.ndarray:
    """A column as its family reads it."""
    if block.family.reads == "natural":
        return encoded.natural(block.column)
    return encoded.codes[:, encoded.names.index(block.column)]


def private_names(number: int) -> tuple[str, str, str, str]:
    """Of one holder's inputs, in the order that the secure step takes them."""
    return f"densities_{number}", f"squared_norms_{number}", f"statistics_{number}", f"noise_{number}"


def public_inputs(parameters: PublicParameters) -> dict[str, np.ndarray]:
    """Public arrays of a step by name."""
    inputs = {"weights": parameters.weights}
    for number, (jacobian, mean) in enumerate(zip(parameters.jacobians, parameters.means, strict=True)):
        if jacobian is not None and mean is not None:
            inputs |= {f"jacobian_{number}": jacobian, f"mean_{number}": mean}
    return inputs


def step_program(
    packing: Packing,
    layouts: tuple[Layout, ...],
    clip: HardClip,
    settings: Settings,
    batch: int,
    grid_bits: int,
) -> Program:
    """The secure step as every node builds it: one program for a whole run, new arrays at every step."""
    components = packing.components
    inputs: list[Input] = []
    for number, layout in enumerate(layouts):
        shapes = (batch, components), (batch, components), layout.shape(batch, components), packing.shape
        names = private_names(number)
        inputs += [Input(name, layout.holder, shape, "float64") for name, shape in zip(names, shapes, strict=True)]
    inputs.append(Input("weights", None, (components,), "float64"))
    for number, layout in enumerate(layouts):
        if not layout.dense:
            inputs.append(Input(f"jacobian_{number}", None, layout.jacobian_shape(components), "float64"))
            inputs.append(Input(f"mean_{number}", None, (components, layout.statistics), "float64"))
    assert grid_bits <= grid_bits_for(clip.arithmetic)
    options = (
        ("holders", len(layouts)),
        ("dense", tuple(int(layout.dense) for layout in layouts)),
        ("centre", tuple(base for layout in layouts for base in layout.centre)),
        ("inverse_square", clip.inverse_square),
        ("slack", clip.slack),
        ("output_scale", 2.0 ** (grid_bits - settings.fraction_bits)),
    )
    return Program(secure.NAME, tuple(inputs), settings, options)
