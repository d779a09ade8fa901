"""A table in any of its three forms to tidy readings."""

import dataclasses
from collections.abc import Collection, Mapping, Sequence

import numpy as np
import pandas as pd

from napinn.data.flags import CAUSE, COMMENT
from napinn.data.names import encodable, normal, respelled
from napinn.data.readings.axes import time_axis
from napinn.data.readings.base import ADDED_COLUMNS, GIVEN, Readings
from napinn.data.readings.cells import column_of, numbers_if_all, numbers_in, readings_in, times_in
from napinn.data.readings.checks import check_repeats, row_number
from napinn.data.readings.columns import Clock, Columns, Conversion, in_other_units
from napinn.data.readings.given_flags import given_flags, without_flagged
from napinn.data.readings.labels import by_experiment, experiment_numbers, marked, noise_groups
from napinn.errors import InputError, listed, nearest


def read_table(
    table: pd.DataFrame,
    coordinates: Sequence[str],
    fields: Sequence[str],
    columns: Columns | None = None,
    source: str = "readings",
    experiments: Sequence[str] = (),
    averaged: Mapping[str, Collection[str]] | None = None,
) -> Readings:
    """Readings of a table; `napinn.read_readings` is the same for files and datasets.

    :param table: Wide (a column per field), long (a column of values), or with a column per sensor.
    :param coordinates: Names of the coordinates.
    :param fields: Names of what is measured.
    :param columns: Which column is which; the default takes every name as it is.
    :param source: What messages call the table.
    :param experiments: Names in the column of experiments, where there are several.
    :param averaged: Each field that does not depend on some coordinates to these coordinates.
    :return: One reading for every cell that holds a number.
    :raises InputError: if a column is missing or a cell holds no number; the message names row, column and remedy.

    >>> table = pd.DataFrame({"x": [0.0, 1.0], "t": [0.0, 0.0], "T": [20.5, 21.0]})
    >>> napinn.read_table(table, ("x", "t"), ("T",)).values.tolist()
    [20.5, 21.0]
    """
    readings = tidy(table, coordinates, fields, columns, source, experiments, averaged)
    check_repeats(readings)
    return readings


def tidy(
    table: pd.DataFrame,
    coordinates: Sequence[str],
    fields: Sequence[str],
    columns: Columns | None = None,
    source: str = "readings",
    experiments: Sequence[str] = (),
    averaged: Mapping[str, Collection[str]] | None = None,
) -> Readings:
    """The readings as `read_table` gives them, repeated ones not yet refused.

    Args:
        table: one row a point, or one a reading.
        coordinates: of the problem.
        fields: that are measured, without the name of an experiment.
        columns: which column is which.
        source: the name of the table in messages.
        experiments: the names in the column of experiments, where there are several.
        averaged: for a field that does not depend on some coordinates, these; they are NaN in its points."""
    columns, averaged = columns or Columns(), averaged or {}
    coordinates, fields = ([normal(name) for name in names] for names in (coordinates, fields))
    own_fields = fields
    if table.empty:
        raise InputError(f"{source} has no rows; it needs a header and at least one reading.")
    table = respelled(table.reset_index(drop=True), _known_columns(columns, coordinates, fields, experiments))
    wide, labels = _form(table, columns, fields)
    flags, columns = given_flags(table, columns, labels, source)
    values = without_flagged(_values(table, columns, fields, labels, source), flags, columns.leave_out_bad)
    rows, label_index = np.nonzero(np.isfinite(values))
    if not rows.size:
        raise InputError(f"{source} holds no reading: every value is missing.")
    needed = np.zeros(len(table), bool)
    needed[rows] = True
    field_index = label_index if wide else _field_index(table, columns, fields, needed, source)[rows]
    for index, name in enumerate(fields):
        if not (field_index == index).any():
            raise InputError(f"{source} holds no reading of field '{name}'; if there is none, name it under 'hidden'.")
    free = _free(averaged, coordinates, fields, field_index)
    needed_along = np.repeat(needed[:, None], len(coordinates), axis=1) if free is None else _needed(free, rows, needed)
    places, settled = _points(table, columns, coordinates, labels, needed_along, source)
    points, sensors = _located(table, columns, coordinates, places, free, rows, label_index)
    if experiments:
        number = experiment_numbers(table, columns, experiments, needed, source)[rows]
        fields, field_index = by_experiment(fields, field_index, experiments, number)
        sensors = marked(sensors, experiments, number)
    groups, group_index = noise_groups(table, columns, experiments, needed, rows, source)
    sigma = _sigma(table, columns, (*coordinates, *own_fields), labels if wide else (), rows, label_index, source)
    return Readings(
        coordinates=tuple(coordinates),
        fields=tuple(fields),
        points=points,
        field_index=field_index,
        values=in_other_units(values[rows, label_index], columns.conversions, fields, field_index, Conversion.inward),
        sensors=sensors,
        table=table.drop(columns=_added_earlier(table, labels, columns.quality)),
        rows=rows,
        wide=wide,
        columns=dataclasses.replace(columns, clocks=settled),
        source=encodable(source),
        labels=labels,
        label_index=label_index,
        sigma=sigma
        if sigma is None
        else in_other_units(sigma, columns.conversions, fields, field_index, Conversion.difference_inward),
        groups=groups,
        group_index=group_index,
        flags=flags,
    )


