"""Which column of a table is which: names, dates, units."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

NO_FLAGS = ""
"""`Columns.quality` of readings that came without flags."""
MARK = "@"
"""Between the name of a field and that of its experiment or noise group; no name in an equation contains it."""


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
    :param missing: Values and words that mean 'no reading', such as -999 or `OVERFLOW`.
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
    missing: tuple[float | str, ...] = ()
    """Values and words that mean 'no reading', such as -999 or `OVERFLOW`."""
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
        """The columns that hold the values, in the order of the labels that distinguish those of one row."""
        if self.places:
            return list(labels)
        return [self.value] if tuple(labels) == ("",) else [self.of(name) for name in labels]
