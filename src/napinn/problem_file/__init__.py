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

from napinn.problem_file.deduction import Words, deduce
from napinn.problem_file.entries import ProblemFile
from napinn.problem_file.loading import bind_loosely, bind_readings, load_problem_file, parse_problem
from napinn.problem_file.sources import Source, read_problem, read_readings, sheet_of

__all__ = [
    "ProblemFile",
    "Source",
    "Words",
    "bind_loosely",
    "bind_readings",
    "deduce",
    "load_problem_file",
    "parse_problem",
    "read_problem",
    "read_readings",
    "sheet_of",
]
