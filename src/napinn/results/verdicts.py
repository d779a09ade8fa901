"""Verdicts on whole sensors: the words, and a verdict with its evidence."""

import enum
from dataclasses import dataclass

import numpy as np

MOST_EXCLUDED = 0.5
"""Where sensors that mislead hold more than this share of the readings, none is left out: no majority is left."""


class Verdict(enum.Enum):
    """In the order of how much there is to say: of several verdicts on one sensor, the first counts."""

    STUCK = "stuck"
    DRIFTING = "drifting"
    STEP = "step"
    OFFSET = "offset"
    GAIN = "gain"
    BURST = "burst"
    NOISY = "noisy"
    FEW = "too few readings"
    ALONE = "nothing to compare"
    FINE = "fine"

    @property
    def faulty(self) -> bool:
        return self not in (Verdict.FEW, Verdict.ALONE, Verdict.FINE)


@dataclass(frozen=True, eq=False)
class SensorVerdict:
    """The verdict on one field of one sensor."""

    sensor: str
    field: str
    verdict: Verdict
    evidence: str
    """One sentence with numbers."""
    excluded: np.ndarray
    """Numbers of the readings that are not to be believed: of a sensor that is stuck, stepped or in a burst those of
    the stretches in which it is, of an offset, drifting or wrongly scaled one all, of a noisy one none."""


def excluded(verdicts: tuple[SensorVerdict, ...], count: int) -> np.ndarray:
    """For each of `count` readings, whether a verdict on its sensor condemns it."""
    found = np.zeros(count, bool)
    for verdict in verdicts:
        found[verdict.excluded] = True
    return found


def left_out(verdicts: tuple[SensorVerdict, ...], count: int) -> np.ndarray:
    """For each of `count` readings, whether a fit is better off without it; none of them where no majority is left."""
    bad = excluded(verdicts, count)
    return bad if bad.mean() <= MOST_EXCLUDED else np.zeros(count, bool)
