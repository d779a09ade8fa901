"""What a sensor's misfits may follow, and which of these models explains them.

Each model says where the misfits lie: at the typical sensor's level (fine), at a level of their own (offset), on a line
along time (drift) or along the field (gain), or at one level in a stretch of the record and at another outside it
(step). All have a noise scale of their own. A model explains a sensor if three things hold:

- its BIC gain over "fine" excludes an accident of sampling. It is taken of normal scores of all misfits of the field,
  so it holds under any noise law that the sensors share;
- its size stands out from that of the sensors that follow no other model, which holds all that sensors differ by when
  they are well, and what the field is wrong by;
- its size matters beside the noise and the field's own variation.

Of the models that explain it, the one of the lowest BIC under a Student likelihood, which gross errors do not decide,
names the fault. The scores serve no model of size: far from the other sensors' misfits they no longer grow.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from napinn.diagnostics.sensors.changes import CHANGE_COSTS, Change, Step, best_change, sharpened
from napinn.diagnostics.sensors.noisy import find_bursts, noisy_sensors
from napinn.diagnostics.sensors.records import SensorRecord, negligible
from napinn.diagnostics.sensors.robust import (
    SCALE_TO_STD,
    TINY,
    Compared,
    FittedLines,
    SensorGroups,
    compared,
    effective_share,
    normal_bar,
    normal_scores,
    robust_lines,
    score_gains,
    student_gain,
)
from napinn.results.verdicts import Verdict

MODELS = (Verdict.OFFSET, Verdict.DRIFTING, Verdict.GAIN, Verdict.STEP)
APART = 2.5
"""A sensor that is known to be faulty is given only the name of a fault that is so many times what other sensors show:
with many readings BIC takes the field's own small errors for part of the fault."""
PASSES = 3
"""How often the sensors are compared, each time without those found faulty before."""
MATTERS = 0.5
"""Faults below this many deviations of the typical sensor's noise are not reported."""
MOVES_FROM = 5.0
"""Where the field moves by less than this many negligible misfits, its own error would pass for a wrong gain."""


@dataclass(frozen=True, eq=False)
class Explained:
    """The sensors of one field, each under every model."""

    records: Sequence[SensorRecord]
    noise: float
    """Deviation of the typical sensor's noise."""
    lines: tuple[FittedLines, ...]
    """One for each of `MODELS`."""
    sizes: tuple[Compared, ...]
    steps: tuple[Step | None, ...]
    follows: np.ndarray
    """The number of the model that explains each sensor, -1 where none does."""
    stds: np.ndarray
    """Deviation of each sensor's noise about the model that it follows."""
    noisy: Compared
    """Of the logarithms of these."""
    loud: np.ndarray
    """Whether a sensor is noisy."""
    bursts: tuple[Step | None, ...]
    suspicion: np.ndarray
    """Of a sensor that follows no model although sampling alone does not explain its misfits: by how many times its
    fault would stand out from what sensors differ by. 0 for all others."""

    def verdict(self, number: int) -> Verdict:
        if self.follows[number] >= 0:
            return MODELS[self.follows[number]]
        if self.bursts[number] is not None:
            return Verdict.BURST
        return Verdict.NOISY if self.loud[number] else Verdict.FINE

    @property
    def level(self) -> float:
        """That of the typical sensor."""
        return float(np.median(self.lines[0].levels))


def explained(records: Sequence[SensorRecord], chance: float) -> Explained:
    """All models of all sensors of a field; `chance` is that of a single false alarm."""
    groups = SensorGroups(np.array([len(record) for record in records]))
    misfits = np.concatenate([record.misfits for record in records])
    scores, floor = normal_scores(misfits), max(negligible(records), TINY)
    changes = [
        None if record.times is None else best_change(part)
        for record, part in zip(records, groups.split(scores), strict=True)
    ]
    along = _along(records, changes, floor)
    lines = tuple(robust_lines(misfits, x, groups, floor) for x in along)
    stds = SCALE_TO_STD * np.array([line.scales for line in lines])
    noise = float(np.median(stds[0]))
    share = effective_share([line.residuals for line in lines], groups) if records[0].times is not None else 1.0
    prices = _parameters(changes) * np.log(groups.counts)
    saved = share * np.array([score_gains(scores, x, groups) for x in along]) - prices
    # A line or a step is worth what it saves beside an offset.
    saved[1:] -= saved[0]
    heights = np.array([line.rises for line in lines])
    heights[0] = lines[0].levels - np.median(lines[0].levels)
    better = (saved > 0.0) & (np.abs(heights) > MATTERS * max(noise, floor))
    deviances = share * np.array([line.deviances for line in lines]) + prices

    follows, sizes, suspicion = _followed(
        lambda follows: _sizes(lines, along, groups, stds / np.sqrt(share), follows), better, saved, deviances, chance
    )
    kept = np.maximum(follows, 0)
    residuals = np.choose(groups.spread_out(kept), [line.residuals for line in lines])
    own = stds[kept, np.arange(len(records))]
    noisy, loud = noisy_sensors(residuals, own, groups, chance)
    timed = [None if r.times is None else part for r, part in zip(records, groups.split(residuals), strict=True)]
    bursts = find_bursts(timed, max(noise, floor), chance)
    return Explained(
        records, noise, lines, sizes, _steps(records, lines, changes), follows, own, noisy, loud, bursts,
        suspicion,
    )  # fmt: skip


