"""A finished fit to first order: how residuals and misfits follow the network's weights and the unknowns.

A row is the derivative of one number by all weights and unknowns. Networks have more weights than the functions near
theirs have dimensions, so beyond `MOST` weights they are folded into as many sums with random signs (a count sketch):
almost surely the folded rows reach the same fields. Everything is in float64, because directions that differ by
millions in their effect have to be distinguished."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float

from napinn.engines.network.compiled import owned_jit
from napinn.engines.network.model import network_of
from napinn.engines.network.objective import Learned, NoiseState, face_residuals, inside_residuals, misfits
from napinn.engines.network.training import Data, prepare_data
from napinn.problem import Problem
from napinn.results.result import FitResult

MOST = 768
"""Weights, or sums of them, that are distinguished."""
POINTS = 2048
"""At how many points of the box the equations are looked at, at least."""
READINGS = 10_000
"""How many rows of readings are looked at, at most."""
CHUNK = 128


@dataclass(frozen=True, eq=False)
class Tangent:
    """Weights come first in each row, then the unknowns."""

    learned: Learned
    law: NoiseState | None
    residual: np.ndarray
    """(e,) residuals of equations and conditions, each times the root of its weight in the loss."""
    residual_rows: np.ndarray
    misfit: np.ndarray
    """(m,) misfits in the units of training."""
    misfit_rows: np.ndarray
    owner: np.ndarray
    reading: np.ndarray
    """The number of each misfit's reading."""
    unfold: Callable[[np.ndarray], Any]
    """A row of weights to the network's arrays."""


def tangent_of(result: FitResult, equation_factor: float, seed: int = 0) -> Tangent:
    """Residuals are weighed so that the sum of their squares is the loss of the equations, `equation_factor` times."""
    problem, network = result.problem, network_of(result)
    method = network.method
    learned, law = _in_double((network.learned, network.law))
    # Here, because scipy.stats takes a second to import and every fit of a network imports this module.
    from scipy.stats import qmc

    data, place = prepare_data(problem, result.readings, jnp.dtype(jnp.float64), method.held_out, result.seed)
    flat = _Flat(problem, learned, seed)
    count = max(POINTS, 4 * flat.width)
    unit = qmc.Halton(len(problem.lows), rng=np.random.default_rng(seed)).random(count)
    points = jnp.asarray(qmc.scale(unit, problem.lows, problem.highs))
    weight = np.sqrt(equation_factor / count)
    residual, residual_rows = flat.rows(lambda learned, point: _residuals(problem, learned, point), points)
    chosen = _thinned(data.trained, seed)
    misfit, misfit_rows = flat.rows(lambda learned, row: _misfit(data, learned, row), jnp.asarray(chosen))
    fields = data.values.shape[1]
    flattened = (fields * chosen[:, None] + np.arange(fields)[None]).reshape(-1)
    return Tangent(
        learned, law, weight * residual, weight * residual_rows, misfit, misfit_rows,
        np.asarray(data.owner)[flattened], np.argsort(place)[flattened], flat.unfold,
    )  # fmt: skip


def _thinned(rows: int, seed: int) -> np.ndarray:
    """All rows of readings that were trained on, or `READINGS` of them: intervals are then wider than they need be, and
    never narrower."""
    if rows <= READINGS:
        return np.arange(rows)
    return np.sort(np.random.default_rng(seed).choice(rows, READINGS, replace=False))


def _in_double(tree: Any) -> Any:
    return jax.tree.map(lambda leaf: jnp.asarray(leaf, jnp.float64) if eqx.is_inexact_array(leaf) else leaf, tree)


def _residuals(problem: Problem, learned: Learned, point: Float[Array, " d"]) -> Float[Array, " e"]:
    inside = inside_residuals(problem, learned, point[None])
    return jnp.concatenate([inside, *face_residuals(problem, learned, point[None])], axis=1)[0]


def _misfit(data: Data, learned: Learned, row: Array) -> Float[Array, " f"]:
    return misfits(learned.field, data.batch(row[None], data.points[:0], None))


class _Flat:
    """What is learned as one vector: the weights, folded where they are many, and the unknowns behind them."""

    def __init__(self, problem: Problem, learned: Learned, seed: int) -> None:
        moving, self.still = eqx.partition(learned.field.network, eqx.is_inexact_array)
        self.weights, self.unravel = ravel_pytree(moving)
        self.learned, self.names = learned, tuple(problem.unknowns)
        size = len(self.weights)
        self.width = min(size, MOST)
        random = np.random.default_rng(seed)
        # Without folding, the weights are themselves.
        folded = size > MOST
        self.bucket = random.permutation(size) % self.width if folded else np.arange(size)
        self.sign = random.choice([-1.0, 1.0], size) if folded else np.ones(size)

    def unfold(self, row: np.ndarray) -> Any:
        return self.unravel(jnp.asarray(self.sign * row[self.bucket]))

    def _at(self, moved: Float[Array, " w"]) -> Learned:
        """What is learned after a move of the folded weights and the unknowns."""
        step = jnp.asarray(self.sign) * moved[: self.width][jnp.asarray(self.bucket)]
        network = eqx.combine(self.unravel(self.weights + step), self.still)
        raw = {name: self.learned.unknowns[name] + moved[self.width + i] for i, name in enumerate(self.names)}
        learned = eqx.tree_at(lambda tree: tree.field.network, self.learned, network)
        return eqx.tree_at(lambda tree: tree.unknowns, learned, raw)

    def rows(self, numbers: Callable[[Learned, Array], Array], over: Array) -> tuple[np.ndarray, np.ndarray]:
        """Numbers of everything in `over`, and their rows."""
        start = jnp.zeros((self.width + len(self.names),))

        @owned_jit
        def chunk(part: Array) -> tuple[Array, Array]:
            def one(thing: Array) -> tuple[Array, Array]:
                twice = lambda moved: (lambda found: (found, found))(numbers(self._at(moved), thing))  # noqa: E731
                rows, found = jax.jacrev(twice, has_aux=True)(start)
                return found, rows

            found, rows = jax.vmap(one)(part)
            return found.reshape(-1), rows.reshape(-1, len(start))

        # The last chunk is filled up with its own last entry, so that all chunks share one program.
        pieces = []
        for begin in range(0, len(over), CHUNK):
            part = over[begin : begin + CHUNK]
            found, rows = chunk(jnp.concatenate([part, jnp.repeat(part[-1:], CHUNK - len(part), axis=0)]))
            kept = len(part) * (len(found) // CHUNK)
            pieces.append((np.asarray(found)[:kept], np.asarray(rows)[:kept]))
        return tuple(np.concatenate(each) for each in zip(*pieces, strict=True))  # pyright: ignore[reportReturnType]
