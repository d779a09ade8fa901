"""What a table means (`Columns`), what came of it (`Readings`), and what must hold of every reading."""

import dataclasses
import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from napinn.errors import InputError
from napinn.readings.axes import order_axis

ADDED_COLUMNS = ("predicted", "misfit", "reliability", "verdict")
"""What a finished fit adds to a table; columns of these names from an earlier fit are replaced."""
MISSING = "missing"
"""The verdict on a row, or on a cell of it, that holds no reading."""
SLACK = 1e-6
"""How far, as a share of the range, numbers may miss the edge of the box: rounding, as of single precision."""


@dataclass(frozen=True)
class Clock:
    """How dates become a coordinate: counted in `unit` from `origin`, or from the first reading where that is None."""

    unit: str
    origin: str | None = None
    format: str | None = None
    """As of `strptime`; None for ISO 8601, `2024-03-01 12:30`."""


@dataclass(frozen=True)
class Columns:
    """Which column of a table is which; a coordinate or field that is not named here is looked for under its own
    name."""

    value: str = "value"
    field: str = "field"
    sensor: str = "sensor"
    renamed: Mapping[str, str] | None = None
    sigma: str = "sigma"
    """The known standard deviation of each reading; in wide form also per field, as `u_sigma`."""
    missing: tuple[float, ...] = ()
    """Values that stand for no reading, such as -999."""
    clocks: Mapping[str, Clock] = dataclasses.field(default_factory=dict)
    """Coordinates that are given as dates."""
    places: Mapping[str, Mapping[str, float]] = dataclasses.field(default_factory=dict)
    """Where there is a column per sensor: that column, and the coordinates at which the sensor stands."""

    def of(self, name: str) -> str:
        return (self.renamed or {}).get(name, name)

    def of_values(self, labels: Sequence[str]) -> list[str]:
        """The columns that hold the values, in the order of the labels that tell those of one row apart."""
        if self.places:
            return list(labels)
        return [self.value] if tuple(labels) == ("",) else [self.of(name) for name in labels]


@dataclass(frozen=True, eq=False)
class Readings:
    coordinates: tuple[str, ...]
    fields: tuple[str, ...]
    points: np.ndarray
    """(n, d) float64, one row a reading."""
    field_index: np.ndarray
    values: np.ndarray
    sensors: np.ndarray
    """(n,) sensor names, as text."""
    table: pd.DataFrame
    """The table as it was given."""
    rows: np.ndarray
    """The table row of each reading."""
    wide: bool
    columns: Columns
    source: str = "readings"
    labels: tuple[str, ...] = ("",)
    """What tells the values of one row apart: fields, or sensors with a column each."""
    label_index: np.ndarray = dataclasses.field(default_factory=lambda: np.zeros(0, int))
    sigma: np.ndarray | None = None
    """(n,) known standard deviations, in the unit of the values."""

    def __len__(self) -> int:
        return len(self.values)

    @functools.cached_property
    def numbered_sensors(self) -> tuple[np.ndarray, np.ndarray]:
        """The number of each reading's sensor, counted as they first appear, and the names by number."""
        numbers, names = pd.factorize(self.sensors, use_na_sentinel=False)
        return numbers, np.asarray(names, dtype=object)

    @property
    def missing_rows(self) -> int:
        """How many rows of the table hold no reading at all."""
        return len(self.table) - len(np.unique(self.rows))

    @property
    def order_axis(self) -> int | None:
        """The coordinate along which the readings of a sensor follow each other."""
        return order_axis(self.coordinates, self.columns.clocks)

    @property
    def spread(self) -> np.ndarray | None:
        """The known deviations over their median by field: 1 for a reading as sure as most."""
        return self._spread_beside(self)

    def _spread_beside(self, others: "Readings") -> np.ndarray | None:
        if self.sigma is None or others.sigma is None:
            return None
        spread = np.empty(len(self))
        for index in np.unique(self.field_index):
            chosen = self.field_index == index
            spread[chosen] = self.sigma[chosen] / np.median(others.sigma[others.field_index == index])
        return spread

    def standard(self, misfits: np.ndarray, fitted: "Readings | None" = None) -> np.ndarray:
        """Misfits of these readings over their spread, where it is known: what a noise law is the law of.

        It was learned beside the median deviation of the readings that were `fitted`, if these are others."""
        spread = self._spread_beside(self if fitted is None else fitted)
        return misfits if spread is None else misfits / spread

    def of_field(self, index: int) -> np.ndarray:
        return self.values[self.field_index == index]

    def only(self, kept: np.ndarray) -> "Readings":
        """The readings for which `kept` is true; the table stays whole."""
        return dataclasses.replace(
            self,
            points=self.points[kept],
            field_index=self.field_index[kept],
            values=self.values[kept],
            sensors=self.sensors[kept],
            rows=self.rows[kept],
            label_index=self.label_index[kept],
            sigma=None if self.sigma is None else self.sigma[kept],
        )

    def added_columns(self, name: str) -> list[str]:
        """The columns that hold an added quantity: one, or one a label where a row has several values."""
        return [f"{label}_{name}" for label in self.labels] if len(self.labels) > 1 else [name]

    def annotated(self, added: Mapping[str, np.ndarray]) -> pd.DataFrame:
        """The table, every row in its original order, with columns of one entry per reading.

        A cell that holds no reading gets no number, and the word `missing` where words are added."""
        # The columns are shared with the table until one of them is written to.
        table = self.table.copy(deep=False)
        for name, entries in added.items():
            words = entries.dtype.kind in "OUT"
            columns = np.full((len(table), len(self.labels)), MISSING if words else np.nan, object if words else float)
            columns[self.rows, self.label_index] = entries
            for index, column in enumerate(self.added_columns(name)):
                table[column] = columns[:, index]
        return table


