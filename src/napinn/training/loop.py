"""The one training loop: chunks of many steps compiled together, for every method and phase.

The host sees one row of history a chunk. A chunk that ends in a number that is not finite is thrown away: the state
before it stays, and the caller is told."""

import functools
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, PRNGKeyArray

from napinn.density import batch_std
from napinn.objective import (
    Batch,
    Gating,
    Law,
    Learned,
    Losses,
    gated_loss,
    learn_law,
    misfits,
    plain_loss,
    unknown_values,
    with_posterior,
)
from napinn.problem import Problem
from napinn.training.data import Data, draw
from napinn.training.phases import Kind, Method, Phase


class State(eqx.Module):
    """Everything that the next step needs."""

    learned: Learned
    optimiser: optax.OptState
    law: Law | None
    kept: Float[Array, "n f"] | None
    """1 or 0 for every reading once a phase has screened them."""
    key: PRNGKeyArray


@dataclass(frozen=True)
class Snapshot:
    """Where training stands, for a progress display and for the history."""

    phase: str
    step: int
    steps: int
    done: int
    total: int
    losses: dict[str, float]
    unknowns: dict[str, float]
    gate: dict[str, float]
    seconds: float
    steps_a_second: float

    def row(self) -> dict[str, float | str]:
        return {
            "phase": self.phase,
            "step": self.done,
            **self.losses,
            **self.unknowns,
            **self.gate,
            "seconds": self.seconds,
        }


class DivergedError(Exception):
    """A chunk ended in a number that is not finite; the state from before it is what remains."""


Step = Callable[[State, Data, Float[Array, " m"]], tuple[State, Losses]]


def optimiser_of(method: Method) -> optax.GradientTransformation:
    return optax.adam(method.optimiser.rate)


def begin(method: Method, learned: Learned, key: PRNGKeyArray) -> State:
    return State(learned, optimiser_of(method).init(eqx.filter(learned, eqx.is_array)), None, None, key)


@eqx.filter_jit
def all_misfits(learned: Learned, data: Data, chunk: int = 65_536) -> Float[Array, " m"]:
    """Misfits of all readings, evaluated in pieces so that memory stays bounded."""
    rows = data.points.shape[0]
    pieces = []
    for start in range(0, rows, chunk):
        piece = slice(start, min(start + chunk, rows))
        field = None if data.field is None else data.field[piece]
        spread = None if data.spread is None else data.spread[piece]
        batch = Batch(data.points[:0], data.points[piece], data.values[piece], field, spread=spread)
        pieces.append(misfits(learned.field, batch))
    return jnp.concatenate(pieces)


def run_phase(
    problem: Problem, method: Method, phase: Phase, state: State, data: Data, done: int, total: int
) -> Iterator[tuple[State, Snapshot]]:
    """Train one phase, giving the state and a snapshot after every chunk."""
    state = enter(method, phase, state, data)
    cached = all_misfits(state.learned, data) if phase.kind is Kind.LAW else jnp.zeros((0,), data.points.dtype)
    run_chunk = chunk_runner(problem, method, phase)
    step = 0
    while step < phase.steps:
        count = min(method.log_every, phase.steps - step)
        began = time.perf_counter()
        after, losses, finite = run_chunk(state, data, cached, count)
        numbers = {name: float(value) for name, value in vars(losses).items()}
        if not finite:
            raise DivergedError(f"in phase '{phase.name}', after step {step} of {phase.steps}")
        state = after
        step += count
        unknowns = {name: float(value) for name, value in unknown_values(problem, state.learned.unknowns).items()}
        gate: dict[str, float] = {}
        if state.law is not None and phase.kind is not Kind.PLAIN:
            gate = {
                "steepness": float(state.learned.gate.steepness),
                "cutoff": float(state.learned.gate.cutoff),
                "scale": float(state.law.scale),
            }
        elapsed = time.perf_counter() - began
        yield (
            state,
            Snapshot(
                phase.name,
                step,
                phase.steps,
                done + step,
                total,
                numbers,
                unknowns,
                gate,
                elapsed,
                count / elapsed,
            ),
        )


def enter(method: Method, phase: Phase, state: State, data: Data) -> State:
    """What has to be measured on all readings before a phase can begin."""
    if phase.screen is not None:
        keep = phase.screen.kept(np.asarray(all_misfits(state.learned, data)))
        kept = jnp.asarray(keep.reshape(data.values.shape), data.values.dtype)
        state = replace(state, kept=kept)
    if phase.kind is Kind.PLAIN or method.gating is None:
        return state
    key, for_law = jax.random.split(state.key)
    misfit = all_misfits(state.learned, data)
    law = state.law
    if law is None:
        law = _first_law(method.gating, misfit, for_law)
    price = method.rejection.price(np.asarray(misfit))
    law = Law(law.density, law.scale, jnp.asarray(price, misfit.dtype))
    return replace(state, law=law, key=key)


