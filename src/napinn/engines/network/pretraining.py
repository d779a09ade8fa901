"""Pretrain a network on a field that was found before, so that training begins where another engine ended.

The network is fitted to the values of that field alone, without readings or equations: a step costs a fraction of a
step of training, and the noise of the readings has no part in it."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, PRNGKeyArray

from napinn.data.readings import Readings
from napinn.engines.network.objective import Learned
from napinn.field.derivatives import FieldNetwork
from napinn.problem import Problem
from napinn.results.model import FittedModel

STEPS, BATCH, RATE = 1000, 1024, 2e-3
"""Steps of Adam, points in each, and the rate at which they begin; it falls to nothing."""
MOST_PLACES = 20_000
"""Places of readings, and as many drawn from the box, at which the network is pretrained."""


def pretrained(
    learned: Learned, model: FittedModel, problem: Problem, readings: Readings, key: PRNGKeyArray, steps: int = STEPS
) -> Learned:
    """What a network begins with, its field as near to that of a model as `steps` bring it.

    Args:
        learned: network, unknowns and gate before the first step.
        model: the field to pretrain on, of the same problem.
        problem: the problem.
        readings: their places are half of those at which the network is pretrained; the others are drawn from the box.
        key: of what is random.
        steps: how many steps of Adam.
    """
    points = _places(problem, readings)
    dtype = learned.field.frame.gain.dtype
    values = jnp.asarray(model.values(points).astype(dtype))
    # Bad numbers of a field that went wrong would spoil every weight.
    if not bool(jnp.all(jnp.isfinite(values))):
        return learned
    field = _followed(learned.field, jnp.asarray(points.astype(dtype)), values, key, steps)
    return eqx.tree_at(lambda tree: tree.field, learned, field)


def _places(problem: Problem, readings: Readings) -> np.ndarray:
    random, own = np.random.default_rng(0), np.asarray(readings.points, float)
    own = own[random.permutation(len(own))[:MOST_PLACES]]
    lows, highs = np.asarray(problem.lows, float), np.asarray(problem.highs, float)
    drawn = random.uniform(lows, highs, (max(len(own), BATCH), len(lows)))
    return np.concatenate([np.clip(own, lows, highs), drawn])


@eqx.filter_jit
def _followed(
    field: FieldNetwork, points: Float[Array, "n d"], values: Float[Array, "n f"], key: PRNGKeyArray, steps: int
) -> FieldNetwork:
    moving, still = eqx.partition(field.network, eqx.is_inexact_array)
    optimiser = optax.adam(optax.cosine_decay_schedule(RATE, steps))

    def loss(network: Any, chosen: Array) -> Float[Array, ""]:
        found = FieldNetwork(eqx.combine(network, still), field.frame)(points[chosen])
        return jnp.mean(((found - values[chosen]) / field.frame.gain[None]) ** 2)

    def step(state: tuple[Any, Any], own: PRNGKeyArray) -> tuple[tuple[Any, Any], None]:
        network, moments = state
        slopes = jax.grad(loss)(network, jax.random.randint(own, (BATCH,), 0, len(points)))
        updates, moments = optimiser.update(slopes, moments)
        return (optax.apply_updates(network, updates), moments), None

    (moving, _), _ = jax.lax.scan(step, (moving, optimiser.init(moving)), jax.random.split(key, steps))
    return FieldNetwork(eqx.combine(moving, still), field.frame)
