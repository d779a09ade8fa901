"""The units that a problem may use: those that pint knows, and counts of the problem's own such as cells.

Pint reads a text only after it was taken apart here. Pint itself evaluates no code, but it computes the numbers in a
text, and `9**9**9` would never end: so a number is allowed in a text only as an exponent."""

import difflib
import functools
import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from napinn.errors import InputError

if TYPE_CHECKING:
    import pint

Unit = Mapping[str, Fraction]
"""Exponents by pint's name of a unit; a difference of temperatures has the name of the temperature itself."""
NONE: Unit = {}
LONGEST = 60
"""Characters of a unit. The longest unit in use, such as `kg·m²/(s³·A·mol)`, has a third of them."""
LARGEST_EXPONENT = 12
"""Of a unit in a text; physics needs 4, and a root of 12."""
MOST_OWN = 20
"""Units of a problem's own."""
_DELTA = "delta_"
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")
_RAISED = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
_LETTER = r"[^\W\d_⁰¹²³⁴⁵⁶⁷⁸⁹]"
_NAME = rf"°?{_LETTER}(?:[^\W⁰¹²³⁴⁵⁶⁷⁸⁹]*{_LETTER})?|[°%‰]"
_TOKEN = re.compile(
    rf"\s*(?:(?P<name>{_NAME})|(?:\^|\*\*)\s*(?:(?P<power>-?\d+)|\(\s*(?P<root>-?\d+(?:/\d+)?)\s*\))"
    r"|(?P<raised>⁻?[⁰¹²³⁴⁵⁶⁷⁸⁹]+)|(?P<one>1)(?![\w.])|(?P<behind>-?\d+)|(?P<sign>[*·⋅/()]))\s*"
)
_DEGREES = re.compile(r"\bdeg(?:rees?)?\s+([CFK])\b", re.IGNORECASE)
"""A temperature in two words, which pint would read as an angle times a charge."""
_WORDS = {"%": "percent", "‰": "permille", "°": "degree"}


@functools.lru_cache(maxsize=8)
def _registry(own: tuple[str, ...]) -> "pint.UnitRegistry":
    """Pint's own units and these; importing pint takes a fifth of a second and reading its units another."""
    import pint

    registry = pint.UnitRegistry()
    for name in own:
        if name in registry:
            known = registry.get_name(name).replace("_", " ")
            raise InputError(f"own_units: '{name}' is {known} already; remove it.")
        registry.define(f"{name} = [of_its_own_{name}]")
    return registry


