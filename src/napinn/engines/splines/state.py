"""What a fit has found so far on one mesh, and the residual of an equation there."""

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from napinn.field.splines.space import PointGrid
from napinn.noise.laws import Law
from napinn.problem.equations import Derivative, Varying

LinearResiduals = tuple[np.ndarray, np.ndarray]
"""The derivatives of residuals by the unknowns, (residuals, unknowns), and the residuals."""
ResidualsAt = Callable[[np.ndarray], LinearResiduals | None]
"""Both at given unknowns; None where they are not finite."""


@dataclass(frozen=True, eq=False)
class Residual:
    """One equation at the points of a grid, with its partial derivatives."""

    grid: PointGrid
    value: np.ndarray
    fields: dict[Derivative, np.ndarray]
    unknowns: dict[str, np.ndarray]
    varying: dict[Varying, np.ndarray] = dataclasses.field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class State:
    """What a fit has found so far: numbers only, of one mesh."""

    coefficients: np.ndarray
    unknowns: np.ndarray
    offsets: np.ndarray
    """The location of the noise by scale (`Readings.scatters`): of each measured field, unless noise groups divide its
    readings."""
    sigma: np.ndarray
    """The deviation of the noise, likewise."""
    laws: tuple[Law, ...]
    """Of each noise group; of all readings where there are none."""
    roughness_weight: np.ndarray = dataclasses.field(default_factory=lambda: np.zeros(0))
    """Of each set of differences of unknown functions."""

    def moved(self, coefficients: np.ndarray, unknowns: np.ndarray, offsets: np.ndarray) -> "State":
        return replace(self, coefficients=coefficients, unknowns=unknowns, offsets=offsets)