def _followed(
    sizes_of: Callable[[np.ndarray], tuple[Compared, ...]],
    better: np.ndarray,
    saved: np.ndarray,
    deviances: np.ndarray,
    chance: float,
) -> tuple[np.ndarray, tuple[Compared, ...], np.ndarray]:
    """The number of the model that explains each sensor, -1 for none; the sizes of all models; and the suspicion of
    each sensor.

    Sensors that are found faulty no longer tell how much healthy ones scatter, so this is done again without them."""
    sizes = sizes_of(np.full(better.shape[1], -1))
    follows, beyond_sampling = np.zeros(0, int), better & (saved > normal_bar(chance) ** 2)
    for _ in range(PASSES):
        bic = np.where(better & np.array([size.ratios > APART for size in sizes]), deviances, np.inf)
        certain = beyond_sampling & np.array([size.odd(chance) for size in sizes])
        follows = np.where(certain.any(axis=0), np.argmin(bic, axis=0), -1)
        sizes = sizes_of(follows)
    ratios = np.where(beyond_sampling, np.array([size.ratios for size in sizes]), 0.0).max(axis=0)
    return follows, sizes, np.where((follows < 0) & (ratios > APART), ratios, 0.0)


def _along(records: Sequence[SensorRecord], changes: Sequence[Change | None], floor: float) -> list[np.ndarray]:
    """What the misfits are a line along under each model, from 0 to 1 within each record; 0 where it does not apply."""
    parts: list[list[np.ndarray]] = [[], [], [], []]
    for record, change in zip(records, changes, strict=True):
        nothing = np.zeros(len(record))
        moves = np.ptp(record.predicted) > MOVES_FROM * floor
        parts[0].append(nothing)
        parts[1].append(nothing if record.times is None else _unit(record.times))
        parts[2].append(_unit(record.predicted) if moves else nothing)
        parts[3].append(nothing if change is None else change.inside.astype(float))
    return [np.concatenate(part) for part in parts]


def _unit(x: np.ndarray) -> np.ndarray:
    reach = np.ptp(x)
    return (x - x.min()) / reach if reach > 0.0 else np.zeros(len(x))


def _parameters(changes: Sequence[Change | None]) -> np.ndarray:
    """(models, sensors): how many numbers a model has that "fine" does not have."""
    steps = [2 + CHANGE_COSTS * (0 if change is None else change.changes) for change in changes]
    return np.array([np.full(len(steps), count) for count in (1, 2, 2)] + [np.array(steps)])


def _sizes(
    lines: Sequence[FittedLines],
    along: Sequence[np.ndarray],
    groups: SensorGroups,
    stds: np.ndarray,
    follows: np.ndarray,
) -> tuple[Compared, ...]:
    """The size of each model beside that of other sensors that are fine or follow the same.

    Root mean squares over the record, so that the sampling error is that of a mean whatever the misfits are a line
    along. A step is always found somewhere, upwards or downwards: it is compared without its sign."""
    found = []
    for number, (line, x) in enumerate(zip(lines, along, strict=True)):
        typical = (follows == -1) | (follows == number)
        spread = np.sqrt(np.maximum(groups.mean(x**2) - groups.mean(x) ** 2, 0.0))
        size = (line.levels, line.rises * spread, line.rises * spread, np.abs(line.rises) * spread)[number]
        found.append(compared(size, stds[number] / np.sqrt(groups.counts), typical))
    return tuple(found)


def _steps(
    records: Sequence[SensorRecord], lines: Sequence[FittedLines], changes: Sequence[Change | None]
) -> tuple[Step | None, ...]:
    """Of a record that changes once, the part further from the typical sensor's level is the fault."""
    centre, line = float(np.median(lines[0].levels)), lines[3]
    found: list[Step | None] = []
    for number, (record, change) in enumerate(zip(records, changes, strict=True)):
        if change is None:
            found.append(None)
            continue
        outside, inside = float(line.levels[number]), float(line.levels[number] + line.rises[number])
        if change.changes == 1 and abs(outside - centre) > abs(inside - centre):
            change, inside, outside = change.complement, outside, inside
        likelier = student_gain(record.misfits - inside, record.misfits - outside, float(line.scales[number]))
        found.append(Step(sharpened(change, likelier), inside - centre, outside - centre))
    return tuple(found)
