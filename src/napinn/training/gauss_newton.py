"""Gauss–Newton steps for networks, solved among residuals in place of weights.

The loss is a sum of squares r_i² to first order in the network, so its curvature is J'J with J the slopes of all
residuals. Weights are many more than residuals, and (J'J + λ) δ = -J'r has the same solution as δ = -J' (J J' + λ)⁻¹ r:
a matrix of the size of the residuals. Such a step follows a valley along which network and unknowns have to move
together, where gradients only bounce between its walls. λ is Levenberg's: it falls after a step that lowered the loss,
and after one that did not the step is taken back and λ rises."""

from itertools import pairwise
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jax.flatten_util import ravel_pytree
from jax.scipy.linalg import cho_factor, cho_solve
from jaxtyping import Array, Float

DOWN, UP = 0.4, 5.0
BLOCKS = 4
"""Each way, of a symmetric product; those below its diagonal are those above it."""
SMALLEST, LARGEST = 1e-7, 1e4


class Rows(NamedTuple):
    """Residuals, and how each of them changes with everything that is trained."""

    left: Float[Array, " n"]
    slopes: Float[Array, "n p"]


class Damping(NamedTuple):
    level: Float[Array, ""]
    """λ in units of the mean square length of a row."""


def gauss_newton(first: float) -> optax.GradientTransformationExtraArgs:
    """As an Optax transformation that asks for `rows`, a function that gives the `Rows`, and for `value_fn`."""

    def init(params: optax.Params) -> Damping:
        del params
        return Damping(jnp.asarray(first))

    def update(updates: Any, state: Any, params: Any = None, **given: Any) -> tuple[Any, Any]:
        del updates
        moves = ravel_pytree(params)[1](_solution(given["rows"](), state.level))
        after = given["value_fn"](optax.apply_updates(params, moves))
        better = after < given["value"]  # False too where it is not a number
        level = jnp.clip(jnp.where(better, DOWN * state.level, UP * state.level), SMALLEST, LARGEST)
        kept = jax.tree.map(lambda move: jnp.where(better, move, jnp.zeros_like(move)), moves)
        return kept, Damping(level.astype(state.level.dtype))

    return optax.GradientTransformationExtraArgs(init, update)


def _solution(rows: Rows, level: Float[Array, ""]) -> Float[Array, " p"]:
    """δ = -J' (J J' + λ)⁻¹ r."""
    alike = _products(rows.slopes)
    damping = level * jnp.mean(jnp.diag(alike))
    factor = cho_factor(alike + damping * jnp.eye(len(alike), dtype=alike.dtype))
    return -(rows.slopes.T @ cho_solve(factor, rows.left))


def _products(rows: Float[Array, "n p"]) -> Float[Array, "n n"]:
    """J J', of which little more than half is computed; a step takes most of its time for it."""
    ends = [len(rows) * number // BLOCKS for number in range(BLOCKS + 1)]
    parts = [rows[begin:end] for begin, end in pairwise(ends)]
    above = {(i, j): parts[i] @ parts[j].T for i in range(BLOCKS) for j in range(i, BLOCKS)}
    return jnp.block([[above[i, j] if i <= j else above[j, i].T for j in range(BLOCKS)] for i in range(BLOCKS)])
