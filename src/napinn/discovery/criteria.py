"""Which set of terms is best: what a term must gain to be worth its place."""

import math
from collections.abc import Sequence

from napinn.discovery.regress import Whitened

MOST_KEPT = 10
"""Terms of one equation."""
WORTH = 0.05
"""By this share at least a term must lower the held-out score. Errors that smoothing leaves are no noise: they repeat,
so that any test finds them significant where noise is small, and terms that only fit them gain less than this."""


def charge(rows: int, library: int) -> float:
    """By how much a term must lower the sum of squares to be worth it."""
    return math.log(rows) + 2.0 * math.log(max(library, 1))


def excess(system: Whitened) -> float:
    return max(1.0, system.outside)


def best_of(system: Whitened, sets: list[tuple[tuple[int, ...], float]], unit: float | None = None) -> tuple[int, ...]:
    unit = excess(system) if unit is None else unit
    penalty = charge(system.rows, system.gram.shape[0])
    return min(sets, key=lambda pair: pair[1] / unit + penalty * len(pair[0]))[0]


def worthwhile(
    sets: list[tuple[int, ...]], scores: Sequence[float], chosen: tuple[int, ...], unit: float = 1.0
) -> tuple[int, ...]:
    """The smallest set that scores nearly as well as the chosen one.

    :param unit: What the whole library leaves over what noise would (`excess`). The more of the misses is no noise, the
        more a term must gain."""
    limit = (1.0 + WORTH * unit) * scores[sets.index(chosen)]
    return next(each for each, score in zip(sets, scores, strict=True) if score <= limit or each == chosen)
