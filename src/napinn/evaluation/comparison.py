"""Several methods on the same readings, judged on readings that none of them saw.

Where there are several sensors, whole sensors are held out: readings of one sensor resemble each other, and a method
that follows a bad sensor must not be rewarded for it. Held-out readings may be outliers too, so the scores are medians.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from napinn.data.readings import Readings
from napinn.engines.fitting import fit
from napinn.engines.snapshot import Snapshot
from napinn.errors import InputError
from napinn.problem import Problem
from napinn.results.recipe import Recipe
from napinn.results.result import FitResult, FitStatus

HELD_SHARE = 0.2
"""Of the sensors: five-fold, the usual balance between a fit that is not weakened and a score that is not chance."""
FEWEST_SENSORS = 4
"""With fewer, single readings are held out: without one sensor of three, a third of the box has no reading."""


@dataclass(frozen=True, eq=False)
class Split:
    fitted: Readings
    held: Readings
    sensors: tuple[str, ...]
    """The sensors that were held out as a whole; none where single readings were."""

    def sentence(self) -> str:
        what = f"{len(self.sensors)} whole sensors" if self.sensors else "single readings at random"
        return f"judged on {len(self.held)} readings that no method saw ({what}), fitted to {len(self.fitted)}"


@dataclass(frozen=True, eq=False)
class ScoredFit:
    """One fit and how well it predicts some readings."""

    name: str
    result: FitResult
    misfits: np.ndarray
    field_index: np.ndarray
    log_density: float | None
    """Median log-density of the misfits under the learned law; None for a method that learns none."""

    @property
    def median_misfits(self) -> dict[str, float]:
        """Median absolute misfit by field, in the field's unit."""
        fields = self.result.problem.fields
        chosen = {name: np.abs(self.misfits[self.field_index == index]) for index, name in enumerate(fields)}
        return {name: float(np.median(sizes)) for name, sizes in chosen.items() if sizes.size}

    def row(self) -> dict[str, float | str | None]:
        return {
            "name": self.name,
            "method": self.result.method.name,
            **{f"median_misfit_{name}": value for name, value in self.median_misfits.items()},
            "median_log_density": self.log_density,
            **self.result.unknowns,
            "flagged_share": float(self.result.flagged.mean()),
            "seconds": round(self.result.seconds, 1),
            "status": self.result.status.name,
        }


def split(readings: Readings, seed: int) -> Split:
    """Readings to fit and readings to judge by, the same for every method."""
    rng = np.random.default_rng(seed)
    numbers, names = readings.numbered_sensors
    sensors: tuple[str, ...] = ()
    held = np.zeros(len(readings), bool)
    if len(names) >= FEWEST_SENSORS:
        held = _drawn(readings, numbers, rng)
        sensors = tuple(sorted(names[np.unique(numbers[held])].tolist()))
    if not sensors:
        held = _drawn(readings, readings.rows, rng)
    if not held.any():
        raise InputError(
            f"{readings.source} has too few readings to hold any out; a comparison needs at least two rows of "
            "every field."
        )
    return Split(_without(readings, held), readings.only(held), sensors)


def _drawn(readings: Readings, group: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """(n,): whether a reading is in one of the groups that are held out; of every field the last group is kept."""
    groups, member = np.unique(group, return_inverse=True)
    turn = rng.permutation(len(groups))[member]
    last = [turn[readings.field_index == index].max() for index in range(len(readings.fields))]
    free = np.setdiff1d(np.arange(len(groups)), last)
    return np.isin(turn, free[: max(1, round(HELD_SHARE * len(groups)))])


def _without(readings: Readings, held: np.ndarray) -> Readings:
    """The other readings, in a table of their own: a saved run is read again from its table.

    A row may hold both kinds, so cells are emptied, and only rows that hold no other reading are left out."""
    table = readings.table.copy(deep=False)
    for index, column in enumerate(readings.columns.of_values(readings.labels)):
        emptied = np.zeros(len(table), bool)
        emptied[readings.rows[held & (readings.label_index == index)]] = True
        table[column] = table[column].mask(emptied)
    table = table.iloc[np.unique(readings.rows[~held])]
    kept, row = np.unique(readings.rows[~held], return_inverse=True)
    flags = None if readings.flags is None else replace(readings.flags, qualities=readings.flags.qualities[kept])
    return replace(readings.only(~held), table=table.reset_index(drop=True), rows=row, flags=flags)


def score(name: str, result: FitResult, readings: Readings) -> ScoredFit:
    predicted = result.field(readings.points)[np.arange(len(readings)), readings.field_index]
    misfits = readings.values - predicted
    standard = readings.standard(misfits, result.readings)
    scatters = readings.scatters
    found = [
        result.noise[name].log_prob(standard[scatters.index == index])
        for index, name in enumerate(scatters.names)
        if name in result.noise
    ]
    log_density = float(np.median(np.concatenate(found))) if found else None
    return ScoredFit(name, result, misfits, readings.field_index, log_density)


def compare(
    problem: Problem,
    readings: Readings,
    methods: Mapping[str, Recipe],
    seed: int = 0,
    progress: Callable[[str], Callable[[Snapshot], None]] | None = None,
) -> tuple[Split, list[ScoredFit]]:
    """Fit every method to the same part of the readings and score it on the rest.

    An interrupt (Ctrl-C) ends it with the methods that are done, and last the one that was not.

    :param problem: What to fit.
    :param readings: What was measured; of four sensors or more, a fifth of them is held out as a whole.
    :param methods: Methods by a name of your own.
    :param seed: Of every random number, and of what is held out.
    :param progress: A function of a method's name that gives the function to call with snapshots; default none.
    :return: Which readings were held out, and the fits with their scores, the best first.
    :raises InputError: if there are too few readings to hold any out.

    >>> parts, scored = napinn.compare(problem, readings, {"robust": napinn.bsplines("cauchy"),
    ...                                                    "least squares": napinn.bsplines("gaussian")})
    >>> len(parts.sensors), sorted(each.name for each in scored)
    (1, ['least squares', 'robust'])
    """
    parts = split(readings, seed)
    scored = []
    for name, method in methods.items():
        shown = None if progress is None else progress(name)
        result = fit(problem, parts.fitted, method, seed=seed, progress=shown)
        scored.append(score(name, result, parts.held))
        if result.status is FitStatus.INTERRUPTED:
            break
    return parts, ranked(scored)


def ranked(scored: list[ScoredFit]) -> list[ScoredFit]:
    """By median misfit; with several fields by the mean of each in units of the best fit's own.

    A fit that was interrupted comes last: what it would have come to is not known."""
    best = {name: min(each.median_misfits[name] for each in scored) for name in scored[0].median_misfits}

    def mean(each: ScoredFit) -> float:
        return float(np.mean([each.median_misfits[name] / max(least, 1e-300) for name, least in best.items()]))

    return sorted(scored, key=lambda each: (each.result.status is FitStatus.INTERRUPTED, mean(each)))


def table(scored: list[ScoredFit]) -> pd.DataFrame:
    return pd.DataFrame([each.row() for each in scored])
