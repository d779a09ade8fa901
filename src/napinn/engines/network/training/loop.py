"""The one training loop: chunks of many steps compiled together, for every method and phase.

The host sees one row of history a chunk, and between chunks decides whether to continue. A phase can be resumed at
any chunk. A chunk that ends in a number that is not finite is thrown away, and the caller learns of it."""

import functools
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import cast

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from napinn.engines.network.compiled import Itself, owned_jit, tidy
from napinn.engines.network.objective import Gating, Learned, Losses, NoiseState, misfits, owners, unknown_values
from napinn.engines.network.training.coherence import noise_share
from napinn.engines.network.training.data import Data
from napinn.engines.network.training.devices import everywhere, kept_everywhere
from napinn.engines.network.training.optimisers import ConstantRate
from napinn.engines.network.training.phase_progress import PhaseProgress
from napinn.engines.network.training.phases import Method, Phase, PhaseKind, RelativeCost
from napinn.engines.network.training.steps import StepSchedule, TrainingState, first_moments, schedule_of, step_of
from napinn.engines.snapshot import Snapshot
from napinn.field.chunks import PIECE, in_chunks
from napinn.noise.likelihood import CLIP
from napinn.problem import Problem

Runner = Callable[..., tuple[TrainingState, Losses, Array]]
FEWEST_SHARES = 512
"""Rows of a schedule that a chunk is given at least: chunks of up to as many steps share one program, for some
kilobytes."""


class DivergedError(Exception):
    """A chunk ended in a number that is not finite; the state from before it is what remains."""


def all_misfits(learned: Learned, data: Data, chunk: int = PIECE) -> Float[Array, " m"]:
    """Misfits of all readings, evaluated in pieces."""
    rows, fields = data.values.shape
    found = in_chunks(
        lambda numbers: np.asarray(_misfits_of(learned, data, jnp.asarray(numbers))).reshape(-1, fields),
        np.arange(rows, dtype=np.int32),
        chunk,
    )
    return everywhere(jnp.asarray(found.reshape(-1)), data.mesh)


@eqx.filter_jit
def _misfits_of(learned: Learned, data: Data, rows: Int[Array, " b"]) -> Float[Array, " m"]:
    return kept_everywhere(misfits(learned.field, data.batch(rows, data.points[:0], None)), data.mesh)


@eqx.filter_jit
def held_out_score(method: Method, state: TrainingState, data: Data) -> Float[Array, ""]:
    """How well readings that are not trained on are predicted: higher is better, and no single one weighs much.

    Their log-density under the learned law, bounded as in training; before there is a law, minus their mean absolute
    misfit in units of the fields' spread."""
    batch = data.batch(slice(data.trained, None), data.points[:0], None)
    misfit, owner = misfits(state.learned.field, batch), owners(batch)
    if state.law is None or method.gating is None:
        return -jnp.mean(jnp.minimum(jnp.abs(misfit), 10.0))
    standard = state.law.standard
    log_prob = method.gating.density.log_prob(state.law.density, standard(misfit, owner))
    return jnp.mean(jnp.maximum(log_prob, -CLIP) - jnp.log(standard.scale[owner]))


@dataclass(frozen=True)
class Chunk:
    """What some steps of a phase led to."""

    state: TrainingState
    course: PhaseProgress
    snapshot: Snapshot
    sound: bool
    """Whether the state is one to come back to."""
    last: bool
    """Whether the phase ends with it."""


def run_phase(
    problem: Problem,
    method: Method,
    phase: Phase,
    state: TrainingState,
    data: Data,
    done: int,
    total: int,
    course: PhaseProgress,
    fit_began: float,
) -> Iterator[Chunk]:
    """Train one phase from wherever its course stands; `state` is that of the course, or of the phase before, and
    `fit_began` is a moment of `time.perf_counter`.

    A plain phase weighs readings that were screened out with nothing; for one that has to do with the law there are
    none of them, so that they shape neither law nor gate."""
    if course.step == 0:
        state = screened(phase, state, data)
    if state.kept is not None and phase.kind is not PhaseKind.PLAIN:
        data = data.only(np.asarray(state.kept) > 0.0)
    if course.step == 0:
        state = enter(method, phase, state, data)
    cached = all_misfits(state.learned, data) if phase.kind is PhaseKind.LAW else jnp.zeros((0,), data.points.dtype)
    run_chunk = chunk_runner(problem, method, phase)
    last = False
    while not last:
        course = course.copied()
        count = min(method.log_every, phase.steps - course.step)
        began = time.perf_counter()
        after, losses, finite = run_chunk(state, data, cached, count, *course.pace.shares())
        if course.step == 0:
            tidy()
        numbers = {name: float(value) for name, value in vars(losses).items()}
        if not finite:
            raise DivergedError(f"in phase '{phase.name}', between steps {course.step} and {course.step + count}")
        if data.held:
            numbers["held_out"] = float(held_out_score(method, after, data))
        elapsed = time.perf_counter() - began
        over = course.pace.over(count, elapsed)
        last = course.step >= phase.steps or over or course.watch.stalled(course.step, numbers.get("held_out"))
        state = after
        snapshot = _snapshot(problem, phase, state, numbers, course.step, done, total, count, elapsed, fit_began)
        yield Chunk(state, course, snapshot, course.level.sound(numbers["total"]), last)


