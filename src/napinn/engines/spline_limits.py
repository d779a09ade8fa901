"""What splines cannot take, as far as it shows before the engine is loaded."""

import numpy as np

from napinn.data.readings import Readings
from napinn.errors import InputError
from napinn.problem import Problem

MOST_DIMENSIONS = 3
"""With four, the bandwidth of a tensor-product basis does not fit into memory on any useful mesh."""
FEWEST_READINGS = 3
"""One to hold out and two to smooth while the first mesh is chosen."""
LARGEST, LONGEST = 1e100, 1e30
"""Of readings and of coordinates, in units of the user: squares of fourth derivatives are then within double
precision. The least that a reading or a length of the box may be is one over it."""


def refusal(problem: Problem, readings: Readings) -> str | None:
    """Why splines cannot take a problem, as a clause; None where they can.

    Args:
        problem: what is to be fitted.
        readings: to what."""
    if len(problem.coordinates) > MOST_DIMENSIONS:
        return f"the problem has {len(problem.coordinates)} coordinates, and splines take at most {MOST_DIMENSIONS}"
    if any(equation.tree is None for equation in problem.written):
        return "an equation is a Python function, and splines need it as text"
    if len(readings) < FEWEST_READINGS:
        return f"there are {len(readings)} reading(s), and splines need at least {FEWEST_READINGS}"
    return None


def check_splines(problem: Problem, readings: Readings) -> None:
    """Raises `InputError` where splines cannot take a problem or the size of its numbers.

    Args:
        problem: what is to be fitted.
        readings: to what."""
    reason = refusal(problem, readings)
    if reason is not None:
        raise InputError(f"{reason}; use --method law_pinn.")
    for number, name in enumerate(problem.fields):
        _check_size(f"{readings.source}: the largest reading of '{name}'", readings.of_field(number), LARGEST)
    for name, (low, high) in problem.coordinates.items():
        _check_size(f"{readings.source}: the length of the box along '{name}'", np.array([high - low]), LONGEST)


def _check_size(what: str, numbers: np.ndarray, most: float) -> None:
    size = float(np.abs(numbers).max(initial=0.0))
    if size > most or 0.0 < size < 1.0 / most:
        raise InputError(f"{what} is {size:.2g}; use units in which it is between {1.0 / most:g} and {most:g}.")
