"""Is the sensor wrong, or the equation? A second fit, with a source term in each equation, beside the first.

Each equation gets a source term on its right-hand side: a smooth function of all coordinates, whose smoothness and
size the readings choose, so that it vanishes where the readings do not need it. Unknowns and noise law are fitted
again with it, because a wrong equation biases both: a larger diffusivity replaces a loss, and misfits look like noise.
Both fits then predict groups of readings (sensors, or stretches of time) that are left out. A term that only fits one
faulty sensor does not help to predict the others; a term that the equation lacks does.
"""

import math
from dataclasses import replace

import numpy as np

from napinn.diagnostics.uncertainty.groups import groups_of
from napinn.engines.splines.cost import TooSlowError
from napinn.engines.splines.engine import Engine
from napinn.engines.splines.equation_units import Units, measured_units
from napinn.engines.splines.finish import fitted_model
from napinn.engines.splines.held_out import held_out_log_densities
from napinn.engines.splines.model import SplineModel
from napinn.engines.splines.points import Point
from napinn.engines.splines.rebuilding import rebuilt_fit
from napinn.engines.splines.screening import SensorJudge
from napinn.engines.splines.solver import Solution, solve
from napinn.engines.splines.source_terms import described_source
from napinn.engines.splines.state import State
from napinn.engines.splines.system import System
from napinn.engines.splines.task import Task
from napinn.engines.splines.unknown_functions import AddedSource
from napinn.errors import InputError
from napinn.field.splines.axis import uniform_axis
from napinn.field.splines.banded import NotPositiveError
from napinn.field.splines.functions import SMOOTH_DEGREE, FunctionSpace
from napinn.results.discrepancy import Discrepancy
from napinn.results.result import FitResult

CELLS = {1: 12, 2: 6, 3: 2}
"""Along each coordinate, by how many there are. A source term shows where and how an equation fails, not its details,
and each coefficient borders the normal matrix."""
MOST_COEFFICIENTS = 400
"""Of all source terms; cells are fewer where the equations are many."""
STEPS, SMALL_GAIN = 16, 1e-3
"""Gauss–Newton steps at most, and nats below which they end: the gradient must vanish where readings are left out."""
MOST_JUDGED = 2000
"""Readings that are held out. Groups are drawn by chance where there are more: each takes a solution of its own."""
MOST_IN_GROUP = 300
"""Readings that are left out at once: each needs a column of its own on the finest mesh."""
MOST_PARTS = 30
"""In which readings are held out: as many as there are stretches of a single record."""
TRIMMED = 0.1
"""Share of the groups that is left out at either end before their mean is taken: at the edge of the box a field
without the outermost sensor is an extrapolation, and one such group can outweigh all others."""


def discrepancy_of(result: FitResult, model: SplineModel) -> Discrepancy:
    """What source terms make of a finished fit.

    Args:
        result: the fit.
        model: its model.

    Raises `InputError` where no source term can be added or the second fit fails."""
    with np.errstate(all="ignore"):
        system, state = rebuilt_fit(result, model)
        units = measured_units(system, state)
        sources = sources_of(system.task, units)
        try:
            before = _ended(system, state, model.tolerance)
            after = _fit_with(replace(system.task, sources=sources), result)
        except (NotPositiveError, np.linalg.LinAlgError, TooSlowError):
            raise InputError("the fit with a source term in the equations failed.") from None
        gain, error, groups = compared(before, after.solution)
    found = tuple(described_source(after, source) for source in sources)
    unknowns = dict(zip(result.problem.unknowns, map(float, after.state.unknowns), strict=False))
    return Discrepancy(found, gain, error, groups, unknowns, result.lacks_a_term)


