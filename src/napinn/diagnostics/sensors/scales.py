"""A noise scale of its own for each sensor, as far as its readings show one."""

import numpy as np

from napinn.data.readings import Readings
from napinn.diagnostics.sensors.models import Explained, explained
from napinn.diagnostics.sensors.records import FEWEST_READINGS, records_of
from napinn.diagnostics.sensors.robust import ROUNDS
from napinn.diagnostics.sensors.stuck import without_stuck
from napinn.results.recipe import FALSE_ALARMS
from napinn.results.verdicts import SensorVerdict, Verdict

LOG_SCALE_ERROR = 1.0
"""The standard error of a log scale, times the root of the number of readings: 0.77 for Gaussian noise, about 1 with
heavy tails."""
ALIKE = 0.01
"""Sensors share one scale unless theirs scatter more than sampling does with this chance: then no weight changes."""
QUIETEST = 0.5
"""No sensor counts as more precise than this part of the typical one: a fit follows a sensor that it trusts, which
then looks more precise still."""


def sensor_scales(readings: Readings, misfits: np.ndarray) -> np.ndarray:
    """(n,): for each reading, how many times as much its sensor scatters as the typical sensor of that field.

    Robust scales by sensor, in logarithms, are shrunk towards the median one (empirical Bayes): by how much depends on
    how far a sensor is from it, on how far others are, and on how many readings it has. All are 1 where the sensors
    do not differ, and for sensors of fewer than ten readings.

    Args:
        readings: the readings, of any number of fields.
        misfits: (n,) reading minus field, in the unit of the values.
    """
    factors = np.ones(len(readings))
    for field in range(len(readings.fields)):
        records = records_of(readings, readings.values - misfits, field)
        chance = FALSE_ALARMS / max(len(records), 1)
        moving = [record for record in without_stuck(records, chance)[1] if len(record) >= FEWEST_READINGS]
        if len(moving) > 1:
            names = {record.sensor: record.numbers for record in records}
            for record, factor in zip(moving, _shrunk(explained(moving, chance)), strict=True):
                factors[names[record.sensor]] = factor
    return factors


def noisy_scales(readings: Readings, predicted: np.ndarray, verdicts: tuple[SensorVerdict, ...]) -> np.ndarray:
    """(n,): for each reading, how many times as much as others its sensor scatters if that is called noisy, else 1.

    Args:
        readings: the readings, of any number of fields.
        predicted: (n,) the field at each reading.
        verdicts: one for every sensor.
    """
    noisy = [(one.sensor, readings.fields.index(one.field)) for one in verdicts if one.verdict is Verdict.NOISY]
    scales = np.ones(len(readings))
    if noisy:
        found = sensor_scales(readings, readings.values - predicted)
        for sensor, field in noisy:
            chosen = (readings.sensors == sensor) & (readings.field_index == field)
            scales[chosen] = found[chosen]
    return scales


def _shrunk(found: Explained) -> np.ndarray:
    """Scales about the model that each sensor follows, over the typical one, so that a drift or a step is no noise."""
    apart = np.log(found.stds) - np.median(np.log(found.stds))
    errors = LOG_SCALE_ERROR**2 / np.array([len(record) for record in found.records])
    from scipy.special import chdtri

    if np.sum(apart**2 / errors) <= chdtri(len(apart) - 1, ALIKE):
        return np.ones(len(apart))
    return np.maximum(np.exp(_posterior_means(apart, errors)), QUIETEST)


def _posterior_means(apart: np.ndarray, errors: np.ndarray) -> np.ndarray:
    """Of log scales about the typical one that were seen with these error variances.

    Some sensors have the typical scale and some one of their own: the share of these and how far they are apart are
    the likeliest (expectation maximisation). Were all to have one of their own, a single very noisy sensor would
    leave the others' sampling errors unshrunk."""
    from scipy.special import expit

    share, between = 0.5, max(float(np.mean(apart**2 - errors)), float(errors.mean()))
    odds = shrinkage = np.ones(len(apart))
    for _ in range(ROUNDS):
        shrinkage = between / (between + errors)
        gain = 0.5 * (np.log(errors / (between + errors)) + apart**2 / errors * shrinkage)
        odds = expit(np.log(share / (1.0 - share)) + gain)
        share = float(np.clip(odds.mean(), 0.5 / len(apart), 1.0 - 0.5 / len(apart)))
        second = (shrinkage * apart) ** 2 + shrinkage * errors
        between = float(np.sum(odds * second) / np.sum(odds))
    return odds * shrinkage * apart
