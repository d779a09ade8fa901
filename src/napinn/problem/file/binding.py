"""A problem file and a table of readings to a problem and its readings.

The table says which experiments there are, which of the fields are measured, and where a range ends that the file
leaves open."""

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from napinn.data.readings import Columns, Readings, check_inside, check_repeats, experiment_names, read_table, tidy
from napinn.data.readings.cells import column_of, numbers_in
from napinn.data.readings.checks import row_number
from napinn.data.readings.labels import experiment_numbers
from napinn.errors import InputError, listed, nearest
from napinn.problem import Problem
from napinn.problem.equations import Names
from napinn.problem.experiment import Experiment, experiment_of, plain_names
from napinn.problem.file.entries import ColumnEntry, CoordinateEntry, UnknownEntry
from napinn.problem.file.problem_file import ProblemFile
from napinn.problem.observables import Observable, bind_observable
from napinn.problem.several import FEWEST, with_experiments

FEWEST_READINGS = 2
"""Of an experiment: one alone says nothing of how its field changes."""


def bind_readings(
    file: ProblemFile, table: pd.DataFrame, source: str, problem_source: str = "the problem"
) -> tuple[Problem, Readings]:
    """The problem and its readings, checked against each other."""
    problem, readings = bind_loosely(file, table, source, problem_source)
    check_repeats(readings)
    check_in_box(readings, problem)
    return problem, readings


def bind_loosely(file: ProblemFile, table: pd.DataFrame, source: str, problem_source: str) -> tuple[Problem, Readings]:
    """The problem and its readings; some of these may be repeated or outside the box."""
    if not file.coordinates:
        raise InputError(f"{problem_source}: the problem has no coordinates; name at least one.")
    if not (file.fields or file.observables):
        raise InputError(f"{problem_source}: the problem has no fields; name at least one.")
    if file.is_closed:
        problem_of(file, problem_source)  # The file's own mistakes come before the table's.
    columns = columns_of(file, problem_source)
    _check_named_columns(file, table, columns, source)
    observed = _observed(file, problem_source)
    fields = _measured(file, observed, table, columns)
    names = _experiments(file, table, columns, source, problem_source)
    averaged = {each.name: each.averaged for each in observed}
    readings = tidy(table, tuple(file.coordinates), (*fields, *file.observables), columns, source, names, averaged)
    own = _own_constants(file, readings, problem_source)
    if not names:
        problem = problem_of(file, problem_source, readings.points, fields, own.get("", {}))
    else:
        problem = _of_experiments(file, problem_source, readings, fields, own)
    return problem, at_high_ends(readings, problem)


def _of_experiments(
    file: ProblemFile, source: str, readings: Readings, fields: Sequence[str], constants: Mapping[str, dict[str, float]]
) -> Problem:
    base = problem_of(file, source, readings.points, fields, next(iter(constants.values())))
    experiments = {}
    for number, name in enumerate(readings.experiments):
        mine = readings.experiment_index == number
        ranges = file.ranges(readings.points[mine], name)
        smaller = {axis: span for axis, span in ranges.items() if span != base.coordinates[axis]}
        experiments[name] = Experiment(constants[name], smaller)
    try:
        return with_experiments(base, experiments, readings.fields)
    except InputError as error:
        raise InputError(f"{source}: {error}") from None


def _observed(file: ProblemFile, source: str) -> list[Observable]:
    """The observables of a file, in a box of any size."""
    fields = tuple(dict.fromkeys((*file.fields, *file.hidden)))
    tables = {name: tuple(entry.coordinates) for name, entry in file.tables.items()}
    names = Names(tuple(file.coordinates), fields, tuple(file.unknowns), dict.fromkeys(file.constants, 1.0), tables)
    box = dict.fromkeys(file.coordinates, (0.0, 1.0))
    try:
        return [bind_observable(name, text, names, box) for name, text in file.observables.items()]
    except InputError as error:
        raise InputError(f"{source}: {error}") from None


def _measured(file: ProblemFile, observed: list[Observable], table: pd.DataFrame, columns: Columns) -> tuple[str, ...]:
    """The fields of a file but for those that only observables measure: they have no column."""
    seen = {name for each in observed for name in each.seen}
    held = {str(column) for column in table.columns}
    if columns.value in held or columns.places:
        named = set(table[columns.field].astype(str)) if columns.field in held else set()
        return tuple(name for name in file.fields if name not in seen or name in named)
    return tuple(name for name in file.fields if name not in seen or columns.of(name) in held)


def _check_named_columns(file: ProblemFile, table: pd.DataFrame, columns: Columns, source: str) -> None:
    """A column that the file names must be there: without it experiments would be one, and deviations not known."""
    usual = Columns()
    by_field = any(str(column).endswith(f"_{columns.sigma}") for column in table.columns)
    # Sensors that a file of their own places may each have a column of the table.
    elsewhere = bool(file.sensors) or bool(columns.places)
    for role, excused in (("experiment", False), ("sigma", by_field), ("sensor", elsewhere)):
        name = getattr(columns, role)
        if name != getattr(usual, role) and not excused:
            column_of(table, name, source, role, f" It is named under 'columns: {{{role}: …}}'.")


