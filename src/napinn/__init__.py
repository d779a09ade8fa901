"""napinn: fields, coefficients, the noise law and a reliability for every reading, from imperfect sensors and an
equation.

    import napinn
    problem = napinn.Problem(coordinates={"x": (0, 1), "t": (0, 1)}, fields=("u",),
                             equations=("u_t = D*u_xx",), unknowns={"D": napinn.Unknown(1.0, low=0.0)})
    result = napinn.fit(problem, napinn.read_table(table, ("x", "t"), ("u",)))
    result.unknowns, result.field.at(x=0.5, t=0.5), result.reliability

Names are loaded when first used, so that `napinn --help` does not wait for JAX.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from napinn.certainty import how_sure as how_sure
    from napinn.checkpoints import Checkpoints as Checkpoints
    from napinn.comparison import compare as compare
    from napinn.errors import InputError as InputError
    from napinn.errors import StorageError as StorageError
    from napinn.fitting import fit as fit
    from napinn.intervals import Certainty as Certainty
    from napinn.intervals import Interval as Interval
    from napinn.judgement import judge_seeds as judge_seeds
    from napinn.methods import as_printed as as_printed
    from napinn.methods import b_pinn as b_pinn
    from napinn.methods import lad_pinn as lad_pinn
    from napinn.methods import law_pinn as law_pinn
    from napinn.methods import mad_pinn as mad_pinn
    from napinn.methods import na_pinn as na_pinn
    from napinn.methods import or_pinn as or_pinn
    from napinn.methods import pinn as pinn
    from napinn.prediction import predict as predict
    from napinn.problem import Problem as Problem
    from napinn.problem import Unknown as Unknown
    from napinn.problem_file import read_problem as read_problem
    from napinn.problem_file import read_readings as read_readings
    from napinn.readings import Clock as Clock
    from napinn.readings import Columns as Columns
    from napinn.readings import Readings as Readings
    from napinn.readings import read_table as read_table
    from napinn.report.html import write_report as write_report
    from napinn.report.truth import Truth as Truth
    from napinn.result import FitResult as FitResult
    from napinn.result import FitStatus as FitStatus
    from napinn.run_folder import load as load
    from napinn.run_folder import resume as resume
    from napinn.run_folder import save as save
    from napinn.seeds import SeedFits as SeedFits
    from napinn.seeds import fit_seeds as fit_seeds
    from napinn.splines.method import automatic as automatic
    from napinn.splines.method import bsplines as bsplines
    from napinn.tables import Table as Table
    from napinn.verification.findings import Verification as Verification
    from napinn.verification.verifying import verify as verify

__version__ = "0.1.0"

_HOMES = {
    "Certainty": "intervals",
    "Checkpoints": "checkpoints",
    "Clock": "readings",
    "Columns": "readings",
    "FitResult": "result",
    "FitStatus": "result",
    "InputError": "errors",
    "Interval": "intervals",
    "Problem": "problem",
    "Readings": "readings",
    "SeedFits": "seeds",
    "StorageError": "errors",
    "Table": "tables",
    "Truth": "report.truth",
    "Unknown": "problem",
    "Verification": "verification.findings",
    "as_printed": "methods",
    "automatic": "splines.method",
    "b_pinn": "methods",
    "bsplines": "splines.method",
    "compare": "comparison",
    "fit": "fitting",
    "fit_seeds": "seeds",
    "how_sure": "certainty",
    "judge_seeds": "judgement",
    "lad_pinn": "methods",
    "load": "run_folder",
    "mad_pinn": "methods",
    "law_pinn": "methods",
    "na_pinn": "methods",
    "or_pinn": "methods",
    "pinn": "methods",
    "predict": "prediction",
    "read_problem": "problem_file",
    "read_readings": "problem_file",
    "read_table": "readings",
    "resume": "run_folder",
    "save": "run_folder",
    "verify": "verification.verifying",
    "write_report": "report.html",
}
PUBLIC = tuple(sorted(_HOMES))


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'napinn' has no attribute '{name}'")
    found = getattr(importlib.import_module(f"napinn.{_HOMES[name]}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
