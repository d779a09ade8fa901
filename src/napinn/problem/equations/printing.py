"""An expression as mathematics that any terminal can show: `∂u/∂t + u ∂u/∂x = ν (∂²u/∂x² + ∂²u/∂y²)`."""

from collections import Counter

from napinn.problem.equations import tree as trees

_GREEK = {
    "alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "epsilon": "ε", "eps": "ε", "zeta": "ζ", "eta": "η",
    "theta": "θ", "kappa": "κ", "lam": "λ", "lambda": "λ", "mu": "μ", "nu": "ν", "xi": "ξ", "pi": "π", "rho": "ρ",
    "sigma": "σ", "tau": "τ", "phi": "φ", "chi": "χ", "psi": "ψ", "omega": "ω",
}  # fmt: skip
_SUPERSCRIPTS = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
_SUM, _PRODUCT, _POWER, _ATOM = range(4)


def symbol(name: str) -> str:
    """A name as it is written by hand: Greek letters by their letter, a trailing `_2` or `2` left as it is."""
    head, separator, tail = name.partition("_")
    return _GREEK.get(head, head) + separator + tail


def show_equation(left: trees.Expression, right: trees.Expression) -> str:
    return f"{show(left)} = {show(right)}"


def show(node: trees.Expression) -> str:
    return _show(node)[0]


def _show(node: trees.Expression) -> tuple[str, int]:
    """The text of a node and how tightly it binds."""
    match node:
        case trees.Number(value):
            return _number(value), _ATOM if value >= 0 else _SUM
        case trees.Constant(name, _) | trees.Coordinate(name) | trees.UnknownLeaf(name):
            return symbol(name), _ATOM
        case trees.Given(name, coordinates) | trees.Varying(name, coordinates, ()):
            return f"{symbol(name)}({', '.join(map(symbol, coordinates))})", _ATOM
        case trees.Varying(name, _, axes):
            return _partial(name, axes), _ATOM
        case trees.Derivative(field, terms):
            parts = [_partial(field, axes) for axes in terms]
            return " + ".join(parts), _ATOM if len(parts) == 1 else _SUM
        case trees.Applied():
            return _show(trees.spelled(node))
        case trees.Sum(terms):
            return _sum(terms), _SUM
        case trees.Product(factors):
            return _product(factors)
        case trees.Power(base, exponent):
            return _power(base, exponent), _POWER
        case trees.Call(function, arguments):
            return f"{function}({', '.join(show(argument) for argument in arguments)})", _ATOM


def _wrap(node: trees.Expression, at_least: int) -> str:
    text, binding = _show(node)
    return text if binding >= at_least else f"({text})"


def _number(value: float) -> str:
    return ("−" if value < 0.0 else "") + f"{abs(value):.6g}"


def _partial(field: str, axes: tuple[str, ...]) -> str:
    if not axes:
        return symbol(field)
    order = _raised(len(axes))
    below = "".join(f"∂{symbol(axis)}{_raised(count)}" for axis, count in Counter(axes).items())
    return f"∂{order}{symbol(field)}/{below}"


def _raised(count: int) -> str:
    return "" if count == 1 else str(count).translate(_SUPERSCRIPTS)


def _sum(terms: tuple[tuple[int, trees.Expression], ...]) -> str:
    text = ""
    for position, (sign, child) in enumerate(terms):
        if position == 0:
            text = ("−" if sign < 0 else "") + _wrap(child, _PRODUCT if sign < 0 else _SUM)
        else:
            text += (" − " if sign < 0 else " + ") + _wrap(child, _PRODUCT)
    return text


def is_negative(factors: tuple[tuple[int, trees.Expression], ...]) -> bool:
    """Whether a product begins with a negative number, whose sign is then that of the whole.

    Args:
        factors: pairs of exponent and expression."""
    power, child = factors[0]
    return power > 0 and isinstance(child, trees.Number) and child.value < 0.0


def _product(factors: tuple[tuple[int, trees.Expression], ...]) -> tuple[str, int]:
    first = _SUM if is_negative(factors) else _PRODUCT
    above = [
        _wrap(child, first if position == 0 else _POWER) for position, (power, child) in enumerate(factors) if power > 0
    ]
    below = [_wrap(child, _POWER) for power, child in factors if power < 0]
    top = " ".join(above) or "1"
    if not below:
        return top, first
    # A partial is itself written as a fraction, so a quotient of products gets brackets on both sides.
    return f"{_fenced(top)} / {_fenced(' '.join(below))}", first


def _fenced(text: str) -> str:
    simple = all(mark not in text for mark in " /") or (
        text.startswith("(") and text.endswith(")") and text.count("(") == 1
    )
    return text if simple else f"({text})"


def _power(base: trees.Expression, exponent: trees.Expression) -> str:
    shown = _wrap(base, _ATOM)
    if "/" in shown and not shown.startswith("("):
        shown = f"({shown})"
    if isinstance(exponent, trees.Number) and exponent.value.is_integer():
        return shown + str(int(exponent.value)).translate(_SUPERSCRIPTS)
    return f"{shown}^{_wrap(exponent, _ATOM)}"
