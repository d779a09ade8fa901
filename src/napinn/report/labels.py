"""Names on axes, with their units, and numbers as people write them."""

import re

from napinn.problem import Problem
from napinn.problem.equations import symbol


def label(problem: Problem, name: str) -> str:
    unit = problem.unit_of(name)
    return f"{symbol(name)} [{unit}]" if unit else symbol(name)


def misfit_label(problem: Problem, field: str) -> str:
    return f"misfit of {label(problem, field)}"


def with_unit(problem: Problem, name: str, value: float, digits: int = 5) -> str:
    return f"{value:.{digits}g} {problem.unit_of(name) or ''}".strip()


def inverse(unit: str) -> str:
    """One over a unit, in brackets only where they are needed.

    :param unit: As the problem gives it."""
    return f"1/{unit}" if re.fullmatch(r"[^\W\d]+|[°%µ]\w*", unit) else f"1/({unit})"


def share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "–"
