"""What a table means (`Columns`), what came of it (`Readings`), and what must hold of every reading."""

import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from napinn.data import markup
from napinn.data.flags import CAUSE, COMMENT, FLAG, GivenFlags
from napinn.data.readings.axes import order_axis
from napinn.errors import InputError

ADDED_COLUMNS = ("predicted", "misfit", "reliability", "verdict", FLAG, CAUSE, COMMENT)
"""What a finished fit adds to a table; columns of these names from an earlier fit are replaced."""
GIVEN = "_given"
"""The ending of a column of flags that came with the readings and stood where napinn writes its own."""
NO_FLAGS = ""
"""`Columns.quality` of readings that came without flags."""
MISSING = "missing"
"""The verdict on a row, or on a cell of it, that holds no reading."""
SHOWN_ROWS = 8
"""Rows of the table that a notebook shows."""
MARK = "@"
"""Between the name of a field and that of its experiment or noise group; no name in an equation contains it."""
SLACK = 1e-6
"""How far, as a share of the range, numbers may miss the edge of the box: rounding, as of single precision."""


@dataclass(frozen=True)
class Clock:
    """How dates become a coordinate.

    :param unit: What they are counted in: seconds, minutes, hours, days, weeks or years.
    :param origin: The date that counts as 0, in ISO 8601; the default is the first reading.
    :param format: How dates are written, as of `strptime`; the default is ISO 8601, such as `2024-03-01 12:30`.

    >>> when = napinn.Columns(clocks={"t": napinn.Clock("days")})
    >>> table = pd.DataFrame({"t": ["2024-03-01", "2024-03-02"], "u": [1.0, 0.9]})
    >>> napinn.read_table(table, ("t",), ("u",), when).points.ravel().tolist()
    [0.0, 1.0]
    """

    unit: str
    origin: str | None = None
    format: str | None = None
    """As of `strptime`; None for ISO 8601, `2024-03-01 12:30`."""


@dataclass(frozen=True)
class Conversion:
    """How numbers of a column become numbers in the unit of the problem: factor × number + offset.

    :param unit: The unit of the column, as text.
    :param factor: How many units of the problem one unit of the column is.
    :param offset: What 0 in the unit of the column is in the unit of the problem.

    >>> napinn.Conversion("degF", 5 / 9, -160 / 9).inward(212.0)
    100.0
    """

    unit: str
    factor: float
    offset: float = 0.0

    def inward(self, numbers: Any) -> Any:
        """Numbers of the column in the unit of the problem.

        :param numbers: One or an array."""
        return self.factor * numbers + self.offset

    def outward(self, numbers: Any) -> Any:
        """Numbers in the unit of the problem as the column has them.

        :param numbers: One or an array."""
        return (numbers - self.offset) / self.factor

    def difference_inward(self, numbers: Any) -> Any:
        """Differences, such as deviations, in the unit of the problem: no offset moves them.

        :param numbers: One or an array."""
        return self.factor * numbers

    def difference_outward(self, numbers: Any) -> Any:
        """Differences in the unit of the problem as the column would have them.

        :param numbers: One or an array."""
        return numbers / self.factor


def in_other_units(
    numbers: np.ndarray,
    conversions: Mapping[str, Conversion],
    fields: Sequence[str],
    field_index: np.ndarray,
    change: Callable[[Conversion, np.ndarray], np.ndarray],
) -> np.ndarray:
    """Numbers of readings to or from the units of their columns.

    Args:
        numbers: (n,) one a reading.
        conversions: by field, without the name of an experiment.
        fields: that readings are of.
        field_index: (n,) the number of each reading's field.
        change: which of the four ways a conversion goes."""
    found = numbers
    for index, name in enumerate(fields):
        known = conversions.get(name.partition(MARK)[0])
        if known is not None:
            found = np.where(field_index == index, change(known, numbers), found)
    return found


