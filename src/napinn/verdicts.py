"""What can be said of a sensor as a whole: the words, and a verdict with its evidence."""

import enum
from dataclasses import dataclass

import numpy as np

MOST_CONDEMNED = 0.5
"""Where sensors that mislead hold more than this share of the readings, none is left out: no majority is left."""


class Verdict(enum.Enum):
    """In the order of how much there is to say: of several verdicts on one sensor, the first counts."""

    STUCK = "stuck"
    DRIFTING = "drifting"
    OFFSET = "offset"
    GAIN = "gain"
    NOISY = "noisy"
    FEW = "too few readings"
    ALONE = "nothing to compare"
    FINE = "fine"

    @property
    def misleads(self) -> bool:
        """Whether the sensor's readings say something else than the field, beyond scattering about it."""
        return self in (Verdict.STUCK, Verdict.DRIFTING, Verdict.OFFSET, Verdict.GAIN)

    @property
    def faulty(self) -> bool:
        return self.misleads or self is Verdict.NOISY


@dataclass(frozen=True, eq=False)
class SensorVerdict:
    """What is said of one field of one sensor."""

    sensor: str
    field: str
    verdict: Verdict
    evidence: str
    """One sentence with numbers."""
    condemned: np.ndarray
    """Numbers of the readings that are not to be believed: all of a sensor that misleads, of a stuck one the stretches
    in which it is."""


def condemned(verdicts: tuple[SensorVerdict, ...], count: int) -> np.ndarray:
    """For each of `count` readings, whether a verdict on its sensor condemns it."""
    found = np.zeros(count, bool)
    for verdict in verdicts:
        found[verdict.condemned] = True
    return found


def left_out(verdicts: tuple[SensorVerdict, ...], count: int) -> np.ndarray:
    """For each of `count` readings, whether a fit is better off without it; none of them where no majority is left."""
    bad = condemned(verdicts, count)
    return bad if bad.mean() <= MOST_CONDEMNED else np.zeros(count, bool)
