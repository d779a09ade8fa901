"""Readings: a tidy, frozen, validated table of measured values.

One reading is one value of one field at one point, by one sensor. A table comes in one of three forms:

- wide: a column per coordinate and a column per field;
- a column per sensor: one field, and the place of each sensor is given apart from the table;
- long: a column per coordinate, a column of values, and, where there are several fields, a column that names the field.

In the first and the last, a sensor column is optional; without one, readings at the same place belong to the same
sensor, and all readings do where time is the only coordinate. A cell without a value is a missing reading: it takes
part in nothing, and its row is kept and marked.
"""

from napinn.data.readings.axes import TIME_NAMES, order_axis, time_axis
from napinn.data.readings.base import ADDED_COLUMNS, Readings, Scatters
from napinn.data.readings.cells import TIME_UNITS, TIME_WORDS
from napinn.data.readings.checks import (
    SLACK,
    at_the_same_place,
    check_inside,
    check_repeats,
    distinct_digits,
    outside,
    repeated,
)
from napinn.data.readings.columns import MARK, Clock, Columns, Conversion
from napinn.data.readings.given_flags import flag_columns
from napinn.data.readings.labels import experiment_names
from napinn.data.readings.sentinels import certain_sentinels, far_repeats, words_for_nothing
from napinn.data.readings.tidy import cell_points, read_table, tidy, with_numbers

__all__ = [
    "ADDED_COLUMNS",
    "MARK",
    "SLACK",
    "TIME_NAMES",
    "TIME_UNITS",
    "TIME_WORDS",
    "Clock",
    "Columns",
    "Conversion",
    "Readings",
    "Scatters",
    "at_the_same_place",
    "cell_points",
    "certain_sentinels",
    "check_inside",
    "check_repeats",
    "distinct_digits",
    "experiment_names",
    "far_repeats",
    "flag_columns",
    "order_axis",
    "outside",
    "read_table",
    "repeated",
    "tidy",
    "time_axis",
    "with_numbers",
    "words_for_nothing",
]
