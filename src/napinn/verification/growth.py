"""How fast an evolution moves: whether it is well posed, and whether it is stiff.

At a point, small waves exp(iκx) on the state are carried by a matrix M(κ), which the slopes of the equations give. The
largest real part of its eigenvalues is the rate at which they grow. Where it keeps rising with κ, as for a negative
diffusivity, the finest waves that a grid holds, rounding errors among them, swamp everything: the equation can be
obeyed by a smooth field, but nobody can solve it forward. The largest eigenvalue of all sets the steps of an explicit
solver; where these would be too many, an implicit one is needed."""

from collections.abc import Mapping
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from napinn.compiled import owned_jit
from napinn.verification.lines import Lines

PROBES = 256
FASTEST = 30.0
"""Rounding errors of 1e-16 that grow by more than e to this power have become visible."""
RISES = 1.5
"""How much faster waves grow than those of twice their length, where growth rises with the wave number."""


STIFF = 1000.0
"""The largest eigenvalue times the duration up to which explicit steps are few enough."""


@dataclass(frozen=True)
class Pace:
    ill_posed: bool
    stiff: bool


def pace_of(lines: Lines, unknowns: Mapping[str, float]) -> Pace:
    """What the finest waves on a line do."""
    evolution = lines.evolution
    slopes = _slopes(lines, {name: jnp.asarray(value, jnp.float64) for name, value in unknowns.items()})
    low, high = evolution.problem.coordinates[evolution.time]
    shortest = np.pi / lines.line.spacing
    half, full = ((high - low) * _eigenvalues(lines, slopes, number) for number in (0.5 * shortest, shortest))
    grows = float(full.real.max(initial=0.0))
    rises = grows > FASTEST and grows > RISES * float(half.real.max(initial=0.0))
    return Pace(evolution.space is not None and rises, bool(np.abs(full).max(initial=0.0) > STIFF))


def _slopes(lines: Lines, unknowns: dict[str, Array]) -> np.ndarray:
    """(needs, fields, points): how what is solved for follows each of the derivatives that it depends on."""
    evolution, problem = lines.evolution, lines.evolution.problem
    leaves = [leaf for leaf, _, _ in evolution.needs]

    @owned_jit
    def slopes(points: Float[Array, "n d"]) -> Float[Array, "k f n"]:
        found = lines.field.derivatives(points, {leaf.terms for leaf in leaves}, lines.names)
        known = [found[leaf.terms][:, problem.outputs.index(leaf.field)] for leaf in leaves]
        places = {name: points[:, number] for number, name in enumerate(lines.names)}
        _, push = jax.linearize(
            lambda values: evolution.highest(places, dict(zip(leaves, values, strict=True)), unknowns), known
        )
        still = [jnp.zeros_like(each) for each in known]
        return jnp.stack([push([*still[:n], jnp.ones_like(each), *still[n + 1 :]]) for n, each in enumerate(known)])

    points = np.random.default_rng(0).uniform(problem.lows, problem.highs, (PROBES, len(problem.lows)))
    return np.asarray(slopes(jnp.asarray(points)))


def _eigenvalues(lines: Lines, slopes: np.ndarray, wave_number: float) -> np.ndarray:
    """Of the matrix that carries waves of this number, at points all over the box."""
    evolution = lines.evolution
    rows = {component: number for number, component in enumerate(evolution.state)}
    names = list(evolution.orders)
    matrix = np.zeros((PROBES, len(rows), len(rows)), complex)
    for component, row in rows.items():
        following = type(component)(component.field, component.order + 1)
        if following in rows:
            matrix[:, row, rows[following]] = 1.0
            continue
        for number, (_, source, order) in enumerate(evolution.needs):
            matrix[:, row, rows[source]] += slopes[number, names.index(component.field)] * (1j * wave_number) ** order
    finite = np.isfinite(matrix).all(axis=(1, 2))
    return np.linalg.eigvals(matrix[finite])
