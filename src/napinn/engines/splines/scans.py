"""Where frequencies, phases and places start: in these unknowns the likelihood has many maxima.

A frequency whose wave falls out of step by half a period within the record has no slope towards the right one, and
neither has the place of a source that does not overlap with the true one. So values are tried that are a quarter of a
period, or some share of the box, apart, with the other unknowns regressed. The weak form begins at the best."""

import itertools
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

import numpy as np

from napinn.engines.splines.state import LinearResiduals, ResidualsAt, State
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
CELLS_A_WAVE = 2
"""Of the smoothed field, with two points each: a shorter wave would be taken for a longer one."""
SAME_EVERYWHERE = 1e-6
"""Of its size, by how much the slope of an argument may vary for an unknown to be a phase."""
FEWEST_PLACES, MOST_PLACES = 6, 48
"""Values of a place along its coordinate: as few as the test functions of the weak form, and as many as resolve a
source that these show."""
MOST_TRIED, MOST_SECONDS = 512, 2.0
"""Combinations that are tried together, and of one unknown, and how long these may take; one costs less than a
Gauss–Newton step."""


def scanned(system: System, state: State, equations: Sequence[Equation], residuals_at: ResidualsAt) -> np.ndarray:
    """The unknowns with frequencies, phases and places where residuals are least.

    Args:
        system: on the first mesh.
        state: the smoothed readings and the first unknowns.
        equations: the equations, or conditions, that the residuals are of.
        residuals_at: the derivatives of the residuals by the unknowns, and the residuals, at given unknowns."""
    most = int(np.clip(MOST_SECONDS / system.step_seconds, 2 * len(PHASES), MOST_TRIED))
    frequencies, phases = _waves(system, state, equations)
    tried = {number: _frequencies(system, number, slopes, most) for number, slopes in frequencies.items()}
    waves = np.prod([len(each) for each in tried.values()]) * len(PHASES) ** len(phases)
    tried |= _places(system, equations, {*frequencies, *phases}, most / waves)
    together = np.prod([len(each) for each in tried.values()]) * len(PHASES) ** len(phases) <= most
    unknowns = state.unknowns
    for numbers in [[*tried, *phases]] if together else [[number] for number in (*tried, *phases)]:
        at = replace(state, unknowns=unknowns)
        candidates = [unknowns, *_candidates(system, at, equations, numbers, tried)] if numbers else []
        unknowns = _best(candidates, numbers, residuals_at, system) if candidates else unknowns
    return unknowns


def _best(candidates: list[np.ndarray], tried: list[int], residuals_at: ResidualsAt, system: System) -> np.ndarray:
    fits = [_with_others(each, residuals_at(each), tried, system.task) for each in candidates]
    best = int(np.argmin([left for left, _ in fits]))
    # Beside an amplitude of nearly nothing a frequency has no slope, so the amplitude goes along.
    return min((candidates[best], fits[best][1]), key=lambda each: _size(residuals_at(each)))


def _candidates(
    system: System, state: State, equations: Sequence[Equation], numbers: list[int], tried: dict[int, np.ndarray]
) -> Iterator[np.ndarray]:
    """All combinations of some frequencies and places with some phases."""
    varied = [number for number in numbers if number in tried]
    for combination in itertools.product(*(tried[number] for number in varied)):
        candidate = state.unknowns.copy()
        candidate[varied] = combination
        # How far the wave moves with a delay depends on the frequency.
        _, phases = _waves(system, replace(state, unknowns=candidate), equations)
        shifted = [number for number in numbers if number in phases]
        for shifts in itertools.product(*(_phases(system, candidate, number, phases[number]) for number in shifted)):
            whole = candidate.copy()
            whole[shifted] = shifts
            yield whole