def sources_of(task: Task, units: Units) -> tuple[AddedSource, ...]:
    """A source term for every equation with a derivative; one without defines a field.

    Args:
        task: without source terms.
        units: of its equations."""
    problem = task.problem
    for name, varying in problem.varying.items():
        if set(varying.of) == set(problem.coordinates):
            raise InputError(
                f"'{name}' varies along all coordinates, so it can replace any missing term of the equations."
            )
    chosen = [
        number
        for number, equation in enumerate(problem.stated)
        if any(any(task.orders_of(leaf)) for leaf in equation.needs)
    ]
    if not chosen:
        raise InputError("no equation has a derivative, so none can lack a source term.")
    cells, axes = CELLS[task.dimensions], len(problem.coordinates)
    while cells > 1 and len(chosen) * (cells + SMOOTH_DEGREE) ** axes > MOST_COEFFICIENTS:
        cells -= 1
    along = tuple(uniform_axis(low, high, cells, SMOOTH_DEGREE) for low, high in problem.coordinates.values())
    space = FunctionSpace(tuple(problem.coordinates), along, positive=False, shrunk=True)
    return tuple(
        AddedSource(f"addedsource{number}", number, space, math.sqrt(units.typical[number])) for number in chosen
    )


def _fit_with(task: Task, result: FitResult) -> Point:
    """A whole fit of a task with source terms."""
    screen = SensorJudge(task, result.method.false_alarms)
    point = Engine(task, result.seed, screen, lambda point, happened, stage: None).run().point
    state = replace(point.state, laws=fitted_model(point).laws)
    return replace(point, solution=_ended(point.system, state, point.tolerance))


def _ended(system: System, state: State, tolerance: float) -> Solution:
    """Steps until the gradient vanishes, under a law that is a density."""
    units = measured_units(system, state)
    return solve(system, units, tolerance, state, steps=STEPS, least_gain=SMALL_GAIN)


def compared(before: Solution, after: Solution) -> tuple[float, float, str]:
    """Nats by which held-out readings are likelier in the second fit, the standard error of that, and what was held
    out.

    The mean over groups is trimmed, and its error is Yuen's.

    Args:
        before: the end of the first fit.
        after: the end of the second."""
    used = before.system.used | after.system.used
    groups = groups_of(before.system.task.readings, used)
    label, parts = _parted(_drawn(_cut(groups.label)))
    gains = held_out_log_densities(after, label) - held_out_log_densities(before, label)
    each = np.bincount(label[label >= 0], gains[label >= 0])
    each = np.sort(each[np.bincount(label[label >= 0]) > 0])
    count, cut = len(each), math.ceil(TRIMMED * len(each)) if len(each) > 2 else 0
    kept = each[cut : count - cut]
    winsorised = np.clip(each, kept[0], kept[-1])
    spread = float(np.var(winsorised, ddof=1)) if count > 1 else math.inf
    # Of readings that were not drawn, as many nats are taken for granted.
    total = count * int(np.sum(groups.label >= 0)) / int(np.sum(label >= 0))
    mean, error = float(kept.mean()), math.sqrt(spread * (count - 1) / max(len(kept) * (len(kept) - 1), 1))
    return total * mean, total * error, groups.source + parts


def _parted(label: np.ndarray) -> tuple[np.ndarray, str]:
    """The labels with groups put together by chance where they are many, and the words for that. Groups of single
    readings differ by so much that the mean would lose to trimming what few of them show clearly."""
    numbers = np.unique(label[label >= 0])
    if len(numbers) <= MOST_PARTS:
        return label, ""
    part = np.random.default_rng(1).permutation(len(numbers)) % MOST_PARTS
    found = np.where(label >= 0, part[np.searchsorted(numbers, np.maximum(label, numbers[0]))], -1)
    return found, f" in {MOST_PARTS} parts"


def _cut(label: np.ndarray) -> np.ndarray:
    """The labels with large groups cut into stretches of readings that follow each other."""
    found, number = np.full(len(label), -1), 0
    for group in np.unique(label[label >= 0]):
        mine = np.flatnonzero(label == group)
        for piece in np.array_split(mine, math.ceil(len(mine) / MOST_IN_GROUP)):
            found[piece] = number
            number += 1
    return found


def _drawn(label: np.ndarray) -> np.ndarray:
    """The labels of as many groups as can be judged; -1 for readings of the others."""
    sizes = np.bincount(label[label >= 0])
    order = np.random.default_rng(0).permutation(len(sizes))
    chosen = order[: max(int(np.searchsorted(np.cumsum(sizes[order]), MOST_JUDGED, "right")), 1)]
    return np.where(np.isin(label, chosen), label, -1)