def _known_columns(
    columns: Columns, coordinates: Sequence[str], fields: Sequence[str], experiments: Sequence[str]
) -> list[str]:
    """Every name by which a column may be looked for."""
    named = [columns.value, columns.field, columns.sensor, columns.sigma, *columns.places]
    named += [columns.experiment] * bool(experiments) + ([] if columns.group is None else [columns.group])
    own = [columns.of(name) for name in (*coordinates, *fields)]
    return [*own, *named, *(f"{name}_{columns.sigma}" for name in fields)]


def _located(
    table: pd.DataFrame,
    columns: Columns,
    coordinates: Sequence[str],
    places: np.ndarray,
    free: np.ndarray | None,
    rows: np.ndarray,
    label_index: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Points and sensors of the readings. A coordinate that a reading does not depend on is NaN in its point, and does
    not tell sensors apart."""
    points = places[rows, label_index if places.shape[1] > 1 else 0]
    where = points if free is None else np.where(free, 0.0, points)
    sensors = _sensors(table, columns, coordinates, where, rows, label_index)
    return points if free is None else np.where(free, np.nan, points), sensors


def _free(
    averaged: Mapping[str, Collection[str]], coordinates: Sequence[str], fields: Sequence[str], index: np.ndarray
) -> np.ndarray | None:
    """(n, d): whether a reading does not depend on a coordinate; None where each depends on all."""
    if not any(averaged.get(name) for name in fields):
        return None
    return np.array([[axis in averaged.get(name, ()) for axis in coordinates] for name in fields])[index]


def _needed(free: np.ndarray, rows: np.ndarray, needed: np.ndarray) -> np.ndarray:
    """(rows, d): whether a row must say where it was read along a coordinate."""
    found = np.zeros((len(needed), free.shape[1]), bool)
    np.logical_or.at(found, rows, ~free)
    return found


def with_numbers(table: pd.DataFrame, columns: Columns, names: Sequence[str]) -> pd.DataFrame:
    """The table with coordinates, fields and their deviations as numbers where they came as text.

    Other columns stay as they are: they hold names, dates or what only the user knows, and `007` is not 7."""
    needed = {columns.of(name) for name in names if name not in columns.clocks}
    needed |= {columns.value, columns.sigma, *columns.places, *(f"{name}_{columns.sigma}" for name in names)}
    # The columns are shared with the table until one of them is written to.
    found = table.copy(deep=False)
    for column in needed.intersection(table.columns):
        found[column] = numbers_if_all(table[column])
    return found


def _form(table: pd.DataFrame, columns: Columns, fields: Sequence[str]) -> tuple[bool, tuple[str, ...]]:
    """Whether fields have columns of their own, and the labels of the values in one row."""
    if columns.places:
        return False, tuple(columns.places)
    wide = columns.of(fields[0]) in table.columns and columns.value not in table.columns
    return wide, tuple(fields) if wide else ("",)


def _added_earlier(table: pd.DataFrame, labels: Sequence[str], flags: str | None) -> list[str]:
    """Columns that an earlier fit has added; the flags of the user's own are none of them."""
    names = {*ADDED_COLUMNS, *(f"{label}_{name}" for label in labels for name in ADDED_COLUMNS)}
    if flags and flags + GIVEN not in table.columns:
        names -= {flags, CAUSE, COMMENT}
    return [column for column in table.columns if column in names]


def cell_points(readings: Readings) -> np.ndarray:
    """(rows, labels or 1, coordinates) of every cell of the table, NaN where a row without a reading does not say."""
    columns, coordinates = readings.columns, readings.coordinates
    nowhere = np.zeros((len(readings.table), len(coordinates)), bool)
    return _points(readings.table, columns, coordinates, readings.labels, nowhere, readings.source)[0]


def _values(
    table: pd.DataFrame, columns: Columns, fields: Sequence[str], labels: Sequence[str], source: str
) -> np.ndarray:
    """(rows, labels), NaN where there is no reading."""
    if columns.places:
        if len(fields) > 1:
            raise InputError(
                f"{source}: a column per sensor leaves room for one field, and there are {', '.join(fields)}; "
                "give the table in long form."
            )
        kind, remedy = "sensor", ""
    elif labels != ("",):
        kind, remedy = "field", " A field that is not measured is hidden; an observable that is not is left out."
    else:
        kind, remedy = "values", ""
        if columns.value not in table.columns:
            known = listed(f"'{column}'" for column in table.columns)
            raise InputError(
                f"{source} has neither a column '{columns.of(fields[0])}' (wide form) nor a column "
                f"'{columns.value}' (long form); it has {known}."
            )
    found = [column_of(table, name, source, kind, remedy) for name in columns.of_values(labels)]
    return np.stack([readings_in(column, source, columns.missing) for column in found], axis=1)


def _points(
    table: pd.DataFrame,
    columns: Columns,
    coordinates: Sequence[str],
    labels: Sequence[str],
    needed: np.ndarray,
    source: str,
) -> tuple[np.ndarray, dict[str, Clock]]:
    """(rows, labels or 1, coordinates), and the clocks with their origins settled."""
    axes, settled = [], {}
    for number, name in enumerate(coordinates):
        if not needed[:, number].any() and columns.of(name) not in table.columns and not columns.places:
            axis = np.full((len(table), 1), np.nan)
        elif columns.places and all(name in place for place in columns.places.values()):
            axis = np.array([columns.places[label][name] for label in labels])[None, :]
        else:
            column = column_of(table, columns.of(name), source, "coordinate")
            if name in columns.clocks:
                axis, settled[name] = times_in(column, columns.clocks[name], source, needed[:, number])
            else:
                axis = columns.inward(name, numbers_in(column, source, needed[:, number]))
            axis = axis[:, None]
        axes.append(axis)
    width = len(labels) if columns.places else 1
    return np.stack([np.broadcast_to(axis, (len(table), width)) for axis in axes], axis=2), settled


def _field_index(
    table: pd.DataFrame, columns: Columns, fields: Sequence[str], needed: np.ndarray, source: str
) -> np.ndarray:
    if columns.places or columns.field not in table.columns:
        if len(fields) == 1:
            return np.zeros(len(table), int)
        raise InputError(
            f"{source} has no column '{columns.field}' that says which field ({', '.join(fields)}) each value is of."
        )
    named = table[columns.field].astype(str)
    index = named.map(normal).map({name: number for number, name in enumerate(fields)})
    bad = index.isna().to_numpy() & needed
    if bad.any():
        row = int(np.argmax(bad))
        raise InputError(
            f"{source}, row {row_number(row)}, column '{columns.field}': '{named.iloc[row]}' is not a field of the "
            f"problem; {nearest(str(named.iloc[row]), fields)}"
        )
    return index.fillna(0).to_numpy(dtype=int)


def _sensors(
    table: pd.DataFrame,
    columns: Columns,
    coordinates: Sequence[str],
    points: np.ndarray,
    rows: np.ndarray,
    label_index: np.ndarray,
) -> np.ndarray:
    """The sensor of every reading."""
    if columns.places:
        return np.array(list(columns.places), dtype=object)[label_index]
    if columns.sensor in table.columns:
        # One text a sensor and not one a reading: of these there may be millions.
        number, found = pd.factorize(table[columns.sensor], use_na_sentinel=False)
        return pd.Series(found).astype(str).to_numpy(dtype=object)[number[rows]]
    fixed = [axis for axis in range(len(coordinates)) if axis != time_axis(coordinates, columns.clocks)]
    if not fixed:
        return np.full(len(points), "s1", dtype=object)
    place = np.zeros(len(points), np.int64)
    for axis in fixed:
        along, different = pd.factorize(points[:, axis])
        place = pd.factorize(place * len(different) + along)[0]
    return np.array([f"s{number + 1}" for number in range(place.max() + 1)], dtype=object)[place]


def _sigma(
    table: pd.DataFrame,
    columns: Columns,
    names: Sequence[str],
    fields: Sequence[str],
    rows: np.ndarray,
    label_index: np.ndarray,
    source: str,
) -> np.ndarray | None:
    """The known deviation of every reading, from a column for all fields or one for each; None where there is none.

    A stress may be called sigma too: a column that is a field or a coordinate is no deviation."""
    taken = {columns.of(name) for name in names}
    own = [f"{name}_{columns.sigma}" for name in fields]
    found = own if own and all(name in table.columns for name in own) else [columns.sigma]
    if found[0] not in table.columns or taken & set(found):
        return None
    needed = np.zeros((len(table), len(found)), bool)
    place = label_index if len(found) > 1 else np.zeros_like(label_index)
    needed[rows, place] = True
    numbers = [numbers_in(table[name], source, needed[:, index]) for index, name in enumerate(found)]
    sigma = np.stack(numbers, axis=1)[rows, place]
    if (sigma <= 0.0).any():
        reading = int(np.argmax(sigma <= 0.0))
        raise InputError(
            f"{source}, row {row_number(rows[reading])}, column '{found[place[reading]]}': a standard deviation must "
            f"be above 0, found {sigma[reading]:g}; correct the cell or rename the column."
        )
    return sigma
