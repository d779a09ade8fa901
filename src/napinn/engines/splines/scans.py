"""Where frequencies, phases and places start: in these unknowns the likelihood has many maxima.

A frequency whose wave falls out of step by half a period within the record has no slope towards the right one, and
neither has the place of a source that does not overlap with the true one. So values are tried that are a quarter of a
period, or some share of the box, apart, with the other unknowns regressed. The weak form begins at the best."""

import itertools
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from napinn.engines.splines.state import ResidualsAt, State
from napinn.engines.splines.system import System
from napinn.engines.splines.task import Task
from napinn.engines.splines.unknown_functions import tree_of
from napinn.problem.equations import Coordinate, Equation, UnknownLeaf
from napinn.problem.equations.gradient import value_and_partials
from napinn.problem.equations.tree import Call, Sum, walk

WAVES = ("sin", "cos")
STEP = np.pi / 2
"""Radians by which neighbouring values differ over the record: half of that from the nearest of them, a wave still
agrees with the right one in sign for most of its length."""
PHASES = np.arange(-np.pi, np.pi, STEP)
FROM_BOUND = (np.arange(len(PHASES)) + 0.5) * STEP
CELLS_A_WAVE = 2
"""Of the smoothed field, with two points each: a shorter wave would be taken for a longer one."""
SAME_EVERYWHERE = 1e-6
"""Of its size, by how much the slope of an argument may vary for an unknown to be a phase."""
FEWEST_PLACES, MOST_PLACES = 6, 48
"""Values of a place along its coordinate: as few as the test functions of the weak form, and as many as resolve a
source that these show."""
MOST_TRIED, MOST_SECONDS = 512, 2.0
"""Combinations that are tried together, and of one unknown, and how long these may take at the price of a Gauss–Newton
step each."""


def scanned(
    system: System, state: State, equations: Sequence[Equation], movable: Collection[str], residuals_at: ResidualsAt
) -> np.ndarray:
    """The unknowns with frequencies, phases and places where residuals are least.

    Args:
        system: on the first mesh.
        state: the smoothed readings and the first unknowns.
        equations: the equations, or conditions, that the residuals are of.
        movable: the unknowns that may change.
        residuals_at: the derivatives of the residuals by the unknowns, and the residuals, at given unknowns."""
    scan = _Scan(system, equations, movable, residuals_at)
    most = int(np.clip(MOST_SECONDS / system.step_seconds, 2 * len(PHASES), MOST_TRIED))
    frequencies, phases = scan.waves(state)
    tried = {number: scan.frequencies(number, varies, most) for number, varies in frequencies.items()}
    count = math.prod(len(each) for each in tried.values()) * len(PHASES) ** len(phases)
    places = scan.places({*frequencies, *phases}, most / count)
    tried |= places
    together = count * math.prod(len(each) for each in places.values()) <= most
    numbers = [*tried, *phases]
    for part in [numbers] if together else [[number] for number in numbers]:
        if part:
            state = replace(state, unknowns=scan.best([state.unknowns, *scan.candidates(state, part, tried)], part))
    return state.unknowns


def reached_by(rows: np.ndarray) -> np.ndarray:
    """The unknowns that leave a trace in residuals: a column of subnormal numbers cannot be scaled.

    Args:
        rows: the derivatives of the residuals by the unknowns."""
    return np.abs(rows).max(axis=0, initial=0.0) > np.sqrt(np.finfo(float).tiny)


