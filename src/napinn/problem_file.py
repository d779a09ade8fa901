"""Problem files: the YAML that a scientist writes, checked by pydantic, to a `Problem`.

    name: heat in a rod
    coordinates:
      x: [0, 1]
      t: [0, 10]
    fields: [T]
    unknowns:
      D: {start: 1.0, low: 0.0}
    equations:
      - T_t = D*T_xx

A coordinate whose range is left empty takes it from the readings.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd
import pydantic
import yaml

from napinn.errors import InputError, nearest
from napinn.problem import Problem, Unknown
from napinn.readings import Columns, Readings, check_inside, read_table

LARGEST_FILE = 1_000_000
Finite = Annotated[float, pydantic.Field(allow_inf_nan=False)]


class _Strict(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)


class UnknownEntry(_Strict):
    start: Finite
    low: Finite | None = None
    high: Finite | None = None


class ColumnsEntry(_Strict):
    """Which column holds what, where the file does not use napinn's own names."""

    value: str = "value"
    field: str = "field"
    sensor: str = "sensor"
    rename: dict[str, str] = {}
    """Coordinate or field to the column that holds it."""


class ProblemFile(_Strict):
    name: str = "problem"
    coordinates: dict[str, tuple[Finite, Finite] | None]
    fields: list[str]
    equations: list[str]
    unknowns: dict[str, UnknownEntry | Finite] = {}
    constants: dict[str, Finite] = {}
    units: dict[str, str] = {}
    columns: ColumnsEntry = ColumnsEntry()

    def table_columns(self) -> Columns:
        entry = self.columns
        return Columns(entry.value, entry.field, entry.sensor, dict(entry.rename))

    def problem(self, points: np.ndarray | None = None) -> Problem:
        """The problem; `points` gives the range of coordinates that the file leaves open."""
        ranges: dict[str, tuple[float, float]] = {}
        for axis, (name, span) in enumerate(self.coordinates.items()):
            if span is None:
                if points is None:
                    raise InputError(f"coordinate '{name}' has no range; write it as '{name}: [low, high]'.")
                span = float(points[:, axis].min()), float(points[:, axis].max())
            ranges[name] = span
        return Problem(
            coordinates=ranges,
            fields=tuple(self.fields),
            equations=tuple(self.equations),
            unknowns={name: _unknown(name, entry) for name, entry in self.unknowns.items()},
            constants=dict(self.constants),
            units=dict(self.units),
            name=self.name,
        )


def load_problem_file(path: Path) -> ProblemFile:
    if not path.exists():
        raise InputError(f"{path} does not exist; check the path.")
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise InputError(f"{path} is larger than {LARGEST_FILE // 1_000_000} MB, which no problem file is.")
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise InputError(f"{path} is not UTF-8 text.") from None
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise InputError(f"{path} is not valid YAML: {_yaml_reason(error)}.") from None
    if not isinstance(content, dict):
        raise InputError(f"{path} holds no problem; it needs the entries coordinates, fields and equations.")
    return parse_problem(content, str(path))


def parse_problem(content: Mapping[Any, Any], source: str) -> ProblemFile:
    try:
        return ProblemFile.model_validate(content)
    except pydantic.ValidationError as error:
        raise InputError(f"{source}: {_first_reason(error)}") from None


def bind_readings(
    file: ProblemFile, table: pd.DataFrame, source: str, problem_source: str = "the problem"
) -> tuple[Problem, Readings]:
    """The problem and its readings, checked against each other."""
    if all(span is not None for span in file.coordinates.values()):
        _named(file, None, problem_source)  # The file's own mistakes come before the table's.
    readings = read_table(table, tuple(file.coordinates), tuple(file.fields), file.table_columns(), source)
    problem = _named(file, readings.points, problem_source)
    check_inside(readings, problem.lows, problem.highs)
    return problem, readings


def _named(file: ProblemFile, points: np.ndarray | None, source: str) -> Problem:
    """The file's problem; what is wrong with it is told with the file's name."""
    try:
        return file.problem(points)
    except InputError as error:
        raise InputError(f"{source}: {error}") from None


def _unknown(name: str, entry: UnknownEntry | float) -> Unknown:
    try:
        return Unknown(entry.start, entry.low, entry.high) if isinstance(entry, UnknownEntry) else Unknown(entry)
    except InputError as error:
        raise InputError(f"unknown '{name}': {error}") from None


def _first_reason(error: pydantic.ValidationError) -> str:
    """One sentence for the first thing that is wrong."""
    first = error.errors(include_url=False)[0]
    path = [str(part) for part in first["loc"] if str(part) not in _UNION_MEMBERS]
    where = ".".join(path) or "the file"
    match first["type"]:
        case "missing":
            return f"the entry '{where}' is missing."
        case "extra_forbidden":
            owner = {"columns": ColumnsEntry, "unknowns": UnknownEntry}.get(path[0], ProblemFile)
            known = ProblemFile.model_fields if len(path) == 1 else owner.model_fields
            return f"'{where}' is not an entry of a problem file; {nearest(path[-1], known)}"
        case "dict_type" | "model_type" | "model_attributes_type" | "dataclass_type":
            return f"entry '{where}' must hold names and values, as 'name: value'{_found(first)}."
        case "list_type" | "tuple_type":
            return f"entry '{where}' must be a list, as '[first, second]'{_found(first)}."
        case "too_short" | "too_long":
            return f"entry '{where}' must be a pair of numbers, '[low, high]'{_found(first)}."
        case _:
            return f"entry '{where}': {first['msg'][0].lower()}{first['msg'][1:]}{_found(first)}."


def _found(reason: Mapping[str, Any]) -> str:
    given = reason.get("input")
    return "" if isinstance(given, dict | list) else f" (found {str(given)[:40]!r})"


_UNION_MEMBERS = {"UnknownEntry", "float", "constrained-float", "tuple[float, float]", "nullable"}


def _yaml_reason(error: Exception) -> str:
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or "it cannot be parsed"
    return f"{problem}, line {mark.line + 1}" if mark is not None else str(problem)
