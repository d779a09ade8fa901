"""Problem: what the physics says, apart from any reading.

Coordinates with their box, the fields (measured and hidden), the unknown coefficients, and the equations that hold
inside the box. Boundary and initial conditions may be given and are never needed.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import ModuleType
from typing import Any

import numpy as np

from napinn.problem.checks import (
    as_tuple,
    check_extras,
    check_names,
    check_ranges,
    check_unknowns,
    check_used,
    normalise_names,
)
from napinn.problem.equations import (
    Applied,
    Condition,
    Constant,
    Derivative,
    Equation,
    Expression,
    Leaf,
    Names,
    Operator,
    PointFunction,
    Terms,
    UnknownLeaf,
    bind,
    bind_condition,
    evaluate,
    from_tree,
    join_operators,
    namespace,
    operators,
    parse_observable,
    share_seconds,
    symbol,
    value_and_partials,
    wanted,
)
from napinn.problem.evaluation import leaf_values
from napinn.problem.experiment import Experiment, in_experiment, plain, plain_names
from napinn.problem.notebook import as_html
from napinn.problem.observables import Observable, bind_observable
from napinn.problem.tables import Table
from napinn.problem.units import Dimensions, UnitSystem
from napinn.problem.unknown import Unknown as Unknown
from napinn.problem.varying import VaryingUnknown as VaryingUnknown


@dataclass(frozen=True)
class Problem:
    """What is measured, what the physics says, and what is to be found.

    :param coordinates: Each name to its range, (low, high), in which the equations hold.
    :param fields: Names of what is measured.
    :param equations: Texts such as `u_t = D*u_xx`, or Python functions of (point, fields, unknowns).
    :param unknowns: Coefficients to find, each name to an `Unknown`.
    :param constants: Numbers that are known, by name.
    :param units: The unit of each name, as text such as `m/s`; those of the unknowns follow from the equations, and
        units that differ are converted there.
    :param name: For titles and messages.
    :param hidden: Fields that are in the equations but in no reading.
    :param scales: The typical size of hidden fields, by name; optional.
    :param tables: Known functions of the coordinates, each name to a `Table`.
    :param conditions: What holds on a face of the box, as texts such as `u = 0 at x = 1`.
    :param periodic: Coordinates along which the fields repeat themselves.
    :param observables: What is measured but is not a field itself, by name: an expression of fields and unknowns, as
        text such as `log10(C)`.
    :param varying: Unknown functions of one or two coordinates, each name to a `VaryingUnknown`.
    :param experiments: Made by `napinn.with_experiments`.
    :param own_units: Counts that no list of units holds, such as `cells`, so that `units` may contain them.
    :raises InputError: if a name is not known, is used twice or is in no equation, a range is not one, a unit is not
        known, or the terms of an equation differ in dimension.

    >>> heat = napinn.Problem({"x": (0, 1), "t": (0, 10)}, ("T",), ("T_t = D*T_xx",), {"D": napinn.Unknown(1.0)},
    ...                       units={"x": "m", "t": "s", "T": "K"})
    >>> heat.show()
    '∂T/∂t = D ∂²T/∂x²'
    >>> heat.unit_of("D")
    'm²/s'
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
    observables: Mapping[str, str] = field(default_factory=dict)
    experiments: Mapping[str, Experiment] = field(default_factory=dict)
    varying: Mapping[str, VaryingUnknown] = field(default_factory=dict)
    own_units: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for given in ("fields", "equations", "hidden", "conditions", "periodic", "own_units"):
            object.__setattr__(self, given, as_tuple(getattr(self, given)))
        check_unknowns(self.unknowns)
        normalise_names(self)
        _add_observables(self)
        check_names(self)
        check_ranges(self)
        check_used(self)
        check_extras(self)
        _ = self.dimensions

    @property
    def outputs(self) -> tuple[str, ...]:
        """Every field, the measured ones first: the columns of what a network gives."""
        return self.fields + self.hidden

    @cached_property
    def names(self) -> Names:
        return self.names_in("")

    def names_in(self, experiment: str) -> Names:
        """What a text may contain, with the constants of one experiment or, without a name, those of all."""
        own = self.experiments[experiment].constants if experiment else {}
        physical = tuple(name for name in plain_names(self.outputs) if name not in self.observables)
        tables = {name: table.coordinates for name, table in self.tables.items()}
        constants = {**self.constants, **own}
        functions = {name: unknown.of for name, unknown in self.varying.items()}
        return Names(tuple(self.coordinates), physical, plain_names(self.unknowns), constants, tables, functions)

    def box_in(self, experiment: str) -> dict[str, tuple[float, float]]:
        """The range of every coordinate in which the equations of an experiment hold."""
        return {**self.coordinates, **(self.experiments[experiment].ranges if experiment else {})}

    @cached_property
    def system(self) -> tuple[Equation, ...]:
        """The equations bound to the names, with sums of second derivatives shared where that saves work."""
        return share_seconds(self.written)

    @cached_property
    def carried(self) -> tuple[Equation, ...]:
        """The system as training asks a network for it: linear operators are single leaves where that saves work."""
        return join_operators(self.system)

    @cached_property
    def stated(self) -> tuple[Equation, ...]:
        """The equations that were given, for every experiment."""
        return tuple(
            self._placed_in(each, self._in_units(bind(source, names)))
            for each, names in self._scopes
            for source in self.equations
        )

    @cached_property
    def written(self) -> tuple[Equation, ...]:
        """Every equation, those of observables last."""
        own = (self._placed_in(scope, equation) for scope, each in self.observed for equation in each.equations)
        return (*self.stated, *own)

    @cached_property
    def observed(self) -> tuple[tuple[str, Observable], ...]:
        """What the observables add, with the experiment that each is of."""
        return self._bound_observables(self.dimensions.converted_observable if self.units else None)

    def _bound_observables(
        self, converted: Callable[[str, Expression], Expression] | None
    ) -> tuple[tuple[str, Observable], ...]:
        return tuple(
            (scope, bind_observable(name, text, names, self.box_in(scope), converted))
            for scope, names in self._scopes
            for name, text in self.observables.items()
        )

    @cached_property
    def given_conditions(self) -> tuple[Condition, ...]:
        """The conditions that were given, each with its place, for every experiment."""
        bound = (
            (scope, bind_condition(text, names, self.box_in(scope)))
            for scope, names in self._scopes
            for text in self.conditions
        )
        return tuple(Condition(self._placed_in(scope, self._in_units(each.equation)), each.at) for scope, each in bound)

    @cached_property
    def placed(self) -> tuple[Condition, ...]:
        """Every condition with its place, those of observables last."""
        own = (
            Condition(self._placed_in(scope, condition.equation), condition.at)
            for scope, each in self.observed
            for condition in each.conditions
        )
        return (*self.given_conditions, *own)

    @cached_property
    def _scopes(self) -> tuple[tuple[str, Names], ...]:
        """The names of every experiment; of a problem without experiments, its own."""
        return tuple((each, self.names_in(each)) for each in self.experiments or ("",))

    def _placed_in(self, experiment: str, equation: Equation) -> Equation:
        return in_experiment(equation, experiment, self.unknowns) if experiment else equation

    @property
    def wanted(self) -> frozenset[Terms]:
        """The derivatives that the equations need of the network, whichever field they are of."""
        return wanted(self.system)

    @cached_property
    def dimensions(self) -> Dimensions:
        """What equations, observables and conditions say of units."""
        found = Dimensions(UnitSystem(self.own_units), self.units, (*self.coordinates, *plain_names(self.outputs)))
        if self.units:
            scope, names = self._scopes[0]
            equations = [bind(source, names) for source in self.equations]
            conditions = [bind_condition(text, names, self.box_in(scope)) for text in self.conditions]
            observables = {name: parse_observable(name, text, names) for name, text in self.observables.items()}
            found.take_up(equations, observables, [each.equation for each in conditions])
        return found

    def _in_units(self, equation: Equation) -> Equation:
        """The equation with its units converted where they differ."""
        if not self.units or equation.tree is None:
            return equation
        tree = self.dimensions.converted(equation)
        return equation if tree == equation.tree else from_tree(str(equation.source), equation.shown, tree)

    def unit_of(self, name: str) -> str | None:
        """The unit of a name: the one that was given, or the one that follows from the equations for a coefficient or
        an observable; empty for none, and None where it is not known."""
        # Fields of an experiment and readings of a noise group have the unit of their field.
        own = plain(name)
        if own in self.units:
            return self.units[own]
        given = own in self.coordinates or own in plain_names(self.outputs)
        return None if given and own not in self.observables else self.dimensions.unit_of(own)

    @property
    def spline_only(self) -> str | None:
        """The first entry that only splines can fit with, as a clause; None where a network can take the problem."""
        for name, unknown in self.unknowns.items():
            if unknown.prior is not None:
                return f"unknown '{name}' has a prior"
            if unknown.log:
                return f"unknown '{name}' is on a logarithmic scale"
        if self.experiments:
            return f"the problem has {len(self.experiments)} experiments"
        for name, varying in self.varying.items():
            return f"unknown '{name}' varies along {' and '.join(varying.of)}"
        return None

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
        """What is left of each equation at each point, given the field's derivatives there; see `residual_values`."""
        return self.residual_values(self.system, points, values, unknowns)

    def residual_values(
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
        unknowns in it, in NumPy; arguments as for `residual_values`.

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
        from napinn.problem.equations.traced import function_partials

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
        return leaf_values(places, derivative, unknowns, self.tables)

    def _repr_html_(self) -> str:
        """The problem in a notebook: its equations, and what they are about."""
        return as_html(self)

    def show(self) -> str:
        """The equations, and the conditions if there are any, as mathematics, one a line."""
        repeats = [f"periodic in {symbol(name)}" for name in self.periodic]
        parts = (*self.stated, *(each for _, each in self.observed), *self.given_conditions)
        return "\n".join([*dict.fromkeys(part.shown for part in parts), *repeats])


def _add_observables(problem: Problem) -> None:
    """Observables are measured fields."""
    if problem.experiments or not problem.observables:
        return
    fields = tuple(name for name in problem.observables if name not in problem.fields)
    object.__setattr__(problem, "fields", problem.fields + fields)
    for derived in ("_scopes", "names"):
        problem.__dict__.pop(derived, None)
