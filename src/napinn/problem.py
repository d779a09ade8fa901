"""Problem: what the physics says, apart from any reading.

Coordinates with their box, the fields (measured and hidden), the unknown coefficients, and the equations that hold
inside the box. Boundary and initial conditions may be given and are never needed.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import ModuleType
from typing import Any

import numpy as np

from napinn.equations import (
    RESERVED,
    Applied,
    Condition,
    Constant,
    Coordinate,
    Derivative,
    Equation,
    Given,
    Leaf,
    Names,
    Operator,
    PointFunction,
    Terms,
    bind,
    bind_condition,
    evaluate,
    join_operators,
    namespace,
    operators,
    share_seconds,
    symbol,
    value_and_partials,
    wanted,
)
from napinn.equations import Unknown as UnknownLeaf
from napinn.errors import InputError, nearest
from napinn.names import normal
from napinn.tables import Table
from napinn.units import Dimensions
from napinn.unknown import Unknown as Unknown

MOST = {"coordinate": 12, "field": 100, "hidden field": 100, "unknown": 100, "constant": 1000, "table": 100}
"""Names of each kind. What is fitted grows with each of them, and so do the compiled program and the checks of what can
be determined: at a hundred unknowns these take seconds, at a thousand they would not end."""
UNUSABLE = frozenset({"True", "False", "None"})
"""Words that stand for values in an equation; other reserved words of Python may be names."""
MOST_EQUATIONS = 200
"""Equations, and as many conditions; each is compiled by itself."""


@dataclass(frozen=True)
class Problem:
    """Coordinates (name → (low, high)), fields, unknowns, known constants and equations.

    `fields` are measured; `hidden` ones are in the equations but in no reading, and `scales` may give their typical
    size. `tables` are known functions of the coordinates. `conditions` are texts such as `u = 0 at x = 1`, and the
    field repeats itself along `periodic` coordinates. Equations are text or Python functions of one point; see
    `napinn.equations`.
    """

    coordinates: Mapping[str, tuple[float, float]]
    fields: tuple[str, ...]
    equations: tuple[str | PointFunction, ...]
    unknowns: Mapping[str, Unknown] = field(default_factory=dict)
    constants: Mapping[str, float] = field(default_factory=dict)
    units: Mapping[str, str] = field(default_factory=dict)
    name: str = "problem"
    hidden: tuple[str, ...] = ()
    scales: Mapping[str, float] = field(default_factory=dict)
    tables: Mapping[str, Table] = field(default_factory=dict)
    conditions: tuple[str, ...] = ()
    periodic: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for given in ("fields", "equations", "hidden", "conditions", "periodic"):
            object.__setattr__(self, given, tuple(getattr(self, given)))
        _normalise(self)
        _check_names(self)
        for name, (low, high) in self.coordinates.items():
            if not (math.isfinite(low) and math.isfinite(high) and low < high):
                raise InputError(
                    f"coordinate '{name}' runs from {low} to {high}; it needs finite numbers, low before high."
                )
        for name, table in self.tables.items():
            table.check_covers(name, self.coordinates)
        _check_used(self)
        _check_extras(self)

    @property
    def outputs(self) -> tuple[str, ...]:
        """Every field, the measured ones first: the columns of what a network gives."""
        return self.fields + self.hidden

    @cached_property
    def names(self) -> Names:
        tables = {name: table.coordinates for name, table in self.tables.items()}
        return Names(tuple(self.coordinates), self.outputs, tuple(self.unknowns), dict(self.constants), tables)

    @cached_property
    def system(self) -> tuple[Equation, ...]:
        """The equations bound to the names, with sums of second derivatives shared where that saves work."""
        return share_seconds(self.written)

    @cached_property
    def carried(self) -> tuple[Equation, ...]:
        """The system as training asks a network for it: linear operators are single leaves where that saves work."""
        return join_operators(self.system)

    @cached_property
    def written(self) -> tuple[Equation, ...]:
        return tuple(bind(source, self.names) for source in self.equations)

    @cached_property
    def placed(self) -> tuple[Condition, ...]:
        """The conditions bound to the names, each with its place."""
        return tuple(bind_condition(text, self.names, self.coordinates) for text in self.conditions)

    @property
    def wanted(self) -> frozenset[Terms]:
        """The derivatives that the equations need of the network, whichever field they are of."""
        return wanted(self.system)

    @cached_property
    def dimensions(self) -> Dimensions:
        """What the equations say of units; conditions are left out, because numbers in them often have a unit."""
        return Dimensions((each.tree for each in self.written if each.tree is not None), self.units)

    def unit_of(self, name: str) -> str | None:
        """The unit of a name: the one that was given, or of an unknown the one that follows from the equations."""
        if name in self.units or name not in self.unknowns:
            return self.units.get(name)
        return self.dimensions.unit_of(UnknownLeaf(name))

    @property
    def lows(self) -> tuple[float, ...]:
        return tuple(low for low, _ in self.coordinates.values())

    @property
    def highs(self) -> tuple[float, ...]:
        return tuple(high for _, high in self.coordinates.values())

    def weights(self, unknowns: Mapping[str, Any], numeric: ModuleType) -> dict[Operator, tuple[Any, ...]]:
        """The operators of the carried equations, with the numbers that multiply the derivatives of each, computed
        with the functions of the module `numeric`."""

        def look_up(leaf: Leaf) -> Any:
            assert isinstance(leaf, UnknownLeaf | Constant)
            return leaf.value if isinstance(leaf, Constant) else unknowns[leaf.name]

        return {
            operator: tuple(evaluate(factor, look_up, numeric) for _, factor in operator)
            for operator in operators(self.carried)
        }

    def residuals(self, points: Any, values: Mapping[Terms, Any], unknowns: Mapping[str, Any]) -> Any:
        """What is left of each equation at each point, given the field's derivatives there; see `left_over`."""
        return self.left_over(self.system, points, values, unknowns)

    def left_over(
        self,
        equations: Sequence[Equation],
        points: Any,
        values: Mapping[Terms, Any],
        unknowns: Mapping[str, Any],
        applied: Mapping[Operator, Any] | None = None,
    ) -> Any:
        """The residuals of any equations in the problem's names, (n, e).

        `points` are (n, d), `values` the derivatives of all fields, (n, f) each, `unknowns` one number each, and
        `applied` the operators in carried equations. With JAX arrays as points the result is one, traced or not;
        otherwise everything is NumPy."""
        places = {name: points[:, index] for index, name in enumerate(self.coordinates)}
        outputs = {name: index for index, name in enumerate(self.outputs)}

        def derivative(leaf: Derivative | Applied) -> Any:
            found = values[leaf.terms] if isinstance(leaf, Derivative) else (applied or {})[leaf.operator]
            return found[:, outputs[leaf.field]]

        return namespace(points).stack(self.evaluated(equations, places, derivative, unknowns), axis=1)

    def evaluated(
        self,
        equations: Sequence[Equation],
        places: Mapping[str, Any],
        derivative: Callable[[Derivative | Applied], Any],
        unknowns: Mapping[str, Any],
    ) -> list[Any]:
        """The residuals of each equation, its derivatives looked up wherever they come from."""
        like = next(iter(places.values()))
        numeric = namespace(like)
        look_up = self.look_up(places, derivative, unknowns)
        return [numeric.broadcast_to(equation.residual(look_up, numeric), like.shape) for equation in equations]

    def linearised(
        self,
        equation: Equation,
        points: np.ndarray,
        values: Mapping[Terms, np.ndarray],
        unknowns: Mapping[str, float],
    ) -> tuple[Any, dict[Leaf, Any]]:
        """The residual of one equation, and its partial derivatives with respect to the derivatives of fields and the
        unknowns in it, in NumPy; arguments as for `left_over`.

        An unknown or a derivative that the residual does not depend on has no entry, and any of the values may be one
        number for all points. Only an equation that came as a Python function needs JAX for this."""
        places = {name: points[:, index] for index, name in enumerate(self.coordinates)}
        outputs = {name: index for index, name in enumerate(self.outputs)}

        def derivative(leaf: Derivative | Applied) -> np.ndarray:
            assert isinstance(leaf, Derivative)
            return values[leaf.terms][:, outputs[leaf.field]]

        look_up = self.look_up(places, derivative, unknowns)
        if equation.tree is not None:
            return value_and_partials(equation.tree, look_up)
        from napinn.equations.traced import function_partials

        return function_partials(equation, look_up, points.shape[0])

    def on_face(self, condition: Condition, points: np.ndarray) -> np.ndarray:
        """Points of the box, moved onto the face of a condition."""
        face, names = points.copy(), list(self.coordinates)
        for name, value in condition.at.items():
            face[:, names.index(name)] = value
        return face

    def look_up(
        self,
        places: Mapping[str, Any],
        derivative: Callable[[Derivative | Applied], Any],
        unknowns: Mapping[str, Any],
    ) -> Callable[[Leaf], Any]:
        """The value of any leaf of an equation: `places` are the coordinates by name, `derivative` gives derivatives of
        fields, and `unknowns` one number each."""
        like = next(iter(places.values()))
        numeric = namespace(like)

        def look_up(leaf: Leaf) -> Any:
            match leaf:
                case Coordinate(name):
                    return places[name]
                case Derivative() | Applied():
                    return derivative(leaf)
                case UnknownLeaf(name):
                    return unknowns[name]
                case Constant(_, value):
                    return numeric.asarray(value, like.dtype)
                case Given(name, axes):
                    return self.tables[name].at([places[axis] for axis in axes])

        return look_up

    def show(self) -> str:
        """The equations, and the conditions if there are any, as mathematics, one a line."""
        repeats = [f"periodic in {symbol(name)}" for name in self.periodic]
        return "\n".join([*(part.shown for part in (*self.written, *self.placed)), *repeats])


