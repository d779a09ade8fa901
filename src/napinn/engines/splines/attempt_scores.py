"""How attempts of a fit are compared, before faulty sensors are left out and the noise law is learned.

Where the equations hold the fields of all attempts, they are compared under the working law at the least noise level.
Where they do not, a field that follows the noise would set that level, and a field that bends towards a faulty sensor
would win over the right one. There the readings have Cauchy's density, whose scale is chosen for each attempt, and each
of the sensors that fit worst counts at most as much as it costs to declare it faulty."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar

from napinn.engines.splines.journal import Level
from napinn.engines.splines.points import SMALLEST_NOISE

FAULT_KINDS, FAULT_PARAMETERS = 7, 3
"""What a faulty sensor costs in nats, as BIC counts: which one it is, of which kind (offset, step, drift, gain, stuck,
noisy, burst), and up to three parameters (a drift has its start, slope and scatter)."""
MOST_FAULTY = 3
"""One sensor in this many may count as faulty: with more, a field that few sensors agree with would be acceptable."""


def likeliest(levels: Sequence[Level], held: bool) -> int:
    """The number of the attempt with the fewest nats: misfits, the cost of the equations and, as BIC counts them, the
    parameters that the readings pay for.

    Args:
        levels: where the attempts ended.
        held: whether the equations hold the field of each."""
    sigma = np.min([level.state.sigma for level in levels], axis=0)
    misfits = [_working_cost(level, sigma) if held else _robust_cost(level) for level in levels]
    others = [level.equation_cost + 0.5 * math.log(level.system.count) * level.parameters for level in levels]
    return int(np.argmin(np.add(misfits, others)))


def _working_cost(level: Level, sigma: np.ndarray) -> float:
    """The misfits under the working law, which every attempt still has, at a common noise level."""
    return float(np.sum(level.system.loss(replace(level.state, sigma=sigma))))


def _robust_cost(level: Level) -> float:
    """The negative log-likelihood under Cauchy's density at a scale of its own, with faulty sensors at their price."""
    system, task = level.system, level.system.task
    misfit = system.standardised(replace(level.state, sigma=task.noise_unit))
    # Few readings have one scale in common, as in the fit itself.
    groups = system.group if task.few else system.scatter
    cost = np.empty(len(misfit))
    for number in np.unique(groups):
        cost[groups == number] = _cauchy_cost(misfit[groups == number])
    sensors = task.readings.sensors[system.used].astype(str)
    return float(cost.sum()) - faulty_excess(cost, np.unique(sensors, return_inverse=True)[1])


def _cauchy_cost(misfit: np.ndarray) -> np.ndarray:
    """The negative log-density of each misfit at the likeliest scale, up to a constant."""

    def costs(log_scale: float) -> np.ndarray:
        return log_scale + np.log1p((misfit * math.exp(-log_scale)) ** 2)

    largest = max(float(np.max(np.abs(misfit), initial=0.0)), 2.0 * SMALLEST_NOISE)
    ends = (math.log(SMALLEST_NOISE), math.log(largest))
    found: Any = minimize_scalar(lambda scale: float(costs(scale).sum()), bounds=ends, method="bounded")
    return costs(float(found.x))


def faulty_excess(cost: np.ndarray, sensor: np.ndarray) -> float:
    """Nats that the readings of the worst sensors cost beyond those of a typical sensor and the price of a fault.

    Args:
        cost: (n,) the negative log-density of each reading.
        sensor: (n,) the number of its sensor, from 0."""
    sizes = np.bincount(sensor)
    typical = float(np.median(np.bincount(sensor, cost) / sizes))
    price = math.log(FAULT_KINDS * len(sizes)) + 0.5 * FAULT_PARAMETERS * math.log(len(cost))
    excess = np.sort(np.bincount(sensor, cost) - typical * sizes)[::-1][: len(sizes) // MOST_FAULTY]
    return float(np.maximum(excess - price, 0.0).sum())
