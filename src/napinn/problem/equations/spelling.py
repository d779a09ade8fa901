"""Equations as people type them: signs that a text processor writes, and what to write in place of dN/dt, N' and 3x."""

import re
from collections.abc import Sequence

SIGNS = str.maketrans({"−": "-", "–": "-", "·": "*", "⋅": "*", "×": "*", "÷": "/", "²": "**2", "³": "**3", "^": "**"})
"""Signs of books and text processors, as they are read."""
_LEIBNIZ = re.compile(
    r"(?<![\w.])[d∂](?:\*\*|\^)?[23²³]?\s?(?P<field>[^\W\d]\w*?)\s*/\s*[d∂]\s?(?P<axis>[^\W\d]\w*?)(?:\*\*|\^)?(?P<order>[23²³]?)(?!\w)"
)
_PRIMED = re.compile(r"([^\W\d]\w*)(['′’]+)")
_UNJOINED = re.compile(
    r"(?P<left>(?<![\w.])\d+(?:\.\d*)?(?:[eE][+-]?\d+)?(?![\d.]|[eE][+-]?\d)|\)|[^\W\d]\w*(?=\s))\s*(?P<right>[^\W\d]\w*|(?<=[\d)])\()"
)
_ORDERS = {"": 1, "2": 2, "²": 2, "3": 3, "³": 3}


def plain_signs(text: str) -> str:
    """The text with the signs that the reader of equations knows.

    :param text: One side of an equation."""
    return text.translate(SIGNS)


def derivative_hint(text: str, fields: Sequence[str], coordinates: Sequence[str]) -> str | None:
    """How a derivative that was written dN/dt or N' is written here; None where there is none.

    :param text: An equation.
    :param fields: Names that may be differentiated.
    :param coordinates: Names by which."""
    for found in _LEIBNIZ.finditer(text):
        field, axis = found["field"], found["axis"]
        if field in fields and axis in coordinates:
            axes = [axis] * _ORDERS[found["order"]]
            plain = f"{field}_{''.join(axes)}" if len(axis) == 1 else f"d({field}, {', '.join(axes)})"
            return f"write the derivative {found[0].strip()} as {plain}"
    primed = next((found for found in _PRIMED.finditer(text) if found[1] in fields), None)
    if primed is None or not coordinates:
        return None
    axis = next((name for name in ("t", "time", "x") if name in coordinates), coordinates[0])
    return f"write the derivative {primed[0]} as {primed[1]}_{axis * len(primed[2])}"


def product_hint(text: str) -> str | None:
    """Where a sign is missing between two factors; None where none seems to be.

    :param text: One side of an equation that could not be read."""
    found = _UNJOINED.search(text)
    if found is None:
        return None
    return f"a sign is missing in '{found[0]}'; write a product as {found['left']}*{found['right']}"
