"""The verb: readings and candidate terms in, equations out.

    smooth each field without an equation → weak form against test functions → best set of every size, sensors left out
    → joint refit of field, noise law and coefficients → terms whose interval holds zero are dropped → until none is

No equation is claimed where held-out readings are no nearer to the smoothed field than to a constant, where no term is
worth its charge, or where the terms explain less than half of the left side."""

import time
from collections.abc import Mapping, Sequence

import numpy as np
from scipy.special import expit, ndtri

from napinn.data.readings import Readings, time_axis
from napinn.discovery.batches import chosen_terms, refit_in_batches
from napinn.discovery.bumps import bumps_for
from napinn.discovery.criteria import charge
from napinn.discovery.evidence import Evidence, Wanted
from napinn.discovery.fields import measured_of
from napinn.discovery.found import Discovery, FoundEquation, FoundTerm, Rival
from napinn.discovery.joint import Frame, Refitted
from napinn.discovery.search import Search, search
from napinn.discovery.smooth import smooth_field
from napinn.discovery.terms import Term, default_terms, left_side, read_term, read_terms, spell
from napinn.errors import InputError
from napinn.problem.equations import Derivative, Names, show
from napinn.problem.equations.tree import walk

SURE_FIELD = 4.0
"""Standard errors by which held-out readings must be nearer to the smoothed field than to a constant."""
LEAST_EXPLAINED = 0.5
"""Share of the left side below which its terms are no equation."""
REFIT_SECONDS = 15.0
"""What the joint refit may take by the engine's own estimate; above, the equation of the weak form stands."""
HALF_WIDTH = float(ndtri(0.975))
"""Of a 95 % interval, in standard errors."""
MOST_AXES = 3
"""As many as splines take."""

Terms = Sequence[str] | Mapping[str, Sequence[str]]


def discover(
    readings: Readings,
    left: Sequence[str] | str | None = None,
    terms: Terms | None = None,
    *,
    known: Terms = (),
    constants: Mapping[str, float] | None = None,
    box: Mapping[str, tuple[float, float]] | None = None,
    units: Mapping[str, str] | None = None,
    own_units: Sequence[str] = (),
    name: str = "discovered",
    refit_seconds: float = REFIT_SECONDS,
    seed: int = 0,
) -> Discovery:
    """Find which equations the readings obey, and their coefficients.

    :param readings: Of any number of fields, at scattered points or on a grid.
    :param left: The derivative that an equation is solved for, such as `"u_t"`, one or several; the default is the
        first time derivative of every field.
    :param terms: Candidates for the right-hand side as texts, for all equations or by left side; `d(u**2, x, x)` is
        the derivative of an expression. The default is a library of products and derivatives of the fields.
    :param known: Certain parts of the right-hand side with their coefficients, for the only equation or by left side;
        default none.
    :param constants: Numbers that terms may name; default none.
    :param box: Ranges of coordinates by name; the default is those of the readings.
    :param units: Units by name; default none. Those of coefficients follow from them.
    :param own_units: Counts that no list of units holds, such as `cells`; default none.
    :param name: Of the problem that is found; default "discovered".
    :param refit_seconds: What the joint refit may take by estimate, 15 by default; 0 leaves it out.
    :param seed: Of what is random: readings held out and sensors left out; default 0.
    :return: Equations with intervals and inclusion probabilities, rivals by number of terms, the problem that they make
        and the fit with them in place.
    :raises InputError: if a term or a left side cannot be read, or the readings are too few.

    >>> found = napinn.discover(readings, terms=["u", "u**2"])
    >>> [term.text for term in found.equations[0].terms]
    ['u']
    """
    begun = time.process_time()
    question = _Question(readings, left, terms, known, dict(constants or {}))
    ranges = {axis: (box or {}).get(axis, span) for axis, span in _ranges(readings).items()}
    evidence = _evidence(readings, question, ranges, seed)
    searches = search(evidence, question.wanted, seed)
    refusals = [_refusal(evidence, found) for found in searches]
    frame = Frame(
        ranges, tuple(readings.fields), question.lefts, question.known_texts, name, question.constants,
        dict(units or {}), tuple(own_units),
    )  # fmt: skip
    refitted, notes = None, ()
    if not any(refusals):
        refitted, notes = refit_in_batches(frame, readings, searches, refit_seconds, seed)
    equations = tuple(
        _equation(number, question, found, refusal, refitted)
        for number, (found, refusal) in enumerate(zip(searches, refusals, strict=True))
    )
    problem = result = None
    if refitted is not None:
        problem, result = refitted.result.problem, refitted.result
    elif not any(refusals):
        problem = frame.problem(chosen_terms(searches))
    return Discovery(equations, problem, result, notes, time.process_time() - begun)