def _with_others(
    unknowns: np.ndarray, linear: LinearResiduals | None, tried: list[int], task: Task
) -> tuple[float, np.ndarray]:
    """The size of the residuals with all other unknowns regressed within their bounds, and the unknowns then."""
    if linear is None:
        return np.inf, unknowns
    rows, misfit = linear
    size = np.abs(rows).max(axis=0)
    others = np.setdiff1d(np.flatnonzero(size > 0.0), tried)
    step = np.zeros(len(unknowns))
    step[others] = -np.linalg.lstsq(rows[:, others] / size[others], misfit, rcond=None)[0] / size[others]
    after = np.clip(unknowns + step, task.low, task.high)
    return float(np.linalg.norm(misfit + rows @ (after - unknowns))), after


def _size(linear: LinearResiduals | None) -> float:
    return np.inf if linear is None else float(np.linalg.norm(linear[1]))


def _waves(system: System, state: State, equations: Sequence[Equation]) -> tuple[dict[int, float], dict[int, float]]:
    """Frequencies, each with how far the slope of an argument varies over the record, and phases, each with its
    slope."""
    frequencies: dict[int, float] = {}
    phases: dict[int, float] = {}
    nodes = (node for equation in equations for node in walk(tree_of(equation)))
    for argument in [node.arguments[0] for node in nodes if isinstance(node, Call) and node.function in WAVES]:
        _, partials = value_and_partials(argument, lambda leaf: system.leaf(leaf, state))
        for leaf, slope in partials.items():
            size, varies = float(np.max(np.abs(slope))), float(np.ptp(slope))
            if not isinstance(leaf, UnknownLeaf) or not np.isfinite(size) or size == 0.0:
                continue
            number = system.task.unknowns.index(leaf.name)
            kind, value = (phases, size) if varies <= SAME_EVERYWHERE * size else (frequencies, varies)
            kind[number] = max(kind.get(number, 0.0), value)
    return frequencies, {number: size for number, size in phases.items() if number not in frequencies}


def _frequencies(system: System, number: int, varies: float, most: int) -> np.ndarray:
    waves = max(axis.cells for axis in system.space.axes) / CELLS_A_WAVE
    low, high = float(system.task.low[number]), float(system.task.high[number])
    return frequencies_to_try(varies, waves, low, high, most)


def _places(system: System, equations: Sequence[Equation], but: Collection[int], most: float) -> dict[int, np.ndarray]:
    """The values of unknowns that are subtracted from a coordinate, but for those of waves, all of them inside the box;
    `most` combinations of them may be tried."""
    task, ends = system.task, {}
    for equation in equations:
        for node in walk(tree_of(equation)):
            for name, low, high in _shifts(node, task) if isinstance(node, Sum) else ():
                ends[task.unknowns.index(name)] = (low, high)
    ends = {number: pair for number, pair in ends.items() if number not in but}
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


def _phases(system: System, unknowns: np.ndarray, number: int, slope: float) -> np.ndarray:
    """The values over one period that the bounds allow; where these are closer together, the present one."""
    found = PHASES / slope
    found = found[(found > system.task.low[number]) & (found < system.task.high[number])]
    return found if len(found) else unknowns[[number]]


def frequencies_to_try(varies: float, waves: float, low: float, high: float, most: int) -> np.ndarray:
    """Values between the bounds of a frequency, or up to so many waves in the record.

    Args:
        varies: how far the slope of the argument varies: the length of the record, of `sin(w*t)`.
        waves: the most waves in the record where there is no bound.
        low, high: the bounds, infinite where there are none.
        most: values at most."""
    reach = 2.0 * np.pi * waves / varies
    lowest = low if np.isfinite(low) else min(0.0, high - reach)
    highest = high if np.isfinite(high) else max(lowest, 0.0) + reach
    count = int(np.ceil((highest - lowest) * varies / STEP)) + 1
    found = np.linspace(lowest, highest, min(count, most))
    inside = found[(found > low) & (found < high)]
    return inside if len(inside) else np.array([0.5 * (lowest + highest)])
