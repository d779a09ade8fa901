"""An equation as MathML, which browsers draw and screen readers speak without any script.

With `values`, unknowns are replaced by the numbers that were found for them."""

from collections import Counter
from collections.abc import Mapping
from html import escape

from napinn.problem.equations import tree as trees
from napinn.problem.equations.equation import Equation
from napinn.problem.equations.printing import is_negative, show, symbol

_SUM, _PRODUCT, _POWER, _ATOM = range(4)
_TIMES, _INVISIBLE_TIMES, _APPLY = "<mo>×</mo>", "<mo>&#x2062;</mo>", "<mo>&#x2061;</mo>"
_THIN_SPACE = '<mspace width="0.12em"/>'
_DOT = '<mo lspace="0.12em" rspace="0.12em">·</mo>'
LONGEST_ROW = 58
"""Characters of the plain text after which an equation continues in a new row; MathML itself breaks no lines."""

Values = Mapping[str, float]


def mathml(equation: Equation, values: Values | None = None) -> str:
    """A `<math>` block; an equation that is a Python function is shown by its name."""
    if not isinstance(equation.tree, trees.Sum):
        return _block(f"<mtext>{escape(equation.shown)}</mtext>", equation.shown)
    (_, left), (_, right) = equation.tree.terms
    rows = _rows(left, right, values or {})
    if len(rows) == 1:
        return _block(rows[0], equation.shown)
    cells = "".join(f'<mtr><mtd style="text-align: left">{row}</mtd></mtr>' for row in rows)
    return _block(f'<mtable displaystyle="true">{cells}</mtable>', equation.shown)


def _block(content: str, label: str) -> str:
    return f'<math display="block" aria-label="{escape(label)}"><mrow>{content}</mrow></math>'


def _rows(left: trees.Expression, right: trees.Expression, values: Values) -> list[str]:
    """The whole equation in one row where it fits, otherwise broken before the `=` and before terms of a sum."""
    pieces = [*_terms(left, values), *_relation(_terms(right, values))]
    rows: list[str] = []
    used = LONGEST_ROW + 1
    for text, length in pieces:
        if used + length > LONGEST_ROW:
            rows.append(text if not rows else f'<mspace width="2em"/>{text}')
            used = length
        else:
            rows[-1] += text
            used += length
    return rows


def _relation(terms: list[tuple[str, int]]) -> list[tuple[str, int]]:
    (text, length), *rest = terms
    return [(f"<mo>=</mo>{text}", length + 3), *rest]


def _terms(side: trees.Expression, values: Values) -> list[tuple[str, int]]:
    """The terms of a sum, each with its sign and the length of its plain text."""
    if not isinstance(side, trees.Sum):
        return [(_markup(side, values)[0], len(show(side)))]
    return [
        (text, len(show(child)) + 3) for text, (_, child) in zip(_signed(side.terms, values), side.terms, strict=True)
    ]


def _markup(node: trees.Expression, values: Values) -> tuple[str, int]:
    """The markup of a node and how tightly it binds."""
    match node:
        case trees.Number(value):
            return _number(value), _ATOM if value >= 0 else _SUM
        case trees.UnknownLeaf(name) if name in values:
            return _number(values[name]), _ATOM if values[name] >= 0 else _SUM
        case trees.Constant(name, _) | trees.Coordinate(name) | trees.UnknownLeaf(name):
            return _name(name), _ATOM
        case trees.Given(name, coordinates) | trees.Varying(name, coordinates, ()):
            inside = "<mo>,</mo>".join(_name(coordinate) for coordinate in coordinates)
            return f"<mrow>{_name(name)}{_APPLY}{_fenced(inside)}</mrow>", _ATOM
        case trees.Varying(name, _, axes):
            return _partial(name, axes), _ATOM
        case trees.Derivative(field, terms):
            parts = [_partial(field, axes) for axes in terms]
            return "<mo>+</mo>".join(parts), _ATOM if len(parts) == 1 else _SUM
        case trees.Applied():
            return _markup(trees.spelled(node), values)
        case trees.Sum(terms):
            return "".join(_signed(terms, values)), _SUM
        case trees.Product(factors):
            return _product(factors, values)
        case trees.Power(base, exponent):
            return f"<msup>{_row(_base(base, values))}{_row(_markup(exponent, values)[0])}</msup>", _POWER
        case trees.Call("sqrt", (argument,)):
            return f"<msqrt>{_markup(argument, values)[0]}</msqrt>", _ATOM
        case trees.Call("abs", (argument,)):
            return f"<mrow><mo>|</mo>{_markup(argument, values)[0]}<mo>|</mo></mrow>", _ATOM
        case trees.Call("log10", (argument,)):
            name = "<msub><mi>log</mi><mn>10</mn></msub>"
            return f"<mrow>{name}{_APPLY}{_fenced(_markup(argument, values)[0])}</mrow>", _ATOM
        case trees.Call(function, arguments):
            inside = "<mo>,</mo>".join(_markup(argument, values)[0] for argument in arguments)
            return f"<mrow><mi>{function}</mi>{_APPLY}{_fenced(inside)}</mrow>", _ATOM


