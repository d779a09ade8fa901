"""Starts of a fit: descents from different fields and unknowns, as many as there is doubt, and the best of them."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from napinn.engines.splines.attempt_scores import likeliest
from napinn.engines.splines.cost import Meter
from napinn.engines.splines.descent import Descent
from napinn.engines.splines.doubts import Doubt, doubts_of
from napinn.engines.splines.equation_units import Units, measured_units
from napinn.engines.splines.journal import Journal, Level
from napinn.engines.splines.points import Point, Watch
from napinn.engines.splines.roughness import FIRST_OF_SHRUNK
from napinn.engines.splines.sizes import box_sizes, first_of_curve, natural_sizes
from napinn.engines.splines.smoothing import Start, finest, first_space, sharper, smooth_values, smoothed
from napinn.engines.splines.state import State
from napinn.engines.splines.system import System
from napinn.engines.splines.task import Task
from napinn.engines.splines.weak_form import weak_start
from napinn.field.splines.banded import NotPositiveError
from napinn.field.splines.space import Space

FIRST_END, FIRST_END_CLOSE = 0.03, 0.003
"""The tolerance at which starts are compared; tighter where it costs little, with one axis, and with few readings,
whose field little else holds."""
GIVEN_START = 0.03
"""The tolerance at which a descent from given unknowns begins: looser, the readings would pull them away."""
FEW = 100
"""Readings below which several starts are always tried."""
OTHER_STARTS = (3.0, 1.0 / 3.0)
"""Factors of the given start that are tried when others are doubtful."""
SETTLED_PRICE = 2.0
"""Nats that the equations may cost an attempt with one axis before other starts are tried. In the valley of the right
unknowns their cost falls as the square of the tolerance and is below one nat at its end, unless the noise is below some
hundredths; in valleys where the field cuts off spikes it stays at four to thirty."""
CHEAP_STEP = 0.02
"""Seconds of a step by the model of cost, at the end of the first starts, below which another start beside a sound one
takes about a second."""
MOST_IN_DOUBT = 1_000
"""Coefficients a field of these other starts: in a wrong valley refinement has no end."""
LOOSELY_HELD = 0.15
"""Share of the readings that parameters use up, above which the equations hardly hold the field, so that the unknowns
of one start prove little."""
FAR = 10.0
"""Times the size at which an unknown matters, beyond which its start does not count as the size of its terms."""
FIRST_ROUGHNESS_WEIGHT = 1e6
"""Of unknown functions, in units of their size: at first they are straight lines, and none of their jumps is larger
than a thousandth."""


@dataclass(frozen=True, eq=False)
class Attempt:
    name: str
    level: Level
    least: Units
    """The units of the smoothed field that it began with."""
    doubts: list[Doubt]

    @property
    def sound(self) -> bool:
        """Whether nothing makes it doubtful and the equations hold its field."""
        return not self.doubts and self.level.share <= LOOSELY_HELD


class Starts:
    """What is known before the first descent, and the descents that are compared."""

    def __init__(self, task: Task, report: Watch, begin: Callable[[str], None], journal: Journal, meter: Meter) -> None:
        """`report` gets every point, and `begin` the name of every start that is tried."""
        self.task, self.report, self.begin, self.journal, self.meter = task, report, begin, journal, meter
        self.first = np.ones(len(task.unknowns))
        """Where the unknowns start."""
        self.natural = np.full(len(task.unknowns), np.inf)
        """The size at which each matters."""
        self.roughness_weight = np.ones(sum(len(curve.rows) for curve in task.curves))
        """Of unknown functions, at first."""
        self.used = np.ones(len(task.readings), bool)
        """Which readings the descents are of."""

    def doubts(self, point: Point | Level, start: Start) -> list[Doubt]:
        return doubts_of(point, start, self.first, self.natural)

    def find_first(self, start: Start) -> np.ndarray:
        """Where the unknowns start: as given, or at the size at which they matter.

        Returns the smoothed field at every reading."""
        system, state = self.smoothed_state(start)
        self.natural = np.where(self.task.of_curves, np.inf, natural_sizes(system, state))
        if self.task.problem.observables:
            # Behind a mean, fields are constant at first, and show no size at which an unknown matters.
            self.natural = np.where(np.isfinite(self.natural), self.natural, box_sizes(self.task))
        usual = np.where(np.isfinite(self.natural), self.natural, 1.0)
        unknowns = self.task.parameters.values()
        self.first = np.array([each.started(size) for each, size in zip(unknowns, usual, strict=True)])
        for curve in self.task.curves:
            value, size = first_of_curve(system, state.coefficients, self.first, curve)
            self.first[curve.start : curve.start + curve.size] = curve.space.constant(value)
            self.roughness_weight[curve.sets] = FIRST_ROUGHNESS_WEIGHT / (1.0 if curve.space.positive else size) ** 2
            if curve.space.shrunk:
                self.roughness_weight[curve.sets] = FIRST_OF_SHRUNK[0]
                self.roughness_weight[curve.sets[-1]] = FIRST_OF_SHRUNK[1]
        return np.asarray(system.everywhere @ state.coefficients, float)

    def attempts(self, start: Start, most: int, end: float) -> list[Attempt]:
        """Descents from different unknowns and meshes, as many as there is doubt.

        Args:
            start: mesh and roughness weight that held-out readings chose.
            most: coefficients that a mesh may have.
            end: the tolerance of the whole fit, below which no descent goes."""
        few, single = len(self.task.readings) < FEW, self.task.dimensions == 1
        end = max(FIRST_END_CLOSE if few or single else FIRST_END, end)
        found: list[Attempt] = []

        def attempt(
            name: str, first: Start, given: np.ndarray | None, tolerance: float, coefficients: int = most
        ) -> None:
            made = self._attempt(name, first, given, tolerance, end, coefficients)
            if made is not None:
                level, least = made
                found.append(Attempt(name, level, least, self.doubts(level, start)))

        def doubtful() -> bool:
            return not any(each.sound for each in found)

        def cheap() -> bool:
            return all(each.level.system.step_seconds < CHEAP_STEP for each in found)

        def settled() -> bool:
            return any(each.sound and each.level.equation_cost < SETTLED_PRICE for each in found)

        attempt("weak form", start, None, 1.0)
        self.meter.limit = float("inf")
        if few or single or (doubtful() and self.task.dimensions == 2):
            finer = sharper(self.task, start)
            if finer.cells != start.cells:
                attempt("weak form, sharper", finer, None, 1.0)
        for name, other in finest(self.task, start).items() if single else ():
            if not settled():
                attempt(name, other, None, 1.0, min(most, MOST_IN_DOUBT * self.task.fields))
        if doubtful():
            # With a loose tolerance the first steps may leave the valley that the weak form found.
            attempt("weak form, held tightly", start, None, GIVEN_START)
        if few or doubtful() or (self.task.dimensions == 2 and cheap() and not settled()):
            attempt("given start", start, self.first, GIVEN_START)
        if few or doubtful():
            for name, given in self._other_unknowns():
                attempt(name, start, given, GIVEN_START)
        return found

    def _attempt(
        self, name: str, first: Start, given: np.ndarray | None, tolerance: float, end: float, most: int
    ) -> tuple[Level, Units] | None:
        """Where a descent from given unknowns leads, or from those of the weak form where none are given, and the units
        of the smoothed field that it began with; None where it fails."""
        self.begin(f"start '{name}'")
        system, state = self.smoothed_state(first)
        # A start of 1 where 1e-4 is right must not make the equations look large, and so loosely met.
        small = np.sign(self.first) * np.minimum(np.abs(self.first), FAR * self.natural)
        small = np.where(self.task.expected, self.first, small)
        least = measured_units(system, replace(state, unknowns=small))
        try:
            if given is None:
                given = weak_start(system, state, small)
                given = None if given is None else self.task.near_priors(given)
            begun = state if given is None else replace(state, unknowns=given)
            return Descent(name, least, most, self.report, self.journal).run(system, begun, tolerance, end), least
        except (NotPositiveError, np.linalg.LinAlgError):
            return None

    def _other_unknowns(self) -> Iterator[tuple[str, np.ndarray]]:
        """Unknowns to start from beside the given ones, by name: multiples of these, and the other sign of all whose
        sign nothing says."""
        for factor in OTHER_STARTS:
            yield f"given start × {factor:.2g}", self._times(factor)
        unknowns = self.task.parameters.values()
        free = np.array([each.start is None and each.low is None and each.high is None for each in unknowns], bool)
        for curve in self.task.curves:
            free[curve.start : curve.start + curve.size] = not curve.space.positive and curve.value is None
        if free.any():
            yield "other signs", np.where(free, -self.first, self.first)

    def _times(self, factor: float) -> np.ndarray:
        """The first values times a factor; a positive function has its logarithm among them."""
        found = factor * self.first
        for curve in self.task.curves:
            if curve.space.positive:
                found[curve.start : curve.start + curve.size] = curve.of(self.first) + np.log(factor)
        return found

    def smoothed_state(self, start: Start) -> tuple[System, State]:
        """The smoothed readings on the first mesh; hidden fields are constant."""
        task = self.task
        space = first_space(task, start.cells, task.fields)
        measured = smoothed(task, space.with_fields(task.measured), start.roughness_weight, self.meter, self.used)
        coefficients = np.tile(task.centre, (space.functions, 1))
        coefficients[:, : task.measured] = measured.reshape(-1, task.measured)
        self._start_indirect(space, coefficients, start.roughness_weight)
        held_out = start.held_out if task.groups == 1 else np.array(start.by_group)[task.scatters.group]
        sigma = held_out * task.noise_unit
        offsets = np.zeros(len(sigma))
        state = State(coefficients.ravel(), self.first, offsets, sigma, task.working_laws, self.roughness_weight)
        # Two points a cell: a coarse mesh must not lock.
        return System(task, space, 2, self.used, self.meter), state

    def _start_indirect(self, space: Space, coefficients: np.ndarray, roughness_weight: float) -> None:
        """Hidden fields behind observables, from the smoothed observables."""
        task, single = self.task, space.with_fields(1)

        def observed(number: int) -> np.ndarray:
            places = task.points[task.readings.field_index == number]
            return single.design(places, 0) @ coefficients[:, number]

        for name, number, values in task.inverted(observed):
            field = task.field_of[name]
            places = task.points[task.readings.field_index == number]
            coefficients[:, field] = smooth_values(single, places, values, float(task.scale[field]), roughness_weight)

    def best(self, attempts: list[Attempt]) -> Attempt:
        """The likeliest of the sound attempts, or else of those without doubts, or else of all."""
        sound = [attempt for attempt in attempts if attempt.sound]
        attempts = sound or [attempt for attempt in attempts if not attempt.doubts] or attempts
        return attempts[likeliest([attempt.level for attempt in attempts], held=bool(sound))]
