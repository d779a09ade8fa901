"""The settings of a fit with splines."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from napinn.engines.catalogue import DENSITY, SPLINE_DENSITIES
from napinn.errors import InputError, nearest
from napinn.results.recipe import FALSE_ALARMS, Recipe


@dataclass(frozen=True)
class Splines(Recipe):
    """B-splines on graded meshes, found with the unknowns and the noise law by Gauss–Newton steps."""

    name: str = "splines"
    double: bool = True
    held_out: float = 0.0
    """Share of the readings that only judge; splines choose their first mesh by folds and then use all readings."""
    density: str = DENSITY
    """How the noise law is found."""
    backend: ClassVar[str] = "napinn.engines.splines.backend"

    def __post_init__(self) -> None:
        if self.density not in SPLINE_DENSITIES:
            raise InputError(
                f"there is no density '{self.density}' of splines; {nearest(self.density, SPLINE_DENSITIES)}"
            )

    @property
    def steps(self) -> int:
        """Gauss–Newton decides by itself when it is done, so there is no budget of steps."""
        return 0

    @property
    def false_alarms(self) -> float:
        return FALSE_ALARMS

    def shortened(self, times: int) -> "Splines":
        return self


@dataclass(frozen=True)
class Automatic(Splines):
    """Splines where they can follow the field; where they cannot, the network `law_pinn`."""

    name: str = "auto"
    backend: ClassVar[str] = "napinn.engines.choice"


SETTINGS: Mapping[str, type] = {"Splines": Splines, "Automatic": Automatic}
"""Every class that a saved method may contain of this kind."""


def bsplines(density: str = DENSITY) -> Splines:
    """Fit with B-splines: an answer in seconds for one coordinate, or one dimension and time.

    Mesh and tolerance are chosen from the readings.

    :param density: How the noise law is found: `mixture` (Gaussians by expectation–maximisation, their number by BIC)
        and `kde` (kernels) learn it where a field has 400 readings or more; `cauchy` and `gaussian` keep a fixed law,
        robust or least squares. Default `mixture`.
    :return: The method, for `napinn.fit(problem, readings, method)`.
    :raises InputError: if there is no such density.

    >>> napinn.bsplines("cauchy").density
    'cauchy'
    """
    return Splines(density=density)


def automatic(density: str = DENSITY) -> Automatic:
    """Fit with splines and, where they cannot follow the field, with a network: what `napinn.fit` does by default.

    The result names the method that made it, and its notes say why if that was the network.

    :param density: As of `bsplines`; a network takes over only `kde`, and otherwise learns the law of `law_pinn`.
    :return: The method, for `napinn.fit(problem, readings, method)`.
    :raises InputError: if there is no such density.

    >>> napinn.fit(problem, readings, napinn.automatic()).method.name
    'splines'
    """
    return Automatic(density=density)
