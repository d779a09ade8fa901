"""Equation text to expression tree, by a whitelist over Python's own syntax tree.

`ast.parse` only reads: nothing of the text is ever run. Every node kind that is not listed here is refused, names
must be declared by the problem, and a typo is answered with the nearest name."""

import ast
import dataclasses
import keyword
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeGuard

from napinn.errors import InputError, nearest
from napinn.problem.equations.derive import derived
from napinn.problem.equations.spelling import derivative_hint, plain_signs, product_hint
from napinn.problem.equations.tree import (
    ARITY,
    FUNCTIONS,
    Call,
    Constant,
    Coordinate,
    Derivative,
    Expression,
    Given,
    Number,
    Power,
    Product,
    Sum,
    UnknownLeaf,
    Varying,
    derivatives,
)

LONGEST_TEXT, DEEPEST_NESTING = 20_000, 60
HIGHEST_ORDER = 6
"""Of a derivative. Each order nests one more derivative of the network, and the program grows severalfold with it: one
step of order six takes half a minute to compile, of order eight minutes. Equations of physics stop at four, or at six
for patterns in crystals."""
AVERAGES = ("mean", "integral")
"""Functions of an observable: of an expression, over the coordinates that follow it, or over all of them."""
HIGHEST_OF_VARYING = 2
"""Derivatives of an unknown function, and of a whole expression."""
RESERVED = frozenset({"pi", *FUNCTIONS})
"""Names that mean something themselves. `d` does so only before a bracket, and may be the name of a rate."""


@dataclass(frozen=True)
class Names:
    """The vocabulary that a problem declares for its equations."""

    coordinates: tuple[str, ...]
    fields: tuple[str, ...]
    unknowns: tuple[str, ...]
    constants: Mapping[str, float]
    tables: Mapping[str, tuple[str, ...]] = dataclasses.field(default_factory=dict)
    """Known functions and the coordinates that they depend on."""
    varying: Mapping[str, tuple[str, ...]] = dataclasses.field(default_factory=dict)
    """Unknown functions and the coordinates that they depend on."""

    def resolve(self, name: str) -> Expression | None:
        """What a bare name means, or None."""
        if name in self.coordinates:
            return Coordinate(name)
        if name in self.fields:
            return Derivative(name, ((),))
        if name in self.unknowns:
            return UnknownLeaf(name)
        if name in self.constants:
            return Constant(name, self.constants[name])
        if name in self.tables:
            return Given(name, self.tables[name])
        if name in self.varying:
            return Varying(name, self.varying[name])
        if name == "pi":
            return Constant("pi", math.pi)
        return self.partial(name) or self.slope(name)

    def slope(self, name: str) -> Expression | None:
        """`k_x` as a derivative of an unknown function; zero along a coordinate that it does not vary along."""
        for function in sorted(self.varying, key=len, reverse=True):
            axes = split_names(name[len(function) + 1 :], self.coordinates) if name.startswith(function + "_") else None
            if axes:
                return self.varied(function, axes)
        return None

    def varied(self, function: str, axes: tuple[str, ...]) -> Expression:
        """The derivative of an unknown function along some coordinates."""
        if len(axes) > HIGHEST_OF_VARYING:
            raise InputError(
                f"a derivative of '{function}' has order {len(axes)}, and of an unknown function the highest is "
                f"{HIGHEST_OF_VARYING}."
            )
        found = Varying(function, self.varying[function])
        for axis in axes:
            if axis not in found.coordinates:
                return Number(0.0)
            found = found.along(axis)
        return found

    def partial(self, name: str) -> Derivative | None:
        """`u_xy` as a derivative: a field, an underscore, and coordinate names run together."""
        for field in sorted(self.fields, key=len, reverse=True):
            if name.startswith(field + "_"):
                axes = split_names(name[len(field) + 1 :], self.coordinates)
                if axes:
                    return self.derivative(field, axes)
        return None

    def derivative(self, field: str, axes: tuple[str, ...]) -> Derivative:
        if len(axes) > HIGHEST_ORDER:
            raise InputError(
                f"a derivative of '{field}' has order {len(axes)}, and the highest that can be computed is "
                f"{HIGHEST_ORDER}; define a lower derivative of it as a hidden field."
            )
        return Derivative(field, (tuple(sorted(axes, key=self.coordinates.index)),))

    def suggest(self, name: str) -> str:
        partials = [f"{f}_{a}{b}" for f in self.fields for a in ("", *self.coordinates) for b in self.coordinates]
        known = [
            *self.coordinates,
            *self.fields,
            *self.unknowns,
            *self.constants,
            *self.tables,
            *self.varying,
            *partials,
            *RESERVED,
        ]
        return nearest(name, known)


