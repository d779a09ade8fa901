"""A field from its readings without any equation: a spline on a uniform mesh, robust to gross errors.

Mesh and roughness weight are chosen by readings that are held out (`mesh_choice`). Each field is smoothed alone,
because without an equation fields have nothing to do with each other."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from napinn.discovery.mesh_choice import choose_mesh
from napinn.discovery.reading_matrix import reading_matrix
from napinn.discovery.smoother import Measured, Smoother, design, mesh
from napinn.field.splines.axis import Axis
from napinn.noise.laws import Cauchy

SOFTER = 0.1
"""Of the roughness weight that held-out readings prefer: they weigh bias and noise of the field alike, but test
functions average over noise and not over bias."""
MOST_SMOOTHED = 120_000
"""Readings that make the field. What the others add is in the misfits of all (see `Smooth.misfits`), to first order."""
GROSS = 5.0
"""Deviations of the noise beyond which a reading is left out of what is added to the smoothed field. Its score is near
zero whatever the field is, so that in a mean it would stand for a field that is met exactly."""
LEAST_SLOPE = 0.1
"""Of the score, below which a Newton step would be far too long: more than half of the readings are gross errors."""


@dataclass(frozen=True, eq=False)
class Smooth:
    """A smoothed field: the spline, how far readings are from it, and how much each counts."""

    axes: tuple[Axis, ...]
    coefficients: np.ndarray
    """A tensor, one axis a coordinate."""
    sigma: float
    weights: np.ndarray
    misfits: np.ndarray
    explained: float
    """How far held-out readings are nearer to the field than to a constant, in standard errors of that."""
    roughness_weight: float
    cells: tuple[int, ...]
    """Of the mesh that held-out readings chose: how much detail the readings show."""

    @property
    def resolved(self) -> tuple[int, ...]:
        """Cells as narrow as those of the mesh, in the proportions that held-out readings chose. A mesh that is refined
        along one axis alone would make test functions narrow there and, because they are limited in number, wide along
        the others."""
        finer = min(axis.cells // count for axis, count in zip(self.axes, self.cells, strict=True))
        return tuple(max(finer, 1) * count for count in self.cells)

    @cached_property
    def kept(self) -> np.ndarray:
        """Which readings are no gross errors."""
        return np.abs(self.misfits) <= GROSS * self.sigma

    @cached_property
    def score(self) -> np.ndarray:
        """What each reading says of the field beyond the smoothed one: a Newton step of the robust loss."""
        slopes = Cauchy().second_derivative(self.misfits / self.sigma)
        return self.weights * self.misfits / max(float(np.mean(slopes[self.kept])), LEAST_SLOPE)

    @property
    def variance(self) -> float:
        """Of the score of a reading that is kept."""
        return float(np.mean(self.score[self.kept] ** 2))

    def on_grid(self, places: Sequence[np.ndarray], orders: Sequence[int]) -> np.ndarray:
        """A derivative of the field on a tensor grid."""
        tensor = self.coefficients
        for position, (axis, where, order) in enumerate(zip(self.axes, places, orders, strict=True)):
            tensor = np.moveaxis(np.tensordot(design(axis, where, order), tensor, (1, position)), 0, position)
        return tensor


def smooth_field(measured: Measured, lows: Sequence[float], highs: Sequence[float], seed: int = 0) -> Smooth:
    """The field that the readings support, on the mesh that held-out readings choose or a finer one."""
    choice = choose_mesh(measured, lows, highs, seed, min(len(measured), MOST_SMOOTHED))
    axes = mesh(lows, highs, choice.finer)
    return smoothed_on(axes, measured, SOFTER * choice.roughness_weight, choice.explained, choice.cells, seed)


def smoothed_on(
    axes: tuple[Axis, ...],
    measured: Measured,
    roughness_weight: float,
    explained: float,
    cells: tuple[int, ...],
    seed: int,
) -> Smooth:
    """The field on a given mesh; where there are many readings it is made of some, and all are compared with it."""
    used = np.arange(len(measured))
    if len(measured) > MOST_SMOOTHED:
        used = np.sort(np.random.default_rng(seed).permutation(len(measured))[:MOST_SMOOTHED])
    smoother = Smoother(axes, measured.only(used))
    found, _, sigma = smoother.robust(roughness_weight)
    rows = smoother.rows if len(used) == len(measured) else reading_matrix(smoother.space, measured.points)
    misfits = measured.values - smoother.centre - rows.values(found)
    weights = Cauchy().curvature(misfits / sigma)
    return Smooth(axes, smoother.tensor(found), sigma, weights, misfits, explained, roughness_weight, cells)
