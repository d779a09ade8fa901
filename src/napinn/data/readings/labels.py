"""Labels of rows: the experiment that a row belongs to, and the group whose noise it has."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from napinn.data.names import respelled
from napinn.data.readings.cells import column_of, labels_in
from napinn.data.readings.checks import row_number
from napinn.data.readings.columns import MARK, Columns
from napinn.errors import InputError

FEWEST_IN_GROUP = 3
"""Readings of a noise group, from which a scale can be estimated."""


def experiment_names(table: pd.DataFrame, columns: Columns) -> list[str]:
    """The names in the column of experiments, as they first appear; none where there is no such column."""
    table = respelled(table, [columns.experiment])
    if columns.experiment not in table.columns:
        return []
    return list(dict.fromkeys(name for name in labels_in(table[columns.experiment]) if name))


def experiment_numbers(
    table: pd.DataFrame, columns: Columns, experiments: Sequence[str], needed: np.ndarray, source: str
) -> np.ndarray:
    """The experiment of every row."""
    column = column_of(table, columns.experiment, source, "experiment")
    return _labelled(column, experiments, needed, source, "experiment")


def _labelled(column: pd.Series, names: Sequence[str], needed: np.ndarray, source: str, kind: str) -> np.ndarray:
    known = {name: number for number, name in enumerate(names)}
    number = np.array([known.get(label, -1) for label in labels_in(column)])
    bad = (number < 0) & needed
    if bad.any():
        raise InputError(
            f"{source}, row {row_number(int(np.argmax(bad)))}, column '{column.name}': the {kind} is missing; "
            "fill it in."
        )
    return number


def by_experiment(
    fields: Sequence[str], field_index: np.ndarray, experiments: Sequence[str], number: np.ndarray
) -> tuple[list[str], np.ndarray]:
    """The fields of every experiment of which there are readings, and the field of every reading."""
    names = [f"{name}{MARK}{experiment}" for experiment in experiments for name in fields]
    kept, index = np.unique(number * len(fields) + field_index, return_inverse=True)
    return [names[each] for each in kept], index


def noise_groups(
    table: pd.DataFrame,
    columns: Columns,
    experiments: Sequence[str],
    needed: np.ndarray,
    rows: np.ndarray,
    source: str,
) -> tuple[tuple[str, ...], np.ndarray]:
    """The noise groups, and that of every reading."""
    if columns.group is None:
        return ("",), np.zeros(0, int)
    name = columns.experiment if columns.group == "experiment" and experiments else columns.group
    column = column_of(table, name, source, "noise group", " It is named under 'noise: {by: …}'.")
    found = list(dict.fromkeys(label for label in labels_in(column[needed]) if label))
    index = _labelled(column, found, needed, source, "noise group")[rows]
    counts = np.bincount(index, minlength=len(found))
    if counts.min() < FEWEST_IN_GROUP:
        raise InputError(
            f"{source}, column '{name}': noise group '{found[int(np.argmin(counts))]}' has {counts.min()} reading(s), "
            f"and its scale needs at least {FEWEST_IN_GROUP}; join it with another group."
        )
    return (tuple(found), index) if len(found) > 1 else (("",), np.zeros(0, int))


def marked(sensors: np.ndarray, experiments: Sequence[str], number: np.ndarray) -> np.ndarray:
    """The sensors with the name of the experiment, because the same sensor in another one has another record."""
    return np.array(
        [f"{sensor}{MARK}{experiments[each]}" for sensor, each in zip(sensors, number, strict=True)], object
    )
