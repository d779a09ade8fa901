"""A problem and its readings as the spline engine sees them: arrays, expression trees, natural sizes."""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from napinn.data.readings import Readings, Scatters
from napinn.data.variation import variation
from napinn.engines.catalogue import DENSITY
from napinn.engines.splines.hidden_sizes import Extent, hidden_sizes
from napinn.engines.splines.indirect import VALUE, Indirect, indirect_of, solved
from napinn.engines.splines.unknown_functions import AddedSource, Curve
from napinn.field.splines.functions import FunctionSpace, function_space
from napinn.field.splines.space import Orders, PointGrid
from napinn.noise.laws import Cauchy, Gaussian, Law
from napinn.problem import Problem
from napinn.problem.equations import (
    Condition,
    Constant,
    Coordinate,
    Derivative,
    Equation,
    Given,
    Leaf,
    UnknownLeaf,
    Varying,
    walk,
)
from napinn.problem.experiment import experiment_of, plain
from napinn.problem.unknown import Unknown

LEAST_DEGREE = 4
"""Of the splines along each coordinate; two more than the highest derivative where that is larger, so that the highest
derivative is continuous and the error of a second-order equation falls with the third power of a cell."""
FEW = 100
"""Readings a field below which all fields share one estimate of the noise relative to the size of the field."""

MOST_MOVE = 2.0
"""Of the logarithm of an unknown in one step: a factor of seven."""
NEAR_PRIOR = 2.0
"""Deviations from the centre of a prior within which a fit starts. Readings may still move an unknown anywhere."""


