"""What a finished fit says of each reading and each sensor, as quality flags.

A reading is bad if its reliability is below one half or a fault of its sensor covers it, suspect if its sensor is noisy
or if the method used a reading that a fault of its sensor covers, and good otherwise. A fit that is not to be trusted
calls no reading bad: an operator may delete what is flagged bad."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from napinn.data.flags import CAUSE, COMMENT, FLAG, Cause, FlagScheme, Quality
from napinn.results.verdicts import Verdict

if TYPE_CHECKING:
    from napinn.results.result import FitResult

CAUSES = {
    Verdict.STUCK: Cause.FLAT_LINE,
    Verdict.DRIFTING: Cause.DRIFT,
    Verdict.STEP: Cause.OFFSET,
    Verdict.OFFSET: Cause.OFFSET,
    Verdict.GAIN: Cause.GAIN,
    Verdict.BURST: Cause.NOISY,
    Verdict.NOISY: Cause.NOISY,
}
"""The cause that operators know for each fault of a sensor."""
SENSOR_QUALITIES = {
    **dict.fromkeys(CAUSES, Quality.BAD),
    Verdict.NOISY: Quality.SUSPECT,
    Verdict.FEW: Quality.UNKNOWN,
    Verdict.ALONE: Quality.UNKNOWN,
    Verdict.FINE: Quality.GOOD,
}
MEANINGLESS = frozenset({"LAW_DEGENERATE", "REJECTS_MOST", "REJECTS_NOTHING"})
"""States of a fit whose own sentence says that its verdicts mean nothing: no reading is evaluated."""


@dataclass(frozen=True, eq=False)
class Assessment:
    """Quality, cause and comment of each reading, or of each sensor."""

    quality: np.ndarray
    """(n,) `Quality` as numbers."""
    cause: np.ndarray
    """(n,) `Cause` as numbers."""
    comment: np.ndarray
    """(n,) sentences; empty text where there is nothing to say."""

    def columns(self, scheme: FlagScheme) -> dict[str, np.ndarray]:
        """`quality_flag`, `quality_cause` and `quality_comment` as a scheme writes them."""
        causes = [Cause(number) for number in self.cause]
        comments = [scheme.comment(cause, text) for cause, text in zip(causes, self.comment, strict=True)]
        return {
            FLAG: as_objects([scheme.codes[Quality(number)] for number in self.quality]),
            CAUSE: as_objects([scheme.causes[cause] for cause in causes]),
            COMMENT: as_objects(comments),
        }


def as_objects(entries: Sequence[object]) -> np.ndarray:
    """An array of Python values, whatever they are."""
    found = np.empty(len(entries), dtype=object)
    found[:] = entries
    return found


def assess_readings(result: "FitResult") -> Assessment:
    """Quality, cause and comment of every reading, in the order of the readings.

    :param result: A finished fit."""
    count = len(result.readings)
    quality, cause = np.full(count, Quality.GOOD, np.int8), np.full(count, Cause.NONE, np.int8)
    comment = as_objects([""] * count)
    if not result.noise or result.status.name in MEANINGLESS:
        quality[:] = Quality.UNKNOWN
    spikes = result.flagged & (quality != Quality.UNKNOWN)
    quality[spikes], cause[spikes] = Quality.BAD, Cause.SPIKE
    comment[spikes] = _spike_comments(result, np.flatnonzero(spikes))
    for verdict in result.verdicts:
        if not verdict.verdict.faulty:
            continue
        covered = _covered(result, verdict.sensor, verdict.field) if verdict.verdict is Verdict.NOISY else None
        chosen = verdict.excluded if covered is None else covered[quality[covered] != Quality.BAD]
        named = (verdict.verdict is Verdict.NOISY) | ~result.flagged[chosen]
        quality[chosen] = np.where(named, Quality.SUSPECT, Quality.BAD)
        cause[chosen], comment[chosen] = CAUSES[verdict.verdict], verdict.evidence
    if not result.status.trusted:
        quality[quality == Quality.BAD] = Quality.SUSPECT
    return Assessment(quality, cause, comment)


def assess_sensors(result: "FitResult", table: pd.DataFrame) -> Assessment:
    """Quality, cause and comment of every sensor.

    :param result: A finished fit.
    :param table: Its `sensors_table`, one row a sensor with `verdict` and `evidence`."""
    verdicts = [Verdict(word) for word in table["verdict"]]
    quality = np.array([SENSOR_QUALITIES[verdict] for verdict in verdicts], np.int8)
    if not result.status.trusted:
        quality[quality == Quality.BAD] = Quality.SUSPECT
    cause = np.array([CAUSES.get(verdict, Cause.NONE) for verdict in verdicts], np.int8)
    comments = [
        evidence if verdict.faulty else "" for verdict, evidence in zip(verdicts, table["evidence"], strict=True)
    ]
    return Assessment(quality, cause, as_objects(comments))


def _covered(result: "FitResult", sensor: str, field: str) -> np.ndarray:
    """Numbers of all readings of one field of one sensor."""
    index = result.problem.fields.index(field)
    return np.flatnonzero((result.readings.sensors == sensor) & (result.readings.field_index == index))


def _spike_comments(result: "FitResult", chosen: np.ndarray) -> np.ndarray:
    misfits, reliability = result.misfits[chosen], result.reliability[chosen]
    return as_objects(
        [
            f"the reading is {misfit:+.3g} from the field, and its reliability is {weight:.2g}"
            for misfit, weight in zip(misfits, reliability, strict=True)
        ]
    )
