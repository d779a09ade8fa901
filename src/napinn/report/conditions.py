"""The given conditions and how well the fitted field meets each, as a table of the report."""

from napinn.diagnostics.consistency import Miss, misses, period_misses
from napinn.problem import Problem
from napinn.problem.equations import Condition
from napinn.problem.equations.tree import Number, Sum
from napinn.report.templating import Markup, render
from napinn.results.result import FitResult


def conditions_table(result: FitResult) -> Markup:
    """One row a condition or period; empty text where the problem has neither."""
    problem = result.problem
    found = [
        *((miss, _unit(problem, each)) for each, miss in zip(problem.placed, misses(result), strict=True)),
        *((miss, problem.unit_of(miss.shown.split()[0]) or "") for miss in period_misses(result)),
    ]
    if not found:
        return Markup("")
    return render("conditions", rows=[_row(miss, unit) for miss, unit in found])


def _row(miss: Miss, unit: str) -> tuple[str, ...]:
    amounts = [f"{value:.2g} {unit}".strip() for value in (miss.amount, miss.allowed)]
    return miss.shown, *amounts, Markup("<b>missed</b>") if miss.missed else "met"


def _unit(problem: Problem, condition: Condition) -> str:
    """The unit of a condition's left side, or of its right side where the left one is zero; empty if not known."""
    tree = condition.equation.tree
    sides = [child for _, child in tree.terms if child != Number(0.0)] if isinstance(tree, Sum) else []
    return (problem.dimensions.unit_of_tree(sides[0]) or "") if sides else ""
