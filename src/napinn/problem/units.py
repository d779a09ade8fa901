"""Units of coefficients, from those of coordinates and fields, by dimensional analysis.

Units are labels, so nothing is converted: `h` and `min` are different symbols. Every term of an equation has the same
dimension; that gives linear equations between exponents, which are solved exactly. A unit is derived only where it is
the only one possible. Where the terms contradict each other, because an equation hides a unit in a number, nothing is
derived."""

import re
from collections.abc import Iterable, Mapping
from fractions import Fraction

from napinn.problem.equations import tree as trees

Dimension = Mapping[str, Fraction]
"""Exponents by symbol; a symbol that begins with a space is a quantity whose unit is not known."""
PURE = 12
"""Whole numbers up to this one, and ratios of them, have no unit, as in 1/2 or 4 π. Any other number may hide one: 60
seconds in a minute, 9.81 m/s²."""
LONGEST = 60
"""Characters of a unit that is taken apart; a longer text is a description."""
NONE: Dimension = {}
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")
_RAISED = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
_SYMBOL = r"[°%‰$€]?[^\W\d_⁰¹²³⁴⁵⁶⁷⁸⁹]+|[°%‰$€]"
_TOKEN = re.compile(rf"\s*(?:{_SYMBOL}|1|[*·/()])\s*")
_EXPONENT = re.compile(r"(?:\^|\*\*)\s*(-?\d)|([⁻]?[⁰¹²³⁴⁵⁶⁷⁸⁹])")


def read_unit(text: str) -> Dimension:
    """The symbols and exponents of a unit such as `W/(m·K)` or `μm²/h`; any other text is one symbol by itself.

    Args:
        text: the unit as the user wrote it."""
    if text.strip() in ("", "1", "-"):
        return NONE
    tokens = _tokens(text.strip()) if len(text) <= LONGEST else []
    try:
        found, rest = _quotient(tokens) if tokens else (NONE, ["?"])
    except (IndexError, ValueError):
        rest, found = ["?"], NONE
    return {text.strip(): Fraction(1)} if rest else found


def _tokens(text: str) -> list[str | int]:
    """Symbols, signs and exponents in order; empty where the text is no unit in this grammar."""
    tokens: list[str | int] = []
    position = 0
    while position < len(text):
        power = _EXPONENT.match(text, position)
        if power and tokens:
            tokens.append(int((power[1] or power[2]).translate(_SUPERSCRIPTS)))
            position = power.end()
            continue
        token = _TOKEN.match(text, position)
        if token is None:
            return []
        tokens.append(token[0].strip())
        position = token.end()
    return tokens


def _quotient(tokens: list[str | int]) -> tuple[Dimension, list[str | int]]:
    """Factors joined by `*`, `·` and `/`, and the tokens after them."""
    found, tokens = _factor(tokens)
    while tokens and tokens[0] in ("*", "·", "/"):
        power = -1 if tokens[0] == "/" else 1
        factor, tokens = _factor(tokens[1:])
        found = times(found, factor, power)
    return found, tokens


def _factor(tokens: list[str | int]) -> tuple[Dimension, list[str | int]]:
    first, rest = tokens[0], tokens[1:]
    if first == "(":
        found, rest = _quotient(rest)
        if rest[0] != ")":
            raise ValueError("no closing bracket")
        rest = rest[1:]
    elif isinstance(first, int) or first in (")", "*", "·", "/"):
        raise ValueError("no symbol")
    else:
        found = NONE if first == "1" else {first: Fraction(1)}
    if rest and isinstance(rest[0], int):
        found, rest = times(NONE, found, rest[0]), rest[1:]
    return found, rest


def write_unit(dimension: Dimension) -> str:
    """A unit as text, such as `W/(m·K)`; empty for none."""
    if list(dimension.values()) == [1]:
        return next(iter(dimension))
    above = [_raised(name, power) for name, power in dimension.items() if power > 0]
    below = [_raised(name, -power) for name, power in dimension.items() if power < 0]
    if not below:
        return "·".join(above)
    under = below[0] if len(below) == 1 else f"({'·'.join(below)})"
    return f"{'·'.join(above) or '1'}/{under}"


def _raised(name: str, power: Fraction) -> str:
    shown = name if re.fullmatch(_SYMBOL, name) else f"({name})"
    if power == 1:
        return shown
    return shown + (str(power).translate(_RAISED) if power.denominator == 1 else f"^({power})")


def times(left: Dimension, right: Dimension, power: Fraction | int = 1) -> Dimension:
    """The dimension of left × right^power."""
    found = dict(left)
    for name, exponent in right.items():
        found[name] = found.get(name, Fraction(0)) + power * exponent
    return {name: exponent for name, exponent in found.items() if exponent}


