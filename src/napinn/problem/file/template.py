"""What a new problem file begins as, and the JSON schema by which an editor checks one while it is written."""

import ast
import inspect
import itertools
import json
import textwrap
from typing import Any

from napinn.problem.file import entries
from napinn.problem.file.problem_file import ProblemFile

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

# What is measured but is not a field itself: an expression of fields, their derivatives and unknowns, with a column of
# this name. mean(T, x) and integral(T, x) are over a coordinate, mean(T) is over all.
# observables:
#   volts: gain*T + offset
#   mean_T: mean(T, x)

# Fields that are in the equations but in no column; a number is their typical size.
# hidden: [S, R]
# hidden: {pressure: 1000}

# Coefficients to find, inside bounds if there are any. A start helps if you have one; without it, napinn starts from
# the size at which the coefficient matters in its equation.
unknowns:
  D: {start: 1.0, positive: true}
  # h: {start: 0.5, low: 0, high: 10}
  # What is known beforehand: mean and deviation, or median and deviation of the logarithm; or only the decade.
  # c: {prior: normal(0.3, 0.05)}     # or  prior: lognormal(0.3, 0.5)     # or  scale: log
  # A coefficient or a source that varies along one or two coordinates; with steps it is constant but for jumps.
  # k: {of: [x], positive: true}
  # q: {of: [t], steps: true}
  # V: {positive: true, per: experiment}     # a value for each experiment

# Numbers that you know; one that differs between experiments is given by their names, or by a column of the table.
# constants: {Q: 0.3, dose: {first: 4.0, second: 5.5}, mass: {column: weight}}

# Several experiments: a column 'experiment' says which rows belong together. Each has fields of its own, and all share
# the equations and the unknowns.

# One noise law for each value of a column, such as the laboratory or the type of sensor, or for each experiment.
# noise: {by: laboratory}

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

# Units as pint knows them. Those of the unknowns follow from the equations; terms that disagree in dimension are
# refused, and units that differ, as min beside h, are converted. A count of your own needs a name.
# units: {x: m, t: s, T: °C}
# own_units: [cells]

# Which column is which, where your names differ from those above.
# columns:
#   sensor: station
#   experiment: subject
#   sigma: error            # known standard deviation of each reading
#   rename: {T: "temp (F)"}
#   units: {T: degF}        # the unit of a column, where it is not that of the problem

# A column per sensor: where each of them stands (or a file of places, with a column 'sensor').
# sensors:
#   probe_1: {x: 0.1}
#   probe_2: {x: 0.9}

# Values and words that mean 'no reading'. Empty cells are always taken so.
# missing: [-999, OVERFLOW]

# Quality flags in the table (qartod, argo or saqc): 9 is missing; bad readings count unless they are left out.
# flags: {column: T_qc, scheme: qartod, leave_out_bad: true}

# Which equation? napinn discover chooses among these terms for each left side, beside what is known of it.
# left: [T_t]
# terms: [T, T_x, T_xx]
# known: ["-0.1*T"]

# MATLAB and NumPy files: which array is which; a field on a grid names its axes.
# arrays:
#   x: x
#   t: t
#   T: {name: usol, axes: [x, t]}
"""


def schema() -> dict[str, Any]:
    """The JSON schema of problem files; every entry is described by the text below it in its class."""
    found = ProblemFile.model_json_schema()
    classes = {entry.__name__: entry for entry in vars(entries).values() if isinstance(entry, type)}
    for kind, part in ((ProblemFile, found), *((classes[name], part) for name, part in found["$defs"].items())):
        for name, text in attribute_texts(kind).items():
            part["properties"][name] = dict(sorted({**part["properties"][name], "description": text}.items()))
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **found}


def attribute_texts(kind: type) -> dict[str, str]:
    """The text below each attribute of a class.

    Pydantic can find it too, but would parse the source at every start of the program."""
    (parsed,) = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
    found = {}
    for entry, text in itertools.pairwise(getattr(parsed, "body", ())):
        match entry, text:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(said))):
                found[name] = inspect.cleandoc(said)
    return found


def schema_text() -> str:
    return json.dumps(schema(), indent=2, ensure_ascii=False) + "\n"
