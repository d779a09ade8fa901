"""Sensors that scatter more than others, throughout or in a stretch of their record.

As for faults of the level, three things must hold: distances from the model that a sensor follows, by rank, exclude an
accident of sampling under any noise law; the sensor stands out from how much sensors differ; and its noise is at least
twice the typical one.
"""

from collections.abc import Sequence

import numpy as np

from napinn.data.robust import MAD_TO_STD
from napinn.diagnostics.sensors.changes import CHANGE_COSTS, Step, best_change
from napinn.diagnostics.sensors.robust import (
    FIELD_ERRORS,
    TINY,
    Compared,
    SensorGroups,
    compared,
    normal_bar,
    normal_scores,
    score_gains,
)

NOISY_FROM = 2.0
"""A noisy sensor, and one in a burst, scatters at least so many times as much as the typical one."""


def noisy_sensors(
    residuals: np.ndarray, stds: np.ndarray, groups: SensorGroups, chance: float
) -> tuple[Compared, np.ndarray]:
    """Logarithms of the noise of all sensors beside each other, and whether each sensor is noisy.

    Args:
        residuals: what the model that each sensor follows leaves of its misfits, one sensor after the other.
        stds: robust deviation of the residuals of each sensor.
        groups: which residuals are whose.
        chance: that of a single false alarm.
    """
    found = compared(np.log(stds), 1.0 / np.sqrt(groups.counts))
    saved = score_gains(normal_scores(np.abs(residuals)), np.zeros(len(residuals)), groups) - np.log(groups.counts)
    # To scatter twice as much as the typical sensor is a fact, however uncertain the scatter of few sensors is.
    stands_out = found.ratios > normal_bar(FIELD_ERRORS * chance)
    return found, stands_out & (saved > normal_bar(chance) ** 2) & (found.effects > np.log(NOISY_FROM))


def find_bursts(residuals: Sequence[np.ndarray | None], noise: float, chance: float) -> tuple[Step | None, ...]:
    """Stretches that are much noisier than the rest of their record and than the typical sensor.

    Args:
        residuals: of each sensor, in the order of time; None where there is no such order.
        noise: deviation of the typical sensor's noise.
        chance: that of a single false alarm.
    """
    found: list[Step | None] = [None] * len(residuals)
    sizes = np.zeros(len(residuals))
    for number, rest in enumerate(residuals):
        scores = np.zeros(0) if rest is None else normal_scores(np.abs(rest))
        change = best_change(scores)
        if rest is None or change is None:
            continue
        deviation = [MAD_TO_STD * float(np.median(np.abs(rest[part]))) for part in (change.inside, ~change.inside)]
        if change.changes == 1 and deviation[1] > deviation[0]:
            change, deviation = change.complement, deviation[::-1]
        level = np.where(change.inside, scores[change.inside].mean(), scores[~change.inside].mean())
        saved = len(rest) * np.log(max(np.sum(scores**2), TINY) / max(np.sum((scores - level) ** 2), TINY))
        sizes[number] = np.sqrt(max(saved, 0.0))
        penalty = (1 + CHANGE_COSTS * change.changes) * np.log(len(rest))
        if saved - penalty > normal_bar(chance) ** 2 and deviation[0] > NOISY_FROM * max(deviation[1], noise):
            found[number] = Step(change, *deviation)
    odd = compared(sizes, np.zeros(len(residuals))).odd(chance)
    return tuple(step if stands_out else None for step, stands_out in zip(found, odd, strict=True))