def _normalise(problem: Problem) -> None:
    """Bring all names to the form in which Python's reader gives those of an equation."""
    for given in ("fields", "hidden", "periodic"):
        object.__setattr__(problem, given, tuple(normal(name) for name in getattr(problem, given)))
    for given in ("coordinates", "unknowns", "constants", "units", "scales", "tables"):
        entries = getattr(problem, given)
        found = {normal(name): entry for name, entry in entries.items()}
        if len(found) < len(entries):
            twice = next(name for name in found if sum(normal(other) == name for other in entries) > 1)
            raise InputError(f"'{twice}' is declared twice under {given}, in characters that only look different.")
        object.__setattr__(problem, given, found)


def _check_names(problem: Problem) -> None:
    if not problem.coordinates:
        raise InputError("the problem has no coordinates; name at least one, for example 't'.")
    if not problem.fields:
        raise InputError("the problem has no fields; name at least one, for example 'u'.")
    if not problem.equations:
        raise InputError("the problem has no equations; give at least one, for example 'u_t = D*u_xx'.")
    for kind, texts in (("equations", problem.equations), ("conditions", problem.conditions)):
        if len(texts) > MOST_EQUATIONS:
            raise InputError(f"the problem has {len(texts)} {kind}, and napinn takes at most {MOST_EQUATIONS}.")
    seen: dict[str, str] = {}
    groups = {
        "coordinate": problem.coordinates,
        "field": problem.fields,
        "hidden field": problem.hidden,
        "unknown": problem.unknowns,
        "constant": problem.constants,
        "table": problem.tables,
    }
    for kind, names in groups.items():
        if len(names) > MOST[kind]:
            raise InputError(f"the problem has {len(names)} {kind}s, and napinn takes at most {MOST[kind]}; use fewer.")
        for name in names:
            if not name.isidentifier() or name in UNUSABLE:
                raise InputError(
                    f"{kind} '{name}' is not a usable name; use letters, digits and underscores, a letter first."
                )
            if name in RESERVED:
                raise InputError(f"{kind} '{name}' has the name of a function or of π; choose another.")
            if name in seen:
                raise InputError(f"'{name}' is declared as {seen[name]} and as {kind}; names must differ.")
            seen[name] = kind
    for name, kind in seen.items():
        if problem.names.partial(name) is not None:
            raise InputError(f"{kind} '{name}' reads like a derivative of a field; choose another name.")
    for name, value in problem.constants.items():
        if not math.isfinite(value):
            raise InputError(f"constant '{name}' is {value}; it must be a finite number.")


def _check_used(problem: Problem) -> None:
    used_fields = {derivative.field for equation in problem.written for derivative in equation.needs}
    for name in problem.outputs:
        if name not in used_fields:
            raise InputError(f"field '{name}' is in no equation; remove it or add the equation that it obeys.")
    bound = (*problem.written, *(condition.equation for condition in problem.placed))
    used_unknowns = {name for equation in bound for name in equation.unknowns}
    for name in problem.unknowns:
        if name not in used_unknowns:
            raise InputError(
                f"unknown '{name}' is in no equation, so no reading can determine it; remove it or use it."
            )


def _check_extras(problem: Problem) -> None:
    for name, scale in problem.scales.items():
        if name not in problem.hidden:
            raise InputError(
                f"a scale is given for '{name}', which is not a hidden field; its readings give its scale."
            )
        if not (math.isfinite(scale) and scale > 0.0):
            raise InputError(f"the scale of hidden field '{name}' is {scale}; it must be a finite number above 0.")
    for name in problem.periodic:
        if name not in problem.coordinates:
            raise InputError(f"periodic '{name}' is not a coordinate; {nearest(name, problem.coordinates)}")
