"""Stretches in which a sensor repeats itself although the field moves.

How often two readings in a row are alike by chance depends on how finely they are rounded, how noisy they are and how
fast the field moves. So it is counted: among the other sensors' readings in a row, where the field moves no faster.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from napinn.data.robust import robust_std
from napinn.diagnostics.sensors.records import SensorRecord, negligible

SHORTEST = 4
"""Alike readings that make a stretch."""
ALIKE = 1e-6
"""Readings closer than this share of the field's robust deviation are the same."""
ENOUGH_PAIRS = 30
"""Pairs of neighbouring readings from which the resolution of a sensor is estimated, with an error of a fifth."""


@dataclass(frozen=True, eq=False)
class Stretch:
    start: int
    stop: int
    """Within the record; one past the last."""
    value: float
    moved: float
    """How far the field went meanwhile."""


@dataclass(frozen=True, eq=False)
class _Pairs:
    """Readings in a row, of all sensors."""

    owner: np.ndarray
    place: np.ndarray
    """Of the first of the two, within its record."""
    step: np.ndarray
    """How far the field moves between the two."""
    change: np.ndarray
    """How much the misfit changes."""
    alike: np.ndarray


def stuck_stretches(records: Sequence[SensorRecord], chance: float) -> list[list[Stretch]]:
    """For each record its stretches, none where there is no order in time; `chance` is that of one false alarm."""
    if not records or records[0].times is None:
        return [[] for _ in records]
    same = ALIKE * robust_std(np.concatenate([record.values for record in records]))
    pairs = _pairs(records, same)
    rounding = 2.0 * float(np.median([_resolution(record.values, same) for record in records]))
    finest = max(rounding, negligible(records))
    ends = np.cumsum([max(len(record) - 1, 0) for record in records])
    found = []
    for number, (record, alike) in enumerate(zip(records, np.split(pairs.alike, ends[:-1]), strict=True)):
        runs = [run for run in _runs(alike) if run[1] - run[0] >= SHORTEST]
        judged = (_stretch(record, number, run, pairs, finest, chance, alone=len(records) == 1) for run in runs)
        found.append([stretch for stretch in judged if stretch is not None])
    return found


def without_stuck(records: Sequence[SensorRecord], chance: float) -> tuple[list[list[Stretch]], list[SensorRecord]]:
    """For each record its stretches, and the readings that are in none; the first of a stretch belongs to these, as
    the sensor took it and then stuck."""
    stretches = stuck_stretches(records, chance)
    rest = []
    for record, found in zip(records, stretches, strict=True):
        free = np.ones(len(record), bool)
        for stretch in found:
            free[stretch.start + 1 : stretch.stop] = False
        rest.append(record.only(free))
    return stretches, rest


def _pairs(records: Sequence[SensorRecord], same: float) -> _Pairs:
    return _Pairs(
        np.concatenate([np.full(max(len(record) - 1, 0), number) for number, record in enumerate(records)]),
        np.concatenate([np.arange(len(record) - 1) for record in records]),
        np.abs(np.concatenate([np.diff(record.predicted) for record in records])),
        np.abs(np.concatenate([np.diff(record.misfits) for record in records])),
        np.abs(np.concatenate([np.diff(record.values) for record in records])) <= same,
    )


def _runs(alike: np.ndarray) -> list[tuple[int, int]]:
    """First and one past the last reading of every run of readings that are alike."""
    edges = np.diff(np.concatenate([[0], alike.astype(int), [0]]))
    starts, stops = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1) + 1
    return list(zip(starts.tolist(), stops.tolist(), strict=True))


def _stretch(
    record: SensorRecord, number: int, run: tuple[int, int], pairs: _Pairs, finest: float, chance: float, alone: bool
) -> Stretch | None:
    start, stop = run
    field = record.predicted[start:stop]
    moved = float(np.ptp(field))
    inside = (pairs.owner == number) & (pairs.place >= start - 1) & (pairs.place < stop)
    others = np.flatnonzero(~inside if alone else pairs.owner != number)
    if not others.size:
        return None
    like = _comparable(pairs.step[others], float(np.median(np.abs(np.diff(field)))))
    others = others[like]
    by_chance = (pairs.alike[others].sum() + 1.0) / (len(others) + 2.0)
    if len(record) * by_chance ** (stop - start - 1) > chance:
        return None
    outside = np.r_[0:start, stop : len(record)]
    if alone:
        # A field at rest, read without noise, repeats itself too, and no other sensor shows which it is.
        moves = moved > 2.0 * robust_std(record.misfits[outside])
    else:
        moves = max(moved, float(np.median(pairs.change[others]))) > finest
    return Stretch(start, stop, float(record.values[start]), moved) if moves else None


def _comparable(steps: np.ndarray, step: float) -> np.ndarray:
    """Pairs between which the field moves no more than twice this far, or the slowest if there are few."""
    slow = np.flatnonzero(steps <= 2.0 * step)
    return slow if len(slow) >= ENOUGH_PAIRS else np.argsort(steps, kind="stable")[:ENOUGH_PAIRS]


def _resolution(values: np.ndarray, same: float) -> float:
    """The smallest difference between readings that are not the same."""
    gaps = np.diff(np.unique(values))
    gaps = gaps[gaps > same]
    return float(gaps.min()) if gaps.size else same
