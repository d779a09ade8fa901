"""The system and the state of a finished fit, from its result."""

import math

import numpy as np

from napinn.engines.splines.cost import Meter
from napinn.engines.splines.method import Splines
from napinn.engines.splines.model import SplineModel
from napinn.engines.splines.state import State
from napinn.engines.splines.system import System
from napinn.engines.splines.task import Task
from napinn.results.result import FitResult
from napinn.results.verdicts import left_out


def rebuilt_fit(result: FitResult, model: SplineModel) -> tuple[System, State]:
    """Where a fit ended, with the readings that it used.

    Args:
        result: the fit.
        model: its model."""
    assert isinstance(result.method, Splines)
    task = Task(result.problem, result.readings, result.method.density)
    used = ~left_out(result.verdicts, len(result.readings))
    functions = [model.functions[curve.name].coefficients for curve in task.curves]
    unknowns = np.concatenate([np.array([result.unknowns[name] for name in result.problem.unknowns]), *functions])
    state = State(model.coefficients, unknowns, model.centres, model.scales, model.laws, model.roughness_weight)
    return System(task, model.space, 3, used, Meter(math.inf)), state