@dataclass(frozen=True)
class Columns:
    """Which column of a table is which; a coordinate or field that is not named here is looked for under its own name.

    :param value: The values, where a table has a row for each. Default `value`.
    :param field: Which field a value is of, in such a table. Default `field`.
    :param sensor: The name of the sensor. Default `sensor`; without such a column, readings at one place are one
        sensor's.
    :param renamed: A coordinate or field to the column that holds it.
    :param sigma: The known standard deviation of each reading; also one for each field, as `u_sigma`. Default `sigma`.
    :param missing: Values that stand for no reading, such as -999.
    :param clocks: Coordinates that are given as dates.
    :param places: Where there is a column per sensor: that column, and the coordinates at which the sensor stands.
    :param quality: The column of quality flags; the default looks for `quality_flag` or `u_qc`.
    :param scheme: The scheme of the flags: `qartod`, `argo` or `saqc`; the default recognises it by its codes.
    :param leave_out_bad: Whether readings whose own flag says bad take no part in the fit.
    :param experiment: Which experiment a row belongs to. Default `experiment`.
    :param group: The column whose values each have a noise law of their own; default one law for all.
    :param conversions: Coordinates and fields whose column is in another unit than the problem.

    >>> columns = napinn.Columns(sensor="station", renamed={"u": "temp (K)"}, missing=(-999,))
    >>> table = pd.DataFrame({"station": ["A", "A"], "t": [0.0, 1.0], "temp (K)": [281.5, -999]})
    >>> len(napinn.read_table(table, ("t",), ("u",), columns))
    1
    """

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
    quality: str | None = None
    """The column of quality flags; None looks for `quality_flag` or `T_qc`, and empty text says that there is none."""
    scheme: str | None = None
    """The scheme of the flags: `qartod`, `argo` or `saqc`; None recognises it by its codes."""
    leave_out_bad: bool = False
    """Whether readings whose own flag says bad take no part in the fit."""
    experiment: str = "experiment"
    """Which experiment a row belongs to."""
    group: str | None = None
    """The column whose values each have a noise law of their own; None for one law."""
    conversions: Mapping[str, Conversion] = dataclasses.field(default_factory=dict)
    """Coordinates and fields whose column is in another unit than the problem."""

    def inward(self, name: str, numbers: np.ndarray) -> np.ndarray:
        """The numbers of a column in the unit of the problem.

        :param name: The coordinate, field or constant that the column holds.
        :param numbers: As the column has them."""
        return self.conversions[name].inward(numbers) if name in self.conversions else numbers

    def of(self, name: str) -> str:
        return (self.renamed or {}).get(name, name)

    def of_values(self, labels: Sequence[str]) -> list[str]:
        """The columns that hold the values, in the order of the labels that tell those of one row apart."""
        if self.places:
            return list(labels)
        return [self.value] if tuple(labels) == ("",) else [self.of(name) for name in labels]


@dataclass(frozen=True, eq=False)
class Scatters:
    """Sets of readings whose noise has one scale and one location."""

    names: tuple[str, ...]
    index: np.ndarray
    """(n,) the set of each reading."""
    group: np.ndarray
    """The noise group of each set, and so its law."""


