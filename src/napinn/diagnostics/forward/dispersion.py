"""How fast an evolution moves: whether it is well posed, and whether it is stiff.

At a point, small waves exp(iκx) on the state are carried by a matrix M(κ), which the slopes of the equations give. The
largest real part of its eigenvalues is the rate at which they grow. Where it keeps rising with κ, as for a negative
diffusivity, the finest waves that a grid holds, rounding errors among them, swamp everything: the equation can be
obeyed by a smooth field, but it cannot be solved forward. The largest eigenvalue of all sets the steps of an explicit
solver; where these would be too many, an implicit one is needed."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from napinn.diagnostics.forward.method_of_lines import MethodOfLines

PROBES = 256
"""Random points of the box at which the growth of waves is computed; the fastest counts."""
FASTEST = 30.0
"""Rounding errors of 1e-16 that grow by more than e to this power have become visible."""
RISES = 1.5
"""How much faster waves grow than those of twice their length, where growth rises with the wave number."""
STIFF = 1000.0
"""The largest eigenvalue times the duration up to which explicit steps are few enough."""


@dataclass(frozen=True)
class WaveGrowth:
    ill_posed: bool
    stiff: bool


def wave_growth(lines: MethodOfLines, unknowns: Mapping[str, float]) -> WaveGrowth:
    """What the finest waves on a grid do, along each axis and along all of them."""
    evolution = lines.evolution
    slopes = _slopes(lines, unknowns)
    low, high = evolution.problem.coordinates[evolution.time]
    shortest = np.array([np.pi / line.spacing for line in lines.lines])
    directions = [*np.diag(shortest), shortest] if len(shortest) else [shortest]
    ill_posed, fastest = False, 0.0
    for waves in directions:
        half, full = ((high - low) * _eigenvalues(lines, slopes, share * waves) for share in (0.5, 1.0))
        grows = float(full.real.max(initial=0.0))
        rises = grows > FASTEST and grows > RISES * float(half.real.max(initial=0.0))
        ill_posed = ill_posed or bool(len(shortest) and rises)
        fastest = max(fastest, float(np.abs(full).max(initial=0.0)))
    return WaveGrowth(ill_posed, fastest > STIFF)


def _slopes(lines: MethodOfLines, unknowns: Mapping[str, float]) -> np.ndarray:
    """(fields, needs, points): how what is solved for follows each of the derivatives that it depends on."""
    evolution, problem = lines.evolution, lines.evolution.problem
    points = np.random.default_rng(0).uniform(problem.lows, problem.highs, (PROBES, len(problem.lows)))
    found = lines.model.derivatives(points, {leaf.terms for leaf, _, _ in evolution.needs})
    known = {leaf: found[leaf.terms][:, problem.outputs.index(leaf.field)] for leaf, _, _ in evolution.needs}
    places = {name: points[:, number] for number, name in enumerate(problem.coordinates)}
    return evolution.slopes(places, known, unknowns)


def _eigenvalues(lines: MethodOfLines, slopes: np.ndarray, waves: np.ndarray) -> np.ndarray:
    """Of the matrix that carries waves of these numbers along the axes, at points all over the box."""
    evolution = lines.evolution
    size = len(evolution.state)
    matrix = np.zeros((PROBES, size, size), complex)
    for row, (source, field) in enumerate(evolution.sources):
        if source is not None:
            matrix[:, row, source] = 1.0
            continue
        for number, (_, needed, along) in enumerate(evolution.needs):
            factor = np.prod((1j * waves) ** np.array(along, int)) if along else 1.0
            matrix[:, row, evolution.state.index(needed)] += slopes[field, number] * factor
    finite = np.isfinite(matrix).all(axis=(1, 2))
    return np.linalg.eigvals(matrix[finite])
