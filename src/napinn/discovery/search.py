"""Which terms: the best set of every size by generalised least squares, and how often each term is in it when sensors
are left out (stability selection, Meinshausen and Bühlmann 2010).

The charge for a term is that of the extended Bayesian information criterion (Chen and Chen 2008), so that a large
library does not let a term in by chance. The covariance of the errors depends on the equation, so set and covariance
are found in turn."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from napinn.discovery.bumps import Bumps
from napinn.discovery.local_means import LocalMeans
from napinn.discovery.posedness import ill_posed
from napinn.discovery.regress import Columns, Whitened, best_sets, sum_of_squares, whitened
from napinn.discovery.smooth import Smooth
from napinn.discovery.smoother import Measured
from napinn.discovery.terms import Term
from napinn.discovery.weak import WeakForm
from napinn.problem.equations import Derivative

MOST_KEPT = 10
"""Terms of one equation."""
ROUNDS = 6
"""In which set and covariance usually agree."""
NOISE_DRAWS = 16
"""Draws of noise that say what it adds to sums of products; these are sums of hundreds of rows each."""
DRAWS = {1: 40, 2: 24, 3: 12}
"""Times that sensors are left out, by the number of axes."""
LEFT_OUT = 0.25
"""Share of the sensors, or stretches of time, that are left out at a time."""
FEWEST_GROUPS, STRETCHES = 8, 20
"""Sensors below which stretches of time are left out in place of sensors, and how many of these there are."""
WORTH = 0.05
"""By this share at least a term must lower the held-out score. Errors that smoothing leaves are no noise: they repeat,
so that any test finds them significant where noise is small, and terms that only fit them gain less than this."""
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


@dataclass(frozen=True, eq=False)
class Evidence:
    """The smoothed fields with their readings, as the weak form takes them."""

    coordinates: tuple[str, ...]
    measured: Mapping[str, Measured]
    fields: Mapping[str, Smooth]
    bumps: Bumps

    @cached_property
    def means(self) -> dict[str, LocalMeans]:
        return {name: LocalMeans(self.bumps, each.points) for name, each in self.measured.items()}

    def noise(self, name: str) -> float:
        """The variance of what a reading says, times the volume that it stands for."""
        volumes = self.means[name].volumes(self.fields[name].kept)
        return self.fields[name].variance * float(np.sum(volumes**2) / np.sum(volumes))

    def weak_form(self, kept: Mapping[str, np.ndarray] | None = None) -> WeakForm:
        """Of all readings, or of those for which `kept` is true.

        The field stays the one of all readings. What the kept readings say beyond it is added to first order, so that
        nothing is smoothed again."""
        kept = kept or {}
        residual_values = {
            name: self.means[name](field.score, field.kept & kept.get(name, field.kept))
            for name, field in self.fields.items()
        }
        return WeakForm(self.bumps, self.coordinates, self.fields, residual_values)


@dataclass(frozen=True, eq=False)
class Wanted:
    """One equation to be found: its left side, the candidates, and what is known of its right-hand side."""

    side: Derivative
    terms: tuple[Term, ...]
    known: tuple[Term, ...] = ()


def search(evidence: Evidence, wanted: Sequence[Wanted], seed: int) -> list[Search]:
    """The best sets of terms of every equation, how often each term is in them, and how they score."""
    random = np.random.default_rng(seed)
    weak, draws = evidence.weak_form(), _noise_draws(evidence, random)
    noise = {name: evidence.noise(name) for name in evidence.fields}
    columns = [_columns(weak, each, draws) for each in wanted]
    first = [_first(weak, each, own, noise) for each, own in zip(wanted, columns, strict=True)]
    counts = _stability(evidence, wanted, columns, first, random)
    results = []
    for number, each in enumerate(wanted):
        system, covariance, sets, chosen = first[number]
        scores = _scores(columns[number], covariance, sets, evidence.bumps)
        chosen = worthwhile([found for found, _ in sets], scores, chosen, excess(system))
        results.append(Search(each.side, each.terms, system, covariance, sets, chosen, counts[number], scores))
    return results


def _stability(
    evidence: Evidence, wanted: Sequence[Wanted], columns: Sequence[Columns], first: Sequence[Any],
    random: np.random.Generator,
) -> list[np.ndarray]:  # fmt: skip
    """Of each term: the share of draws, each without some sensors, in which the best set holds it."""
    counts = [np.zeros(len(each.terms)) for each in wanted]
    draws, groups = DRAWS[len(evidence.coordinates)], _Groups(evidence, random)
    for _ in range(draws):
        kept, rows = groups.draw()
        drawn = evidence.weak_form(kept)
        for number, each in enumerate(wanted):
            system, covariance, _, _ = first[number]
            found = _columns(drawn, each)
            found = Columns(found.terms, found.left, columns[number].noise * groups.noise_ratio)
            part = whitened(found.only(rows), covariance[np.ix_(rows, rows)])
            sets = [each_ for each_ in best_sets(part, (), MOST_KEPT, quick=True) if part.claimable(each_[0])]
            best = best_of(part, sets, excess(system))
            best = worthwhile([each_ for each_, _ in sets], [left for _, left in sets], best, excess(system))
            counts[number][list(best)] += 1.0 / draws
    return counts


def _columns(weak: WeakForm, wanted: Wanted, draws: Sequence[Mapping[str, np.ndarray]] = ()) -> Columns:
    terms = [weak.column(term, draws) for term in wanted.terms]
    left = weak.left(wanted.side, draws)
    for term in wanted.known:
        left = [one - other for one, other in zip(left, weak.column(term, draws), strict=True)]
    noise = [np.stack([*(term[number] for term in terms), left[number]], 1) for number in range(1, len(left))]
    shape = (0, len(left[0]), len(terms) + 1)
    return Columns(np.stack([term[0] for term in terms], 1), left[0], np.stack(noise) if noise else np.zeros(shape))


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


class _Groups:
    """What is left out together: sensors, or stretches of time with the test functions that lie in them."""

    def __init__(self, evidence: Evidence, random: np.random.Generator) -> None:
        self.evidence, self.random = evidence, random
        names = np.unique(np.concatenate([each.groups for each in evidence.measured.values()]))
        self.by_sensor, self.of = len(names) >= FEWEST_GROUPS, {}
        if self.by_sensor:
            self.of = {name: np.searchsorted(names, each.groups) for name, each in evidence.measured.items()}
            self.count = len(names)
            return
        along = evidence.bumps.places[0]
        edges = np.linspace(along[0], along[-1], STRETCHES + 1)[1:-1]
        self.rows = np.searchsorted(edges, evidence.bumps.centres[:, 0])
        self.count = STRETCHES

    @property
    def noise_ratio(self) -> float:
        """By how much noise is larger where readings are left out and test functions are not."""
        return 1.0 / math.sqrt(1.0 - LEFT_OUT) if self.by_sensor else 1.0

    def draw(self) -> tuple[dict[str, np.ndarray], np.ndarray]:
        """Which readings of each field are kept, and which test functions. Where stretches are left out, only these:
        without its readings a stretch would end within the test functions beside it."""
        out = np.zeros(self.count, bool)
        out[self.random.permutation(self.count)[: max(1, round(LEFT_OUT * self.count))]] = True
        kept = {name: ~out[group] for name, group in self.of.items()}
        rows = np.arange(len(self.evidence.bumps.centres))
        return kept, rows if self.by_sensor else rows[~out[self.rows]]


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
        judged = columns.only(held).whitened(covariance[np.ix_(held, held)])
        for index, (chosen, _) in enumerate(sets):
            miss = judged.left - judged.terms[:, list(chosen)] @ trained.corrected(chosen)
            total[index] += float(miss @ miss)
    return list(total / len(columns.left))