@dataclass(frozen=True, eq=False, repr=False)
class Readings:
    """Measured values, one by one: where and when, of which field, by which sensor. `napinn.read_readings` makes them.

    :param coordinates: Names, in the order of `points`.
    :param fields: Names of what is measured.
    :param points: (n, d) coordinates, one row a reading.
    :param field_index: (n,) the number of the field that each reading is of.
    :param values: (n,) what was measured, in the field's unit.
    :param sensors: (n,) names of the sensors, as text.
    :param table: The table as it was given.
    :param rows: (n,) the table row of each reading, from 0.
    :param wide: Whether fields have columns of their own.
    :param columns: Which column is which.
    :param source: The file, for messages.
    :param labels: What tells the values of one row apart: fields, or sensors with a column each.
    :param label_index: (n,) the number of each reading's label.
    :param sigma: (n,) known standard deviations, in the unit of the values; None where there are none.
    :param flags: The quality flags that came with the table; None where it has none.
    :param groups: The noise groups, each with a law of its own.
    :param group_index: (n,) the group of each reading; empty where there is one.

    >>> readings
    <napinn.Readings of readings: 160 of u by 4 sensor(s)>
    >>> readings.points.shape, readings.values.shape
    ((160, 1), (160,))
    """

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
    flags: GivenFlags | None = None
    """The quality flags that came with the table; None where it has none."""
    groups: tuple[str, ...] = ("",)
    """The noise groups, each with a law of its own."""
    group_index: np.ndarray = dataclasses.field(default_factory=lambda: np.zeros(0, int))
    """(n,) the group of each reading; empty where there is one."""

    def __len__(self) -> int:
        return len(self.values)

    def __repr__(self) -> str:
        """What they are in one line."""
        sensors = len(self.numbered_sensors[1])
        return f"<napinn.Readings of {self.source}: {len(self)} of {', '.join(self.fields)} by {sensors} sensor(s)>"

    def _repr_html_(self) -> str:
        """The readings in a notebook: counts and ranges, and the first rows of their table to be opened."""
        axes = [(name, f"{low:g}", f"{high:g}") for name, low, high in
                zip(self.coordinates, self.points.min(axis=0), self.points.max(axis=0), strict=True)]  # fmt: skip
        fields = [
            (name, len(values), f"{values.min():g}", f"{np.median(values):g}", f"{values.max():g}")
            for name, values in ((name, self.of_field(index)) for index, name in enumerate(self.fields))
        ]
        rows = self.table.head(SHOWN_ROWS)
        return markup.block(
            f"Readings of {self.source}",
            [
                markup.line(f"{len(self)} readings by {len(self.numbered_sensors[1])} sensor(s)"),
                markup.table(("field", "readings", "lowest", "median", "highest"), fields),
                markup.table(("coordinate", "from", "to"), axes),
                markup.fold(
                    f"Table ({len(self.table)} rows)", markup.table(list(map(str, rows)), rows.to_numpy().tolist())
                ),
            ],
        )

    @functools.cached_property
    def numbered_sensors(self) -> tuple[np.ndarray, np.ndarray]:
        """The number of each reading's sensor, counted as they first appear, and the names by number."""
        numbers, names = pd.factorize(self.sensors, use_na_sentinel=False)
        return numbers, np.asarray(names, dtype=object)

    @functools.cached_property
    def experiments(self) -> tuple[str, ...]:
        """The names of the experiments; none where there is only one."""
        return tuple(dict.fromkeys(name.partition(MARK)[2] for name in self.fields if MARK in name))

    @functools.cached_property
    def experiment_index(self) -> np.ndarray:
        """(n,) the number of each reading's experiment."""
        known = {name: number for number, name in enumerate(self.experiments)}
        return np.array([known.get(name.partition(MARK)[2], 0) for name in self.fields])[self.field_index]

    @functools.cached_property
    def scatters(self) -> "Scatters":
        """The readings whose noise has one scale: of one quantity, in all experiments, and of one noise group."""
        quantities = list(dict.fromkeys(name.partition(MARK)[0] for name in self.fields))
        of_field = np.array([quantities.index(name.partition(MARK)[0]) for name in self.fields])
        if len(self.groups) == 1:
            return Scatters(tuple(quantities), of_field[self.field_index], np.zeros(len(quantities), int))
        key = of_field[self.field_index] * len(self.groups) + self.group_index
        kept, index = np.unique(key, return_inverse=True)
        quantity, group = np.divmod(kept, len(self.groups))
        names = (f"{quantities[q]}{MARK}{self.groups[g]}" for q, g in zip(quantity, group, strict=True))
        return Scatters(tuple(names), index, group)

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
        own, other = self.scatters, others.scatters
        for index, name in enumerate(own.names):
            if name in other.names:
                chosen = own.index == index
                known = others.sigma[other.index == other.names.index(name)]
                spread[chosen] = self.sigma[chosen] / np.median(known)
        return spread

    def standard(self, misfits: np.ndarray, fitted: "Readings | None" = None) -> np.ndarray:
        """Misfits of these readings over their spread, where it is known: what a noise law is the law of.

        It was learned beside the median deviation of the readings that were `fitted`, if these are others."""
        spread = self._spread_beside(self if fitted is None else fitted)
        return misfits if spread is None else misfits / spread

    def converted(self, numbers: np.ndarray, change: Callable[[Conversion, np.ndarray], np.ndarray]) -> np.ndarray:
        """Numbers of the readings, such as predictions, to or from the units of their columns.

        :param numbers: (n,) one a reading.
        :param change: Which way, such as `Conversion.outward`."""
        return in_other_units(numbers, self.columns.conversions, self.fields, self.field_index, change)

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
            group_index=self.group_index[kept] if len(self.groups) > 1 else self.group_index,
        )

    def added_columns(self, name: str) -> list[str]:
        """The columns that hold an added quantity: one, or one a label where a row has several values."""
        return [f"{label}_{name}" for label in self.labels] if len(self.labels) > 1 else [name]

    def annotated(self, added: Mapping[str, np.ndarray], missing: Mapping[str, object] | None = None) -> pd.DataFrame:
        """The table, every row in its original order, with columns of one entry per reading.

        A cell that holds no reading gets what `missing` says for the column; otherwise it gets no number, and the word
        `missing` where words are added. A column of flags that came with the readings is kept under another name."""
        # The columns are shared with the table until one of them is written to.
        table = self.table.copy(deep=False)
        for name, entries in added.items():
            is_text = entries.dtype.kind in "OUT"
            nothing = (missing or {}).get(name, MISSING if is_text else np.nan)
            columns = np.full((len(table), len(self.labels)), nothing, object if is_text else float)
            columns[self.rows, self.label_index] = entries
            for index, column in enumerate(self.added_columns(name)):
                if column == self.columns.quality and column in table.columns:
                    table = table.rename(columns={column: column + GIVEN})
                table[column] = columns[:, index]
        return table


