"""Whether an equation could have made a field at all: short waves must not grow without bound.

Of u_t = … + c ∂ⁿu/∂xⁿ with n even, a wave of wavenumber k grows at the rate c (−1)^(n/2) kⁿ. Where that is positive for
the highest n, no solution lasts: such a term stands for errors of the smoothed field. Only linear terms of the left
side's own field are judged, and only where no other term has as many derivatives."""

from collections.abc import Sequence

from napinn.discovery.terms import Term
from napinn.problem.equations import Derivative, walk


def ill_posed(side: Derivative, terms: Sequence[Term], values: Sequence[float], places: Sequence[str]) -> bool:
    """Whether short waves along one of the places grow without bound, forward in what the left side is a first
    derivative along; False for a left side of higher order."""
    along = side.terms[0]
    if len(along) != 1:
        return False
    return any(_unstable(side, terms, values, place) for place in places if place != along[0])


def _unstable(side: Derivative, terms: Sequence[Term], values: Sequence[float], place: str) -> bool:
    own = Derivative(side.field, ((),))
    highest, rate = 0, 0.0
    for term, value in zip(terms, values, strict=True):
        order = len(term.axes)
        if term.flux == own and set(term.axes) == {place} and order % 2 == 0 and order > highest:
            highest, rate = order, value * term.factor * (-1.0) ** (order // 2)
    others = (term for term in terms if term.flux != own)
    return highest > 0 and rate > 0.0 and all(_derivatives(term, place) < highest for term in others)


def _derivatives(term: Term, place: str) -> int:
    inside = [list(leaf.terms[0]).count(place) for leaf in walk(term.flux) if isinstance(leaf, Derivative)]
    return list(term.axes).count(place) + max(inside, default=0)
