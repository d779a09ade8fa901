"""The given conditions and how well the fitted field meets each, as a table of the report."""

import html

from napinn.equations import Condition
from napinn.equations.tree import Number, Sum
from napinn.problem import Problem
from napinn.result import FitResult
from napinn.scrutiny import Miss, misses, period_misses


def conditions_table(result: FitResult) -> str:
    """One row a condition or period; empty text where the problem has neither."""
    problem = result.problem
    found = [
        *((miss, _unit(problem, each)) for each, miss in zip(problem.placed, misses(result), strict=True)),
        *((miss, problem.units.get(miss.shown.split()[0], "")) for miss in period_misses(result)),
    ]
    if not found:
        return ""
    rows = "".join(_row(miss, unit) for miss, unit in found)
    head = "<tr><th>condition</th><th>missed by</th><th>the noise allows</th><th>outcome</th></tr>"
    return (
        "<p>How far the fitted field is from each condition: the root mean square over the place where it holds.</p>"
        f'<div class="wide" tabindex="0"><table>{head}{rows}</table></div>'
    )


def _row(miss: Miss, unit: str) -> str:
    outcome = "<b>missed</b>" if miss.missed else "met"
    amounts = "".join(f"<td>{html.escape(f'{value:.2g} {unit}'.strip())}</td>" for value in (miss.amount, miss.allowed))
    return f"<tr><td>{html.escape(miss.shown)}</td>{amounts}<td>{outcome}</td></tr>"


def _unit(problem: Problem, condition: Condition) -> str:
    """The unit of a condition's left side, or of its right side where the left one is zero; empty if not known."""
    tree = condition.equation.tree
    sides = [child for _, child in tree.terms if child != Number(0.0)] if isinstance(tree, Sum) else []
    return (problem.dimensions.unit_of(sides[0]) or "") if sides else ""