@dataclass(frozen=True, eq=False)
class _Scan:
    system: System
    equations: Sequence[Equation]
    movable: Collection[str]
    residuals_at: ResidualsAt

    def best(self, candidates: list[np.ndarray], tried: list[int]) -> np.ndarray:
        fits = [self._with_others(each, tried) for each in candidates]
        best = int(np.argmin([left for left, _ in fits]))
        # A frequency has no slope beside an amplitude of nearly zero, so the regressed amplitude is taken too.
        return min((candidates[best], fits[best][1]), key=self._size)

    def candidates(self, state: State, numbers: list[int], tried: Mapping[int, np.ndarray]) -> Iterator[np.ndarray]:
        """All combinations of some frequencies and places with some phases."""
        varied = [number for number in numbers if number in tried]
        for combination in itertools.product(*(tried[number] for number in varied)):
            candidate = state.unknowns.copy()
            candidate[varied] = combination
            # How far the wave moves with a delay depends on the frequency.
            shifts = self.waves(replace(state, unknowns=candidate))[1] if len(varied) < len(numbers) else {}
            shifted = [number for number in numbers if number in shifts]
            values = [self._phases(number, shifts[number], float(candidate[number])) for number in shifted]
            for phases in itertools.product(*values):
                whole = candidate.copy()
                whole[shifted] = phases
                yield whole

    def _with_others(self, unknowns: np.ndarray, tried: list[int]) -> tuple[float, np.ndarray]:
        """The size of the residuals with all other unknowns regressed within their bounds, and the unknowns then."""
        task, linear = self.system.task, self.residuals_at(unknowns)
        if linear is None:
            return np.inf, unknowns
        rows, misfit = linear
        # Unknown functions stay: their coefficients are not free of each other.
        others = np.setdiff1d(np.flatnonzero(reached_by(rows) & ~task.of_curves), tried)
        size = np.abs(rows[:, others]).max(axis=0, initial=0.0)
        step = np.zeros(len(unknowns))
        step[others] = -np.linalg.lstsq(rows[:, others] / size, misfit, rcond=None)[0] / size
        after = np.clip(unknowns + step, task.low, task.high)
        left = float(np.linalg.norm(misfit + rows @ (after - unknowns)))
        return left if math.isfinite(left) else math.inf, after

    def _size(self, unknowns: np.ndarray) -> float:
        linear = self.residuals_at(unknowns)
        return math.inf if linear is None else float(np.linalg.norm(linear[1]))

    def waves(self, state: State) -> tuple[dict[int, float], dict[int, float]]:
        """Frequencies, each with how far the slope of an argument varies over the record, and phases, each with its
        slope."""
        frequencies: dict[int, float] = {}
        phases: dict[int, float] = {}
        nodes = (node for equation in self.equations for node in walk(tree_of(equation)))
        for argument in [node.arguments[0] for node in nodes if isinstance(node, Call) and node.function in WAVES]:
            _, partials = value_and_partials(argument, lambda leaf: self.system.leaf(leaf, state))
            for leaf, slope in partials.items():
                size, varies = float(np.max(np.abs(slope))), float(np.ptp(slope))
                if not isinstance(leaf, UnknownLeaf) or leaf.name not in self.movable or not 0.0 < size < math.inf:
                    continue
                number = self.system.task.unknowns.index(leaf.name)
                found, value = (phases, size) if varies <= SAME_EVERYWHERE * size else (frequencies, varies)
                found[number] = max(found.get(number, 0.0), value)
        return frequencies, {number: size for number, size in phases.items() if number not in frequencies}

    def frequencies(self, number: int, varies: float, most: int) -> np.ndarray:
        waves = max(axis.cells for axis in self.system.space.axes) / CELLS_A_WAVE
        return frequencies_to_try(varies, waves, *self._bounds(number), most)

    def _phases(self, number: int, slope: float, present: float) -> np.ndarray:
        return phases_to_try(slope, *self._bounds(number), present)

    def _bounds(self, number: int) -> tuple[float, float]:
        return float(self.system.task.low[number]), float(self.system.task.high[number])

    def places(self, waves: Collection[int], most: float) -> dict[int, np.ndarray]:
        """The values of unknowns that are subtracted from a coordinate, all of them inside the box.

        Args:
            waves: frequencies and phases, which are no places.
            most: combinations that may be tried."""
        task, ends = self.system.task, {}
        for equation in self.equations:
            for node in walk(tree_of(equation)):
                for name, low, high in _shifts(node, task) if isinstance(node, Sum) else ():
                    if name in self.movable:
                        ends[task.unknowns.index(name)] = (low, high)
        ends = {number: pair for number, pair in ends.items() if number not in waves}
        count = int(np.clip(most ** (1.0 / max(len(ends), 1)), FEWEST_PLACES, MOST_PLACES))
        found = {}
        for number, (low, high) in ends.items():
            values = low + (high - low) * (np.arange(count) + 0.5) / count
            values = values[(values > task.low[number]) & (values < task.high[number])]
            found |= {number: values} if len(values) else {}
        return found


def _shifts(node: Sum, task: Task) -> Iterator[tuple[str, float, float]]:
    """Each unknown by which a sum shifts a coordinate, with the ends between which the shifted origin is in the box."""
    along = [(sign, leaf.name) for sign, leaf in node.terms if isinstance(leaf, Coordinate)]
    by = [(sign, leaf.name) for sign, leaf in node.terms if isinstance(leaf, UnknownLeaf)]
    for (sign, axis), (other, name) in itertools.product(along, by):
        low, high = task.problem.coordinates[axis]
        yield (name, low, high) if sign != other else (name, -high, -low)


def phases_to_try(slope: float, low: float, high: float, present: float) -> np.ndarray:
    """Values over one period of a phase that its bounds allow; the present one where they allow none.

    Args:
        slope: of the argument: one, of `sin(w*t + p)`.
        low: the lower bound, or minus infinity. The period begins there.
        high: the upper bound, or infinity. Without a lower bound the period ends there.
        present: the first value."""
    if math.isfinite(low):
        found = low + FROM_BOUND / slope
    elif math.isfinite(high):
        found = high - FROM_BOUND / slope
    else:
        return PHASES / slope
    found = found[found < high]
    return found if len(found) else np.array([present])


def frequencies_to_try(varies: float, waves: float, low: float, high: float, most: int) -> np.ndarray:
    """Values of a frequency between its bounds, as far as they make at most so many waves in the record.

    Args:
        varies: how far the slope of the argument varies: the length of the record, of `sin(w*t)`.
        waves: the most waves in the record. Where the bounds allow none of so few, they count alone.
        low: the lower bound, or minus infinity.
        high: the upper bound, or infinity.
        most: values at most; the highest ones are left out."""
    reach = 2.0 * np.pi * waves / varies
    lowest = low if math.isfinite(low) else min(0.0, high - reach)
    highest = high if math.isfinite(high) else max(lowest, 0.0) + reach
    if max(lowest, -reach) < min(highest, reach):
        lowest, highest = max(lowest, -reach), min(highest, reach)
    step = STEP / varies
    count = int(min((highest - lowest) / step, most - 1)) + 1
    found = lowest + step * np.arange(count)
    inside = found[(found > low) & (found < high)]
    return inside if len(inside) else np.array([0.5 * (lowest + highest)])
