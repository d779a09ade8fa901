"""The two files of a fit, a problem file (or the words of one line) and a table, each read once."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from napinn.data.formats import PLAIN, Sheet, read_file
from napinn.data.readings import Columns, Readings, check_repeats
from napinn.errors import InputError
from napinn.problem.file.binding import bind_loosely
from napinn.problem.file.deduction import ProblemTexts, deduce
from napinn.problem.file.joined import joined_tables, names_of_files
from napinn.problem.file.loading import load_problem_file, without_bad
from napinn.problem.file.problem_file import ProblemFile
from napinn.problem.file.sources import sheet_of
from napinn.problem.problem import Problem


@dataclass(frozen=True, eq=False)
class Inputs:
    problem: Problem
    readings: Readings
    files: tuple[Path, ...]
    """Every file that was read: the table, the problem file, and the tables and places that it names."""
    notes: tuple[str, ...]
    """What was guessed of the table's format, a phrase each."""

    @property
    def unusual_notes(self) -> list[str]:
        """The notes that a reader should see; that a table is plain CSV is none of them."""
        return [note for note in self.notes if note != PLAIN]


def read_inputs(
    problem: Path | ProblemTexts, readings: Sequence[Path], *, leave_out_bad: bool = False, allow_repeats: bool = False
) -> Inputs:
    """The problem and its readings; whether these lie inside the box is not checked here.

    :param problem: A problem file, or the words of one line from which a problem is deduced.
    :param readings: The table, or several of which each is an experiment.
    :param leave_out_bad: Whether readings that their own quality flags call bad take no part.
    :param allow_repeats: Whether a sensor may have several readings at one point.
    :raises InputError: if a file cannot be read or the table does not fit the problem."""
    file, sheet, source, files = _file_and_sheet(problem, readings)
    if leave_out_bad:
        file = without_bad(file)
    name = names_of_files(readings)
    bound, table = bind_loosely(file, sheet.table, name, source)
    if not allow_repeats:
        check_repeats(table)
    if leave_out_bad and table.flags is None:
        raise InputError(f"{name} has no quality flags, so --leave-out-bad does not apply; remove that option.")
    return Inputs(bound, table, files, tuple(sheet.notes))


def _file_and_sheet(
    problem: Path | ProblemTexts, readings: Sequence[Path]
) -> tuple[ProblemFile, Sheet, str, tuple[Path, ...]]:
    """The problem file, the table, where the former is from, and every file that was read."""
    if isinstance(problem, ProblemTexts):
        sheet = joined_tables(readings, read_file, Columns().experiment)
        return deduce(problem, sheet.table, readings[0].name), sheet, "the command line", tuple(readings)
    file, source = load_problem_file(problem), str(problem)
    sheet = joined_tables(readings, lambda path: sheet_of(file, path, source), file.columns.experiment)
    return file, sheet, source, (*readings, problem, *file.side_files())
