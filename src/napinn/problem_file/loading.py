"""A problem file on disk to its entries, and with a table of readings to a problem and its readings."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pydantic
import yaml

from napinn.errors import InputError
from napinn.io.sizes import check_file
from napinn.problem import Problem
from napinn.problem_file.entries import ProblemFile
from napinn.problem_file.sentences import first_reason, yaml_reason
from napinn.readings import Columns, Readings, check_inside, check_repeats, tidy

LARGEST_FILE = 1_000_000


def load_problem_file(path: Path) -> ProblemFile:
    check_file(path, "problem")
    try:
        if path.stat().st_size > LARGEST_FILE:
            raise InputError(f"{path} is larger than {LARGEST_FILE // 1_000_000} MB, which no problem file is.")
        text = path.read_text(encoding="utf-8")
        # Aliases can make a few lines stand for billions of entries, and no problem needs them.
        if any(isinstance(token, yaml.AliasToken) for token in yaml.scan(text)):
            raise InputError(f"{path} uses a YAML alias (*name); write the entry out.")
        content = yaml.safe_load(text)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise InputError(f"{path} is not UTF-8 text.") from None
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise InputError(f"{path} is not valid YAML: {yaml_reason(error)}.") from None
    if not isinstance(content, dict):
        raise InputError(f"{path} holds no problem; it needs the entries coordinates, fields and equations.")
    return parse_problem(content, str(path), path.parent)


def parse_problem(content: Mapping[Any, Any], source: str, folder: Path = Path()) -> ProblemFile:
    try:
        file = ProblemFile.model_validate(content)
    except pydantic.ValidationError as error:
        raise InputError(f"{source}: {first_reason(error)}") from None
    file._folder = folder
    return file


def bind_readings(
    file: ProblemFile, table: pd.DataFrame, source: str, problem_source: str = "the problem"
) -> tuple[Problem, Readings]:
    """The problem and its readings, checked against each other."""
    problem, readings = bind_loosely(file, table, source, problem_source)
    check_repeats(readings)
    check_inside(readings, problem.lows, problem.highs)
    return problem, readings


def bind_loosely(file: ProblemFile, table: pd.DataFrame, source: str, problem_source: str) -> tuple[Problem, Readings]:
    """The problem and its readings; some of these may be repeated or outside the box."""
    for entry in ("coordinates", "fields"):
        if not getattr(file, entry):
            raise InputError(f"{problem_source}: the problem has no {entry}; name at least one.")
    if file.is_closed:
        problem_of(file, None, problem_source)  # The file's own mistakes come before the table's.
    columns = columns_of(file, problem_source)
    readings = tidy(table, tuple(file.coordinates), tuple(file.fields), columns, source)
    return problem_of(file, readings.points, problem_source), readings


def problem_of(file: ProblemFile, points: np.ndarray | None, source: str) -> Problem:
    """The file's problem; what is wrong with it is told with the file's name."""
    try:
        return file.problem(points)
    except InputError as error:
        raise InputError(f"{source}: {error}") from None


def columns_of(file: ProblemFile, source: str) -> Columns:
    try:
        return file.table_columns()
    except InputError as error:
        raise InputError(f"{source}: {error}") from None
