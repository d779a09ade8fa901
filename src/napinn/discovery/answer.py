"""What is claimed of an equation: its terms with intervals, its rivals, and plain sentences."""

from collections.abc import Sequence

from scipy.special import expit, ndtri

from napinn.discovery.criteria import charge
from napinn.discovery.evidence import Evidence
from napinn.discovery.found import FoundEquation, FoundTerm, Rival
from napinn.discovery.joint import Refitted
from napinn.discovery.question import Question
from napinn.discovery.search import Search
from napinn.discovery.terms import spell
from napinn.problem.equations import Derivative, show

SURE_FIELD = 4.0
"""Standard errors by which held-out readings must be nearer to the smoothed field than to a constant."""
LEAST_EXPLAINED = 0.5
"""Share of the left side below which its terms are no equation."""
MUCH_LEFT = 2.0
"""Times what noise would leave: a pendulum read with cubic terms in place of its sine leaves 2.3, equations whose terms
are all there leave 1.0 to 1.7 where sensors resolve the field."""
HALF_WIDTH = float(ndtri(0.975))
"""Of a 95 % interval, in standard errors."""


def refusal_of(evidence: Evidence, found: Search, time: str | None) -> str:
    """Why no equation is claimed; empty where one is.

    :param evidence: What the readings say.
    :param found: The sets of terms, and which was chosen.
    :param time: The coordinate of time, if there is one."""
    left, field = show(found.side), evidence.fields[found.side.field]
    if field.explained < SURE_FIELD:
        return (
            f"No equation is claimed for {left}: held-out readings of '{found.side.field}' are no nearer to a smooth "
            "field than to a constant, so the readings show only noise."
        )
    if not found.chosen:
        reason = "no term of the library improves the held-out score enough"
    elif found.explained < LEAST_EXPLAINED:
        share = 100 * max(found.explained, 0.0)
        reason = f"the best terms explain {share:.0f} % of it; a term that matters is missing from the library"
    else:
        return ""
    return f"No equation is claimed for {left}: {reason}.{_second_order_hint(found.side, time)}"


def _second_order_hint(side: Derivative, time: str | None) -> str:
    """Waves and oscillators have no equation of first order in what is measured."""
    if time is None or side.terms != ((time,),):
        return ""
    return f" If '{side.field}' oscillates, try --left {spell(Derivative(side.field, ((time, time),)))}."


def poor_fit(left: str, left_over: float) -> str:
    """A sentence where the terms leave much more than noise; empty where they do not.

    :param left: The left side as it is shown.
    :param left_over: What the terms leave, over what noise would."""
    if left_over <= MUCH_LEFT:
        return ""
    return (
        f"The terms of {left} leave {left_over:.1f} times what noise would: a term may be missing from the library, or "
        "the field changes faster than the readings show."
    )


def equation_of(
    number: int, question: Question, found: Search, refusal: str, refitted: Refitted | None
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
            inclusion = inclusion_in_refit(result.unknowns[name] / interval.error, price)
        terms.append(
            FoundTerm(
                texts[index], each.term.shown, result.unknowns[name], interval.low, interval.high, inclusion, by_refit
            )
        )
    return tuple(terms)


def inclusion_in_refit(errors: float, price: float) -> float:
    """The probability of a term by the odds of the extended BIC with and without it.

    :param errors: Its coefficient in standard errors.
    :param price: What a term is charged (`charge`)."""
    return float(expit(0.5 * (errors**2 - price)))


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