class _Question:
    """What is asked for, read and checked."""

    def __init__(
        self, readings: Readings, left: Sequence[str] | str | None, terms: Terms | None, known: Terms,
        constants: dict[str, float],
    ) -> None:  # fmt: skip
        if len(readings.coordinates) > MOST_AXES:
            raise InputError(f"equations are discovered along at most {MOST_AXES} coordinates, time among them.")
        self.constants = constants
        names = Names(tuple(readings.coordinates), tuple(readings.fields), (), constants)
        self.names = names
        time_name = _time_of(readings)
        lefts = [left] if isinstance(left, str) else left
        if not lefts:
            if time_name is None:
                raise InputError("no coordinate is named as time, so the left side is not known; name it with --left.")
            lefts = [spell(Derivative(field, ((time_name,),))) for field in readings.fields]
        self.sides = [left_side(text, names) for text in lefts]
        self.lefts = tuple(spell(side) for side in self.sides)
        if len(set(self.lefts)) < len(self.lefts):
            raise InputError(f"left side '{_twice(self.lefts)}' is given twice; remove one of them.")
        library = self._by_left(terms) if terms else [default_terms(names, time_name or "") for _ in self.lefts]
        fixed = self._by_left(known) if known else [[] for _ in self.lefts]
        self.wanted = []
        for side, texts, certain in zip(self.sides, library, fixed, strict=True):
            read = read_terms(texts, names)
            self._check(side, read, readings)
            self.wanted.append(Wanted(side, read, tuple(read_term(text, names) for text in certain)))
        self.known_texts = tuple(" + ".join(f"({term.text})" for term in each.known) for each in self.wanted)

    def _by_left(self, terms: Terms) -> list[list[str]]:
        if not isinstance(terms, Mapping):
            return [list(terms) for _ in self.lefts]
        given = {spell(left_side(text, self.names)): list(texts) for text, texts in terms.items()}
        for text in given:
            if text not in self.lefts:
                raise InputError(
                    f"terms are given for '{text}', which is no left side; there are {', '.join(self.lefts)}."
                )
        return [given.get(text, []) for text in self.lefts]

    def _check(self, side: Derivative, terms: tuple[Term, ...], readings: Readings) -> None:
        if not terms:
            raise InputError(f"there are no candidate terms for '{spell(side)}'; list some with --terms.")
        for term in terms:
            if term.tree == side:
                raise InputError(f"term '{term.text}' is the left side itself; remove it.")
        count = int(np.sum(readings.field_index == readings.fields.index(side.field)))
        if count <= len(terms):
            raise InputError(
                f"{readings.source} holds {count} readings of '{side.field}', too few to choose among "
                f"{len(terms)} terms; give fewer terms or more readings."
            )


def _twice(texts: Sequence[str]) -> str:
    return next(text for number, text in enumerate(texts) if text in texts[:number])


def _time_of(readings: Readings) -> str | None:
    axis = time_axis(readings.coordinates, readings.columns.clocks)
    if axis is None and len(readings.coordinates) == 1:
        axis = 0
    return None if axis is None else readings.coordinates[axis]


def _ranges(readings: Readings) -> dict[str, tuple[float, float]]:
    low, high = readings.points.min(axis=0), readings.points.max(axis=0)
    for axis, name in enumerate(readings.coordinates):
        if not low[axis] < high[axis]:
            raise InputError(
                f"all readings are at {name} = {low[axis]:g}, so nothing is known of derivatives along it."
            )
    return {name: (float(low[axis]), float(high[axis])) for axis, name in enumerate(readings.coordinates)}


def _evidence(
    readings: Readings, question: _Question, ranges: Mapping[str, tuple[float, float]], seed: int
) -> Evidence:
    """Smoothed fields and test functions; the coordinate that derivatives on the left are along comes first."""
    coordinates = list(readings.coordinates)
    first = question.sides[0].terms[0][0]
    order = sorted(range(len(coordinates)), key=lambda axis: coordinates[axis] != first)
    names = tuple(coordinates[axis] for axis in order)
    lows, highs = zip(*(ranges[name] for name in names), strict=True)
    used = _fields_used(question)
    measured = {name: measured_of(readings, name, order) for name in used}
    fields = {name: smooth_field(each, lows, highs, seed) for name, each in measured.items()}
    cells = [max(field.axes[axis].cells for field in fields.values()) for axis in range(len(names))]
    bumps = bumps_for(lows, highs, cells, _orders(question, names))
    return Evidence(names, measured, fields, bumps)


def _fields_used(question: _Question) -> list[str]:
    trees = [term.tree for each in question.wanted for term in (*each.terms, *each.known)]
    found = {leaf.field for tree in trees for leaf in walk(tree) if isinstance(leaf, Derivative)}
    found |= {side.field for side in question.sides}
    return [name for name in question.names.fields if name in found]


