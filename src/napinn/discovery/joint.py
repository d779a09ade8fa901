"""The joint refit: field, noise law and coefficients together with the equations in place, and which terms survive it.

All candidates are fitted at once. Their joint covariance says by how much the readings would become less likely without
any of them, so one fit decides on all sets of terms to second order. The survivors are fitted again until every
interval excludes zero."""

import dataclasses
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from napinn.data.readings import Readings
from napinn.discovery.fields import only_fields
from napinn.discovery.terms import Term
from napinn.engines.base import backend_of
from napinn.engines.fitting import fit
from napinn.engines.splines.method import bsplines
from napinn.errors import InputError
from napinn.noise.laws import deviation
from napinn.problem import Problem, Unknown
from napinn.problem.equations import Derivative, Names, parse_expression, walk
from napinn.problem.equations.tree import Sum
from napinn.results.result import FitResult

MOST_REFITS = 4
"""Each drops at least one term; libraries that still change after four are not decided by the readings."""
MOST_ENUMERATED, ROUNDS = 10, 3
"""Terms of one equation all sets of which are compared, and times that equations are gone through."""
CLOSE_CALL = 6.0
"""Twice the nats by which a rival may be worse and still not be ruled out: a ratio of likelihoods of twenty."""
GROSS = 4.0
"""Standard deviations from which on all misfits count alike when two fits are compared."""
FAILED = frozenset({"DIVERGED", "INTERRUPTED"})


@dataclass(frozen=True, eq=False)
class Candidate:
    """A term of one equation, with where its coefficient starts."""

    equation: int
    term: Term
    start: float


@dataclass(frozen=True, eq=False)
class Frame:
    """What all problems of one discovery share."""

    coordinates: dict[str, tuple[float, float]]
    fields: tuple[str, ...]
    lefts: tuple[str, ...]
    known: tuple[str, ...]
    """Of each equation: the known part of the right-hand side as text, or empty."""
    name: str
    constants: dict[str, float]
    units: dict[str, str]
    own_units: tuple[str, ...] = ()

    def problem(self, candidates: Sequence[Candidate]) -> Problem:
        """The equations with these terms, a coefficient c1, c2 … each."""
        sides: list[list[str]] = [[text] if text else [] for text in self.known]
        names = self.names(len(candidates))
        for name, each in zip(names, candidates, strict=True):
            sides[each.equation].append(_with_coefficient(name, each.term))
        equations = [f"{left} = {' + '.join(parts) or '0'}" for left, parts in zip(self.lefts, sides, strict=True)]
        unknowns = {name: Unknown(each.start) for name, each in zip(names, candidates, strict=True)}
        used = tuple(name for name in self.fields if self._uses(equations, name))
        found = Problem(self.coordinates, used, tuple(equations), unknowns, self.constants, name=self.name)
        try:
            return replace(found, units=self.units, own_units=self.own_units)
        except InputError:
            # A candidate such as sin(u) takes a plain number; that says nothing against it.
            return found

    def names(self, count: int) -> list[str]:
        taken = {*self.coordinates, *self.fields, *self.constants}
        letter = next(
            each for each in ("c", "k", "coefficient") if not any(f"{each}{n + 1}" in taken for n in range(count))
        )
        return [f"{letter}{number + 1}" for number in range(count)]

    def _uses(self, equations: Sequence[str], field: str) -> bool:
        names = Names(tuple(self.coordinates), self.fields, tuple(self.names(100)), self.constants)
        sides = (parse_expression(side, names) for text in equations for side in text.split("="))
        return any(isinstance(leaf, Derivative) and leaf.field == field for side in sides for leaf in walk(side))


def _with_coefficient(name: str, term: Term) -> str:
    if term.text == "1":
        return name
    return f"{name}*({term.spelled})" if isinstance(term.tree, Sum) else f"{name}*{term.spelled}"


@dataclass(frozen=True, eq=False)
class Refitted:
    """The terms that survived, with the fit that they survived in."""

    candidates: tuple[Candidate, ...]
    result: FitResult
    close: tuple[tuple[int, tuple[str, ...], tuple[str, ...]], ...]
    """Equation, its terms, and the terms of a rival that the readings do not rule out."""
    tried: tuple[Candidate, ...]
    """All that took part, with what was found for them."""


