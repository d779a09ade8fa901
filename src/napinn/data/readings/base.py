"""Measured values, one by one (`Readings`), and which of them share a noise scale (`Scatters`)."""

import dataclasses
import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from napinn.data import markup
from napinn.data.flags import CAUSE, COMMENT, FLAG, GivenFlags
from napinn.data.readings.axes import order_axis
from napinn.data.readings.columns import MARK, Columns, Conversion, in_other_units

ADDED_COLUMNS = ("predicted", "misfit", "reliability", "verdict", FLAG, CAUSE, COMMENT)
"""What a finished fit adds to a table; columns of these names from an earlier fit are replaced."""
GIVEN = "_given"
"""The ending of a column of flags that came with the readings and stood where napinn writes its own."""
MISSING = "missing"
"""The verdict on a row, or on a cell of it, that holds no reading."""
SHOWN_ROWS = 8
"""Rows of the table that a notebook shows."""


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
    :param labels: What distinguishes the values of one row: fields, or sensors with a column each.
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
    """What distinguishes the values of one row: fields, or sensors with a column each."""
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
