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

from napinn.engines.network.objective import (
    Gating,
    Learned,
    Losses,
    NoiseState,
    gated_loss,
    learn_law,
    plain_loss,
    with_posterior,
)
from napinn.engines.network.training.data import Data, draw
from napinn.engines.network.training.optimisers import Optimiser
from napinn.engines.network.training.phases import Method, Phase, PhaseKind
from napinn.problem import Problem


class TrainingState(eqx.Module):
    """Everything that the next step needs."""

    learned: Learned
    optimiser: optax.OptState
    law: NoiseState | None
    kept: Float[Array, "n f"] | None
    """1 or 0 for every reading once they have been screened."""
    key: PRNGKeyArray


class StepSchedule(eqx.Module):
    """What the share of a phase that is done makes of a step; data, so that phases which differ only in this run the
    same compiled program."""

    rate: Float[Array, "*n"]
    """What the optimiser's step is multiplied by."""
    equation_factor: Float[Array, "*n"]
    """What the weight of the equations is multiplied by."""


Step = Callable[[TrainingState, Data, Float[Array, " m"], StepSchedule], tuple[TrainingState, Losses]]
"""State, readings, cached misfits and what the share of the phase makes of them, to the next state."""


def schedule_of(phase: Phase, done: np.ndarray, dtype: jnp.dtype) -> StepSchedule:
    """For each of some steps, at which these shares of the phase are done."""
    first, last = phase.equation_factors
    # Geometric from the beginning of the phase to its end.
    equation_factor = first * (last / first) ** done
    return StepSchedule(jnp.asarray(phase.schedule.factor(done), dtype), jnp.asarray(equation_factor, dtype))


def begin(method: Method, learned: Learned, key: PRNGKeyArray) -> TrainingState:
    return TrainingState(learned, first_moments(method.optimiser, learned), None, None, key)


@eqx.filter_jit
def first_moments(optimiser: Optimiser, learned: Learned) -> optax.OptState:
    return optimiser.transformation().init(eqx.filter(learned, eqx.is_array))


def step_of(problem: Problem, method: Method, phase: Phase) -> Step:
    match phase.kind:
        case PhaseKind.PLAIN:
            return _plain_step(problem, method, phase)
        case PhaseKind.LAW:
            return _law_step(method)
        case PhaseKind.GATED:
            return _gated_step(problem, method, phase)


def _plain_step(problem: Problem, method: Method, phase: Phase) -> Step:
    if phase.loss.is_law:
        raise TypeError(f"phase '{phase.name}' has the likelihood as its loss but learns no law")
    plain = with_posterior(functools.partial(plain_loss, problem, phase.loss), method.divergence_weight)

    def step(state: TrainingState, data: Data, _: Array, share: StepSchedule) -> tuple[TrainingState, Losses]:
        key, for_batch, for_weights = jax.random.split(state.key, 3)
        batch = draw(data, state.kept, method, for_batch)
        slopes, losses = jax.grad(plain, has_aux=True)(state.learned, for_weights, batch, share.equation_factor)
        learned, optimiser = _descend(method, phase, state, slopes, share)
        return replace(state, learned=learned, optimiser=optimiser, key=key), losses

    return step


def _gated_step(problem: Problem, method: Method, phase: Phase) -> Step:
    gated = with_posterior(
        functools.partial(gated_loss, problem, phase.loss, _gating_of(method)), method.divergence_weight
    )

    def step(state: TrainingState, data: Data, _: Array, share: StepSchedule) -> tuple[TrainingState, Losses]:
        key, for_batch, for_weights, for_law = jax.random.split(state.key, 4)
        batch = draw(data, None, method, for_batch)
        assert state.law is not None
        slopes, (law, losses) = jax.grad(gated, has_aux=True)(
            state.learned, for_weights, state.law, batch, for_law, share.equation_factor
        )
        learned, optimiser = _descend(method, phase, state, slopes, share)
        return replace(state, learned=learned, optimiser=optimiser, law=law, key=key), losses

    return step


def _law_step(method: Method) -> Step:
    gating = _gating_of(method)

    def step(state: TrainingState, data: Data, cached: Array, _: StepSchedule) -> tuple[TrainingState, Losses]:
        key, for_batch, for_law = jax.random.split(state.key, 3)
        count = method.reading_batch * data.values.shape[1]
        chosen = jax.random.randint(for_batch, (count,), 0, data.trained * data.values.shape[1])
        assert state.law is not None
        law, surprise = learn_law(gating, state.law, cached[chosen], data.owner[chosen], for_law)
        nothing = jnp.zeros_like(surprise)
        return replace(state, law=law, key=key), Losses(surprise, nothing, nothing, nothing, surprise)

    return step


def _gating_of(method: Method) -> Gating:
    if method.gating is None:
        raise TypeError(f"method '{method.name}' has a phase that needs a density but no gating")
    return method.gating


def _optimiser_of(method: Method, phase: Phase) -> Optimiser:
    return phase.optimiser or method.optimiser


def _descend(
    method: Method, phase: Phase, state: TrainingState, slopes: Any, share: StepSchedule
) -> tuple[Learned, optax.OptState]:
    moves: tuple[Any, optax.OptState] = _optimiser_of(method, phase).transformation().update(slopes, state.optimiser)
    steps, optimiser = moves
    if method.unknowns_rate != 1.0:
        faster = {name: method.unknowns_rate * step for name, step in steps.unknowns.items()}
        steps = eqx.tree_at(lambda tree: tree.unknowns, steps, faster)
    steps = jax.tree.map(lambda step: share.rate.astype(step.dtype) * step, steps)
    return eqx.apply_updates(state.learned, steps), optimiser