def affordable(problem: Problem, readings: Readings, seconds: float) -> bool:
    """Whether the joint fit is estimated to take no longer than this."""
    if seconds <= 0.0:
        return False
    method = bsplines()
    try:
        return backend_of(method).estimate(problem, _read_for(problem, readings), method).seconds <= seconds
    except (InputError, RuntimeError):
        return False


def refit(
    frame: Frame, readings: Readings, candidates: Sequence[Candidate], penalty: float, seed: int
) -> Refitted | None:
    """Fit, eliminate, fit again; None where a fit with all candidates fails."""
    present = tuple(candidates)
    result = _fitted(frame, readings, present, seed)
    if result is None:
        return None
    first = _Sets(present, result, frame)
    for number in range(MOST_REFITS):
        sets = _Sets(present, result, frame)
        kept = sets.best(penalty)
        kept = tuple(each for each in kept if number == 0 or not sets.holds_zero(each))
        if len(kept) == len(present):
            break
        present = tuple(sets.moved(each) for each in kept)
        after = _fitted(frame, readings, present, seed)
        if after is None:
            return None
        result = after
    sets = _Sets(present, result, frame)
    close = first.close_calls(first.numbers_of(present), penalty)
    tried = tuple(first.moved(number) for number in range(len(first.present)))
    return Refitted(tuple(sets.moved(number) for number in range(len(present))), result, close, tried)


def _fitted(frame: Frame, readings: Readings, present: tuple[Candidate, ...], seed: int) -> FitResult | None:
    problem = frame.problem(present)
    try:
        result = fit(problem, _read_for(problem, readings), bsplines(), seed=seed)
    except (InputError, np.linalg.LinAlgError, FloatingPointError):
        return None
    return None if result.uncertainty is None or result.status.name in FAILED else result


def _read_for(problem: Problem, readings: Readings) -> Readings:
    """The readings of the fields that the equations hold."""
    return readings if problem.fields == readings.fields else only_fields(readings, problem.fields)


def exchanged(frame: Frame, readings: Readings, found: Refitted, seed: int) -> Refitted:
    """The found terms, or those of a rival of the same size under which the readings are likelier.

    Rivals were compared by the curvature of one fit, which is rough for terms that resemble each other. Those that it
    does not rule out are fitted themselves, and the misfits of both fits are compared."""
    best = found
    for equation, terms, rival in found.close:
        if len(rival) != len(terms):
            continue
        (into,) = set(rival) - set(terms)
        others = [each for each in best.candidates if each.equation != equation or each.term.text in rival]
        tried = [each for each in found.tried if (each.equation, each.term.text) == (equation, into)]
        present = tuple(sorted((*others, *tried), key=lambda each: each.equation))
        if len(present) != len(best.candidates):
            continue
        result = _fitted(frame, readings, present, seed)
        if result is not None and _likelier(result, best.result):
            best = dataclasses.replace(best, candidates=present, result=result)
    return best


def _likelier(one: FitResult, other: FitResult) -> bool:
    """Whether misfits are smaller in sum, in units of the noise of each field, gross errors counted alike."""
    total = 0.0
    for number in range(len(one.readings.fields)):
        chosen = one.readings.field_index == number
        misfits = [each.readings.values[chosen] - each.predicted[chosen] for each in (one, other)]
        scale = max(min(map(deviation, misfits)), 1e-300)
        squares = [np.minimum((each / scale) ** 2, GROSS**2) for each in misfits]
        total += float(np.sum(squares[0]) - np.sum(squares[1]))
    return total < 0.0


