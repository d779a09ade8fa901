"""Names on axes, with their units, and numbers as people write them."""

from napinn.equations import symbol
from napinn.problem import Problem


def label(problem: Problem, name: str) -> str:
    unit = problem.unit_of(name)
    return f"{symbol(name)} [{unit}]" if unit else symbol(name)


def misfit_label(problem: Problem, field: str) -> str:
    return f"misfit of {label(problem, field)}"


def with_unit(problem: Problem, name: str, value: float, digits: int = 5) -> str:
    return f"{value:.{digits}g} {problem.unit_of(name) or ''}".strip()


def share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "–"
