"""The verb: readings and candidate terms in, equations out.

    smooth each field without an equation → weak form against test functions → best set of every size, sensors left out
    → joint refit of field, noise law and coefficients → terms whose interval holds zero are dropped → until none is

No equation is claimed where held-out readings are no nearer to the smoothed field than to a constant, where no term is
worth its charge, or where the terms explain less than half of the left side."""

import time
from collections.abc import Mapping, Sequence

from napinn.data.readings import Readings
from napinn.discovery.answer import equation_of, poor_fit, refusal_of
from napinn.discovery.batches import chosen_terms, refit_in_batches
from napinn.discovery.bumps import bumps_for
from napinn.discovery.evidence import Evidence
from napinn.discovery.fields import measured_of
from napinn.discovery.found import Discovery
from napinn.discovery.joint import Frame
from napinn.discovery.question import Question, Terms, fields_used, highest_orders
from napinn.discovery.search import search
from napinn.discovery.smooth import smooth_field
from napinn.engines.splines.threads import one_blas_thread
from napinn.errors import InputError
from napinn.problem.equations import show

REFIT_SECONDS = 15.0
"""What the joint refit may take by the engine's own estimate; above, the equation of the weak form stands."""


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
    question = Question(readings, left, terms, known, dict(constants or {}))
    ranges = {axis: (box or {}).get(axis, span) for axis, span in _ranges(readings).items()}
    with one_blas_thread():
        evidence = _evidence(readings, question, ranges, seed)
        searches = search(evidence, question.wanted, seed)
        refusals = [refusal_of(evidence, found, question.time) for found in searches]
        frame = Frame(
            ranges, tuple(readings.fields), question.lefts, question.known_texts, name, question.constants,
            dict(units or {}), tuple(own_units),
        )  # fmt: skip
        refitted, notes = None, ()
        if not any(refusals):
            refitted, notes = refit_in_batches(frame, readings, searches, refit_seconds, seed)
    equations = tuple(
        equation_of(number, question, found, refusal, refitted)
        for number, (found, refusal) in enumerate(zip(searches, refusals, strict=True))
    )
    problem = result = None
    if refitted is not None:
        problem, result = refitted.result.problem, refitted.result
    elif not any(refusals):
        problem = frame.problem(chosen_terms(searches))
    poor = [poor_fit(show(found.side), found.left_over) for found in searches if not any(refusals)]
    notes = (*filter(None, poor), *question.library_note(), *notes)
    return Discovery(equations, problem, result, notes, time.process_time() - begun)


def _ranges(readings: Readings) -> dict[str, tuple[float, float]]:
    low, high = readings.points.min(axis=0), readings.points.max(axis=0)
    for axis, name in enumerate(readings.coordinates):
        if not low[axis] < high[axis]:
            raise InputError(
                f"all readings are at {name} = {low[axis]:g}, so nothing is known of derivatives along it."
            )
    return {name: (float(low[axis]), float(high[axis])) for axis, name in enumerate(readings.coordinates)}


def _evidence(readings: Readings, question: Question, ranges: Mapping[str, tuple[float, float]], seed: int) -> Evidence:
    """Smoothed fields and test functions; the coordinate that derivatives on the left are along comes first."""
    coordinates = list(readings.coordinates)
    first = question.sides[0].terms[0][0]
    order = sorted(range(len(coordinates)), key=lambda axis: coordinates[axis] != first)
    names = tuple(coordinates[axis] for axis in order)
    lows, highs = zip(*(ranges[name] for name in names), strict=True)
    used = fields_used(question)
    measured = {name: measured_of(readings, name, order) for name in used}
    fields = {name: smooth_field(each, lows, highs, seed) for name, each in measured.items()}
    cells = [max(field.resolved[axis] for field in fields.values()) for axis in range(len(names))]
    bumps = bumps_for(lows, highs, cells, highest_orders(question, names))
    return Evidence(names, measured, fields, bumps)