@dataclass(frozen=True, eq=False)
class Task:
    """What is to be fitted. Fields are in the order of `Problem.outputs`: measured ones first, then hidden ones."""

    problem: Problem
    readings: Readings
    density: str = DENSITY
    """How the noise law is found: a name of `napinn.engines.catalogue.SPLINE_DENSITIES`."""
    sources: tuple[AddedSource, ...] = ()
    """Terms that the equations of the problem do not have."""
    rewritten: tuple[Equation, ...] | None = None
    """Equations that follow from those of the problem and are used in their place."""

    @property
    def working_law(self) -> Law:
        """The law before the noise is known, and where it is not to be learned."""
        return Gaussian() if self.density == "gaussian" else Cauchy()

    @property
    def working_laws(self) -> tuple[Law, ...]:
        """The working law of every noise group."""
        return (self.working_law,) * self.groups

    @property
    def measured(self) -> int:
        return len(self.problem.fields)

    @property
    def fields(self) -> int:
        return len(self.problem.outputs)

    @property
    def independent_fields(self) -> int:
        """How many fields are no observable."""
        return sum(plain(name) not in self.problem.observables for name in self.problem.outputs)

    @property
    def dimensions(self) -> int:
        return len(self.problem.coordinates)

    @cached_property
    def axis_of(self) -> dict[str, int]:
        return {name: axis for axis, name in enumerate(self.problem.coordinates)}

    @cached_property
    def field_of(self) -> dict[str, int]:
        return {name: number for number, name in enumerate(self.problem.outputs)}

    @cached_property
    def lengths(self) -> np.ndarray:
        return np.asarray(self.problem.highs, float) - np.asarray(self.problem.lows, float)

    @cached_property
    def points(self) -> np.ndarray:
        """(n, d) places of the readings, moved onto the box where rounding put them beside it."""
        return np.clip(self.readings.points, self.problem.lows, self.problem.highs)

    @cached_property
    def spread(self) -> np.ndarray:
        """The known deviation of each reading over the median one; 1 where none are known."""
        known = self.readings.spread
        return np.ones(len(self.readings)) if known is None else known

    @cached_property
    def few(self) -> bool:
        return len(self.readings) < FEW * len(self.scatters.names)

    @property
    def scatters(self) -> Scatters:
        """The readings whose noise has one scale: those of one measured field, unless experiments share it or groups
        divide them."""
        return self.readings.scatters

    @property
    def scatter(self) -> np.ndarray:
        """(n,) which of these each reading is of."""
        return self.scatters.index

    @cached_property
    def scatter_of_field(self) -> np.ndarray | None:
        """The scale that all readings of a measured field have; None where noise groups divide them."""
        if len(self.readings.groups) > 1:
            return None
        found = np.zeros(self.measured, int)
        found[self.readings.field_index] = self.scatter
        return found

    @cached_property
    def noise_unit(self) -> np.ndarray:
        """The variation of the fields that the readings of one noise scale are of."""
        field, count = self.readings.field_index, len(self.scatters.names)
        mine = [np.unique(field[self.scatter == number]) for number in range(count)]
        return np.array([float(np.mean(self.scale[each])) if len(each) else 1.0 for each in mine])

    @property
    def copies(self) -> int:
        """Experiments, each of which has all fields."""
        return max(1, len(self.problem.experiments))

    @property
    def groups(self) -> int:
        """Noise groups, each with a law of its own."""
        return len(self.readings.groups)

    @cached_property
    def equations(self) -> tuple[Equation, ...]:
        if self.rewritten is not None:
            return self.rewritten
        added = {source.equation: source for source in self.sources}
        return tuple(
            added[number].on_the_right_of(equation) if number in added else equation
            for number, equation in enumerate(self.problem.written)
        )

    @cached_property
    def conditions(self) -> tuple[Condition, ...]:
        return self.problem.placed

    @cached_property
    def orders(self) -> Orders:
        """The highest derivative along each coordinate that an equation or condition contains."""
        bound = (*self.equations, *(condition.equation for condition in self.conditions))
        needed = [self.orders_of(leaf) for equation in bound for leaf in equation.needs]
        return tuple(max(along) for along in zip(*needed, strict=True))

    @cached_property
    def degrees(self) -> tuple[int, ...]:
        return tuple(max(LEAST_DEGREE, order + 2) for order in self.orders)

    def orders_of(self, leaf: Derivative) -> Orders:
        (axes,) = leaf.terms
        return tuple(axes.count(name) for name in self.problem.coordinates)

    @cached_property
    def unknowns(self) -> tuple[str, ...]:
        """Names of all that steps move beside the field: the unknowns, then the coefficients of unknown functions."""
        return tuple(self.parameters)

    @cached_property
    def parameters(self) -> dict[str, Unknown]:
        """The unknowns by name, and after them the coefficients of unknown functions."""
        coefficients = {f"{curve.name}[{number}]": Unknown() for curve in self.curves for number in range(curve.size)}
        return {**self.problem.unknowns, **coefficients}

    @cached_property
    def curves(self) -> tuple[Curve, ...]:
        """The unknown functions, then the source terms that are added."""
        spaces: list[tuple[str, FunctionSpace, float | None]] = []
        for name, varying in self.problem.varying.items():
            ranges = [self.problem.coordinates[axis] for axis in varying.of]
            spaces.append((name, function_space(varying.of, ranges, varying.positive, varying.steps), varying.start))
        spaces += [(source.name, source.space, 0.0) for source in self.sources]
        found, start, first = [], len(self.problem.unknowns), 0
        for name, space, value in spaces:
            found.append(Curve(name, space, value, start, first))
            start, first = start + space.size, first + len(space.penalties)
        return tuple(found)

    @cached_property
    def curve_of(self) -> dict[str, Curve]:
        return {curve.name: curve for curve in self.curves}

    @cached_property
    def of_curves(self) -> np.ndarray:
        """Which parameters are coefficients of unknown functions."""
        return np.arange(len(self.parameters)) >= len(self.problem.unknowns)

    def roughness_matrix(self, roughness_weight: np.ndarray) -> np.ndarray:
        """The curvature that the smoothness of unknown functions adds to the parameters."""
        found = np.zeros((len(self.parameters), len(self.parameters)))
        for curve in self.curves:
            inside = slice(curve.start, curve.start + curve.size)
            rows = np.concatenate(curve.rows)
            weights = np.repeat(roughness_weight[curve.sets], [len(each) for each in curve.rows])
            found[inside, inside] = (rows.T * weights) @ rows
        return found

    @cached_property
    def low(self) -> np.ndarray:
        return np.array([-math.inf if u.low is None else u.low for u in self.parameters.values()])

    @cached_property
    def high(self) -> np.ndarray:
        return np.array([math.inf if u.high is None else u.high for u in self.parameters.values()])

    @cached_property
    def logarithmic(self) -> np.ndarray:
        """Which unknowns move, and have their errors, in their logarithm."""
        return np.array([unknown.log for unknown in self.parameters.values()], bool)

    def rates(self, unknowns: np.ndarray) -> np.ndarray:
        """How far each unknown moves for a unit of what steps are taken in: itself, or its logarithm."""
        return np.where(self.logarithmic, unknowns, 1.0)

    def after_moves(self, unknowns: np.ndarray, moves: np.ndarray) -> np.ndarray:
        """The unknowns after a step."""
        factors = np.exp(np.clip(moves, -MOST_MOVE, MOST_MOVE))
        return np.where(self.logarithmic, unknowns * factors, unknowns + moves)

    def moves_between(self, before: np.ndarray, after: np.ndarray) -> np.ndarray:
        """The step that leads from some unknowns to others."""
        ratio = np.where(self.logarithmic, after / np.where(self.logarithmic, before, 1.0), 1.0)
        return np.where(self.logarithmic, np.log(ratio), after - before)

    @property
    def has_priors(self) -> bool:
        return bool(self.expected.any())

    @cached_property
    def expected(self) -> np.ndarray:
        """Which unknowns have a prior."""
        return np.array([unknown.prior is not None for unknown in self.parameters.values()], bool)

    def near_priors(self, unknowns: np.ndarray) -> np.ndarray:
        """The unknowns, each no farther from the centre of its prior than a start should be."""
        found = unknowns.copy()
        for number, unknown in enumerate(self.parameters.values()):
            if unknown.prior is not None:
                found[number] = np.clip(found[number], *unknown.prior.within(NEAR_PRIOR))
        return found

    def prior_terms(self, unknowns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Deviations of each unknown from the centre of its prior, and how these change with a unit of a step; zeros
        where there is no prior."""
        away, slope = np.zeros(len(unknowns)), np.zeros(len(unknowns))
        for number, unknown in enumerate(self.parameters.values()):
            if unknown.prior is not None:
                value = float(unknowns[number])
                away[number] = unknown.prior.deviations(value)
                in_log = unknown.log and not unknown.prior.of_logarithm
                slope[number] = (value if in_log else 1.0) / unknown.prior.deviation
        return away, slope

    @cached_property
    def extents(self) -> list[Extent]:
        """How large each measured field is."""
        places, field = self.points / self.lengths, self.readings.field_index
        values = [(places[field == number], self.readings.of_field(number)) for number in range(self.measured)]
        return [Extent(_median(own), variation(where, own)) for where, own in values]

    @cached_property
    def hidden_extents(self) -> list[Extent]:
        """How large each hidden field is taken to be: as given, as observables or equations say, or as is usual for
        the measured ones."""
        centre, scale = (np.median(each) for each in zip(*((e.centre, e.scale) for e in self.extents), strict=True))
        usual = Extent(float(centre), float(scale))
        by_terms = hidden_sizes(self.problem, dict(zip(self.problem.fields, self.extents, strict=True)), usual)
        observed = {name: Extent(_median(each[1]), variation(*each)) for name, each in self.indirect.items()}
        known = _as_extents(by_terms) | observed | _as_extents(self.problem.scales)
        return [known.get(name, usual) for name in self.problem.hidden]

    @cached_property
    def centre(self) -> np.ndarray:
        """A typical value of each field."""
        return np.array([each.centre for each in (*self.extents, *self.hidden_extents)])

    @cached_property
    def scale(self) -> np.ndarray:
        """How much each field varies."""
        return np.array([each.scale for each in (*self.extents, *self.hidden_extents)])

    @cached_property
    def indirect(self) -> dict[str, tuple[np.ndarray, np.ndarray]]:
        """Hidden fields that observables measure: the places of their readings over the lengths of the box, and the
        values that follow from these readings."""
        points, values = self.points / self.lengths, self.readings.values
        found = {}
        for name, number, each in self.inverted(lambda field: values[self.readings.field_index == field]):
            found.setdefault(name, (points[self.readings.field_index == number], each))
        return found

    def inverted(self, measured: Callable[[int], np.ndarray]) -> Iterator[tuple[str, int, np.ndarray]]:
        """Each hidden field behind an observable, the number of the observable, and the values of the field at its
        readings; `measured` gives the values of the observable there."""
        starts = {UnknownLeaf(name): unknown.started() for name, unknown in self.problem.unknowns.items()}
        for each in self.observables:
            number = self.problem.fields.index(each.observable)
            places = self.points[self.readings.field_index == number]
            known: dict[Leaf, Any] = {Derivative(each.observable, VALUE): measured(number), **starts}
            known |= {Coordinate(name): places[:, axis] for name, axis in self.axis_of.items()}
            for leaf in walk(each.tree):
                if isinstance(leaf, Constant):
                    known[leaf] = leaf.value
                elif isinstance(leaf, Given):
                    known[leaf] = self.problem.tables[leaf.name].at(
                        [places[:, self.axis_of[a]] for a in leaf.coordinates]
                    )
                elif isinstance(leaf, Derivative) and leaf.field in self.problem.fields and leaf not in known:
                    known[leaf] = _median(self.readings.of_field(self.field_of[leaf.field]))
            values = solved(each, known, len(places))
            if values is not None:
                yield from ((name, number, values[:, column]) for column, name in enumerate(each.hidden))

    @cached_property
    def observables(self) -> tuple[Indirect, ...]:
        return indirect_of(self.problem)

    @cached_property
    def unseen(self) -> frozenset[str]:
        """Hidden fields of whose values the readings say nothing by themselves."""
        seen = {each.hidden[0] for each in self.observables if len(each.hidden) == 1}
        return frozenset(self.problem.hidden) - (seen & set(self.indirect))

    @cached_property
    def spans(self) -> dict[str, list[tuple[int, float, float]]]:
        """By experiment whose range is smaller than the box, the axes along which it is, with the ends."""
        return {
            name: [(self.axis_of[axis], low, high) for axis, (low, high) in each.ranges.items()]
            for name, each in self.problem.experiments.items()
            if each.ranges
        }

    def inside(self, equation: Equation, grid: PointGrid) -> np.ndarray | None:
        """Whether an equation holds at the points of a grid; None where it holds at all of them."""
        span = self.spans.get(experiment_of(next(iter(equation.needs)).field))
        if span is None:
            return None
        beyond = [(grid.coordinates[axis] < low) | (grid.coordinates[axis] > high) for axis, low, high in span]
        return ~np.any(beyond, axis=0)

    def look_up(
        self,
        grid: PointGrid,
        derivative: Callable[[Derivative], np.ndarray],
        unknowns: Mapping[str, float],
        varied: Callable[[Varying], np.ndarray],
    ) -> Callable[[Leaf], Any]:
        """The value of any leaf of an equation at the points of a grid."""

        def value(leaf: Leaf) -> Any:
            match leaf:
                case Derivative():
                    return derivative(leaf)
                case UnknownLeaf(name):
                    return unknowns[name]
                case Varying():
                    return varied(leaf)
                case Constant(_, number):
                    return number
                case Coordinate(name):
                    return grid.coordinates[self.axis_of[name]]
                case Given(name, axes):
                    places = [grid.coordinates[self.axis_of[axis]].ravel() for axis in axes]
                    return np.asarray(self.problem.tables[name].at(places)).reshape(grid.cells, grid.points)
                case _:
                    raise TypeError(f"{type(leaf).__name__} is not a leaf of a written equation")

        return value


def _as_extents(sizes: Mapping[str, float]) -> dict[str, Extent]:
    """Of fields of which only a size is known."""
    return {name: Extent(size, size) for name, size in sizes.items()}


def _median(values: np.ndarray) -> float:
    return float(np.median(values)) if values.size else 0.0