def check_inside(readings: Readings, lows: Sequence[float], highs: Sequence[float]) -> None:
    """Every reading must lie in the problem's box."""
    beyond = outside(readings.points, lows, highs)
    if beyond.any():
        reading, axis = np.argwhere(beyond)[0]
        name = readings.coordinates[axis]
        found, low, high = distinct_digits(float(readings.points[reading, axis]), lows[axis], highs[axis])
        raise InputError(
            f"{readings.source}, row {row_number(readings.rows[reading])}, column '{readings.columns.of(name)}': "
            f"{found} is outside the problem's range of '{name}', {low} to {high} "
            f"({int(beyond.any(axis=1).sum())} reading(s) are); widen the range or remove them."
        )


def outside(points: np.ndarray, lows: Sequence[float], highs: Sequence[float]) -> np.ndarray:
    """(n, d): whether a coordinate of a point is beyond the box."""
    low, high = np.asarray(lows, float), np.asarray(highs, float)
    slack = SLACK * (high - low)
    return (points < low - slack) | (points > high + slack)


def distinct_digits(*numbers: float) -> list[str]:
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
            f"{readings.source}, rows {row_number(readings.rows[first])} and {row_number(readings.rows[second])} hold "
            f"the same reading ({int(again.sum())} repeated in all); remove one, "
            f"or name different sensors in column '{readings.columns.sensor}'."
        )


def repeated(readings: Readings) -> np.ndarray:
    """(n,): whether a reading says again what an earlier one says."""
    return _again([*_identity(readings), readings.values])


def at_the_same_place(readings: Readings) -> np.ndarray:
    """(n,): whether an earlier reading is of the same field by the same sensor at the same point."""
    return _again(_identity(readings))


def _identity(readings: Readings) -> list[np.ndarray]:
    # Readings of different noise groups are of different instruments.
    groups = [readings.group_index] if len(readings.groups) > 1 else []
    return [*readings.points.T, readings.field_index, readings.numbered_sensors[0], *groups]


def _again(columns: list[np.ndarray]) -> np.ndarray:
    """Whether a row is equal to an earlier one.

    Rows are first compared by a hash, because to look up millions of them whole takes gigabytes."""
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


def row_number(row: Any) -> int:
    """A table row as a person counts in a file whose first row is the header."""
    return int(row) + 2
