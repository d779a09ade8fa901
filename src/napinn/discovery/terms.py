"""Candidate terms: what may stand on the right-hand side, read from text, and in which form it is integrated.

A term is integrated against test functions as ∂^α g with g free of derivatives where that is possible (`u*u_x` is
∂x u²/2), because the derivatives then fall on the test function and noise is never differentiated."""

import ast
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement

import numpy as np

from napinn.discovery.polynomial import (
    ONE,
    Opaque,
    Polynomial,
    derivative_atoms,
    differentiated,
    factor_between,
    polynomial,
    tree,
)
from napinn.errors import InputError
from napinn.problem.equations import Derivative, Names, UnknownLeaf, parse_expression, show
from napinn.problem.equations.tree import Call, Constant, Coordinate, Expression, Given, Number, Power, Product, Sum

MOST_TERMS = 100
"""Of a library: each costs an integral for every test function, and near copies of each other decide nothing."""
HIGHEST_POWER = {1: 3, 2: 3}
"""Of the default library, by the number of fields; two for three fields and more, whose products are many."""
HIGHEST_LINEAR = {1: 4, 2: 2}
"""The highest derivative of a field in the default library, by the number of places (x, or x and y)."""
PLACE = "□"
"""Stands for an expression where a derivative of it is shown."""
MOST_PLACES = 2
"""Coordinates beside time of the default library."""


@dataclass(frozen=True, eq=False)
class Term:
    """One candidate: its text, its tree, and ∂^`axes` of `flux` as which it is integrated."""

    text: str
    tree: Expression
    normal: Polynomial
    axes: tuple[str, ...]
    flux: Expression
    factor: float
    """The term is `factor` × ∂^axes flux."""

    @property
    def spelled(self) -> str:
        """As an equation of a problem takes it: derivatives of expressions are worked out."""
        return spell(self.tree)

    @property
    def shown(self) -> str:
        """As mathematics; a derivative of an expression stays one."""
        if self.text.startswith("d(") and self.axes and self.factor == 1.0 and not isinstance(self.flux, Derivative):
            return show(Derivative(PLACE, (self.axes,))).replace(PLACE, f"({show(self.flux)})")
        return show(self.tree)


def read_term(text: str, names: Names) -> Term:
    """A term from text; raises `InputError` where it cannot be read."""
    written = text.strip()
    if not written:
        raise InputError("the list of terms has an empty entry; remove the extra comma.")
    found = _derivative_of(written, names)
    node = parse_expression(written, names) if found is None else tree(found)
    normal = polynomial(node) if found is None else found
    if not normal:
        raise InputError(f"term '{written}' is zero; remove it.")
    if any(isinstance(part, UnknownLeaf) for part in _atoms(normal)):
        raise InputError(f"term '{written}' contains an unknown; terms hold fields and coordinates, and napinn finds "
                         "the coefficient of each.")  # fmt: skip
    axes, flux, factor = _integrable(normal, names.coordinates)
    return Term(written, node, normal, axes, flux, factor)


def read_terms(texts: Sequence[str], names: Names) -> tuple[Term, ...]:
    """A whole library; equal terms and terms that others add up to are refused."""
    terms = tuple(read_term(text, names) for text in texts)
    if len(terms) > MOST_TERMS:
        raise InputError(f"the library has {len(terms)} terms, and napinn takes at most {MOST_TERMS}; leave some out.")
    check_distinct(terms)
    return terms


def check_distinct(terms: Sequence[Term]) -> None:
    """No two terms may be equal up to a factor, and none the sum of others: no reading could tell them apart."""
    for number, term in enumerate(terms):
        for other in terms[:number]:
            if factor_between(term.normal, other.normal) is not None:
                raise InputError(
                    f"terms '{other.text}' and '{term.text}' are the same up to a factor; remove one of them."
                )
    monomials = sorted({monomial for term in terms for monomial in term.normal}, key=repr)
    matrix = np.array([[term.normal.get(monomial, 0.0) for monomial in monomials] for term in terms])
    for number in range(1, len(terms) + 1):
        if np.linalg.matrix_rank(matrix[:number]) < number:
            raise InputError(
                f"term '{terms[number - 1].text}' is a sum of multiples of terms before it, so no reading can "
                "distinguish them; remove one of them."
            )


