"""Terms in normal form: a sum of monomials, so that two ways of writing one term are seen to be the same.

A monomial is a product of atoms with integer exponents. Atoms are the leaves of an expression and whatever is no
polynomial in them: functions, fractional powers, one over a sum. Such an atom is kept with its arguments in normal form
too. Derivatives follow from the product rule, because a leaf is a field, a derivative of it or a coordinate."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from napinn.errors import InputError
from napinn.problem.equations import Constant, Coordinate, Derivative, Given, UnknownLeaf
from napinn.problem.equations.tree import Call, Expression, Number, Power, Product, Sum, integer_exponent

MOST_MONOMIALS = 2000
"""Of one term: a power of a long sum would otherwise be multiplied out without end."""
ROUNDING = 1e-12
"""Below this share of the largest coefficient a coefficient is what rounding left of zero."""


@dataclass(frozen=True)
class Opaque:
    """A part that is no polynomial: a function, or a power that is no positive integer, of normal forms."""

    name: str
    arguments: "tuple[tuple[tuple[Monomial, float], ...], ...]"
    tree: Expression

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Opaque) and (self.name, self.arguments) == (other.name, other.arguments)

    def __hash__(self) -> int:
        return hash((self.name, self.arguments))


Atom = Coordinate | Derivative | Constant | Given | UnknownLeaf | Opaque
Monomial = frozenset[tuple[Atom, int]]
Polynomial = dict[Monomial, float]
ONE: Monomial = frozenset()


def polynomial(node: Expression) -> Polynomial:
    """The normal form of an expression."""
    match node:
        case Number(value):
            return {ONE: value} if value else {}
        case Sum(terms):
            found: Polynomial = {}
            for sign, child in terms:
                _add(found, polynomial(child), float(sign))
            return _cleaned(found)
        case Product(factors):
            product: Polynomial = {ONE: 1.0}
            for exponent, child in factors:
                factor = polynomial(child)
                product = times(product, factor if exponent > 0 else _raised(factor, Number(-1.0), child))
            return product
        case Power(base, exponent):
            return _raised(polynomial(base), exponent, base)
        case Call(function, arguments):
            inner = tuple(_sorted(polynomial(argument)) for argument in arguments)
            return _atom(Opaque(function, inner, node))
        case Coordinate() | Derivative() | Constant() | Given() | UnknownLeaf():
            return _atom(node)
        case _:
            raise TypeError(f"{type(node).__name__} is not part of a written term")


def times(one: Polynomial, other: Polynomial) -> Polynomial:
    if len(one) * len(other) > MOST_MONOMIALS:
        raise InputError(f"a term has more than {MOST_MONOMIALS} parts when multiplied out; write a shorter one.")
    found: Polynomial = {}
    for left, factor in one.items():
        for right, size in other.items():
            joined = _joined(left, right)
            found[joined] = found.get(joined, 0.0) + factor * size
    return _cleaned(found)


def differentiated(value: Polynomial, axis: str, coordinates: tuple[str, ...]) -> Polynomial:
    """The derivative along a coordinate; a function of the fields cannot be differentiated here."""
    found: Polynomial = {}
    for monomial, factor in value.items():
        for atom, exponent in monomial:
            slope = _slope(atom, axis, coordinates)
            rest = _joined(monomial, frozenset({(atom, -1)}))
            _add(found, times({rest: factor * exponent}, slope), 1.0)
    return _cleaned(found)


def factor_between(one: Polynomial, other: Polynomial) -> float | None:
    """The number by which `one` is a multiple of `other`; None where it is none."""
    if one.keys() != other.keys() or not one:
        return None
    ratios = [one[monomial] / other[monomial] for monomial in one]
    return ratios[0] if all(math.isclose(ratio, ratios[0], rel_tol=1e-9) for ratio in ratios) else None


def tree(value: Polynomial) -> Expression:
    """The expression of a normal form, in a fixed order."""
    if not value:
        return Number(0.0)
    terms = []
    for monomial, factor in sorted(value.items(), key=lambda item: _order(item[0])):
        size, sign = abs(factor), 1 if factor > 0 else -1
        parts: list[tuple[int, Expression]] = [(1, Number(size))] if size != 1.0 or not monomial else []
        for atom, exponent in sorted(monomial, key=lambda pair: repr(pair[0])):
            base = atom.tree if isinstance(atom, Opaque) else atom
            parts.append((1, base if exponent == 1 else Power(base, Number(float(exponent)))))
        terms.append((sign, parts[0][1] if len(parts) == 1 else Product(tuple(parts))))
    return terms[0][1] if len(terms) == 1 and terms[0][0] > 0 else Sum(tuple(terms))


def derivative_atoms(value: Polynomial) -> set[Derivative]:
    """The fields and their derivatives in a normal form, also those inside functions."""
    found: set[Derivative] = set()
    for monomial in value:
        for atom, _ in monomial:
            if isinstance(atom, Derivative):
                found.add(atom)
            elif isinstance(atom, Opaque):
                for argument in atom.arguments:
                    found |= derivative_atoms(dict(argument))
    return found


def _atom(atom: Atom) -> Polynomial:
    return {frozenset({(atom, 1)}): 1.0}


def _order(monomial: Monomial) -> tuple[int, str]:
    return sum(exponent for _, exponent in monomial), repr(sorted(map(repr, monomial)))


def _sorted(value: Polynomial) -> tuple[tuple[Monomial, float], ...]:
    return tuple(sorted(value.items(), key=lambda item: _order(item[0])))


def _joined(left: Monomial, right: Monomial) -> Monomial:
    exponents: dict[Atom, int] = dict(left)
    for atom, exponent in right:
        exponents[atom] = exponents.get(atom, 0) + exponent
    return frozenset((atom, exponent) for atom, exponent in exponents.items() if exponent)


def _add(found: Polynomial, more: Mapping[Monomial, float], factor: float) -> None:
    for monomial, size in more.items():
        found[monomial] = found.get(monomial, 0.0) + factor * size


def _cleaned(found: Polynomial) -> Polynomial:
    largest = max((abs(size) for size in found.values()), default=0.0)
    return {monomial: size for monomial, size in found.items() if abs(size) > ROUNDING * largest}


def _raised(base: Polynomial, exponent: Expression, written: Expression) -> Polynomial:
    whole = integer_exponent(exponent)
    if whole is not None and whole >= 0:
        found: Polynomial = {ONE: 1.0}
        for _ in range(whole):
            found = times(found, base)
        return found
    if whole is not None and len(base) == 1:
        ((monomial, factor),) = base.items()
        return {frozenset((atom, power * whole) for atom, power in monomial): factor**whole}
    inner = _sorted(base), _sorted(polynomial(exponent))
    return _atom(Opaque("power", inner, Power(written, exponent)))


def _slope(atom: Atom, axis: str, coordinates: tuple[str, ...]) -> Polynomial:
    match atom:
        case Derivative(field, ((*axes,),)):
            return _atom(Derivative(field, (tuple(sorted((*axes, axis), key=coordinates.index)),)))
        case Coordinate(name):
            return {ONE: 1.0} if name == axis else {}
        case Constant() | UnknownLeaf():
            return {}
        case _:
            raise InputError(
                "the derivative of a function is not worked out; write d(…) of sums, products and powers, "
                "or the derivative itself."
            )
