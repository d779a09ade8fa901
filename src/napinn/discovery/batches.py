"""Which terms take part in the joint refit: the chosen ones, and beside them the others a few at a time.

The joint refit tells terms apart that the weak form cannot, because it does not differentiate the readings. So a term
that the weak form did not choose is tried beside the ones that have survived so far. In a series every term of the
library is tried; a field has so many readings that the weak form is nearly as sharp, and only its rivals are."""

import dataclasses
import time
from collections.abc import Sequence

import numpy as np

from napinn.data.readings import Readings
from napinn.discovery.criteria import charge
from napinn.discovery.joint import Candidate, Frame, Refitted, affordable, exchanged, refit
from napinn.discovery.search import Search

OFTEN = 0.1
"""Share of draws above which a term takes part in the joint refit."""
MOST_MORE = 4
"""Terms of one equation that are tried at a time. With all at once, many combinations of terms fit equally well, and
the curvature at the fit says little of sets far from it."""

FITS = {1: 1, 2: 4, 3: 4}
"""What a joint refit takes in units of the estimate for one fit, by the number of coordinates. Terms of a series are
few and cheap; those of a field are fitted at least twice, with candidates that bend it beyond what the estimate is
made for."""


def chosen_terms(searches: Sequence[Search]) -> list[Candidate]:
    """The terms that the weak form chose, with its coefficients."""
    return [
        Candidate(number, found.terms[index], float(value))
        for number, found in enumerate(searches)
        for index, value in zip(found.chosen, found.coefficients(found.chosen)[0], strict=True)
    ]


def refit_in_batches(
    frame: Frame, readings: Readings, searches: Sequence[Search], seconds: float, seed: int
) -> tuple[Refitted | None, tuple[str, ...]]:
    """The terms that survive the joint refit, and what the user should know of it.

    :param seconds: What the refit may take by estimate; no batch begins after so much processor time."""
    chosen = chosen_terms(searches)
    if not affordable(frame.problem(chosen), readings, seconds / FITS[len(readings.coordinates)]):
        why = "left out"
        if seconds > 0.0:
            why += f": it is estimated to take more than {seconds:g} s (--refit-seconds allows more)"
        return None, (f"The joint refit was {why}; coefficients and intervals are those of the weak form.",)
    begun, price = time.process_time(), charge(len(readings), max(len(found.terms) for found in searches))
    waiting = [_in_order(found, every=len(readings.coordinates) == 1) for found in searches]
    best: Refitted | None = None
    present = chosen
    while best is None or any(waiting):
        if best is not None and time.process_time() - begun > seconds:
            return best, (f"Not every term took part in the joint refit, which may take {seconds:g} s.",)
        batch = _batch(searches, waiting, present)
        waiting = [each[MOST_MORE:] for each in waiting]
        found = _kept(refit(frame, readings, batch, price, seed), searches)
        if found is None and best is None:
            found = _kept(refit(frame, readings, chosen, price, seed), searches)
            if found is None:
                return None, ("The joint refit failed; coefficients and intervals are those of the weak form.",)
        if found is not None:
            found = exchanged(frame, readings, found, seed)
            best, present = _with_close_calls(found, best), list(found.candidates)
    return best, ()


def _in_order(found: Search, every: bool) -> list[int]:
    """Terms outside the chosen set, the likeliest first; all of them, or those that are not ruled out."""
    likely = np.argsort(-found.inclusion, kind="stable")
    order = [int(i) for i in likely if found.inclusion[i] >= OFTEN and i not in found.chosen]
    order += [i for i in found.rivals() if i not in order]
    return order + [i for i in range(len(found.terms)) if every and i not in order and i not in found.chosen]


def _batch(searches: Sequence[Search], waiting: Sequence[list[int]], present: Sequence[Candidate]) -> list[Candidate]:
    """The present terms and the next that wait; coefficients start at those of the weak form for all of them."""
    found = []
    for number, each in enumerate(searches):
        texts = [term.text for term in each.terms]
        inside = {texts.index(one.term.text) for one in present if one.equation == number}
        kept = sorted(inside | set(waiting[number][:MOST_MORE]))
        values = each.coefficients(kept)[0]
        found += [Candidate(number, each.terms[i], float(v)) for i, v in zip(kept, values, strict=True)]
    return found


def _kept(found: Refitted | None, searches: Sequence[Search]) -> Refitted | None:
    """None where an equation has lost all of its terms."""
    whole = found is not None and {each.equation for each in found.candidates} == set(range(len(searches)))
    return found if whole else None


def _with_close_calls(found: Refitted, before: Refitted | None) -> Refitted:
    """With the rivals of earlier batches, as long as the terms are the same."""
    earlier = () if before is None else before.close
    terms = {
        (number, tuple(each.term.text for each in found.candidates if each.equation == number))
        for number in {each.equation for each in found.candidates}
    }
    still = [each for each in (*earlier, *found.close) if each[:2] in terms]
    return dataclasses.replace(found, close=tuple(dict.fromkeys(still)))
