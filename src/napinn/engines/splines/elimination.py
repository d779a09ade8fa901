"""Equations without the hidden fields that other equations define: with `x_t = v`, `v_t = -k*x` is `x_tt = -k*x`.

The weak form needs the values of every field. A hidden field that an equation states in terms of the others is put into
the remaining equations, so that these have a weak form too."""

from collections.abc import Sequence
from dataclasses import replace

from napinn.engines.splines.task import Task
from napinn.engines.splines.unknown_functions import tree_of
from napinn.errors import InputError
from napinn.problem.equations import Constant, Derivative, Equation
from napinn.problem.equations.derive import derived
from napinn.problem.equations.equation import from_tree
from napinn.problem.equations.tree import Expression, Number, Product, Sum, walk, with_children

VALUE = ((),)


def without_defined(task: Task) -> Task:
    """The same task with as few hidden fields in its equations as can be; observables keep theirs."""
    stated = len(task.problem.stated)
    equations, own = list(task.equations[:stated]), task.equations[stated:]
    for name in sorted(task.unseen):
        equations = _without(name, equations, tuple(task.problem.coordinates))
    if len(equations) == stated:
        return task
    reduced = replace(task, rewritten=(*equations, *own))
    # Splines of this degree have no higher derivatives.
    return reduced if all(order <= most for order, most in zip(reduced.orders, task.degrees, strict=True)) else task


def _without(name: str, equations: list[Equation], coordinates: Sequence[str]) -> list[Equation]:
    """The equations with a hidden field replaced by what one of them says that it is; unchanged if none does."""
    for equation in equations:
        value = _definition(name, tree_of(equation))
        if value is None:
            continue
        try:
            others = [_with(each, name, value, coordinates) for each in equations if each is not equation]
        except InputError:
            # What it is has no derivative as an expression.
            continue
        if others and all(each.needs for each in others):
            return others
    return equations


def _definition(name: str, tree: Expression) -> Expression | None:
    """What a field is by an equation in which it is one of the terms, times a number, and stands nowhere else."""
    terms = list(_terms(tree, 1))
    mine = [(sign, term) for sign, term in terms if _holds(term, name)]
    if len(mine) != 1:
        return None
    sign, term = mine[0]
    factors = term.factors if isinstance(term, Product) else ((1, term),)
    field = (1, Derivative(name, VALUE))
    numbers = [factor for factor in factors if factor != field]
    if len(numbers) != len(factors) - 1 or not all(isinstance(each, Number | Constant) for _, each in numbers):
        return None
    rest = Sum(tuple((-sign * other, each) for other, each in terms if each is not term))
    return Product(((1, rest), *((-power, each) for power, each in numbers))) if rest.terms else None


def _terms(node: Expression, sign: int) -> list[tuple[int, Expression]]:
    if not isinstance(node, Sum):
        return [(sign, node)]
    return [term for inner, child in node.terms for term in _terms(child, sign * inner)]


def _holds(node: Expression, name: str) -> bool:
    return any(isinstance(leaf, Derivative) and leaf.field == name for leaf in walk(node))


def _with(equation: Equation, name: str, value: Expression, coordinates: Sequence[str]) -> Equation:
    """An equation with a field replaced by an expression, and its derivatives by those of the expression."""

    def partial(field: str, axes: tuple[str, ...]) -> Derivative:
        return Derivative(field, (tuple(sorted(axes, key=coordinates.index)),))

    def put(node: Expression) -> Expression:
        if not (isinstance(node, Derivative) and node.field == name):
            return with_children(node, put)
        found = value
        for axis in node.terms[0]:
            found = derived(found, axis, partial)
        return found

    return from_tree(equation.shown, equation.shown, put(tree_of(equation)))
