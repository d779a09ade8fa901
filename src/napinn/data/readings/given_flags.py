"""Quality flags that came with the readings: where they are in a table, and what they mean for each cell.

Flags are looked for in a column `quality_flag`, or in a column for each column of values, such as `T_qc`, unless
`Columns.quality` names the column. A flag that says missing makes its cell a missing reading; a flag that says bad
leaves the reading out where `Columns.leave_out_bad` asks for it, and is otherwise only compared with napinn's own."""

import dataclasses
from collections.abc import Sequence

import numpy as np
import pandas as pd

from napinn.data.flags import FLAG, GivenFlags, Quality, qualities, recognised, scheme_named
from napinn.data.readings.base import GIVEN
from napinn.data.readings.cells import column_of
from napinn.data.readings.columns import NO_FLAGS, Columns
from napinn.errors import InputError

OF_ONE = "_qc"
"""The ending of the flags of one column of values, as in CF files."""
FROM_A_FIT = ("misfit", "reliability", "verdict")
"""Columns of a table that napinn has annotated; its `quality_flag` is then napinn's own."""


def flag_columns(columns: Columns, fields: Sequence[str]) -> set[str]:
    """Every column that may hold flags."""
    named = {FLAG, columns.quality or FLAG}
    return {*named, *(name + GIVEN for name in named), *(columns.of(name) + OF_ONE for name in fields)}


def given_flags(
    table: pd.DataFrame, columns: Columns, labels: Sequence[str], source: str
) -> tuple[GivenFlags | None, Columns]:
    """The flags of a table, and the columns with the place of the flags settled.

    :param table: The table as it was given.
    :param columns: Which column is which.
    :param labels: What distinguishes the values of one row.
    :param source: The file, for sentences about it.
    :return: None for a table without flags. A column that was not named and holds something else than flags counts as
        none."""
    found = _found(table, columns, labels, source)
    none = None, dataclasses.replace(columns, quality=NO_FLAGS)
    if not found:
        return none
    try:
        read = [_read(table[name], columns.scheme, source) for name in found]
    except InputError:
        if columns.quality is None and columns.scheme is None:
            return none
        raise
    matrix = np.stack([cells for _, cells in read], axis=1)
    flags = GivenFlags(read[0][0], np.broadcast_to(matrix, (len(table), len(labels))))
    alone = found[0].removesuffix(GIVEN)
    return flags, dataclasses.replace(columns, quality=None if alone.endswith(OF_ONE) else alone)


def without_flagged(values: np.ndarray, flags: GivenFlags | None, leave_out_bad: bool) -> np.ndarray:
    """The values, with NaN where a flag says that there is no reading, and where it says bad if these are left out."""
    if flags is None:
        return values
    gone = flags.qualities == Quality.MISSING
    if leave_out_bad:
        gone |= flags.qualities == Quality.BAD
    return np.where(gone, np.nan, values)


def _read(column: pd.Series, scheme: str | None, source: str) -> tuple[str, np.ndarray]:
    if scheme is not None:
        return scheme, qualities(column, scheme_named(scheme), source)
    found, cells = recognised(column, source)
    return found.name, cells


def _found(table: pd.DataFrame, columns: Columns, labels: Sequence[str], source: str) -> list[str]:
    """The columns that hold flags: one for all values of a row, or one for each; none where there are no flags."""
    if columns.quality == NO_FLAGS:
        return []
    alone = columns.quality or FLAG
    if alone + GIVEN in table.columns:
        return [alone + GIVEN]
    if columns.quality is not None:
        column_of(table, columns.quality, source, "quality flags")
        return [columns.quality]
    each = [name + OF_ONE for name in columns.of_values(labels)]
    if set(each) <= set(table.columns):
        return each
    annotated = {*FROM_A_FIT, *(f"{label}_{name}" for label in labels for name in FROM_A_FIT)}
    return [FLAG] if FLAG in table.columns and not annotated & set(table.columns) else []
