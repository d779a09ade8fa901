"""Problem and readings of a command, and what was guessed of them in words; nothing that fits is loaded."""

import os
from collections.abc import Sequence
from pathlib import Path

from rich.markup import escape

from napinn.cli.console import Console
from napinn.data.paths import PROBLEM_FILES
from napinn.data.readings import Columns, distinct_digits
from napinn.errors import InputError
from napinn.problem import Problem
from napinn.problem.file import Inputs, ProblemTexts, check_in_box, read_inputs
from napinn.problem.file.joined import names_of_files


def inputs_to_compare(paths: Sequence[Path], console: Console) -> Inputs | None:
    """The problem and readings that methods are compared on; None where all paths are folders of runs."""
    if all(os.path.isdir(path) for path in paths):
        return None
    problem, readings = problem_and_table(paths)
    found = read_and_print_notes(problem, [readings], console)
    check_in_box(found.readings, found.problem)
    return found


def problem_and_table(paths: Sequence[Path]) -> tuple[Path, Path]:
    """The problem file and the table, in whichever order they were named."""
    problems = [path for path in paths if path.suffix.lower() in PROBLEM_FILES]
    tables = [path for path in paths if path not in problems and not os.path.isdir(path)]
    if len(paths) != 2 or len(problems) != 1 or len(tables) != 1:
        for path in paths:
            if not os.path.lexists(path):
                raise InputError(f"{path} does not exist; check the path.")
        raise InputError(
            "compare takes either a problem file (.yaml) and a table of readings, or two or more run folders."
        )
    return problems[0], tables[0]


def read_and_print_notes(
    problem: Path | ProblemTexts, readings: Sequence[Path], console: Console, leave_out_bad: bool = False
) -> Inputs:
    """Problem and readings; what was guessed or deduced is printed."""
    found = read_inputs(problem, readings, leave_out_bad=leave_out_bad)
    notes = [f"{names_of_files(readings)}: {note}" for note in found.unusual_notes]
    if isinstance(problem, ProblemTexts):
        notes.append(f"understood: {deduced(found.problem, found.readings.columns)}")
    for line in notes:
        console.print(escape(line), soft_wrap=True, highlight=False)
    return found


def deduced(problem: Problem, columns: Columns) -> str:
    """What a problem is about, in one line."""

    def column(name: str) -> str:
        """The column of a name, where the two differ."""
        unit = f", in {columns.clocks[name].unit} since the first reading" if name in columns.clocks else ""
        return (f", column '{columns.of(name)}'" if columns.of(name) != name else "") + unit

    axes = [
        f"{name} ({' to '.join(distinct_digits(*span))}{column(name)})" for name, span in problem.coordinates.items()
    ]
    fields = [f"{name} ({column(name)[2:]})" if column(name) else name for name in problem.fields]
    parts = [f"coordinates {', '.join(axes)}", f"measured {', '.join(fields)}"]
    if columns.sensor != Columns().sensor:
        parts.append(f"sensors by column '{columns.sensor}'")
    if columns.places:
        parts.append(f"{len(columns.places)} sensors, each in a column that names its place")
    if columns.missing:
        shown = (f"{each:g}" if isinstance(each, float) else str(each) for each in columns.missing)
        parts.append(f"no reading where a cell holds {', '.join(shown)}")
    if problem.hidden:
        parts.append(f"hidden {', '.join(problem.hidden)}")
    if problem.unknowns:
        starts = {name: "" if u.start is None else f" from {u.start:g}" for name, u in problem.unknowns.items()}
        parts.append("unknown " + ", ".join(f"{name}{start}" for name, start in starts.items()))
    return "; ".join(parts)
