"""One training step of each kind: what moves, and on which loss."""

import functools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, PRNGKeyArray

from napinn.likelihood import Likelihood
from napinn.objective import (
    Batch,
    Gating,
    Law,
    Learned,
    Losses,
    frozen_loss,
    gated_loss,
    learn_law,
    plain_loss,
    with_posterior,
)
from napinn.problem import Problem
from napinn.training.data import Data, draw
from napinn.training.gauss_newton import Rows
from napinn.training.optimisers import Constant, GaussNewton, Optimiser
from napinn.training.phases import Kind, Method, Phase
from napinn.training.rows import all_rows

POLISH_BATCHES = 4
"""The fixed batch of a polishing phase, in batches of the other phases."""


class State(eqx.Module):
    """Everything that the next step needs."""

    learned: Learned
    optimiser: optax.OptState
    law: Law | None
    kept: Float[Array, "n f"] | None
    """1 or 0 for every reading once they have been screened."""
    average: Learned | None
    """Running average of what is learned, in a phase that ends with it."""
    key: PRNGKeyArray


Step = Callable[[State, Data, Float[Array, " m"], Float[Array, ""]], tuple[State, Losses]]
"""State, readings, cached misfits and the share of the phase that is done, to the next state."""


def begin(method: Method, learned: Learned, key: PRNGKeyArray) -> State:
    return State(learned, first_moments(method.optimiser, learned), None, None, None, key)


@eqx.filter_jit
def first_moments(optimiser: Optimiser, learned: Learned) -> optax.OptState:
    return optimiser.transformation().init(eqx.filter(learned, eqx.is_array))


def step_of(problem: Problem, method: Method, phase: Phase) -> Step:
    match phase.kind:
        case Kind.PLAIN:
            return _plain_step(problem, method, phase)
        case Kind.LAW:
            return _law_step(method)
        case Kind.GATED:
            return _gated_step(problem, method, phase)
        case Kind.POLISH:
            return _polish_step(problem, method, phase)


def _plain_step(problem: Problem, method: Method, phase: Phase) -> Step:
    if isinstance(phase.loss, Likelihood):
        raise TypeError(f"phase '{phase.name}' has the likelihood as its loss but learns no law")
    plain = with_posterior(functools.partial(plain_loss, problem, phase.loss), method.divergence_weight)

    def step(state: State, data: Data, _: Array, share: Array) -> tuple[State, Losses]:
        key, for_batch, for_weights = jax.random.split(state.key, 3)
        batch = draw(data, state.kept, method, for_batch)
        slopes, losses = jax.grad(plain, has_aux=True)(state.learned, for_weights, batch, _stiffness(phase, share))
        learned, optimiser = _descend(method, phase, state, slopes, share)
        return replace(state, learned=learned, optimiser=optimiser, key=key), losses

    return step


def _gated_step(problem: Problem, method: Method, phase: Phase) -> Step:
    gated = with_posterior(
        functools.partial(gated_loss, problem, phase.loss, _gating_of(method)), method.divergence_weight
    )

    def step(state: State, data: Data, _: Array, share: Array) -> tuple[State, Losses]:
        key, for_batch, for_weights, for_law = jax.random.split(state.key, 4)
        batch = draw(data, None, method, for_batch)
        assert state.law is not None
        slopes, (law, losses) = jax.grad(gated, has_aux=True)(
            state.learned, for_weights, state.law, batch, for_law, _stiffness(phase, share)
        )
        learned, optimiser = _descend(method, phase, state, slopes, share)
        return replace(state, learned=learned, optimiser=optimiser, law=law, key=key), losses

    return step


def _law_step(method: Method) -> Step:
    gating = _gating_of(method)

    def step(state: State, data: Data, cached: Array, _: Array) -> tuple[State, Losses]:
        key, for_batch, for_law = jax.random.split(state.key, 3)
        count = method.reading_batch * data.values.shape[1]
        chosen = jax.random.randint(for_batch, (count,), 0, data.trained * data.values.shape[1])
        assert state.law is not None
        law, surprise = learn_law(gating, state.law, cached[chosen], data.owner[chosen], for_law)
        nothing = jnp.zeros_like(surprise)
        return replace(state, law=law, key=key), Losses(surprise, nothing, nothing, nothing, surprise)

    return step


def _polish_step(problem: Problem, method: Method, phase: Phase) -> Step:
    """The key does not move, so every step of the phase draws the same batch and a line search can trust it."""
    chosen = _optimiser_of(method, phase)
    transformation = chosen.transformation()
    gating = method.gating

    def step(state: State, data: Data, _: Array, share: Array) -> tuple[State, Losses]:
        batch = _whole_batch(data, method, chosen, state.key)
        moving, static = eqx.partition(state.learned, eqx.is_array)
        stiffness = _stiffness(phase, share)

        def value(moved: Learned) -> tuple[Array, Losses]:
            learned = eqx.combine(moved, static)
            if gating is None or state.law is None:
                assert not isinstance(phase.loss, Likelihood)
                return plain_loss(problem, phase.loss, learned, batch, stiffness)
            return frozen_loss(problem, phase.loss, gating, learned, state.law, batch, stiffness)

        def rows() -> Rows:
            return all_rows(problem, phase.loss, gating, state.learned, state.law, batch, stiffness)

        (total, losses), slopes = jax.value_and_grad(value, has_aux=True)(moving)
        steps, optimiser = transformation.update(
            slopes, state.optimiser, moving, value=total, grad=slopes, value_fn=lambda moved: value(moved)[0], rows=rows
        )
        return replace(state, learned=eqx.apply_updates(state.learned, steps), optimiser=optimiser), losses

    return step


def _whole_batch(data: Data, method: Method, optimiser: Optimiser, key: PRNGKeyArray) -> Batch:
    """A large batch that stays the same; of the readings all, where it has room for them."""
    if isinstance(optimiser, GaussNewton):
        method = replace(method, collocation_batch=optimiser.points)
    else:
        method = replace(method, collocation_batch=POLISH_BATCHES * method.collocation_batch)
    method = replace(method, reading_batch=POLISH_BATCHES * method.reading_batch)
    if data.trained > method.reading_batch:
        return draw(data, None, method, key)
    collocation = method.collocation.draw(key, method.collocation_batch, data.low, data.high)
    return data.batch(slice(0, data.trained), collocation, None)


def _stiffness(phase: Phase, share: Float[Array, ""]) -> Float[Array, ""] | float:
    """Geometric from the beginning of the phase to its end."""
    first, last = phase.stiffness
    return first if first == last else first * (last / first) ** share


def _gating_of(method: Method) -> Gating:
    if method.gating is None:
        raise TypeError(f"method '{method.name}' has a phase that needs a density but no gating")
    return method.gating


def _optimiser_of(method: Method, phase: Phase) -> Optimiser:
    return phase.optimiser or method.optimiser


def _descend(
    method: Method, phase: Phase, state: State, slopes: Any, share: Float[Array, ""]
) -> tuple[Learned, optax.OptState]:
    moves: tuple[Any, optax.OptState] = _optimiser_of(method, phase).transformation().update(slopes, state.optimiser)
    steps, optimiser = moves
    if method.unknowns_rate != 1.0:
        faster = {name: method.unknowns_rate * step for name, step in steps.unknowns.items()}
        steps = eqx.tree_at(lambda tree: tree.unknowns, steps, faster)
    if not isinstance(phase.schedule, Constant):
        factor = phase.schedule.factor(share)
        steps = jax.tree.map(lambda step: factor.astype(step.dtype) * step, steps)
    return eqx.apply_updates(state.learned, steps), optimiser
