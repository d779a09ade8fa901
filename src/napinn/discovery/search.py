"""Which terms: the best set of every size by generalised least squares, without terms that few draws of sensors hold.

The charge for a term is that of the extended Bayesian information criterion (Chen and Chen 2008), so that a large
library does not let a term in by chance. The covariance of the errors depends on the equation, so set and covariance
are found in turn."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from napinn.discovery.bumps import Bumps
from napinn.discovery.criteria import MOST_KEPT, best_of, charge, excess, worthwhile
from napinn.discovery.evidence import Evidence, Wanted, columns_of
from napinn.discovery.posedness import ill_posed
from napinn.discovery.regress import Columns, Whitened, best_sets, factor_of, sum_of_squares, whitened
from napinn.discovery.stability import shares_of_draws
from napinn.discovery.terms import Term
from napinn.discovery.weak import WeakForm
from napinn.problem.equations import Derivative

ROUNDS = 6
"""In which set and covariance usually agree."""
NOISE_DRAWS = 16
"""Draws of noise that say what it adds to sums of products; these are sums of hundreds of rows each."""
STABLE = 0.5
"""Share of the draws in which a term must be part of the best set: a term that most draws go without hangs on a few
sensors."""
NOTICED, CLOSE_SWAP = 2.0, 10.0
"""Sum of squares that a further term gains, or that an exchanged one costs, for the joint refit to look at it."""
FOLDS = 4
"""Stretches of test functions, each held out once, that score rival equations."""


@dataclass(frozen=True, eq=False)
class Search:
    """What the weak form says of one equation."""

    side: Derivative
    terms: tuple[Term, ...]
    system: Whitened
    covariance: np.ndarray
    sets: list[tuple[tuple[int, ...], float]]
    """The best set of every size, and the sum of squares that it leaves."""
    chosen: tuple[int, ...]
    inclusion: np.ndarray
    """Of each term: the share of draws in which the best set holds it."""
    scores: list[float]
    """Of each set: the mean square of held-out rows in units of what noise alone would leave."""

    @property
    def rows(self) -> int:
        return self.system.rows

    @property
    def excess(self) -> float:
        """What the whole library leaves over what noise would, at least one: errors that are not in the covariance."""
        return excess(self.system)

    @property
    def left_over(self) -> float:
        """What the chosen terms leave, over what noise would."""
        return self.system.fit(self.chosen)[1] / max(self.rows - len(self.chosen), 1)

    @property
    def explained(self) -> float:
        """The share of the left side that the chosen terms explain."""
        return 1.0 - self.system.fit(self.chosen)[1] / max(self.system.total, 1e-300)

    def rivals(self) -> list[int]:
        """Terms outside the chosen set that the weak form does not rule out, the likeliest first: those that lower the
        sum of squares, or may take the place of a chosen term."""
        unit, before = self.excess, self.system.fit(self.chosen)[1]
        found = []
        for number in range(len(self.terms)):
            if number in self.chosen:
                continue
            gain = (before - self.system.fit(tuple(sorted((*self.chosen, number))))[1]) / unit
            swaps = [tuple(sorted((set(self.chosen) - {out}) | {number})) for out in self.chosen]
            loss = min((self.system.fit(each)[1] for each in swaps), default=math.inf)
            if gain > NOTICED or (loss - before) / unit < CLOSE_SWAP:
                found.append((max(gain, (before - loss) / unit), number))
        return [number for _, number in sorted(found, reverse=True)]

    def coefficients(self, chosen: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
        """Of a set: values and standard errors."""
        found = tuple(chosen)
        return self.system.corrected(found), self.system.errors(found) * math.sqrt(self.excess)


def search(evidence: Evidence, wanted: Sequence[Wanted], seed: int) -> list[Search]:
    """The best sets of terms of every equation, how often each term is in them, and how they score."""
    random = np.random.default_rng(seed)
    weak, draws = evidence.weak_form(), _noise_draws(evidence, random)
    noise = {name: evidence.noise(name) for name in evidence.fields}
    columns = [columns_of(weak, each, draws) for each in wanted]
    first = [_first(weak, each, own, noise) for each, own in zip(wanted, columns, strict=True)]
    counts = shares_of_draws(evidence, wanted, columns, [each[:2] for each in first], random)
    results = []
    for number, each in enumerate(wanted):
        system, covariance, sets, chosen = first[number]
        scores = _scores(columns[number], covariance, sets, evidence.bumps)
        chosen = worthwhile([found for found, _ in sets], scores, chosen, excess(system))
        chosen = tuple(term for term in chosen if counts[number][term] >= STABLE)
        results.append(Search(each.side, each.terms, system, covariance, sets, chosen, counts[number], scores))
    return results


def _noise_draws(evidence: Evidence, random: np.random.Generator) -> list[dict[str, np.ndarray]]:
    """White noise on the grid, of the size that the readings have."""
    volume = float(np.prod(evidence.bumps.spacing))
    sizes = {name: math.sqrt(evidence.noise(name) / volume) for name in evidence.fields}
    return [
        {name: size * random.normal(size=evidence.bumps.shape) for name, size in sizes.items()}
        for _ in range(NOISE_DRAWS)
    ]


def _first(
    weak: WeakForm, wanted: Wanted, columns: Columns, noise: Mapping[str, float]
) -> tuple[Whitened, np.ndarray, list[tuple[tuple[int, ...], float]], tuple[int, ...]]:
    """Set and covariance in turn until they agree."""
    chosen: tuple[int, ...] = ()
    coefficients = np.zeros(0)
    rounds = 0
    while True:
        inside = (*(wanted.terms[number] for number in chosen), *wanted.known)
        sizes = np.concatenate([coefficients, np.ones(len(wanted.known))])
        covariance = weak.covariance(wanted.side, inside, sizes, noise)
        system = whitened(columns, covariance)
        sets = best_sets(system, (), MOST_KEPT)
        before, chosen = chosen, best_of(system, sets)
        coefficients = system.corrected(chosen)
        rounds += 1
        if chosen == before or rounds == ROUNDS:
            break
    chosen = _likeliest(weak, wanted, columns, system, noise, [each for each, _ in sets if len(each) <= len(chosen)])
    inside = (*(wanted.terms[number] for number in chosen), *wanted.known)
    sizes = np.concatenate([system.corrected(chosen), np.ones(len(wanted.known))])
    covariance = weak.covariance(wanted.side, inside, sizes, noise)
    return whitened(columns, covariance), covariance, sets, chosen


def _likeliest(
    weak: WeakForm, wanted: Wanted, columns: Columns, system: Whitened, noise: Mapping[str, float],
    sets: Sequence[tuple[int, ...]],
) -> tuple[int, ...]:  # fmt: skip
    """Of the best sets of all sizes, the likeliest beside the charge of its terms, each with its own covariance.

    Under one covariance for all, a term may gain because its noise is that of the left side; a covariance that follows
    from the set itself knows of it. The determinant of the covariance is no part of the likelihood of regression with
    noise in the terms (Fuller 1987, section 1.3): it would favour terms whose noise cancels that of others, as that of
    a fourth derivative cancels that of diffusion."""
    penalty, unit, found = charge(system.rows, len(wanted.terms)), excess(system), []
    for chosen in sets:
        if not system.claimable(chosen):
            continue
        values = system.corrected(chosen)
        inside = (*(wanted.terms[number] for number in chosen), *wanted.known)
        sizes = np.concatenate([values, np.ones(len(wanted.known))])
        if ill_posed(wanted.side, inside, sizes.tolist(), weak.coordinates):
            continue
        covariance = weak.covariance(wanted.side, inside, sizes, noise)
        miss = columns.left - columns.terms[:, list(chosen)] @ values
        found.append((sum_of_squares(miss, covariance) / unit + penalty * len(chosen), chosen))
    return min(found, default=(0.0, ()))[1]


def _scores(
    columns: Columns, covariance: np.ndarray, sets: list[tuple[tuple[int, ...], float]], bumps: Bumps
) -> list[float]:
    """Stretches of test functions are held out in turn; what the rest says of them, in units of their noise."""
    along = bumps.centres[:, int(np.argmax([len(np.unique(part)) for part in bumps.centres.T]))]
    edges = np.quantile(along, np.linspace(0.0, 1.0, FOLDS + 1)[1:-1])
    fold = np.searchsorted(edges, along)
    total = np.zeros(len(sets))
    for number in range(FOLDS):
        held, rest = np.flatnonzero(fold == number), np.flatnonzero(fold != number)
        trained = whitened(columns.only(rest), covariance[np.ix_(rest, rest)])
        judged = columns.only(held).whitened(factor_of(covariance[np.ix_(held, held)]))
        for index, (chosen, _) in enumerate(sets):
            miss = judged.left - judged.terms[:, list(chosen)] @ trained.corrected(chosen)
            total[index] += float(miss @ miss)
    return list(total / len(columns.left))
