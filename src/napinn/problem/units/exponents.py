"""Units in symbols that may be open, and the linear equations between their exponents, which are solved exactly."""

from collections.abc import Collection
from fractions import Fraction

from napinn.problem.units.system import NONE, Unit, UnitSystem, times

OPEN = " "
"""Begins the symbol of a quantity whose unit is not known."""
NUMBER = " #"
"""Begins the symbol of a number that may hide a unit."""


def is_open(name: str) -> bool:
    return name.startswith(OPEN)


def replaced(unit: Unit, name: str, value: Unit) -> Unit:
    if name not in unit:
        return unit
    return times({each: power for each, power in unit.items() if each != name}, value, unit[name])


class Exponents:
    """Which units of open symbols follow from what was taken up so far."""

    def __init__(self, system: UnitSystem, fields: Collection[str]) -> None:
        """Args:
        system: reads the units.
        fields: names of fields and coordinates, which are solved for last."""
        self.system, self._fields = system, frozenset(fields)
        self._solved: dict[str, Unit] = {}

    def copy(self) -> "Exponents":
        """The same, so that a trial changes nothing here."""
        found = Exponents(self.system, self._fields)
        found._solved = dict(self._solved)
        return found

    def is_field(self, symbol: str) -> bool:
        """Whether an open symbol is of a name that is not a coefficient; these are listed by the problem."""
        return symbol.removeprefix(OPEN) in self._fields

    def solve(self, unit: Unit) -> None:
        """Take up that a unit is none: solve for one quantity in it whose unit is not known, coefficients first."""
        open_names = [each for each in unit if is_open(each)]
        ranked = sorted(open_names, key=lambda each: (self.is_field(each), each.startswith(NUMBER)))
        name = ranked[0]
        rest = {each: power for each, power in unit.items() if each != name}
        found = times(NONE, rest, -1 / unit[name])
        if not name.startswith(NUMBER):
            found = self._merged(found)
        self._solved = {each: replaced(known, name, found) for each, known in self._solved.items()} | {name: found}

    def _merged(self, unit: Unit) -> Unit:
        """The unit with one symbol for each dimension: the first of hours and minutes is used for both."""
        found: dict[str, Fraction] = {}
        for name, power in unit.items():
            like = next((each for each in found if self._same_kind(each, name)), name)
            found[like] = found.get(like, Fraction(0)) + power
        return {name: power for name, power in found.items() if power}

    def _same_kind(self, one: str, other: str) -> bool:
        if is_open(one) or is_open(other):
            return one == other
        roots = self.system.root({one: Fraction(1)})[1]
        return bool(roots) and roots == self.system.root({other: Fraction(1)})[1]

    def reduced(self, unit: Unit) -> Unit:
        for name in [each for each in unit if each in self._solved]:
            unit = replaced(unit, name, self._solved[name])
        return unit