@eqx.filter_jit
def _first_law(gating: Gating, misfit: Float[Array, " m"], key: PRNGKeyArray) -> Law:
    scale = batch_std(misfit)
    return Law(gating.density.init(key, misfit / scale), scale, jnp.zeros_like(scale))


def chunk_runner(problem: Problem, method: Method, phase: Phase) -> Callable[..., tuple[State, Losses, Array]]:
    """A function that runs some steps: the state after them, mean losses, and whether every number is finite."""
    step = _step_of(problem, method, phase)

    @eqx.filter_jit
    def run_chunk(state: State, data: Data, cached: Array, count: int | Array) -> tuple[State, Losses, Array]:
        dynamic, static = eqx.partition(state, eqx.is_array)

        def body(_: Array, carry: tuple[State, Losses]) -> tuple[State, Losses]:
            moving, sums = carry
            after, losses = step(eqx.combine(moving, static), data, cached)
            return eqx.filter(after, eqx.is_array), jax.tree.map(jnp.add, sums, losses)

        nothing = Losses(*[jnp.zeros((), data.points.dtype)] * 5)
        moved, sums = jax.lax.fori_loop(0, count, body, (dynamic, nothing))
        finite = [jnp.all(jnp.isfinite(leaf)) for leaf in jax.tree.leaves((moved.learned, moved.law, sums))]
        means = jax.tree.map(lambda total: total / count, sums)
        return eqx.combine(moved, static), means, jnp.all(jnp.stack(finite))

    # The count is an array so that a short last chunk does not compile anew.
    return lambda state, data, cached, count: run_chunk(state, data, cached, jnp.asarray(count, jnp.int32))


def _step_of(problem: Problem, method: Method, phase: Phase) -> Step:
    match phase.kind:
        case Kind.PLAIN:
            return _plain_step(problem, method, phase)
        case Kind.LAW:
            return _law_step(method)
        case Kind.GATED:
            return _gated_step(problem, method, phase)


def _plain_step(problem: Problem, method: Method, phase: Phase) -> Step:
    plain = with_posterior(functools.partial(plain_loss, problem, phase.loss), method.divergence_weight)

    def step(state: State, data: Data, _: Array) -> tuple[State, Losses]:
        key, for_batch, for_weights = jax.random.split(state.key, 3)
        batch = draw(data, state.kept, method, for_batch)
        slopes, losses = jax.grad(plain, has_aux=True)(state.learned, for_weights, batch)
        learned, optimiser = _descend(method, state, slopes)
        return replace(state, learned=learned, optimiser=optimiser, key=key), losses

    return step


def _gated_step(problem: Problem, method: Method, phase: Phase) -> Step:
    gated = with_posterior(
        functools.partial(gated_loss, problem, phase.loss, _gating_of(method)), method.divergence_weight
    )

    def step(state: State, data: Data, _: Array) -> tuple[State, Losses]:
        key, for_batch, for_weights, for_law = jax.random.split(state.key, 4)
        batch = draw(data, state.kept, method, for_batch)
        assert state.law is not None
        slopes, (law, losses) = jax.grad(gated, has_aux=True)(state.learned, for_weights, state.law, batch, for_law)
        learned, optimiser = _descend(method, state, slopes)
        return replace(state, learned=learned, optimiser=optimiser, law=law, key=key), losses

    return step


def _law_step(method: Method) -> Step:
    gating = _gating_of(method)

    def step(state: State, data: Data, cached: Array) -> tuple[State, Losses]:
        key, for_batch, for_law = jax.random.split(state.key, 3)
        count = method.reading_batch * data.values.shape[1]
        misfit = cached[jax.random.randint(for_batch, (count,), 0, cached.shape[0])]
        assert state.law is not None
        law, surprise = learn_law(gating, state.law, misfit, for_law)
        nothing = jnp.zeros_like(surprise)
        return replace(state, law=law, key=key), Losses(surprise, nothing, nothing, nothing, surprise)

    return step


def _gating_of(method: Method) -> Gating:
    if method.gating is None:
        raise TypeError(f"method '{method.name}' has a phase that needs a density but no gating")
    return method.gating


def _descend(method: Method, state: State, slopes: Any) -> tuple[Learned, optax.OptState]:
    steps, optimiser = optimiser_of(method).update(slopes, state.optimiser)
    return eqx.apply_updates(state.learned, steps), optimiser
