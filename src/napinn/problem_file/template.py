"""What a new problem file begins as, and the JSON schema by which an editor checks one while it is written."""

import json
from typing import Any

from napinn.problem_file.entries import ProblemFile

TEMPLATE = """\
# A problem for napinn: what you measured, and what the physics says.
# Check it against your table with   napinn check problem.yaml readings.csv
# and fit it with                    napinn fit readings.csv --problem problem.yaml

name: heat in a rod

# Every coordinate with the range in which the equations hold. Leave a range empty to take it from the readings.
coordinates:
  x: [0, 1]
  t: [0, 10]
  # Dates are counted in a unit from an origin:
  # t: {column: when, unit: hours, origin: first reading}     # or  origin: 2024-03-01

# What is measured: a column of this name each, or a column 'value' (and 'field', where there are several).
fields: [T]

# Fields that are in the equations but in no column; a number is their typical size.
# hidden: [S, R]
# hidden: {pressure: 1000}

# Coefficients to find, inside bounds if there are any. A start helps if you have one; without it, napinn starts from
# the size at which the coefficient matters in its equation.
unknowns:
  D: {start: 1.0, positive: true}
  # h: {start: 0.5, low: 0, high: 10}

# Numbers that you know.
# constants: {Q: 0.3}

# Known functions of the coordinates, one row a grid node, read between the nodes by straight lines.
# tables:
#   heating: {file: heating.csv, coordinates: [t], value: power}

# + - * / **, sin cos tan sinh cosh tanh exp log sqrt abs min max, pi, and derivatives as T_t, T_xx, T_xt
# or, when names are long, d(T, depth, depth).
equations:
  - T_t = D*T_xx

# Never needed; one that you know helps where readings are few.
# conditions:
#   - T = sin(pi*x) at t = 0
#   - T_x = 0 at x = 1
# periodic: [x]

# For labels only.
# units: {x: m, t: s, T: K}

# Which column is which, where your names differ from those above.
# columns:
#   sensor: station
#   sigma: error            # known standard deviation of each reading
#   rename: {T: "temp (K)"}

# A column per sensor: where each of them stands (or a file of places, with a column 'sensor').
# sensors:
#   probe_1: {x: 0.1}
#   probe_2: {x: 0.9}

# Values that stand for no reading. Empty cells are always taken so.
# missing: [-999]

# MATLAB and NumPy files: which array is which; a field on a grid names its axes.
# arrays:
#   x: x
#   t: t
#   T: {name: usol, axes: [x, t]}
"""


def schema() -> dict[str, Any]:
    """The JSON schema of problem files."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **ProblemFile.model_json_schema()}


def schema_text() -> str:
    return json.dumps(schema(), indent=2, ensure_ascii=False) + "\n"
