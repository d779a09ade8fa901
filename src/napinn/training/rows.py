"""The loss as a table of residuals with their slopes, which is what Gauss–Newton steps are made of.

    curvature of the loss ≈ Σ over residuals of slope slope'

Residuals of the equations are squared, so they are their own. Those of the data are such that slopes and curvature
are those of a parabola over each reading's share of the data term."""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float

from napinn.likelihood import Likelihood
from napinn.losses import Loss
from napinn.objective import (
    FACE_POINTS,
    Batch,
    Gating,
    Law,
    Learned,
    face_residuals,
    frozen_data,
    inside_residuals,
    misfits,
    owners,
)
from napinn.problem import Problem
from napinn.training.gauss_newton import Rows

LEAST_CURVED, MOST_CURVED = 0.1, 10.0
"""In units of a Gaussian law's."""
NEAR = 0.01
"""Misfits nearer to zero than this, in deviations of the field, are weighed as if they were here."""
ByPoint = Callable[[Learned, Float[Array, " d"]], Float[Array, " m"]]


def all_rows(
    problem: Problem,
    loss: Loss | Likelihood,
    gating: Gating | None,
    learned: Learned,
    law: Law | None,
    batch: Batch,
    stiffness: Float[Array, ""] | float,
) -> Rows:
    points = batch.collocation
    parts = [_squares(learned, lambda now, point: inside_residuals(problem, now, point[None])[0], points, stiffness)]
    if problem.placed or problem.periodic:

        def faces(now: Learned, point: Float[Array, " d"]) -> Float[Array, " m"]:
            return jnp.concatenate([table[0] for table in face_residuals(problem, now, point[None])])

        parts.append(_squares(learned, faces, points[:FACE_POINTS], stiffness))
    parts.append(_data(loss, gating, learned, law, batch))
    return Rows(jnp.concatenate([part.left for part in parts]), jnp.concatenate([part.slopes for part in parts]))


def _squares(
    learned: Learned, residuals: ByPoint, points: Float[Array, "n d"], weight: Float[Array, ""] | float
) -> Rows:
    """Rows of weight · mean over points of Σ residual², whose curvature is twice that of a half square."""
    left, slopes = _by_point(learned, residuals, points)
    unit = jnp.sqrt(jnp.asarray(2.0 * weight / len(points), left.dtype))
    return Rows(unit * left.reshape(-1), unit * slopes.reshape(left.size, -1))


def _data(loss: Loss | Likelihood, gating: Gating | None, learned: Learned, law: Law | None, batch: Batch) -> Rows:
    misfit, owner = misfits(learned.field, batch), owners(batch)

    def term(misfit: Float[Array, " n"]) -> Float[Array, ""]:
        if gating is None or law is None:
            assert not isinstance(loss, Likelihood)
            return jnp.mean(loss(misfit))
        return frozen_data(loss, gating, learned, law, misfit, owner)[0]

    rows = [array for array in (batch.points, batch.values, batch.field, batch.spread) if array is not None]

    def at_row(now: Learned, *row: Array) -> Float[Array, " m"]:
        given = iter(piece[None] for piece in row)
        parts = [None if array is None else next(given) for array in (batch.points, batch.values, batch.field)]
        spread = None if batch.spread is None else next(given)
        assert parts[0] is not None
        assert parts[1] is not None
        return misfits(now.field, Batch(batch.collocation[:0], parts[0], parts[1], parts[2], None, spread))

    _, slopes = _by_point(learned, at_row, *rows)
    pull = jax.grad(term)
    unit = jnp.sqrt(_curvature(loss, pull, misfit))
    return Rows(pull(misfit) / unit, unit[:, None] * slopes.reshape(len(misfit), -1))


def _curvature(
    loss: Loss | Likelihood, pull: Callable[[Array], Array], misfit: Float[Array, " n"]
) -> Float[Array, " n"]:
    """Of a parabola over each reading's share of the data term.

    Under a law it is the law's own, within bounds, since a law need not be convex. Else the one that touches the loss
    at the misfit on either side, which never lies below it: that of least squares with weights, solved anew each
    step."""
    if isinstance(loss, Likelihood):
        # Every share depends on its own misfit alone, so one forward derivative gives all.
        own = len(misfit) * jax.jvp(pull, (misfit,), (jnp.ones_like(misfit),))[1]
        return jnp.clip(own, LEAST_CURVED, MOST_CURVED) / len(misfit)
    away = jnp.where(misfit < 0.0, jnp.minimum(misfit, -NEAR), jnp.maximum(misfit, NEAR))
    return jnp.maximum(pull(away) / away, 1e-6 / len(misfit))


def _by_point(
    learned: Learned, function: Callable[..., Float[Array, " m"]], *rows: Array
) -> tuple[Float[Array, "n m"], Float[Array, "n m p"]]:
    """Values and slopes, a point at a time, so that the slopes of one do not pass through the others."""
    moving, static = eqx.partition(learned, eqx.is_array)
    flat, restore = ravel_pytree(moving)

    def value(flat: Float[Array, " p"], *row: Array) -> tuple[Array, Array]:
        found = function(eqx.combine(restore(flat), static), *row)
        return found, found

    slopes, values = jax.vmap(jax.jacrev(value, has_aux=True), in_axes=(None, *[0] * len(rows)))(flat, *rows)
    return values, slopes