def _orders(question: _Question, coordinates: Sequence[str]) -> list[int]:
    """The highest derivative along each coordinate that falls on a test function."""
    outside = [side.terms[0] for side in question.sides]
    for each in question.wanted:
        for term in (*each.terms, *each.known):
            inside = [leaf.terms[0] for leaf in walk(term.flux) if isinstance(leaf, Derivative)] or [()]
            outside += [(*term.axes, *axes) for axes in inside]
    return [max(list(axes).count(name) for axes in outside) for name in coordinates]


def _refusal(evidence: Evidence, found: Search) -> str:
    """Why no equation is claimed; empty where one is."""
    left, field = show(found.side), evidence.fields[found.side.field]
    if field.explained < SURE_FIELD:
        return (
            f"No equation is claimed for {left}: held-out readings of '{found.side.field}' are no nearer to a smooth "
            "field than to a constant, so the readings show nothing but noise."
        )
    if not found.chosen:
        return f"No equation is claimed for {left}: no term of the library improves the held-out score enough."
    if found.explained < LEAST_EXPLAINED:
        return (
            f"No equation is claimed for {left}: the best terms explain {100 * max(found.explained, 0.0):.0f} % of it; "
            "a term that matters is missing from the library."
        )
    return ""


def _equation(
    number: int, question: _Question, found: Search, refusal: str, refitted: Refitted | None
) -> FoundEquation:
    texts = [term.text for term in found.terms]
    inclusion = dict(zip(texts, map(float, found.inclusion), strict=True))
    terms: tuple[FoundTerm, ...] = ()
    undecided: tuple[str, ...] = ()
    if not refusal:
        terms = _weak_terms(found) if refitted is None else _refitted_terms(number, refitted, found)
        undecided = tuple(_undecided(found, refitted, number, show(found.side)))
    final = {term.text for term in terms}
    rivals = tuple(
        Rival(len(chosen), tuple(texts[i] for i in chosen), score, not refusal and {texts[i] for i in chosen} == final)
        for (chosen, _), score in zip(found.sets, found.scores, strict=True)
    )
    known = tuple(term.text for term in question.wanted[number].known)
    return FoundEquation(
        question.lefts[number], show(found.side), terms, rivals, inclusion, known, undecided, refusal
    )  # fmt: skip


def _weak_terms(found: Search) -> tuple[FoundTerm, ...]:
    values, errors = found.coefficients(found.chosen)
    return tuple(
        FoundTerm(
            term.text,
            term.shown,
            float(v),
            float(v - HALF_WIDTH * e),
            float(v + HALF_WIDTH * e),
            float(found.inclusion[i]),
        )
        for i, term, v, e in zip(found.chosen, (found.terms[i] for i in found.chosen), values, errors, strict=True)
    )


def _refitted_terms(number: int, refitted: Refitted, found: Search) -> tuple[FoundTerm, ...]:
    result, texts = refitted.result, [term.text for term in found.terms]
    assert result.uncertainty is not None
    price, terms = charge(len(result.readings), len(texts)), []
    for name, each in zip(result.problem.unknowns, refitted.candidates, strict=True):
        if each.equation != number:
            continue
        interval, index = result.uncertainty.intervals[name], texts.index(each.term.text)
        by_refit = index not in found.chosen
        inclusion = float(found.inclusion[index])
        if by_refit:
            inclusion = float(expit(0.5 * ((result.unknowns[name] / interval.error) ** 2 - price)))
        terms.append(
            FoundTerm(
                texts[index], each.term.shown, result.unknowns[name], interval.low, interval.high, inclusion, by_refit
            )
        )
    return tuple(terms)


def _undecided(found: Search, refitted: Refitted | None, number: int, left: str) -> list[str]:
    """Rivals that the readings do not rule out, one sentence each."""
    pairs: list[tuple[tuple[str, ...], tuple[str, ...]]] = []
    if refitted is not None:
        pairs = [(one, other) for equation, one, other in refitted.close if equation == number]
    else:
        texts = [term.text for term in found.terms]
        for index, share in enumerate(found.inclusion):
            inside = index in found.chosen
            if (share < 0.5) if inside else (share >= 0.5):
                other = set(found.chosen) ^ {index}
                pairs.append((tuple(texts[i] for i in found.chosen), tuple(texts[i] for i in sorted(other))))
    return [
        f"The readings do not decide between {left} = {_side(one)} and {left} = {_side(other)}." for one, other in pairs
    ]


def _side(texts: Sequence[str]) -> str:
    return " + ".join(f"… {text}" for text in texts) or "0"
