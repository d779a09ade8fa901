"""What equations say of units: those of coefficients follow from them, and terms that disagree are refused.

The terms of a sum have one dimension, and the argument of a function such as exp has none. That gives linear equations
between exponents, which are solved exactly. Terms of one dimension in different units are converted: a factor is put
before a term, so that numbers are right whatever units a problem mixes.

A number in an equation may hide a unit. Beside a named coefficient a small whole number or a ratio of two is pure, as
in `k*u/4`. A number that is the only coefficient of its term, as in `0.3*u` or `1 - u`, has the unit that its equation
needs, and none where the equation needs none. Any other number, such as 9.81, may have any. So a number is
never the reason of a refusal, except between two units of one dimension: then it may or may not convert one to the
other."""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from napinn.errors import InputError
from napinn.problem.equations import Equation
from napinn.problem.equations import tree as trees
from napinn.problem.equations.printing import show
from napinn.problem.units.exponents import NUMBER, OPEN, Exponents, is_open
from napinn.problem.units.system import NONE, Unit, UnitSystem, rounded, times
from napinn.problem.units.temperatures import check_absolute, check_zeros
from napinn.problem.units.terms import (
    constant_value,
    has_coefficient,
    is_literal,
    is_number,
    is_pure,
    multiplied,
)

FINEST = 1_000_000
"""The largest denominator of an exponent, so that 0.37 is 37/100."""


Built = Mapping[int, trees.Expression]
"""Parts with their units converted, by the identity of each."""


@dataclass(frozen=True)
class Part:
    """A part of an equation."""

    node: trees.Expression
    unit: Unit
    """In symbols that may be open."""
    build: Callable[[], trees.Expression]
    """Once all equations are taken up: the part with its units converted."""


