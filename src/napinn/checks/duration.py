"""How long a fit will take, from a few of its steps."""

from napinn.backend import backend_of
from napinn.problem import Problem
from napinn.readings import Readings
from napinn.recipe import Recipe


def seconds_a_step(problem: Problem, readings: Readings, method: Recipe) -> float:
    """About how many seconds one step of a fit takes on this machine; see the backend of the method."""
    return backend_of(method).seconds_a_step(problem, readings, method)