class Dimensions:
    """What some equations say of the units of the names in them."""

    def __init__(self, trees: Iterable[trees.Expression], units: Mapping[str, str]) -> None:
        """Args:
        trees: left side minus right side of each equation.
        units: the units that are known, by name."""
        self.units = units
        self._solved: dict[str, Dimension] = {}
        self._fresh, self._consistent = 0, True
        for tree in trees:
            self._of(tree)
        if not self._consistent:
            self._solved = {}

    def unit_of(self, node: trees.Expression) -> str | None:
        """The unit of an expression in these names, empty for none; None where it is not determined."""
        kept, self._consistent = self._solved, True
        found = self._reduced(self._of(node))
        self._solved = kept
        determined = self._consistent and not any(_open(name) for name in found)
        return write_unit(found) if determined else None

    def _named(self, name: str) -> Dimension:
        return read_unit(self.units[name]) if name in self.units else {f" {name}": Fraction(1)}

    def _anything(self) -> Dimension:
        self._fresh += 1
        return {f" {self._fresh}": Fraction(1)}

    def _of(self, node: trees.Expression) -> Dimension:
        """The dimension of an expression; what its sums and functions imply is collected on the way."""
        match node:
            case trees.Number(value):
                return NONE if _pure(value) else self._anything()
            case trees.Constant("pi", _):
                return NONE
            case trees.Constant(name, _) | trees.Coordinate(name) | trees.Unknown(name) | trees.Given(name, _):
                return self._named(name)
            case trees.Varying(name, _, axes):
                return self._partial(name, axes)
            case trees.Derivative(field, terms):
                return self._same([self._partial(field, axes) for axes in terms])
            case trees.Applied():
                return self._of(trees.spelled(node))
            case trees.Sum(terms):
                return self._same([self._of(child) for _, child in terms if child != trees.Number(0.0)])
            case trees.Product(factors):
                found = NONE
                for power, child in factors:
                    found = times(found, self._of(child), power)
                return found
            case trees.Power(base, exponent):
                return self._power(base, exponent)
            case trees.Call("sqrt", (argument,)):
                return times(NONE, self._of(argument), Fraction(1, 2))
            case trees.Call("abs" | "min" | "max", arguments):
                return self._same([self._of(argument) for argument in arguments])
            case trees.Call(_, (argument, *_)):
                return self._function(argument)
        raise TypeError(f"{node} is no expression")

    def _partial(self, field: str, axes: tuple[str, ...]) -> Dimension:
        found = self._named(field)
        for axis in axes:
            found = times(found, self._named(axis), -1)
        return found

    def _power(self, base: trees.Expression, exponent: trees.Expression) -> Dimension:
        power = _constant(exponent)
        if power is not None:
            return times(NONE, self._of(base), Fraction(power).limit_denominator(PURE))
        self._vanishes(self._of(base))
        self._vanishes(self._of(exponent))
        return NONE

    def _function(self, argument: trees.Expression) -> Dimension:
        """Of a function such as exp, whose argument has no unit.

        A coordinate or field without a unit may be the logarithm of something that has one: exp of it is anything."""
        names = {node.field if isinstance(node, trees.Derivative) else node.name
                 for node in trees.walk(argument) if isinstance(node, trees.Derivative | trees.Coordinate)}  # fmt: skip
        if not names <= set(self.units):
            return self._anything()
        self._vanishes(self._of(argument))
        return NONE

    def _same(self, dimensions: list[Dimension]) -> Dimension:
        for other in dimensions[1:]:
            self._vanishes(times(dimensions[0], other, -1))
        return dimensions[0] if dimensions else self._anything()

    def _vanishes(self, dimension: Dimension) -> None:
        """Take up that a dimension is none: solve for one quantity in it whose unit is not known."""
        left = self._reduced(dimension)
        name = next((each for each in left if _open(each)), None)
        if name is None:
            self._consistent = self._consistent and not left
            return
        rest = {each: power for each, power in left.items() if each != name}
        found = times(NONE, rest, -1 / left[name])
        self._solved = {each: _replaced(known, name, found) for each, known in self._solved.items()} | {name: found}

    def _reduced(self, dimension: Dimension) -> Dimension:
        for name in [each for each in dimension if each in self._solved]:
            dimension = _replaced(dimension, name, self._solved[name])
        return dimension


def _open(name: str) -> bool:
    return name.startswith(" ")


def _replaced(dimension: Dimension, name: str, value: Dimension) -> Dimension:
    if name not in dimension:
        return dimension
    return times({each: power for each, power in dimension.items() if each != name}, value, dimension[name])


def _pure(value: float) -> bool:
    ratio = Fraction(value).limit_denominator(PURE)
    return abs(ratio.numerator) <= PURE and float(ratio) == value


def _constant(node: trees.Expression) -> float | None:
    """The value of a number, or of the negative of one."""
    match node:
        case trees.Number(value):
            return value
        case trees.Sum(((sign, trees.Number(value)),)):
            return sign * value
        case trees.Product(((1, trees.Number(above)), (-1, trees.Number(below)))) if below:
            return above / below
    return None
