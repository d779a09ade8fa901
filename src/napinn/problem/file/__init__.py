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

A coordinate whose range is left empty takes it from the readings. Other files that a problem names must lie in its own
folder.
"""

from napinn.problem.file.binding import bind_loosely, bind_readings, check_in_box, readings_for
from napinn.problem.file.deduction import ProblemTexts, deduce
from napinn.problem.file.inputs import Inputs, read_inputs
from napinn.problem.file.loading import load_problem_file, parse_problem, without_bad
from napinn.problem.file.problem_file import ProblemFile
from napinn.problem.file.sources import Source, read_problem, read_readings, sheet_of

__all__ = [
    "Inputs",
    "ProblemFile",
    "ProblemTexts",
    "Source",
    "bind_loosely",
    "bind_readings",
    "check_in_box",
    "deduce",
    "load_problem_file",
    "parse_problem",
    "read_inputs",
    "read_problem",
    "read_readings",
    "readings_for",
    "sheet_of",
    "without_bad",
]