def _wrap(node: trees.Expression, values: Values, at_least: int) -> str:
    markup, binding = _markup(node, values)
    return markup if binding >= at_least else _fenced(markup)


def _base(node: trees.Expression, values: Values) -> str:
    # A partial is drawn as a fraction, so a power of it needs brackets although it is one symbol in the tree.
    partial = isinstance(node, trees.Derivative) and node.terms != ((),)
    return _fenced(_markup(node, values)[0]) if partial else _wrap(node, values, _ATOM)


def _fenced(markup: str) -> str:
    return f"<mrow><mo>(</mo>{markup}<mo>)</mo></mrow>"


def _row(markup: str) -> str:
    return f"<mrow>{markup}</mrow>"


def _number(value: float) -> str:
    digits, _, power = f"{abs(value):.5g}".partition("e")
    minus = "<mo>−</mo>" if value < 0 else ""
    if not power:
        return f"{minus}<mn>{digits}</mn>"
    exponent = int(power)
    shown = f"<mn>{exponent}</mn>" if exponent >= 0 else f"<mrow><mo>−</mo><mn>{-exponent}</mn></mrow>"
    return f"{minus}<mrow><mn>{digits}</mn>{_TIMES}<msup><mn>10</mn>{shown}</msup></mrow>"


def _name(name: str) -> str:
    head, _, tail = symbol(name).partition("_")
    letter = f"<mi>{escape(head)}</mi>"
    return f"<msub>{letter}<mi>{escape(tail)}</mi></msub>" if head and tail else letter


def _partial(field: str, axes: tuple[str, ...]) -> str:
    if not axes:
        return _name(field)
    above = f"{_raised('<mo>∂</mo>', len(axes))}{_name(field)}"
    below = "".join(f"<mo>∂</mo>{_raised(_name(axis), count)}" for axis, count in Counter(axes).items())
    return f"<mfrac><mrow>{above}</mrow><mrow>{below}</mrow></mfrac>"


def _raised(markup: str, count: int) -> str:
    return markup if count == 1 else f"<msup>{markup}<mn>{count}</mn></msup>"


def _signed(terms: tuple[tuple[int, trees.Expression], ...], values: Values) -> list[str]:
    parts = []
    for position, (sign, child) in enumerate(terms):
        first = position == 0
        mark = "<mo>−</mo>" if sign < 0 else "" if first else "<mo>+</mo>"
        parts.append(mark + _wrap(child, values, _SUM if first and sign > 0 else _PRODUCT))
    return parts


def _product(factors: tuple[tuple[int, trees.Expression], ...], values: Values) -> tuple[str, int]:
    first = _SUM if is_negative(factors) else _PRODUCT
    above = [
        _wrap(child, values, first if position == 0 else _POWER)
        for position, (power, child) in enumerate(factors)
        if power > 0
    ]
    below = [_wrap(child, values, _POWER) for power, child in factors if power < 0]
    top = _joined(above) or "<mn>1</mn>"
    return f"<mfrac>{_row(top)}{_row(_joined(below))}</mfrac>" if below else top, first


def _joined(factors: list[str]) -> str:
    """Factors in a row, with a dot between them: without one, `k Ca Cb` cannot be distinguished from one long name.

    Brackets and fractions need no sign before them, and a number needs a cross, because a dot would look decimal."""
    joined = ""
    for factor in factors:
        inner = factor.removeprefix("<msup>").removeprefix("<mrow>")
        if inner.startswith("<mn>"):
            sign = _TIMES
        else:
            needless = inner.removeprefix("<mrow>").startswith(("<mo>(</mo>", "<mfrac>"))
            sign = _INVISIBLE_TIMES + _THIN_SPACE if needless else _DOT
        joined += (sign if joined else "") + factor
    return joined