def _snapshot(
    problem: Problem,
    phase: Phase,
    state: TrainingState,
    losses: dict[str, float],
    step: int,
    done: int,
    total: int,
    count: int,
    elapsed: float,
    fit_began: float,
) -> Snapshot:
    unknowns = {name: float(value) for name, value in unknown_values(problem, state.learned).items()}
    gate: dict[str, float] = {}
    if state.law is not None and phase.kind is not PhaseKind.PLAIN:
        gate = {
            "steepness": float(state.learned.gate.steepness),
            "cutoff": float(state.learned.gate.cutoff),
            "scale": float(jnp.mean(state.law.standard.scale)),
            "noise_share": float(state.law.noise_share),
        }
    return Snapshot(
        phase.name, step, phase.steps, done + step, total, losses, unknowns, gate,
        time.perf_counter() - fit_began, count / elapsed, new_steps=count,
    )  # fmt: skip


def screened(phase: Phase, state: TrainingState, data: Data) -> TrainingState:
    if phase.screen is None:
        return state
    return keeping(state, data, phase.screen.kept(np.asarray(all_misfits(state.learned, data))))


def keeping(state: TrainingState, data: Data, kept: np.ndarray) -> TrainingState:
    """The state from which only these of all readings, in the order of their misfits, are trained on."""
    return replace(state, kept=jnp.asarray(kept.reshape(data.values.shape), data.values.dtype))


def enter(method: Method, phase: Phase, state: TrainingState, data: Data) -> TrainingState:
    """What has to be measured on all readings before a phase can begin."""
    if phase.optimiser is not None:
        state = replace(state, optimiser=first_moments(phase.optimiser, state.learned))
    if not phase.wants_law or method.gating is None:
        return state
    key, for_law = jax.random.split(state.key)
    misfit = all_misfits(state.learned, data)
    law = state.law
    if law is None:
        law = _first_law(method.gating, misfit, data.owner, data.fields, for_law)
    # What the gate weighs squares of: standardised misfits beside a likelihood, else misfits as they are.
    weighed = law.standard(misfit, data.owner) if phase.loss.is_law else misfit
    cost = method.rejection.rejection_cost(np.asarray(weighed))
    share = noise_share(np.asarray(misfit), data.places, np.asarray(data.owner)) if phase.loss.is_law else 1.0
    numbers = (jnp.asarray(number, misfit.dtype) for number in (cost, share))
    law = NoiseState(law.density, law.standard, *numbers)
    return replace(state, law=law, key=key)


@eqx.filter_jit
def _first_law(
    gating: Gating, misfit: Float[Array, " m"], owner: Int[Array, " m"], fields: int, key: PRNGKeyArray
) -> NoiseState:
    standard = gating.scale.measure(misfit, owner, fields)
    density = gating.density.init(key, standard(misfit, owner))
    return NoiseState(density, standard, jnp.zeros((), misfit.dtype), jnp.ones((), misfit.dtype))


def chunk_runner(problem: Problem, method: Method, phase: Phase) -> Runner:
    """A function that runs some steps: the state after them, mean losses, and whether every number is finite.

    Fits of one problem by one method share its program, so that only the first of several seeds has to compile; and so
    do phases that differ in their length, their rate or the factors of their equations alone, and methods that differ
    in their phases."""
    # None of these is part of the program.
    parts = replace(method, phases=(), minutes=None, log_every=1, rejection=RelativeCost(), held_out=0.0, sensors=None)
    bare = replace(
        phase,
        name=phase.kind.value,
        steps=1,
        schedule=ConstantRate(),
        equation_factors=(1.0, 1.0),
        patience=None,
        screen=None,
    )
    run_chunk = _runner(Itself(problem), parts, bare)

    def run(
        state: TrainingState, data: Data, cached: Array, count: int, begun: float = 0.0, each: float = 0.0
    ) -> tuple[TrainingState, Losses, Array]:
        # All chunks are given as many shares, and the count as an array, so that a short last one compiles nothing;
        # a power of two, so that few lengths of a chunk are compiled.
        given = 1 << (max(count, method.log_every, FEWEST_SHARES) - 1).bit_length()
        done = np.minimum(begun + each * np.arange(given), 1.0)
        shares = schedule_of(phase, done, data.points.dtype)
        return run_chunk(state, data, cached, jnp.asarray(count, jnp.int32), shares)

    return run


@functools.lru_cache(maxsize=16)
def _runner(key: Itself, method: Method, phase: Phase) -> Runner:
    step = step_of(cast(Problem, key.thing), method, phase)

    @owned_jit
    def run_chunk(
        state: TrainingState, data: Data, cached: Array, count: Array, shares: StepSchedule
    ) -> tuple[TrainingState, Losses, Array]:
        dynamic, static = eqx.partition(state, eqx.is_array)

        def body(number: Array, carry: tuple[TrainingState, Losses]) -> tuple[TrainingState, Losses]:
            moving, sums = carry
            share = jax.tree.map(lambda each: each[number], shares)
            after, losses = step(eqx.combine(moving, static), data, cached, share)
            return eqx.filter(after, eqx.is_array), jax.tree.map(jnp.add, sums, losses)

        nothing = Losses(*[jnp.zeros((), data.points.dtype)] * 5)
        moved, sums = jax.lax.fori_loop(0, count, body, (dynamic, nothing))
        optimiser = eqx.filter(moved.optimiser, eqx.is_inexact_array)
        watched = jax.tree.leaves((moved.learned, moved.law, optimiser, sums))
        finite = [jnp.all(jnp.isfinite(leaf)) for leaf in watched]
        means = jax.tree.map(lambda total: total / count, sums)
        return kept_everywhere(eqx.combine(moved, static), data.mesh), means, jnp.all(jnp.stack(finite))

    return run_chunk
