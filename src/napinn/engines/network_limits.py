"""What networks cannot take, as far as it shows before JAX is loaded."""

from napinn.data.readings import Readings
from napinn.errors import InputError
from napinn.problem import Problem


def network_refusal(problem: Problem, readings: Readings) -> str | None:
    """Why no network can take a problem, as a clause; None where one can.

    Args:
        problem: what is to be fitted.
        readings: to what."""
    if problem.spline_only is not None:
        return problem.spline_only
    if len(readings.groups) > 1:
        # A network learns one noise law for each field.
        return "the problem has several noise groups"
    return None


def check_network(problem: Problem, readings: Readings) -> None:
    """Raises `InputError` where no network can take a problem.

    Args:
        problem: what is to be fitted.
        readings: to what."""
    reason = network_refusal(problem, readings)
    if reason is not None:
        raise InputError(f"{reason}, which only --method splines can fit with.")