def split_terms(text: str) -> list[str]:
    """The entries of a comma-separated list; commas inside brackets separate nothing."""
    parts, depth, current = [], 0, ""
    for mark in text:
        depth += (mark == "(") - (mark == ")")
        if mark == "," and depth == 0:
            parts.append(current)
            current = ""
        else:
            current += mark
    return [part.strip() for part in (*parts, current)]


def left_side(text: str, names: Names) -> Derivative:
    """The derivative that an equation is solved for."""
    node = parse_expression(text, names)
    if not isinstance(node, Derivative) or not node.terms[0]:
        fields = f"{names.fields[0]}_{names.coordinates[-1]}"
        raise InputError(f"left side '{text.strip()}' is not a derivative of a field; write for example '{fields}'.")
    return node


def default_terms(names: Names, time: str) -> list[str]:
    """The library where none is given: products of the fields up to degree three (two for three fields and more),
    each of them differentiated once and the field itself up to fourth order along one place (second along two)."""
    places = [name for name in names.coordinates if name != time]
    if len(places) > MOST_PLACES:
        raise InputError(f"there is no default library for {len(places)} places; list the terms.")
    degree = highest_power(len(names.fields))
    products = [
        _product_text(combination)
        for total in range(1, degree + 1)
        for combination in combinations_with_replacement(names.fields, total)
    ]
    found = ["1", *products]
    for field in names.fields if places else ():
        highest = HIGHEST_LINEAR[len(places)]
        for order in range(1, highest + 1):
            found += [_partial(field, axes) for axes in combinations_with_replacement(places, order)]
    for place in places:
        if len(names.fields) == 1:
            found += [f"{_partial_power(product, place)}" for product in products[1:]]
        else:
            found += [f"{one}*{_partial(other, (place,))}" for one in names.fields for other in names.fields]
    if len(names.fields) == 1:
        for axes in combinations_with_replacement(places, 2):
            found += [f"d({product}, {', '.join(axes)})" for product in products[1:]]
    return found


def slower_terms(names: Names, time: str, side: Derivative) -> list[str]:
    """What the default library has beside `default_terms` where an equation is solved for a higher derivative in time:
    the lower ones, such as damping, and of one field its powers differentiated once."""
    order = side.terms[0].count(time)
    found = [_partial(field, (time,) * lower) for field in names.fields for lower in range(1, order)]
    if order > 1 and len(names.fields) == 1:
        powers = (f"{names.fields[0]}**{power}" for power in range(2, highest_power(1) + 1))
        found += [_partial_power(each, time) for each in powers]
    return found


def highest_power(fields: int) -> int:
    """Of the default library, for so many fields."""
    return HIGHEST_POWER.get(fields, 2)


def spell(node: Expression) -> str:
    """An expression as text that reads back as the same expression."""
    match node:
        case Number(value):
            return repr(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)
        case Constant(name, _) | Coordinate(name) | UnknownLeaf(name) | Given(name, _):
            return name
        case Derivative(field, ((*axes,),)):
            return _partial(field, tuple(axes)) if axes else field
        case Sum(terms):
            text = " ".join(f"{'+' if sign > 0 else '-'} {_enclosed(child, Sum)}" for sign, child in terms)
            return text.removeprefix("+ ")
        case Product(factors):
            parts = [("*" if power > 0 else "/", _enclosed(child, Sum, Product)) for power, child in factors]
            text = "".join(mark + part for mark, part in parts)
            return text.removeprefix("*") if text.startswith("*") else "1" + text
        case Power(base, exponent):
            return f"{_enclosed(base, Sum, Product, Power)}**{_enclosed(exponent, Sum, Product, Power)}"
        case Call(function, arguments):
            return f"{function}({', '.join(map(spell, arguments))})"
        case _:
            raise TypeError(f"{type(node).__name__} cannot be spelled")


