"""How far priors and readings each determine the unknowns, and whether they agree.

The readings are fitted without priors as well; what they then give is compared with each prior."""

import math
from dataclasses import dataclass, replace

import numpy as np

from napinn.engines.splines.cost import TooSlowError
from napinn.engines.splines.engine import Engine, Fit
from napinn.engines.splines.points import Point
from napinn.engines.splines.screening import SensorJudge
from napinn.engines.splines.uncertainty import noise_precision
from napinn.field.splines.banded import NotPositiveError
from napinn.problem.unknown import Unknown

DISAGREE = 2.576
"""Standard deviations of the difference between prior and readings: a right prior is doubted in one of a hundred
fits."""


@dataclass(frozen=True)
class PriorRole:
    """What a prior did to one unknown."""

    name: str
    unknown: Unknown
    alone: float
    """What the readings alone give."""
    error: float
    """The standard error of that; infinite where the readings say nothing."""
    share: float
    """Of the information on the answer that comes from the prior, 0 to 1. It belongs to the fit with the prior: where
    the two disagree, misfits pass for noise, and the prior counts for more than beside readings that it suits."""

    @property
    def apart(self) -> float:
        """How many standard deviations readings and prior are apart."""
        assert self.unknown.prior is not None
        if not math.isfinite(self.error):
            return 0.0
        deviations = abs(self.unknown.prior.deviations(self.alone)) * self._deviation
        return deviations / math.hypot(self.error, self._deviation)

    @property
    def disagree(self) -> bool:
        return self.apart > DISAGREE

    @property
    def _deviation(self) -> float:
        """Of the prior, in the unit of the unknown; that of a lognormal one at what the readings give."""
        prior = self.unknown.prior
        assert prior is not None
        return prior.deviation * (self.alone if prior.of_logarithm else 1.0)

    @property
    def sentences(self) -> list[str]:
        """What to say of the prior beside the status."""
        sentences = [
            f"The prior {self.unknown.prior} gives {100 * self.share:.0f} % of the information on '{self.name}'."
        ]
        if self.disagree:
            sentences.append(
                f"Readings and prior disagree on '{self.name}' by {self.apart:.1f} standard deviations: the readings "
                f"alone give {self.alone:.4g}. Check the prior, the units and the equation."
            )
        return sentences


def prior_roles(fit: Fit, seed: int, screen: SensorJudge) -> list[PriorRole]:
    """The role of every prior of a finished fit.

    The readings are fitted once more without priors, from the beginning: a mesh that was refined under a wrong prior
    follows the noise, and readings on it say next to nothing.

    Args:
        fit: with its priors.
        seed: of the fit.
        screen: finds the readings that faulty sensors spoil."""
    task = fit.point.system.task
    unknowns = task.problem.unknowns
    if not task.has_priors:
        return []
    bare = {name: replace(unknown, prior=None) for name, unknown in unknowns.items()}
    alone = Engine(replace(task, problem=replace(task.problem, unknowns=bare)), seed, screen, _ignore)
    try:
        found = alone.run().point
        values, errors = found.state.unknowns, np.nan_to_num(found.errors, nan=np.inf)
    except (NotPositiveError, TooSlowError, np.linalg.LinAlgError):
        values, errors = fit.point.state.unknowns, np.full(len(unknowns), np.inf)
    rows = zip(unknowns.items(), values, errors, prior_shares(fit.point), strict=False)
    return [
        PriorRole(name, unknown, float(value), float(error), float(share))
        for (name, unknown), value, error, share in rows
        if unknown.prior is not None
    ]


def prior_shares(point: Point) -> np.ndarray:
    """(unknowns,) the share of the information on each that its prior gives: the precision of the prior over that of
    the answer; 1 where nothing else says anything.

    Args:
        point: the end of a fit."""
    solution, unknowns = point.solution, point.state.unknowns
    variances = np.full(len(solution.normal.active), np.inf)
    variances[solution.normal.active] = np.diag(solution.covariance)
    _, slope = point.system.task.prior_terms(unknowns)
    precision = slope**2
    with np.errstate(divide="ignore", invalid="ignore"):
        # The normal matrix takes the curvature of the noise law for granted; a prior is as precise as it says.
        of_readings = np.maximum(1.0 / variances[: len(unknowns)] - precision, 0.0) / noise_precision(point).variance
        return np.nan_to_num(precision / (precision + of_readings))


def _ignore(point: Point, happened: str, stage: str) -> None:
    """The history of a fit is that of the one with priors."""