class UnitSystem:
    """Reads, writes and converts units. A unit is written with the symbols in which it was first read."""

    def __init__(self, own: Sequence[str] = ()) -> None:
        """Args:
        own: names of counts that no list of units holds, such as `cells`."""
        self.own = tuple(own)
        self._symbols: dict[str, str] = {}
        self._roots: dict[str, tuple[float, Unit]] = {}
        self._read: dict[str, Unit] = {}
        if len(self.own) > MOST_OWN:
            raise InputError(f"own_units has {len(self.own)} names, and napinn takes at most {MOST_OWN}; use fewer.")
        for name in self.own:
            if len(name) > LONGEST or not re.fullmatch(_NAME, name) or not name.isidentifier():
                raise InputError(
                    f"own_units: '{_short(name)}' is not a valid name of a unit; use letters and underscores, as in "
                    "view_field."
                )
        if self.own:
            _registry(self.own)

    @property
    def registry(self) -> "pint.UnitRegistry":
        return _registry(self.own)

    def knows(self, text: str) -> bool:
        """Whether a text is a unit.

        Args:
            text: as for `read`."""
        try:
            self.read(text, "unit")
        except InputError:
            return False
        return True

    def read(self, text: str, entry: str) -> Unit:
        """The unit that a text means.

        Args:
            text: such as `W/(m·K)`, `m s-1`, `°C` or `1`.
            entry: where it stands, for the sentence of a refusal."""
        if text not in self._read:
            self._read[text] = self._taken(text.strip(), entry)
        return self._read[text]

    def _taken(self, text: str, entry: str) -> Unit:
        if text in ("", "1", "-"):
            return NONE
        plain = self._plain(text, entry)
        import pint

        try:
            found = self.registry.parse_units_as_container(plain)
        except (pint.PintError, ValueError, TypeError, AttributeError, SyntaxError, OverflowError, ZeroDivisionError,
                RecursionError, KeyError, IndexError):  # fmt: skip
            raise InputError(f"{entry}: '{_short(text)}' cannot be read as a unit; write one such as m/s.") from None
        unit = {
            str(name).removeprefix(_DELTA): Fraction(str(power)).limit_denominator(LARGEST_EXPONENT)
            for name, power in found.items()
        }
        if any(abs(power) > LARGEST_EXPONENT for power in unit.values()):
            raise InputError(f"{entry}: '{_short(text)}' has an exponent above {LARGEST_EXPONENT}; correct it.")
        return unit

    def _plain(self, text: str, entry: str) -> str:
        """A text in the spelling that pint reads: names, exponents, `*`, `/` and brackets; anything else is refused."""
        if len(text) > LONGEST:
            raise InputError(
                f"{entry}: the unit '{_short(text)}' has {len(text)} characters, and the longest allowed is {LONGEST}."
            )
        rest = re.sub(r"\s+per\s+", "/", _DEGREES.sub(r"deg\1", text))
        parts, position, ended, depth = [], 0, False, 0
        # `ended` says that a factor has ended, so that an exponent, a sign or a closing bracket may follow.
        while position < len(rest):
            token = _TOKEN.match(rest, position)
            power = token and (token["power"] or token["root"] or token["raised"] or token["behind"])
            if token is None or (power and not (ended and parts[-1][0] != "*" and len(power) <= len("-12/12"))):
                break
            sign = token["sign"]
            if power:
                parts.append(f"**({power.translate(_SUPERSCRIPTS)})")
            elif sign is None or sign == "(":
                parts += ["*"] if ended else []
                parts.append(sign or token["one"] or self._known(token["name"], entry))
                depth, ended = depth + (sign == "("), sign is None
            elif ended and (sign != ")" or depth):
                parts.append("/" if sign == "/" else ")" if sign == ")" else "*")
                depth, ended = depth - (sign == ")"), sign == ")"
            else:
                break
            position = token.end()
        if position < len(rest) or depth or not ended:
            raise InputError(f"{entry}: '{_short(text)}' cannot be read as a unit; write one such as m/s.")
        return "".join(parts)

    def _known(self, symbol: str, entry: str) -> str:
        """A symbol as pint spells it."""
        spelled = _WORDS.get(symbol, symbol.replace("°", "deg") if symbol.startswith("°") else symbol)
        import pint

        try:
            name = self.registry.get_name(spelled)
        except (pint.PintError, ValueError, TypeError, AttributeError, KeyError):
            raise InputError(
                f"{entry}: '{symbol}' is not a known unit{self._nearest(symbol)}; correct it, or write "
                f"'own_units: [{symbol}]' if it is a count, such as cells."
            ) from None
        self._symbols.setdefault(name.removeprefix(_DELTA), symbol)
        return spelled

    def _nearest(self, symbol: str) -> str:
        names = [name for name in (*self.own, *self.registry._units) if "_" not in name or name in self.own]
        lower = {name.lower(): name for name in reversed(names)}
        close = difflib.get_close_matches(symbol.lower(), lower, n=1, cutoff=0.6)
        return f" (the nearest is '{lower[close[0]]}')" if close else ""

    def words(self, text: str, entry: str) -> str:
        """A unit in words, such as `degree Celsius`, and what it measures; empty for none."""
        unit = self.read(text, entry)
        shown = self.registry.Unit(self.registry.UnitsContainer({name: float(power) for name, power in unit.items()}))
        return f"{shown:P}".replace("_", " ") if unit else "no unit"

    def write(self, unit: Unit) -> str:
        """A unit as text, such as `W/(m·K)`; empty for none."""
        above = [self._raised(name, power) for name, power in unit.items() if power > 0]
        below = [self._raised(name, -power) for name, power in unit.items() if power < 0]
        if not below:
            return "·".join(above)
        under = below[0] if len(below) == 1 else f"({'·'.join(below)})"
        return f"{'·'.join(above) or '1'}/{under}"

    def _raised(self, name: str, power: Fraction) -> str:
        symbol = self._symbols.get(name) or (name if name.startswith(" ") else self.registry.get_symbol(name))
        if power == 1:
            return symbol.strip()
        return symbol.strip() + (str(power).translate(_RAISED) if power.denominator == 1 else f"^({power})")

    def root(self, unit: Unit) -> tuple[float, Unit]:
        """How many of pint's root units a unit is, and these; a number without a dimension, as radian, is left out, and
        a symbol that is open, which begins with a space, stays."""
        size, found = 1.0, NONE
        for name, power in unit.items():
            factor, roots = self._root(name) if not name.startswith(" ") else (1.0, {name: Fraction(1)})
            size *= factor ** float(power)
            found = times(found, roots, power)
        return size, found

    def _root(self, name: str) -> tuple[float, Unit]:
        if name not in self._roots:
            registry = self.registry
            definition = registry._units[registry.get_name(name)]
            if definition.is_logarithmic:
                # A decibel is no multiple of anything.
                self._roots[name] = 1.0, {name: Fraction(1)}
            else:
                difference = name if definition.is_multiplicative else _DELTA + name
                factor, roots = registry.get_root_units(difference)
                kept = {
                    str(root): Fraction(str(power)).limit_denominator(LARGEST_EXPONENT)
                    for root, power in roots._units.items()
                    if registry.get_dimensionality(str(root))
                }
                self._roots[name] = float(str(factor)), kept
        return self._roots[name]

    def dimension(self, unit: Unit) -> str:
        """What a unit measures, such as `length/time`; `a number` for none."""
        roots, names = self.root(unit)[1], {}
        for root, power in roots.items():
            shown = next(iter(self.registry.get_dimensionality(root)), root) if not root.startswith(" ") else root
            names[f" {shown.strip('[] ').removeprefix('of_its_own_')}"] = power
        return self.write(names) or "a number"

    def is_offset(self, unit: Unit) -> bool:
        """Whether a unit is a temperature whose zero is not absolute, such as °C."""
        if list(unit.values()) != [1]:
            return False
        definition = self.registry._units[self.registry.get_name(next(iter(unit)))]
        return not (definition.is_multiplicative or definition.is_logarithmic)

    def conversion(self, given: str, wanted: str, entry: str) -> tuple[float, float]:
        """Factor and offset that bring a number from one unit to another.

        Args:
            given: the unit of the number.
            wanted: the unit that it is needed in.
            entry: what is converted, for the sentence of a refusal."""
        units = [self.read(text, entry) for text in (given, wanted)]
        (size, roots), (wanted_size, wanted_roots) = map(self.root, units)
        if roots != wanted_roots:
            measures = [self.dimension(unit) for unit in units]
            raise InputError(
                f"{entry}: {given} ({measures[0]}) cannot be converted to {wanted} ({measures[1]}); correct one."
            )
        factor = rounded(size / wanted_size)
        if not any(map(self.is_offset, units)):
            return factor, 0.0
        names = [next(iter(unit)) for unit in units]
        return factor, rounded(float(self.registry.Quantity(0.0, names[0]).to(names[1]).magnitude))


def times(left: Unit, right: Unit, power: Fraction | int = 1) -> Unit:
    """The unit of left × right^power."""
    found = dict(left)
    for name, exponent in right.items():
        found[name] = found.get(name, Fraction(0)) + power * exponent
    return {name: exponent for name, exponent in found.items() if exponent}


def rounded(number: float) -> float:
    """A ratio of units without the noise of its computation: an hour has 60 minutes and not 59.99999999999999."""
    return float(f"{number:.13g}")


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