def check_inside(readings: Readings, lows: Sequence[float], highs: Sequence[float]) -> None:
    """Every reading must lie in the problem's box."""
    beyond = outside(readings.points, lows, highs)
    if beyond.any():
        reading, axis = np.argwhere(beyond)[0]
        name = readings.coordinates[axis]
        found, low, high = told_apart(float(readings.points[reading, axis]), lows[axis], highs[axis])
        raise InputError(
            f"{readings.source}, row {spoken(readings.rows[reading])}, column '{readings.columns.of(name)}': "
            f"{found} is outside the problem's range of '{name}', {low} to {high} "
            f"({int(beyond.any(axis=1).sum())} reading(s) are); widen the range or remove them."
        )


def outside(points: np.ndarray, lows: Sequence[float], highs: Sequence[float]) -> np.ndarray:
    """(n, d): whether a coordinate of a point is beyond the box."""
    low, high = np.asarray(lows, float), np.asarray(highs, float)
    slack = SLACK * (high - low)
    return (points < low - slack) | (points > high + slack)


def told_apart(*numbers: float) -> list[str]:
    """Numbers in the fewest digits, from six on, that show which of them differ."""
    written = ([f"{number:.{digits}g}" for number in numbers] for digits in range(6, 18))
    return next(each for each in written if len(set(each)) >= len(set(numbers)))


def check_repeats(readings: Readings) -> None:
    """The same value of the same sensor at the same point can only be a row that was written twice."""
    again = repeated(readings)
    if again.any():
        second = int(np.argmax(again))
        same = [column == column[second] for column in (*_identity(readings), readings.values)]
        first = int(np.argmax(np.all(same, axis=0)))
        raise InputError(
            f"{readings.source}, rows {spoken(readings.rows[first])} and {spoken(readings.rows[second])} hold the "
            f"same reading ({int(again.sum())} repeated in all); remove one, "
            f"or tell them apart in column '{readings.columns.sensor}'."
        )


def repeated(readings: Readings) -> np.ndarray:
    """(n,): whether a reading says again what an earlier one says."""
    return _again([*_identity(readings), readings.values])


def at_the_same_place(readings: Readings) -> np.ndarray:
    """(n,): whether an earlier reading is of the same field by the same sensor at the same point."""
    return _again(_identity(readings))


def _identity(readings: Readings) -> list[np.ndarray]:
    return [*readings.points.T, readings.field_index, readings.numbered_sensors[0]]


def _again(columns: list[np.ndarray]) -> np.ndarray:
    """Whether a row is equal to an earlier one.

    Rows are first told apart by a hash, because to look up millions of them whole takes gigabytes."""
    hashes = np.zeros(len(columns[0]), np.uint64)
    for column in columns:
        # Zero has two signs, and they are equal.
        hashes = hashes * np.uint64(0x9E3779B97F4A7C15) + pd.util.hash_array(column + 0, categorize=False)
    ordered = np.sort(hashes)
    twice = ordered[1:][ordered[1:] == ordered[:-1]]
    again = np.zeros(len(hashes), bool)
    if twice.size:
        suspects = np.flatnonzero(np.isin(hashes, twice))
        frame = pd.DataFrame({number: column[suspects] for number, column in enumerate(columns)})
        again[suspects] = frame.duplicated().to_numpy()
    return again


def spoken(row: Any) -> int:
    """A table row as a person counts in a file whose first row is the header."""
    return int(row) + 2