def split_names(run: str, names: Iterable[str]) -> tuple[str, ...] | None:
    """Names run together, as `xxt`, one by one, the longest first; None where that cannot be.

    Found from the end, with what each rest of the text splits into, because trying all ways takes for ever where one
    name begins with another."""
    by_length = sorted(filter(None, names), key=len, reverse=True)
    found: dict[int, tuple[str, ...]] = {len(run): ()}
    for start in reversed(range(len(run))):
        for name in by_length:
            if start + len(name) in found and run.startswith(name, start):
                found[start] = (name, *found[start + len(name)])
                break
    return found.get(0)


def parse_equation(text: str, names: Names) -> tuple[Expression, Expression]:
    """The two sides of `left = right`."""
    if len(text) > LONGEST_TEXT:
        raise InputError(f"an equation has {len(text)} characters; the longest allowed is {LONGEST_TEXT}.")
    sides = text.split("=")
    if len(sides) == 1:
        raise InputError(
            f"equation '{_short(text)}' has no '='; write it as 'left = right', for example 'u_t = D*u_xx'."
        )
    if len(sides) > 2:
        raise InputError(f"equation '{_short(text)}' has more than one '='; write each equation on its own.")
    left, right = (parse_expression(side, names, text) for side in sides)
    if not derivatives(left) | derivatives(right):
        raise InputError(f"equation '{_short(text)}' contains no field; fields here: {', '.join(names.fields)}.")
    return left, right


def parse_expression(text: str, names: Names, whole: str | None = None) -> Expression:
    """One side of an equation, or any expression in the problem's names."""
    where = f"equation '{_short(whole if whole is not None else text)}'"
    if not text.strip():
        raise InputError(f"{where} has nothing on one side of the '='.")
    return _expression(text, names, where, ())


def parse_observable(name: str, text: str, names: Names) -> Expression:
    """What an instrument reads; a mean or integral is a call with the expression and the coordinates after it."""
    where = f"observable '{_short(name)}: {_short(text)}'"
    if len(text) > LONGEST_TEXT:
        raise InputError(f"{where} has {len(text)} characters; the longest allowed is {LONGEST_TEXT}.")
    if not text.strip():
        raise InputError(f"{where} is empty; write an expression, for example 'log10(u)'.")
    if "=" in text:
        raise InputError(f"{where} has an '='; write the expression alone, for example 'log10(u)'.")
    return _expression(text, names, where, AVERAGES)


def _expression(text: str, names: Names, where: str, averages: tuple[str, ...]) -> Expression:
    hint = derivative_hint(text, names.fields, names.coordinates)
    if hint is not None:
        raise InputError(f"{where} cannot be read: {hint}.")
    try:
        tree = _parsed(plain_signs(text.strip()), names)
    except SyntaxError as error:
        near = f" near '{_short(error.text.replace(_MARK, '').strip())}'" if error.text and error.text.strip() else ""
        raise InputError(f"{where} cannot be read{near}: {product_hint(text) or error.msg}.") from None
    except (ValueError, RecursionError, MemoryError):
        raise InputError(
            f"{where} cannot be read: it holds characters or nesting that an equation cannot have."
        ) from None
    return _Reader(names, where, averages).read(tree.body, 0)


_MARK = "napinn_keyword_"
_KEYWORD = re.compile(rf"\b({'|'.join(word for word in keyword.kwlist if word.islower())})\b")


def _parsed(text: str, names: Names) -> ast.Expression:
    """The syntax tree, in which a reserved word of Python may be a name: in physics `lambda` is a wavelength.

    Such a word has a mark before it, if the problem declares it or if the text cannot be read without."""
    declared = {
        *names.coordinates, *names.fields, *names.unknowns, *names.constants, *names.tables, *names.varying,
    }  # fmt: skip
    try:
        return ast.parse(_KEYWORD.sub(lambda found: _MARK * (found[0] in declared) + found[0], text), mode="eval")
    except SyntaxError as error:
        try:
            return ast.parse(_KEYWORD.sub(rf"{_MARK}\1", text), mode="eval")
        except SyntaxError:
            raise error from None