def _enclosed(node: Expression, *kinds: type) -> str:
    negative = isinstance(node, Number) and node.value < 0
    return f"({spell(node)})" if negative or isinstance(node, kinds) else spell(node)


def _product_text(fields: Sequence[str]) -> str:
    return "*".join(name if power == 1 else f"{name}**{power}" for name, power in Counter(fields).items())


def _partial(field: str, axes: Sequence[str]) -> str:
    if all(len(axis) == 1 for axis in axes):
        return f"{field}_{''.join(axes)}"
    return f"d({field}, {', '.join(axes)})"


def _partial_power(product: str, place: str) -> str:
    """u u_x for u²; the factor of the chain rule is left out."""
    field, _, power = product.partition("**")
    below = int(power) - 1
    return f"{field if below == 1 else f'{field}**{below}'}*{_partial(field, (place,))}"


def _derivative_of(text: str, names: Names) -> Polynomial | None:
    """`d(expression, x, …)` worked out; None for any other text, and for d of a field, which is read as ever."""
    try:
        node = ast.parse(text.replace("^", "**"), mode="eval").body
    except (SyntaxError, ValueError, RecursionError):
        return None
    match node:
        case ast.Call(func=ast.Name(id="d"), args=[inner, *axes], keywords=[]) if axes:
            if isinstance(inner, ast.Name) and inner.id in names.fields:
                return None
        case _:
            return None
    found = polynomial(parse_expression(ast.unparse(inner), names, text))
    for axis in axes:
        if not isinstance(axis, ast.Name) or axis.id not in names.coordinates:
            raise InputError(f"term '{text}': '{ast.unparse(axis)}' is not a coordinate; write d(expression, x, …).")
        found = differentiated(found, axis.id, names.coordinates)
    return found


def _atoms(normal: Polynomial) -> list[object]:
    found: list[object] = []
    for monomial in normal:
        for atom, _ in monomial:
            found.append(atom)
            if isinstance(atom, Opaque):
                found += [each for argument in atom.arguments for each in _atoms(dict(argument))]
    return found


def _integrable(normal: Polynomial, coordinates: tuple[str, ...]) -> tuple[tuple[str, ...], Expression, float]:
    """(axes, flux, factor): all derivatives outside where the term is one, otherwise the term as it is."""
    plain = ((), tree(normal), 1.0)
    if not any(leaf.terms[0] for leaf in derivative_atoms(normal)):
        return plain
    counts: set[tuple[str, ...]] = set()
    fluxes: set[frozenset[tuple[Derivative, int]]] = set()
    for monomial in normal:
        axes: list[str] = []
        powers: Counter[Derivative] = Counter()
        for atom, exponent in monomial:
            if not isinstance(atom, Derivative) or exponent < 1:
                return plain
            axes += list(atom.terms[0]) * exponent
            powers[Derivative(atom.field, ((),))] += exponent
        counts.add(tuple(sorted(axes, key=coordinates.index)))
        fluxes.add(frozenset(powers.items()))
    if len(counts) != 1 or len(fluxes) != 1:
        return plain
    (outside,), (flux,) = counts, fluxes
    inner: Polynomial = {frozenset(flux): 1.0}
    outer = inner
    for axis in outside:
        outer = differentiated(outer, axis, coordinates)
    factor = factor_between(normal, outer)
    return plain if factor is None else (outside, tree(inner), factor)


__all__ = [
    "ONE",
    "Term",
    "check_distinct",
    "default_terms",
    "highest_power",
    "left_side",
    "read_term",
    "read_terms",
    "slower_terms",
    "spell",
    "split_terms",
]