class _Sets:
    """Sets of the terms of a fit, compared by the curvature of its likelihood."""

    def __init__(self, present: tuple[Candidate, ...], result: FitResult, frame: Frame) -> None:
        self.present, self.result = present, result
        names = frame.names(len(present))
        assert result.uncertainty is not None
        self.intervals = [result.uncertainty.intervals[name] for name in names]
        self.values = np.array([result.unknowns[name] for name in names])
        errors = np.array([max(each.error, 1e-300) for each in self.intervals])
        correlation = result.uncertainty.correlation
        correlation = np.eye(len(names)) if correlation is None else np.asarray(correlation)
        self.known = np.isfinite(errors)
        errors = np.where(self.known, errors, 1e150)
        self.standard = self.values / errors
        self.correlation = 0.999999 * correlation + 1e-6 * np.eye(len(names))

    def numbers_of(self, others: Sequence[Candidate]) -> tuple[int, ...]:
        """Where the terms of a smaller fit stand in this one."""
        wanted = {(each.equation, each.term.text) for each in others}
        return tuple(n for n, each in enumerate(self.present) if (each.equation, each.term.text) in wanted)

    def worse(self, out: Sequence[int]) -> float:
        """Twice the nats that are lost without some terms."""
        index = list(out)
        if not index:
            return 0.0
        part = self.correlation[np.ix_(index, index)]
        return float(self.standard[index] @ np.linalg.solve(part, self.standard[index]))

    def best(self, penalty: float) -> tuple[int, ...]:
        """The set with the least loss plus the penalty of its terms, one equation after the other."""
        kept = tuple(range(len(self.present)))
        for _ in range(ROUNDS):
            before = kept
            for equation in sorted({each.equation for each in self.present}):
                kept = self._best_of(equation, kept, penalty)
            if kept == before:
                break
        return kept

    def _best_of(self, equation: int, kept: tuple[int, ...], penalty: float) -> tuple[int, ...]:
        own = [number for number, each in enumerate(self.present) if each.equation == equation]
        others = [number for number in kept if number not in own]

        def cost(chosen: Sequence[int]) -> float:
            inside = {*others, *chosen}
            return self.worse([n for n in range(len(self.present)) if n not in inside]) + penalty * len(chosen)

        if len(own) <= MOST_ENUMERATED:
            sets = (each for size in range(len(own) + 1) for each in itertools.combinations(own, size))
            return tuple(sorted((*others, *min(sets, key=cost))))
        chosen = [number for number in kept if number in own]
        while chosen:
            less = min(([each for each in chosen if each != out] for out in chosen), key=cost)
            if cost(less) >= cost(chosen):
                break
            chosen = less
        return tuple(sorted((*others, *chosen)))

    def close_calls(
        self, kept: tuple[int, ...], penalty: float
    ) -> tuple[tuple[int, tuple[str, ...], tuple[str, ...]], ...]:
        """Sets that differ by one term more, less or other, and are not ruled out."""
        gone = [number for number in range(len(self.present)) if number not in kept]
        base, found = self.worse(gone), []
        exchanges = [(out, into) for out in kept for into in gone if self._same(out, into)]
        for out, into in exchanges:
            other = [number for number in gone if number != into] + [out]
            if self.worse(other) - base < CLOSE_CALL:
                rival = tuple(number for number in (*kept, into) if number != out)
                found.append(self._pair(self.present[out].equation, kept, rival))
        for out in kept:
            if self.worse([*gone, out]) - base < penalty + CLOSE_CALL:
                found.append(self._pair(self.present[out].equation, kept, tuple(n for n in kept if n != out)))
        return tuple(found)

    def _same(self, one: int, other: int) -> bool:
        return self.present[one].equation == self.present[other].equation

    def _pair(
        self, equation: int, kept: Sequence[int], rival: Sequence[int]
    ) -> tuple[int, tuple[str, ...], tuple[str, ...]]:
        def texts(numbers: Sequence[int]) -> tuple[str, ...]:
            return tuple(self.present[n].term.text for n in sorted(numbers) if self.present[n].equation == equation)

        return equation, texts(kept), texts(rival)

    def holds_zero(self, number: int) -> bool:
        return self.intervals[number].low <= 0.0 <= self.intervals[number].high

    def moved(self, number: int) -> Candidate:
        """The candidate with what was found for it as its start."""
        each = self.present[number]
        value = float(self.values[number])
        return Candidate(each.equation, each.term, value if math.isfinite(value) and value != 0.0 else each.start)
