"""Linear operators: the part of an equation that is a sum of derivatives of one field, each times something that is
the same everywhere, `u_t - D*(u_xx + u_yy)`.

A network can carry such a sum as one array. Of `u_t`, and of any first derivative that no second derivative takes and
that occurs nowhere else, no array is then needed at all."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from napinn.problem.equations.equation import Equation, tree_residual, wanted
from napinn.problem.equations.tree import (
    Applied,
    Coordinate,
    Derivative,
    Expression,
    Given,
    Number,
    Operator,
    Product,
    Sum,
    Terms,
    derivatives,
    highest_order,
    walk,
)

Linear = tuple[int, Expression, Derivative]
"""A sign, what is the same everywhere, and the derivative that it multiplies."""


def join_operators(equations: tuple[Equation, ...]) -> tuple[Equation, ...]:
    """The same equations with their linear operators as single leaves, where that leaves fewer arrays to carry."""
    if highest_order(wanted(equations)) > 2:
        return equations
    kept = _kept(equations)
    joined = tuple(_joined(equation, kept) for equation in equations)
    return joined if _arrays(joined) < _arrays(equations) else equations


def operators(equations: Iterable[Equation]) -> tuple[Operator, ...]:
    """Each operator once, whichever fields it is applied to, in the order of their first use."""
    found = (leaf.operator for equation in equations for leaf in _applied(equation))
    return tuple(dict.fromkeys(found))


def _kept(equations: Iterable[Equation]) -> frozenset[Terms]:
    """The first derivatives that are carried in any case: seconds take them, or they occur within something else."""
    found: set[Terms] = set()
    for equation in equations:
        for terms in (leaf.terms for leaf in equation.needs if len(leaf.terms[0]) == 2):
            found |= {((axis,),) for axes in terms for axis in axes}
        if equation.tree is None:
            found |= {leaf.terms for leaf in equation.needs}
            continue
        for term in (term for sign, term in _terms(equation.tree, 1) if _linear(sign, term) is None):
            found |= {leaf.terms for leaf in derivatives(term)}
    return frozenset(terms for terms in found if len(terms[0]) == 1)


def _joined(equation: Equation, kept: frozenset[Terms]) -> Equation:
    if equation.tree is None:
        return equation
    rest: list[tuple[int, Expression]] = []
    linear: dict[str, list[Linear]] = {}
    for sign, term in _terms(equation.tree, 1):
        found = _linear(sign, term)
        if found is None or found[2].terms in kept:
            rest.append((sign, term))
        else:
            linear.setdefault(found[2].field, []).append(found)
    tree = Sum((*((1, _operator(field, parts)) for field, parts in linear.items()), *rest))
    return replace(equation, needs=derivatives(tree), residual=tree_residual(tree), tree=tree)


def _operator(field: str, parts: list[Linear]) -> Expression:
    """The parts as one leaf; as they were where there is nothing curved to take the rest along."""
    factors: dict[Terms, list[tuple[int, Expression]]] = {}
    for sign, factor, derivative in parts:
        factors.setdefault(derivative.terms, []).append((sign, factor))
    if len(factors) < 2 or highest_order(factors) < 2:
        return Sum(tuple((sign, Product(((1, factor), (1, leaf)))) for sign, factor, leaf in parts))
    return Applied(field, tuple((terms, Sum(tuple(factors[terms]))) for terms in sorted(factors)))


def _terms(node: Expression, sign: int) -> Iterator[tuple[int, Expression]]:
    """What a tree adds up, sums within sums taken apart."""
    if isinstance(node, Sum):
        for inner, child in node.terms:
            yield from _terms(child, sign * inner)
    else:
        yield sign, node


def _linear(sign: int, term: Expression) -> Linear | None:
    factors = term.factors if isinstance(term, Product) else ((1, term),)
    inner = [child for exponent, child in factors if isinstance(child, Derivative) and exponent > 0]
    if len(inner) != 1 or inner[0].terms == ((),):
        return None
    outer = tuple((exponent, child) for exponent, child in factors if child is not inner[0])
    if not all(_same_everywhere(child) for _, child in outer):
        return None
    return sign, Product(((1, Number(1.0)), *outer)), inner[0]


def _same_everywhere(node: Expression) -> bool:
    return not any(isinstance(leaf, Coordinate | Given | Derivative) for leaf in walk(node))


def _applied(equation: Equation) -> Iterator[Applied]:
    return (leaf for leaf in walk(equation.tree) if isinstance(leaf, Applied)) if equation.tree else iter(())


def _arrays(equations: tuple[Equation, ...]) -> int:
    """How many arrays a network carries beside the values: first derivatives, those that seconds take, and sums."""
    alone = {terms for terms in wanted(equations) if terms != ((),)}
    mixed = operators(equations)
    bent = {*alone, *(terms for operator in mixed for terms, _ in operator)}
    axes = {axis for terms in bent if len(terms[0]) == 2 for axes in terms for axis in axes}
    firsts = axes | {terms[0][0] for terms in alone if len(terms[0]) == 1}
    return len(firsts) + sum(len(terms[0]) == 2 for terms in alone) + len(mixed)
