"""What a part of an equation is where units are concerned: a number, a named coefficient, a factor."""

from fractions import Fraction

from napinn.problem.equations import tree as trees

PURE = 12
"""Whole numbers up to this one, and ratios of them, have no unit beside a named coefficient, as in k/2 or 4 π k. Any
other number may hide one: 60 seconds in a minute, 9.81 m/s²."""


def flat_terms(node: trees.Expression, sign: int) -> list[tuple[int, trees.Expression]]:
    """The terms of a sum, and of sums in it."""
    if not isinstance(node, trees.Sum):
        return [(sign, node)]
    return [each for own, child in node.terms for each in flat_terms(child, sign * own)]


def flat_factors(node: trees.Expression) -> list[trees.Expression]:
    """The factors of a product, of products in it and of powers."""
    match node:
        case trees.Product(factors):
            return [each for _, child in factors for each in flat_factors(child)]
        case trees.Power(base, _):
            return flat_factors(base)
    return [node]


def leaf_name(node: trees.Expression) -> str | None:
    match node:
        case trees.Derivative(name, ((),)) | trees.UnknownLeaf(name) | trees.Coordinate(name) | trees.Given(name, _):
            return name.partition("@")[0]
        case trees.Constant(name, _) if name != "pi":
            return name
        case trees.Varying(name, _, ()):
            return name
    return None


def is_literal(node: trees.Expression) -> bool:
    """Whether a node is π or a number, also one that is raised to a number."""
    match node:
        case trees.Number() | trees.Constant("pi", _):
            return True
        case trees.Power(base, exponent):
            return is_literal(base) and constant_value(exponent) is not None
        case trees.Sum(terms):
            return all(is_literal(child) for _, child in terms)
    return False


def is_number(node: trees.Expression) -> bool:
    """Whether a node has no names but in the arguments of functions: it then has no unit, or hides one."""
    match node:
        case trees.Number() | trees.Constant("pi", _):
            return True
        case trees.Call("sqrt" | "abs" | "min" | "max" | "mean" | "integral", arguments):
            return is_number(arguments[0])
        case trees.Call():
            return True
        case trees.Power(base, _):
            return is_number(base)
        case trees.Sum() | trees.Product():
            return all(map(is_number, trees.children(node)))
    return False


def has_coefficient(node: trees.Expression) -> bool:
    """Whether a product has a factor that is a named coefficient."""
    match node:
        case trees.UnknownLeaf() | trees.Given() | trees.Varying():
            return True
        case trees.Constant(name, _):
            return name != "pi"
        case trees.Product(factors):
            return any(has_coefficient(child) for _, child in factors)
        case trees.Power(base, _):
            return has_coefficient(base)
        case trees.Call("sqrt" | "abs", (argument,)):
            return has_coefficient(argument)
    return False


def is_pure(node: trees.Expression) -> bool:
    """Whether all numbers in a node are small whole ones, or ratios of such."""
    return all(_is_small_ratio(each.value) for each in trees.walk(node) if isinstance(each, trees.Number))


def _is_small_ratio(value: float) -> bool:
    ratio = Fraction(value).limit_denominator(PURE)
    return abs(ratio.numerator) <= PURE and float(ratio) == value


def constant_value(node: trees.Expression) -> float | None:
    """The value of a number, or of the negative of one."""
    match node:
        case trees.Number(value):
            return value
        case trees.Sum(((sign, trees.Number(value)),)):
            return sign * value
        case trees.Product(((1, trees.Number(above)), (-1, trees.Number(below)))) if below:
            return above / below
    return None


def multiplied(node: trees.Expression, factor: float) -> trees.Expression:
    """A number times a node; a mean keeps its form, because an observable that is one is computed directly."""
    match node:
        case trees.Call("mean" | "integral" as function, (argument, *axes)):
            return trees.Call(function, (multiplied(argument, factor), *axes))
        case trees.Product(factors):
            return trees.Product(((1, trees.Number(factor)), *factors))
    return trees.Product(((1, trees.Number(factor)), (1, node)))