def _plain(name: str) -> str:
    return name.removeprefix(_MARK)


@dataclass(frozen=True)
class _Reader:
    names: Names
    where: str
    averages: tuple[str, ...] = ()
    """Means and integrals that the expression may contain."""

    def read(self, node: ast.expr, depth: int) -> Expression:
        if depth > DEEPEST_NESTING:
            raise InputError(f"{self.where} is nested more than {DEEPEST_NESTING} levels deep; split it up.")
        match node:
            case ast.Constant(value=bool()):
                raise self._refuse(node)
            case ast.Constant(value=int() | float() as value):
                return self._number(value)
            case ast.Name(id=name):
                return self._name(_plain(name))
            case ast.UnaryOp(op=ast.UAdd(), operand=operand):
                return self.read(operand, depth + 1)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                inner = self.read(operand, depth + 1)
                return Number(-inner.value) if isinstance(inner, Number) else Sum(((-1, inner),))
            case ast.BinOp(op=ast.Add() | ast.Sub()):
                return self._sum(node, depth)
            case ast.BinOp(op=ast.Mult() | ast.Div()):
                return self._product(node, depth)
            case ast.BinOp(op=ast.Pow(), left=left, right=right):
                return self._power(self.read(left, depth + 1), self.read(right, depth + 1))
            case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]):
                return self._call(name, arguments, depth)
            case _:
                raise self._refuse(node)

    def _name(self, name: str) -> Expression:
        found = self.names.resolve(name)
        if found is not None:
            return found
        if name in FUNCTIONS or name == "d":
            raise InputError(f"{self.where}: '{name}' is a function; write '{name}(…)'.")
        raise InputError(f"{self.where}: '{name}' is not known; {self.names.suggest(name)}")

    def _number(self, value: float) -> Number:
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if not math.isfinite(number):
            raise InputError(f"{self.where}: a number in it is too large.")
        return Number(number)

    def _sum(self, node: ast.expr, depth: int) -> Expression:
        terms: list[tuple[int, Expression]] = []
        # A long sum is a left-deep chain; walking it in a loop keeps the recursion shallow.
        while isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
            terms.append((1 if isinstance(node.op, ast.Add) else -1, self.read(node.right, depth + 1)))
            node = node.left
        terms.append((1, self.read(node, depth + 1)))
        terms = [(-sign, term.terms[0][1]) if _is_negated(term) else (sign, term) for sign, term in reversed(terms)]
        if all(isinstance(term, Number) for _, term in terms):
            return self._number(math.fsum(sign * term.value for sign, term in terms if isinstance(term, Number)))
        return Sum(tuple(terms))

    def _product(self, node: ast.expr, depth: int) -> Expression:
        factors: list[tuple[int, Expression]] = []
        while isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult | ast.Div):
            factors.append((1 if isinstance(node.op, ast.Mult) else -1, self.read(node.right, depth + 1)))
            node = node.left
        factors.append((1, self.read(node, depth + 1)))
        factors.reverse()
        if any(power < 0 and factor == Number(0.0) for power, factor in factors):
            raise InputError(f"{self.where} divides by zero.")
        if all(isinstance(factor, Number) for _, factor in factors):
            value = 1.0
            for power, factor in factors:
                assert isinstance(factor, Number)
                value = value * factor.value if power > 0 else value / factor.value
            return self._number(value)
        power, first = factors[0]
        if _is_negated(first):
            # `-a*b` reads as (-a)*b in Python; on paper the sign belongs to the whole term.
            return Sum(((-1, Product(((power, first.terms[0][1]), *factors[1:]))),))
        return Product(tuple(factors))

    def _power(self, base: Expression, exponent: Expression) -> Expression:
        if isinstance(base, Number) and isinstance(exponent, Number):
            try:
                value = base.value**exponent.value
            except (OverflowError, ZeroDivisionError):
                value = math.inf
            if isinstance(value, complex):
                raise InputError(f"{self.where}: a negative number is raised to a fractional power.")
            return self._number(value)
        return Power(base, exponent)

    def _call(self, name: str, arguments: list[ast.expr], depth: int) -> Expression:
        if name == "d":
            return self._derivative(arguments, depth)
        if name in self.averages:
            return self._average(name, arguments, depth)
        if name in AVERAGES:
            raise InputError(f"{self.where}: '{name}' is allowed only in an observable, and not inside another mean.")
        if name not in FUNCTIONS:
            instead = self._as_product(name) or nearest(name, [*FUNCTIONS, "d", *self.averages])
            raise InputError(f"{self.where}: '{name}' is not a known function; {instead}")
        if len(arguments) != ARITY[name]:
            raise InputError(f"{self.where}: '{name}' takes {ARITY[name]} argument(s), not {len(arguments)}.")
        return Call(name, tuple(self.read(argument, depth + 1) for argument in arguments))

    def _as_product(self, name: str) -> str | None:
        """How a product with a name is written, which looks like a call of a function; None where it is no name."""
        return f"a product is written {name}*(…)." if self.names.resolve(name) else None

    def _average(self, name: str, arguments: list[ast.expr], depth: int) -> Expression:
        if not arguments:
            raise InputError(f"{self.where}: write '{name}(expression, coordinate)'.")
        axes = [_plain(each.id) if isinstance(each, ast.Name) else "an expression" for each in arguments[1:]]
        for axis in axes:
            if axis not in self.names.coordinates:
                raise InputError(
                    f"{self.where}: '{name}' is over coordinates, and '{axis}' is not one; "
                    f"{nearest(axis, self.names.coordinates)}"
                )
        over = [axis for axis in self.names.coordinates if axis in axes or not axes]
        inner = dataclasses.replace(self, averages=()).read(arguments[0], depth + 1)
        return Call(name, (inner, *map(Coordinate, over)))

    def _derivative(self, arguments: list[ast.expr], depth: int) -> Expression:
        spelled = [_plain(argument.id) if isinstance(argument, ast.Name) else None for argument in arguments]
        usage = "write a derivative as 'd(field, coordinate, …)' or 'd(expression, coordinate)'"
        if len(spelled) < 2:
            raise InputError(f"{self.where}: {self._as_product('d') or f'{usage}.'}")
        field, axes = spelled[0], spelled[1:]
        if field is not None and field not in self.names.fields and field not in self.names.varying:
            raise InputError(f"{self.where}: '{field}' is not a field; {nearest(field, self.names.fields)}")
        for axis in axes:
            if axis not in self.names.coordinates:
                shown = axis if axis is not None else "an expression"
                raise InputError(
                    f"{self.where}: {usage}; '{shown}' is not a coordinate; {nearest(shown, self.names.coordinates)}"
                )
        known = tuple(axis for axis in axes if axis is not None)
        if field in self.names.fields:
            return self.names.derivative(str(field), known)
        if field in self.names.varying:
            return self.names.varied(str(field), known)
        return self._derived(self.read(arguments[0], depth + 1), known)

    def _derived(self, node: Expression, axes: tuple[str, ...]) -> Expression:
        """The derivative of a whole expression, such as the flux `k*T_x`."""
        if len(axes) > HIGHEST_OF_VARYING:
            raise InputError(f"{self.where}: d(…) of an expression goes to order {HIGHEST_OF_VARYING}; nest fields.")
        for axis in axes:
            try:
                node = derived(node, axis, self.names.derivative)
            except InputError as error:
                raise InputError(f"{self.where}: {error}.") from None
        return node

    def _refuse(self, node: ast.expr) -> InputError:
        shown = _short(ast.unparse(node).replace(_MARK, ""))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Constant | ast.BinOp):
            return InputError(f"{self.where}: a sign is missing in '{shown}'; a product is written with '*'.")
        return InputError(
            f"{self.where}: '{shown}' is not part of an equation; use numbers, names, + - * / ** and "
            f"{', '.join(FUNCTIONS)}."
        )


def _is_negated(node: Expression) -> TypeGuard[Sum]:
    return isinstance(node, Sum) and len(node.terms) == 1 and node.terms[0][0] < 0


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= 80 else text[:77] + "…"
