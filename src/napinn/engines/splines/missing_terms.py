"""Whether the readings ask for a term that the equations do not have.

A wrong equation can meet all readings with wrong coefficients: where a rod also loses heat along its length, a larger
diffusivity takes the place of the loss, and the few readings that contradict it pass for gross errors. So simple terms
are added to every equation, each with a coefficient that starts at zero: the field, its square, a constant, and first
derivatives where there are second ones. A short descent on the final mesh, under the final law, then says by how much
the readings become likelier. If that is more than the added coefficients are worth under BIC, and the unknowns
leave their intervals on the way, the equations are doubted. No truth is needed, and no fit is repeated. Where even the
first step of that descent promises far less (Rao's score test), it is not begun.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from napinn.engines.splines.equation_units import Units, measured_units
from napinn.engines.splines.points import Point
from napinn.engines.splines.solver import Solution, solve
from napinn.engines.splines.state import State
from napinn.engines.splines.system import System
from napinn.engines.splines.task import Task
from napinn.errors import InputError
from napinn.field.splines.banded import NotPositiveError
from napinn.problem import Problem
from napinn.problem.experiment import plain
from napinn.problem.unknown import Unknown
from napinn.results.intervals import Interval

TOLERANCES = (0.03, 0.01, 0.003)
"""Of the equations before the final one: under a tight tolerance field and coefficients hold each other, and steps are
too short to arrive anywhere."""
STEPS, LEAST_GAIN = 8, 0.01
"""Gauss–Newton steps at each tolerance, and the nats below which a further one is not taken."""
MARGIN = 5.0
"""Nats beyond what BIC charges for the added coefficients."""
PROMISING = 0.25
"""Of the gain that would lead to a doubt: what a whole Gauss–Newton step must promise for a descent to be worth its
time. In eleven fits of rods and growth with terms left out, the descent gained at most twice what was promised."""
DEPENDENT = 0.05
"""A term is left out where the other terms and the unknowns explain all but this share of it: it is there already."""
QUANTILE = 1.96
"""Standard errors on either side of an estimate that hold the truth with a chance of 95 %."""
MOST_TERMS = 24
"""Added coefficients above which nothing is tried: with so many fields, steps would take as long as the fit."""


@dataclass(frozen=True)
class AddedTerm:
    """A term that is added to one equation."""

    equation: int
    text: str
    name: str
    """Of its coefficient."""


@dataclass(frozen=True, eq=False)
class Richer:
    """What richer equations make of a fit."""

    gain: float
    """Nats by which readings and equations together become likelier."""
    charge: float
    """What BIC charges for the added coefficients, in nats."""
    strongest: AddedTerm
    coefficient: float
    """Of the strongest term."""
    unknowns: Mapping[str, float]
    """Those of the problem, under the richer equations."""


def doubt_of_terms(point: Point, least: Units, intervals: Mapping[str, Interval]) -> str | None:
    """A sentence where the readings ask for a further term and the unknowns depend on it; None where they do not.

    Args:
        point: where the fit ended.
        least: units of the smoothed field, as the fit used them.
        intervals: those of the unknowns."""
    found = richer_fit(point, least)
    if found is None or found.gain < found.charge + MARGIN:
        return None
    before = dict(zip(point.system.task.unknowns, map(float, point.state.unknowns), strict=True))
    moved = [name for name, each in intervals.items() if beyond_noise(found.unknowns[name], before[name], each)]
    if before and not moved:
        return None
    changes = ", ".join(f"'{name}' from {before[name]:.4g} to {found.unknowns[name]:.4g}" for name in moved)
    equation = point.system.task.problem.equations[found.strongest.equation]
    term = f"{found.coefficient:+.2g}" + ("" if found.strongest.text == "1" else f"·{found.strongest.text}")
    return (
        f"With further terms in the equations, mainly {term} on the right of '{equation}', the likelihood of the "
        f"readings rises by {found.gain:.0f} nats"
        + (f", which moves {changes}" if changes else "")
        + ": the equations lack a term, or a sensor is wrong in a way that looks like one."
    )


def beyond_noise(moved: float, before: float, interval: Interval) -> bool:
    """Whether an unknown left the interval that noise and drift give it. What unmet equations add is left out: a
    missing term is one reason why they are not met.

    Args:
        moved: its value under other equations or another noise law.
        before: the value that was found.
        interval: that of the value found."""
    low, high = sorted((before, before + interval.drift))
    half = QUANTILE * interval.error
    return not low - half <= moved <= high + half


def richer_fit(point: Point, least: Units) -> Richer | None:
    """A short descent under richer equations; None where no term can be added, no step can be taken, or the first one
    promises far too little.

    Args:
        point: where the fit ended.
        least: units of the smoothed field, as the fit used them."""
    task = point.system.task
    if task.curves:
        # An unknown function takes up what the equations lack.
        return None
    terms = list(terms_of(task.problem))
    if not 0 < len(terms) <= MOST_TERMS:
        return None
    try:
        terms = _independent(point, terms)
        if not terms:
            return None
        units = measured_units(point.system, point.state, least)
        system = _richer_system(point.system, terms)
        first = solve(system, units, point.tolerance, _with_zeros(point.state, terms), steps=0)
        if first.promised_gain < PROMISING * (_charge(terms, system) + MARGIN):
            return None
        before = solve(point.system, units, point.tolerance, point.state, steps=STEPS, least_gain=LEAST_GAIN)
        state = _with_zeros(before.state, terms)
        for tolerance in TOLERANCES:
            if tolerance > point.tolerance:
                state = solve(system, units, tolerance, state, steps=STEPS, least_gain=LEAST_GAIN).state
        after = solve(system, units, point.tolerance, state, steps=STEPS, least_gain=LEAST_GAIN)
    except (NotPositiveError, np.linalg.LinAlgError, InputError):
        return None
    return _compared(before, after, terms)


def _charge(terms: list[AddedTerm], system: System) -> float:
    """What BIC charges for the coefficients of the terms, in nats."""
    return 0.5 * len(terms) * math.log(system.count)


def _with_zeros(state: State, terms: list[AddedTerm]) -> State:
    """The state under richer equations that has no part of the added terms."""
    return replace(state, unknowns=np.append(state.unknowns, np.zeros(len(terms))))


def _compared(before: Solution, after: Solution, terms: list[AddedTerm]) -> Richer:
    known = len(before.state.unknowns)
    values = after.state.unknowns
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.nan_to_num(np.abs(values[known:] / after.errors[known:]))
    strongest = int(np.argmax(ratios))
    return Richer(
        gain=before.value.total - after.value.total,
        charge=_charge(terms, before.system),
        strongest=terms[strongest],
        coefficient=float(values[known + strongest]),
        unknowns=dict(zip(before.system.task.unknowns, map(float, values[:known]), strict=True)),
    )


def terms_of(problem: Problem) -> Iterator[AddedTerm]:
    """The terms that are tried, equation by equation; an equation without a derivative defines a field, and gets none.

    Args:
        problem: whose equations are all given as text."""
    # Of several experiments the first represents all: their equations are the same.
    for number, equation in enumerate(problem.stated[: len(problem.equations)]):
        highest = max(equation.needs, key=lambda leaf: len(leaf.terms[0]), default=None)
        if highest is None or not highest.terms[0]:
            continue
        field = plain(highest.field)
        texts = [field, f"{field}**2", "1"]
        for axis in problem.coordinates:
            if any(leaf.field == highest.field and leaf.terms[0].count(axis) > 1 for leaf in equation.needs):
                texts.append(f"d({field}, {axis})")
        for index, text in enumerate(texts):
            yield AddedTerm(number, text, f"addedterm{number}x{index}")


def richer_problem(problem: Problem, terms: list[AddedTerm]) -> Problem:
    """The problem with these terms on the right of its equations.

    Args:
        problem: whose equations are all given as text.
        terms: what is added, each with an unknown of its own that starts at zero."""
    equations = [str(equation) for equation in problem.equations]
    for term in terms:
        equations[term.equation] += f" + {term.name}*({term.text})"
    unknowns = {**problem.unknowns, **{term.name: Unknown(0.0) for term in terms}}
    return replace(problem, equations=tuple(equations), unknowns=unknowns)


def _richer_system(system: System, terms: list[AddedTerm]) -> System:
    task = system.task
    richer = Task(richer_problem(task.problem, terms), task.readings, task.density)
    return system.of(richer)


def _independent(point: Point, terms: list[AddedTerm]) -> list[AddedTerm]:
    """The terms that are neither there already nor made of others: what is collinear stops every step."""
    system = _richer_system(point.system, terms)
    state = _with_zeros(point.state, terms)
    units = measured_units(point.system, point.state)
    columns = []
    for name in system.task.unknowns:
        parts = [
            (np.sqrt(weight) / unit * residual.unknowns.get(name, np.zeros(()))).ravel()
            for residual, unit, weight in zip(
                system.residuals(state.coefficients, state.unknowns), units.equations, system.equation_weights,
                strict=True,
            )
        ]  # fmt: skip
        columns.append(np.concatenate(parts))
    known = len(point.state.unknowns)
    basis: list[np.ndarray] = []
    kept = []
    for number, column in enumerate(columns):
        size = float(np.linalg.norm(column))
        rest = column.copy()
        for direction in basis:
            rest -= (direction @ rest) * direction
        left = float(np.linalg.norm(rest))
        if not np.isfinite(left) or left <= DEPENDENT * size:
            continue
        basis.append(rest / left)
        if number >= known:
            kept.append(terms[number - known])
    return kept