def _experiments(
    file: ProblemFile, table: pd.DataFrame, columns: Columns, source: str, problem_source: str
) -> list[str]:
    """The experiments of a table; none where it holds only one and the file names none."""
    found = experiment_names(table, columns)
    wanted = _speaking_of_experiments(file)
    if len(found) < FEWEST:
        if wanted is not None:
            has = f"names only '{found[0]}'" if found else "does not exist"
            raise InputError(
                f"{problem_source}: {wanted} is given by experiment, but column '{columns.experiment}' of {source} "
                f"{has}; name the column under 'columns: {{experiment: …}}', or give several files."
            )
        return []
    for entry, names in _tables_by_experiment(file):
        missing = [name for name in found if name not in names]
        if missing and entry.startswith("constant"):
            raise InputError(
                f"{problem_source}: {entry} has no value for experiment '{missing[0]}' of {source}; add it."
            )
        strange = [name for name in names if name not in found]
        if strange:
            raise InputError(
                f"{problem_source}: {entry} names experiment '{strange[0]}', which {source} does not hold; "
                f"{nearest(strange[0], found)}"
            )
    return found


def _speaking_of_experiments(file: ProblemFile) -> str | None:
    """The first entry that only makes sense with several experiments."""
    for name, entry in file.unknowns.items():
        if isinstance(entry, UnknownEntry) and entry.per is not None:
            return f"unknown '{name}'"
    return next((entry for entry, _ in _tables_by_experiment(file)), None)


def _tables_by_experiment(file: ProblemFile) -> list[tuple[str, list[str]]]:
    """Entries that name experiments, with the names."""
    constants = [
        (f"constant '{name}'", [str(key) for key in entry])
        for name, entry in file.constants.items()
        if isinstance(entry, dict)
    ]
    ranges = [
        (f"the entry 'ranges' of coordinate '{name}'", [str(key) for key in entry.ranges])
        for name, entry in file.coordinates.items()
        if isinstance(entry, CoordinateEntry) and entry.ranges
    ]
    return constants + ranges


def _own_constants(file: ProblemFile, readings: Readings, source: str) -> dict[str, dict[str, float]]:
    """By experiment, or under an empty name, the constants that differ between experiments or are in a column."""
    names = list(readings.experiments) or [""]
    for number, name in enumerate(readings.experiments):
        count = int((readings.experiment_index == number).sum())
        if count < FEWEST_READINGS:
            row = row_number(readings.rows[readings.experiment_index == number][0])
            raise InputError(
                f"{readings.source}, row {row}, column '{readings.columns.experiment}': experiment '{name}' has "
                f"{count} reading, and each needs at least {FEWEST_READINGS}; correct its name or remove the row."
            )
    found: dict[str, dict[str, float]] = {name: {} for name in names}
    for constant, entry in file.constants.items():
        if isinstance(entry, ColumnEntry):
            for name, value in _column_constant(entry.column, constant, readings, names).items():
                found[name][constant] = value
        elif isinstance(entry, dict):
            values = {str(key): value for key, value in entry.items()}
            for name in names:
                found[name][constant] = values[name]
    return found


def _column_constant(column: str, constant: str, readings: Readings, names: list[str]) -> dict[str, float]:
    """The value of a constant in each experiment, which all its rows must agree on."""
    needed = np.zeros(len(readings.table), bool)
    needed[readings.rows] = True
    cells = column_of(readings.table, column, readings.source, f"constant '{constant}'")
    values = readings.columns.inward(constant, numbers_in(cells, readings.source, needed))
    of_row = np.zeros(len(needed), int)
    if readings.experiments:
        of_row = experiment_numbers(readings.table, readings.columns, names, needed, readings.source)
    found = {}
    for number, name in enumerate(names):
        mine = np.unique(values[needed & (of_row == number)])
        if len(mine) > 1:
            within = f" in experiment '{name}'" if name else ""
            raise InputError(
                f"{readings.source}, column '{column}': constant '{constant}' has the values "
                f"{listed([f'{value:g}' for value in mine], 3)}{within}; it must have one, or be a table."
            )
        found[name] = float(mine[0])
    return found


def problem_of(
    file: ProblemFile,
    source: str,
    points: np.ndarray | None = None,
    measured: Sequence[str] | None = None,
    constants: Mapping[str, float] | None = None,
) -> Problem:
    """The file's problem; what is wrong with it is reported with the file's name."""
    try:
        return file.problem(points, measured, constants)
    except InputError as error:
        raise InputError(f"{source}: {error}") from None


def columns_of(file: ProblemFile, source: str) -> Columns:
    try:
        return file.table_columns()
    except InputError as error:
        raise InputError(f"{source}: {error}") from None


def readings_for(problem: Problem, table: pd.DataFrame, columns: Columns | None, source: str) -> Readings:
    """The readings of a problem that is known already, of one experiment or of several."""
    averaged = {each.name: each.averaged for _, each in problem.observed}
    fields, experiments = plain_names(problem.fields), tuple(problem.experiments)
    readings = read_table(table, tuple(problem.coordinates), fields, columns, source, experiments, averaged)
    return at_high_ends(readings, problem)


def at_high_ends(readings: Readings, problem: Problem) -> Readings:
    """The readings of means and integrals at the high end of the coordinates that they do not depend on."""
    if not np.isnan(readings.points).any():
        return readings
    ends = np.array(
        [list(zip(*problem.box_in(experiment_of(name)).values(), strict=True))[1] for name in readings.fields]
    )
    points = np.where(np.isnan(readings.points), ends[readings.field_index], readings.points)
    return dataclasses.replace(readings, points=points)


def check_in_box(readings: Readings, problem: Problem) -> None:
    """Every reading must lie in the box of its experiment."""
    check_inside(readings, problem.lows, problem.highs)
    for number, name in enumerate(readings.experiments):
        if problem.experiments[name].ranges:
            lows, highs = zip(*problem.box_in(name).values(), strict=True)
            check_inside(readings.only(readings.experiment_index == number), lows, highs)