class Dimensions:
    """What the equations of a problem say of the units of the names in them."""

    def __init__(self, system: UnitSystem, units: Mapping[str, str], rigid: Collection[str] = ()) -> None:
        """Args:
        system: reads the units.
        units: those that are known, by name.
        rigid: fields and coordinates, whose units are rather given than found."""
        self.system, self.units, self._exponents = system, units, Exponents(system, rigid)
        self.conversions: dict[str, str] = {}
        """Every term that was converted, with a sentence."""
        self._numbers: dict[str, tuple[str, str]] = {}
        self._soft: list[str] = []
        self._fresh, self._where = 0, ""

    def take_up(
        self,
        equations: Iterable[Equation],
        observables: Mapping[str, trees.Expression],
        conditions: Iterable[Equation],
    ) -> None:
        """Take up everything that a problem says; a text that was a Python function says nothing.

        Args:
            equations: those that were given.
            observables: the expression of each.
            conditions: those that were given, without their places."""
        for name, text in self.units.items():
            self.system.read(text, f"units: {name}")
        parts = [self.add(f"equation '{each.source}'", each.tree) for each in equations if each.tree is not None]
        parts += [self._observed(name, tree) for name, tree in observables.items()]
        parts += [self.add(f"condition '{each.source}'", each.tree) for each in conditions if each.tree is not None]
        self.settle()
        for part in parts:
            part.build()

    def converted(self, equation: Equation) -> trees.Expression:
        """The tree of an equation with its units converted where they differ."""
        assert equation.tree is not None
        part = self.add(f"equation '{equation.source}'", equation.tree)
        self.settle()
        return part.build()

    def converted_observable(self, name: str, tree: trees.Expression) -> trees.Expression:
        """The expression of an observable in the observable's unit."""
        part = self._observed(name, tree)
        self.settle()
        return part.build()

    def _observed(self, name: str, tree: trees.Expression) -> Part:
        """An observable has the unit of its expression; a logarithm is that of the number before the unit."""
        where = f"observable '{name}'"
        match tree:
            case trees.Call("log" | "log10" as function, (argument,)):
                inner = self.add(where, argument)
                return Part(tree, NONE, lambda: trees.Call(function, (inner.build(),)))
        whole = self.add(where, trees.Sum(((1, trees.Derivative(name, ((),))), (-1, tree))))

        def build() -> trees.Expression:
            built = whole.build()
            assert isinstance(built, trees.Sum)
            return built.terms[1][1]

        return Part(tree, NONE, build)

    def add(self, where: str, tree: trees.Expression) -> Part:
        """Take up what a tree says; its parts are converted by `build` after `settle`.

        Args:
            where: what a sentence calls it, such as `equation 'u_t = k*u'`.
            tree: left side minus right side, or an expression."""
        self._where = where
        return self._part(tree)

    def settle(self) -> None:
        """Numbers that may have a unit and need none have none; refuse a number between two units of a dimension."""
        for name in self._soft:
            left = self._exponents.reduced({name: Fraction(1)})
            if any(is_open(each) and not self._exponents.is_field(each) for each in left):
                self._exponents.solve(left)
        self._soft.clear()
        for name, (text, where) in self._numbers.items():
            left = self._exponents.reduced({name: Fraction(1)})
            if left and not any(map(is_open, left)):
                size, roots = self.system.root(left)
                if not roots and rounded(size) != 1.0:
                    raise InputError(
                        f"{where}: the number {text} may or may not convert between units that differ by a factor "
                        f"{rounded(1 / size):g}, and napinn converts units itself; leave it out, or name it under "
                        "'constants' and give it a unit, '1' for none."
                    )
        self._numbers.clear()

    def unit_of(self, name: str) -> str | None:
        """The unit of a name, empty for none; None where it is not determined."""
        found = self._exponents.reduced(self._named(name))
        return None if any(is_open(each) for each in found) else self.system.write(found)

    def unit_of_tree(self, tree: trees.Expression) -> str | None:
        """The unit of an expression in these names, empty for none; None where it is not determined."""
        kept = self._exponents.copy()
        try:
            found = self._exponents.reduced(self.add("", tree).unit)
        except InputError:
            found = {OPEN: Fraction(1)}
        self._exponents, self._soft = kept, []
        self._numbers.clear()
        return None if any(is_open(each) for each in found) else self.system.write(found)

    def _named(self, name: str) -> Unit:
        plain = name.partition("@")[0]
        if plain in self.units:
            return self.system.read(self.units[plain], f"units: {plain}")
        return {f"{OPEN}{plain}": Fraction(1)}

    def _anything(self) -> Unit:
        self._fresh += 1
        return {f"{NUMBER}{self._fresh}": Fraction(1)}

    def _number(self, node: trees.Expression, soft: bool) -> Unit:
        """The unit of a number that may hide one; a soft one has none where no equation needs one."""
        self._fresh += 1
        name = f"{NUMBER}{self._fresh}"
        self._numbers[name] = show(node), self._where
        self._soft += [name] if soft else []
        return {name: Fraction(1)}

    def _part(self, node: trees.Expression) -> Part:
        match node:
            case trees.Number() | trees.Constant("pi", _):
                return Part(node, self._number(node, is_pure(node)), lambda: node)
            case trees.Constant(name, _) | trees.Coordinate(name) | trees.UnknownLeaf(name) | trees.Given(name, _):
                return Part(node, self._named(name), lambda: node)
            case trees.Varying(name, _, axes):
                return Part(node, self._partial(name, axes), lambda: node)
            case trees.Derivative(field, terms):
                return Part(node, self._partial(field, terms[0]), lambda: node)
            case trees.Applied():
                return self._part(trees.spelled(node))
            case trees.Sum():
                return self._sum(node)
            case trees.Product(factors):
                return self._product(factors)
            case trees.Power(base, exponent):
                return self._power(node, base, exponent)
            case trees.Call("sqrt", (argument,)):
                part = self._part(argument)
                return Part(node, times(NONE, part.unit, Fraction(1, 2)), lambda: trees.Call("sqrt", (part.build(),)))
            case trees.Call("abs" | "min" | "max"):
                return self._choice(node)
            case trees.Call("mean" | "integral" as function, (argument, *axes)):
                part, unit = self._part(argument), NONE
                for axis in axes if function == "integral" else ():
                    unit = times(unit, self._part(axis).unit)
                return Part(node, times(part.unit, unit), lambda: trees.Call(function, (part.build(), *axes)))
            case trees.Call(function, arguments):
                return self._function(node, function, arguments)
        raise TypeError(f"{node} is not an expression")

    def _partial(self, field: str, axes: tuple[str, ...]) -> Unit:
        found = self._named(field)
        for axis in axes:
            found = times(found, self._named(axis), -1)
        return found

    def _sum(self, node: trees.Sum) -> Part:
        """The terms of a sum, and those of sums in it, have one dimension."""
        check_zeros(node, self.system, self.units, self._where)
        parts: list[Part] = []

        def taken(child: trees.Expression) -> Callable[[Built], trees.Expression]:
            if isinstance(child, trees.Sum):
                inner = [(sign, taken(term)) for sign, term in child.terms]
                return lambda built: trees.Sum(tuple((sign, each(built)) for sign, each in inner))
            part = self._term(child)
            parts.append(part)
            return lambda built: built[id(part)]

        whole, where = taken(node), self._where
        alike = self._alike(parts)
        return Part(node, alike[0].unit if alike else self._anything(),
                    lambda: whole(self._converted(parts, alike, where)))  # fmt: skip

    def _choice(self, node: trees.Call) -> Part:
        """Of `abs`, `min` or `max`."""
        parts, where = [self._term(argument) for argument in node.arguments], self._where
        alike = self._alike(parts)

        def build() -> trees.Expression:
            built = self._converted(parts, alike, where)
            return trees.Call(node.function, tuple(built[id(part)] for part in parts))

        return Part(node, alike[0].unit if alike else self._anything(), build)

    def _term(self, node: trees.Expression) -> Part:
        part = self._part(node)
        return Part(node, self._number(node, is_pure(node)), part.build) if is_number(node) else part

    def _alike(self, parts: list[Part]) -> list[Part]:
        """Take up that terms have one dimension. The first in the answer has the unit of the sum: it is a term in
        fields and coordinates alone, if there is one, so that the units of coefficients are made of theirs."""
        some = [part for part in parts if part.node != trees.Number(0.0)]
        alike = sorted(some, key=lambda part: (is_number(part.node), has_coefficient(part.node)))
        for other in alike[1:]:
            self._equate(alike[0], other)
        return alike

    def _equate(self, one: Part, other: Part) -> None:
        left = self._exponents.reduced(times(one.unit, other.unit, -1))
        if any(is_open(each) for each in left):
            # A field whose unit is not given gets none from an equation that is scaled, as u_t = u*(1-u).
            if not all(
                self._exponents.is_field(each) and each in one.unit and each in other.unit
                for each in left
                if is_open(each)
            ):
                self._exponents.solve(left)
            return
        if any(self._exponents.is_field(each) for each in (*one.unit, *other.unit)):
            # Without a unit of the field, as where only dates have one, an equation may be scaled.
            return
        if self.system.root(left)[1]:
            shown = [f"{show(part.node)} ({self._unit_text(part.unit)})" for part in (one, other)]
            raise InputError(
                f"{self._where}: the terms {shown[0]} and {shown[1]} differ in dimension; correct the equation or the "
                "units of the names in it."
            )

    def _unit_text(self, unit: Unit) -> str:
        found = self._exponents.reduced(unit)
        if any(is_open(each) for each in found):
            return self.system.write(found)
        return f"{self.system.write(found) or '1'}, {self.system.dimension(found)}"

    def _converted(self, parts: list[Part], alike: list[Part], where: str) -> dict[int, trees.Expression]:
        """The terms of a sum in one unit, as far as their units are known beside each other."""
        built = {id(part): part.build() for part in parts}
        units = [(part, self._exponents.reduced(part.unit)) for part in alike if not is_number(part.node)]
        factors: list[float] = []
        for number, (part, unit) in enumerate(units):
            factors.append(1.0)
            for (first, wanted), known in zip(units[:number], factors, strict=False):
                size, left = self.system.root(times(unit, wanted, -1))
                if left:
                    continue
                factors[-1] = rounded(size * known)
                if factors[-1] != 1.0:
                    self._refuse_number(alike, (part, unit), (first, wanted), where)
                    self._tell(part, unit, wanted, factors[-1])
                    built[id(part)] = multiplied(built[id(part)], factors[-1])
                break
        return built

    def _refuse_number(self, alike: list[Part], one: tuple[Part, Unit], other: tuple[Part, Unit], where: str) -> None:
        """Refuse a number beside terms that are converted: it could be in the unit of either."""
        number = next((part for part in alike if is_number(part.node)), None)
        if number is not None:
            shown = [f"{show(part.node)} is in {self.system.write(unit) or '1'}" for part, unit in (one, other)]
            raise InputError(
                f"{where}: {shown[0]} and {shown[1]}, so the unit of the number {show(number.node)} in the same sum is "
                "not clear; name it under 'constants' and give it a unit."
            )

    def _tell(self, part: Part, unit: Unit, wanted: Unit, factor: float) -> None:
        shown = show(part.node)
        self.conversions[shown] = (
            f"{shown} is in {self.system.write(unit) or '1'} and is multiplied by {factor:g} to be in "
            f"{self.system.write(wanted) or '1'}"
        )

    def _product(self, factors: tuple[tuple[int, trees.Expression], ...]) -> Part:
        node = trees.Product(factors)
        check_absolute(node, self.system, self.units, self._where)
        numbers = [child for _, child in factors if is_literal(child)]
        others = [(power, self._part(child)) for power, child in factors if not is_literal(child)]
        unit = NONE
        for power, part in others:
            unit = times(unit, part.unit, power)
        pure = all(map(is_pure, numbers))
        if numbers and not (pure and has_coefficient(node)):
            unit = times(unit, self._number(numbers[0], pure))

        def build() -> trees.Expression:
            built = iter([part.build() for _, part in others])
            return trees.Product(
                tuple((power, child if is_literal(child) else next(built)) for power, child in factors)
            )

        return Part(node, unit, build)

    def _power(self, node: trees.Expression, base: trees.Expression, exponent: trees.Expression) -> Part:
        power = constant_value(exponent)
        if power is not None and is_number(base):
            return Part(node, NONE, lambda: node)
        if power is not None:
            part = self._part(base)
            unit = times(NONE, part.unit, Fraction(power).limit_denominator(FINEST))
            return Part(node, unit, lambda: trees.Power(part.build(), exponent))
        raised, power_of = self._part(base), self._dimensionless(exponent)
        # Of C**n with a unit of C the unit depends on n, so that nothing follows for its coefficient.
        known = is_number(base) or not self._exponents.reduced(raised.unit)
        return Part(node, NONE if known else self._anything(), lambda: trees.Power(raised.build(), power_of()))

    def _function(self, node: trees.Expression, function: str, arguments: tuple[trees.Expression, ...]) -> Part:
        """Of a function such as exp, whose argument has no unit.

        A coordinate or field without a unit may be the logarithm of something that has one: exp of it is anything."""
        built = [self._dimensionless(argument) for argument in arguments]
        names = {each.field if isinstance(each, trees.Derivative) else each.name for argument in arguments
                 for each in trees.walk(argument) if isinstance(each, trees.Derivative | trees.Coordinate)}  # fmt: skip
        known = {name.partition("@")[0] for name in names} <= set(self.units)
        unit = NONE if known else self._anything()
        return Part(node, unit, lambda: trees.Call(function, tuple(each() for each in built)))

    def _dimensionless(self, argument: trees.Expression) -> Callable[[], trees.Expression]:
        """Take up that an argument has no unit; it is then converted to a plain number, as an angle from degrees."""
        part = self._part(argument)
        if is_number(argument):
            return part.build
        left = self._exponents.reduced(part.unit)
        if any(map(is_open, left)):
            if any(not self._exponents.is_field(each) for each in left if is_open(each)):
                self._exponents.solve(left)
        elif self.system.root(left)[1]:
            raise InputError(
                f"{self._where}: {show(argument)} ({self._unit_text(part.unit)}) is the argument of a function, which "
                "takes a plain number; divide it by a constant of the same unit, or correct the units."
            )

        def build() -> trees.Expression:
            unit = self._exponents.reduced(part.unit)
            if any(map(is_open, unit)):
                return part.build()
            size, roots = self.system.root(unit)
            if roots or rounded(size) == 1.0:
                return part.build()
            self._tell(part, unit, NONE, rounded(size))
            return multiplied(part.build(), rounded(size))

        return build
