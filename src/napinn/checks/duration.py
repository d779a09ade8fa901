"""Which method a fit will use, and how long it will take."""

from napinn.backend import Estimate, backend_of
from napinn.problem import Problem
from napinn.readings import Readings
from napinn.recipe import Recipe


def estimate(problem: Problem, readings: Readings, method: Recipe) -> Estimate:
    """The method and the seconds of a fit on this machine; see the backend of the method.

    Args:
        problem: the problem.
        readings: its readings.
        method: the method, which may be the choice between several.
    """
    return backend_of(method).estimate(problem, readings, method)
