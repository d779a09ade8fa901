"""One training step of each kind: what moves, and on which loss."""

import functools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
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
from napinn.training.optimisers import Optimiser
from napinn.training.phases import Kind, Method, Phase

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


class Share(eqx.Module):
    """What the share of a phase that is done makes of a step; data, so that phases which differ only in this run the
    same compiled program."""

    rate: Float[Array, "*n"]
    """What the optimiser's step is multiplied by."""
    stiffness: Float[Array, "*n"]
    """What the weight of the equations is multiplied by."""


Step = Callable[[State, Data, Float[Array, " m"], Share], tuple[State, Losses]]
"""State, readings, cached misfits and what the share of the phase makes of them, to the next state."""


def shares_of(phase: Phase, done: np.ndarray, dtype: jnp.dtype) -> Share:
    """For each of some steps, at which these shares of the phase are done."""
    first, last = phase.stiffness
    # Geometric from the beginning of the phase to its end.
    stiffness = first * (last / first) ** done
    return Share(jnp.asarray(phase.schedule.factor(done), dtype), jnp.asarray(stiffness, dtype))


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

    def step(state: State, data: Data, _: Array, share: Share) -> tuple[State, Losses]:
        key, for_batch, for_weights = jax.random.split(state.key, 3)
        batch = draw(data, state.kept, method, for_batch)
        slopes, losses = jax.grad(plain, has_aux=True)(state.learned, for_weights, batch, share.stiffness)
        learned, optimiser = _descend(method, phase, state, slopes, share)
        return replace(state, learned=learned, optimiser=optimiser, key=key), losses

    return step


def _gated_step(problem: Problem, method: Method, phase: Phase) -> Step:
    gated = with_posterior(
        functools.partial(gated_loss, problem, phase.loss, _gating_of(method)), method.divergence_weight
    )

    def step(state: State, data: Data, _: Array, share: Share) -> tuple[State, Losses]:
        key, for_batch, for_weights, for_law = jax.random.split(state.key, 4)
        batch = draw(data, None, method, for_batch)
        assert state.law is not None
        slopes, (law, losses) = jax.grad(gated, has_aux=True)(
            state.learned, for_weights, state.law, batch, for_law, share.stiffness
        )
        learned, optimiser = _descend(method, phase, state, slopes, share)
        return replace(state, learned=learned, optimiser=optimiser, law=law, key=key), losses

    return step


def _law_step(method: Method) -> Step:
    gating = _gating_of(method)

    def step(state: State, data: Data, cached: Array, _: Share) -> tuple[State, Losses]:
        key, for_batch, for_law = jax.random.split(state.key, 3)
        count = method.reading_batch * data.values.shape[1]
        chosen = jax.random.randint(for_batch, (count,), 0, data.trained * data.values.shape[1])
        assert state.law is not None
        law, surprise = learn_law(gating, state.law, cached[chosen], data.owner[chosen], for_law)
        nothing = jnp.zeros_like(surprise)
        return replace(state, law=law, key=key), Losses(surprise, nothing, nothing, nothing, surprise)

    return step


def _polish_step(problem: Problem, method: Method, phase: Phase) -> Step:
    """Steps on one batch, as large as it can be, with law and gate standing still: a line search needs a function that
    does not change from step to step."""
    transformation = _optimiser_of(method, phase).transformation()
    gating = method.gating

    def step(state: State, data: Data, _: Array, share: Share) -> tuple[State, Losses]:
        batch = _polish_batch(data, method, state.key)
        moving, static = eqx.partition(state.learned, eqx.is_array)

        def value(moved: Learned) -> tuple[Array, Losses]:
            learned = eqx.combine(moved, static)
            if gating is None or state.law is None:
                assert not isinstance(phase.loss, Likelihood)
                return plain_loss(problem, phase.loss, learned, batch, share.stiffness)
            return frozen_loss(problem, phase.loss, gating, learned, state.law, batch, share.stiffness)

        (total, losses), slopes = jax.value_and_grad(value, has_aux=True)(moving)
        steps, optimiser = transformation.update(
            slopes, state.optimiser, moving, value=total, grad=slopes, value_fn=lambda moved: value(moved)[0]
        )
        return replace(state, learned=eqx.apply_updates(state.learned, steps), optimiser=optimiser), losses

    return step


def _polish_batch(data: Data, method: Method, key: PRNGKeyArray) -> Batch:
    """Collocation points for several batches, and all readings where as many have room for them."""
    points, most = POLISH_BATCHES * method.collocation_batch, POLISH_BATCHES * method.reading_batch
    if data.trained > most:
        return draw(data, None, replace(method, collocation_batch=points, reading_batch=most), key)
    collocation = method.collocation.draw(key, points, data.low, data.high)
    return data.batch(slice(0, data.trained), collocation, None)


def _gating_of(method: Method) -> Gating:
    if method.gating is None:
        raise TypeError(f"method '{method.name}' has a phase that needs a density but no gating")
    return method.gating


def _optimiser_of(method: Method, phase: Phase) -> Optimiser:
    return phase.optimiser or method.optimiser


def _descend(method: Method, phase: Phase, state: State, slopes: Any, share: Share) -> tuple[Learned, optax.OptState]:
    moves: tuple[Any, optax.OptState] = _optimiser_of(method, phase).transformation().update(slopes, state.optimiser)
    steps, optimiser = moves
    if method.unknowns_rate != 1.0:
        faster = {name: method.unknowns_rate * step for name, step in steps.unknowns.items()}
        steps = eqx.tree_at(lambda tree: tree.unknowns, steps, faster)
    steps = jax.tree.map(lambda step: share.rate.astype(step.dtype) * step, steps)
    return eqx.apply_updates(state.learned, steps), optimiser
