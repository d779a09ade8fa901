"""Reasons to distrust a fit, none of which needs the truth."""

import enum
from dataclasses import dataclass

import numpy as np

from napinn.diagnostics.correlation import nearest_pairs, signs_of
from napinn.engines.splines.journal import Level
from napinn.engines.splines.points import MOST_SPENT, Point
from napinn.engines.splines.smoothing import Start

ALIKE = 0.3
"""Mean agreement in sign of neighbouring misfits: 0 for noise, 1 for a field that is not resolved. At 0.3 Gaussian
misfits of neighbours have a correlation of 0.45, so that nearly half of their variance is an error of the field. Two
standard errors of the mean are allowed beside it."""
LOUDER = 1.3
"""A noise level this many times that of smoothing says that the equations keep the field from the readings: by 0.8
deviations of the noise, which added to it in squares make 1.3. Two standard errors of the two levels are allowed beside
it."""
LEVEL_ERROR = 1.17
"""The relative standard error of a robust deviation (MAD) of n Gaussian misfits, times √n."""
UNMET, UNMET_SHARE = 10.0, 0.02
"""Nats, and nats a reading, that equations may cost at the end; beyond the larger of both they are not met. Ten nats
are a likelihood ratio of 20,000, which no chance in the readings explains; 0.02 nats a reading are residuals of a fifth
of the tolerance, so that many readings do not ask for ever smaller ones."""
AT_BOUND = 1e-3
"""Of the distance between start and bound, or of the size at which the unknown matters, whichever is less."""
FAR_FROM_BOUND = 3.0
"""Standard errors from a bound beyond which an unknown is not at it, however large it was at first or might be."""
MOST_NEIGHBOURS = 20_000
"""Readings whose neighbours are searched: the correlation is then known to a hundredth."""


class DoubtKind(enum.Enum):
    CORRELATED = "correlated"
    LOUD = "loud"
    UNMET = "unmet"
    AT_BOUND = "at bound"
    LOOSE = "loose"


@dataclass(frozen=True)
class Doubt:
    kind: DoubtKind
    text: str


def doubts_of(point: Point | Level, start: Start, starts: np.ndarray, sizes: np.ndarray) -> list[Doubt]:
    """Everything that makes a descent doubtful; `starts` are the values that the unknowns began with, `sizes` those at
    which they matter, so that a start far too large does not put a small value beside its bound."""
    found, task, state = [], point.system.task, point.state
    agreement, count = sign_agreement(point), max(point.system.count // task.measured, 1)
    # A pair is counted twice where two misfits are each other's neighbours.
    if agreement - 2.0 * np.sqrt(2.0 / count) > ALIKE:
        text = f"Neighbouring misfits agree in sign (mean agreement {agreement:.2f}, 0 for noise)."
        found.append(Doubt(DoubtKind.CORRELATED, text))
    ratio = _misfit_ratio(point, start)
    if ratio > LOUDER * (1.0 + 2.0 * LEVEL_ERROR * np.sqrt(2.0 / count)):
        text = f"With the equations the misfits are {ratio:.1f} times as large as without them."
        found.append(Doubt(DoubtKind.LOUD, text))
    if point.equation_cost > max(UNMET, UNMET_SHARE * point.system.count):
        text = f"The equations are not met: they cost {point.equation_cost:.0f} nats of likelihood."
        found.append(Doubt(DoubtKind.UNMET, text))
    if point.share > MOST_SPENT:
        text = f"The field follows the noise: its parameters use up {100.0 * point.share:.0f} % of the readings."
        found.append(Doubt(DoubtKind.LOOSE, text))
    columns = (task.unknowns, state.unknowns, starts, sizes, point.errors, task.low, task.high)
    for name, value, first, size, error, low, high in zip(*columns, strict=True):
        for bound in (low, high):
            distance = abs(value - bound)
            near = distance < AT_BOUND * min(abs(first - bound), size) and not distance > FAR_FROM_BOUND * error
            if np.isfinite(bound) and near:
                found.append(Doubt(DoubtKind.AT_BOUND, f"'{name}' ended at {value:.4g}, at its bound {bound:g}."))
    return found


def _misfit_ratio(point: Point | Level, start: Start) -> float:
    """How many times as large the noise level is as that of smoothing; of several noise groups, the largest."""
    state, task = point.state, point.system.task
    if task.groups == 1:
        return float(state.sigma[0] / task.noise_unit[0]) / start.held_out if start.held_out > 0.0 else 0.0
    before = np.array(start.by_group)[task.scatters.group]
    return float(np.max(state.sigma / task.noise_unit / before))


def sign_agreement(point: Point | Level) -> float:
    """The mean product of signs of each misfit and of its nearest neighbour's elsewhere, of the worst field."""
    system = point.system
    misfit, places = system.misfits(point.state.coefficients), system.task.points[system.used] / system.task.lengths
    found = [0.0]
    for field in range(system.task.measured):
        mine = np.flatnonzero(system.field == field)[:MOST_NEIGHBOURS]
        # Replicates at one place share the field's error, whatever it is; the nearest reading elsewhere decides.
        first, other = nearest_pairs(places[mine])
        side = signs_of(misfit[mine])
        found.append(float(np.mean(side[first] * side[other])) if len(first) else 0.0)
    return max(found)
