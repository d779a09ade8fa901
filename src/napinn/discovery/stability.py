"""Stability selection (Meinshausen and Bühlmann 2010): how often each term is in the best set when sensors are left
out."""

import math
from collections.abc import Sequence

import numpy as np

from napinn.discovery.criteria import MOST_KEPT, best_of, excess, worthwhile
from napinn.discovery.evidence import Evidence, Wanted, columns_of
from napinn.discovery.regress import Columns, Whitened, best_sets, factor_of, whitened

DRAWS = {1: 40, 2: 24, 3: 12}
"""Times that sensors are left out, by the number of axes."""
LEFT_OUT = 0.25
"""Share of the sensors, or stretches of time, that are left out at a time."""
FEWEST_GROUPS, STRETCHES = 8, 20
"""Sensors below which stretches of time are left out in place of sensors, and how many of these there are."""


def shares_of_draws(
    evidence: Evidence, wanted: Sequence[Wanted], columns: Sequence[Columns],
    systems: Sequence[tuple[Whitened, np.ndarray]], random: np.random.Generator,
) -> list[np.ndarray]:  # fmt: skip
    """Of each term: the share of draws, each without some sensors, in which the best set holds it."""
    counts = [np.zeros(len(each.terms)) for each in wanted]
    draws, groups = DRAWS[len(evidence.coordinates)], _Groups(evidence, random)
    parts = [_Part(own, *system, groups) for own, system in zip(columns, systems, strict=True)]
    for _ in range(draws):
        kept, rows = groups.draw()
        drawn = evidence.weak_form(kept)
        for number, each in enumerate(wanted):
            best = parts[number].best(columns_of(drawn, each), rows)
            counts[number][list(best)] += 1.0 / draws
    return counts


class _Part:
    """The best set of one equation where some sensors or stretches are left out."""

    def __init__(self, columns: Columns, system: Whitened, covariance: np.ndarray, groups: "_Groups") -> None:
        self.columns, self.covariance, self.groups, self.unit = columns, covariance, groups, excess(system)
        if groups.by_sensor:
            self.factor = factor_of(covariance)
            self.noise = columns.whitened(self.factor).noise * groups.noise_ratio

    def best(self, drawn: Columns, rows: np.ndarray) -> tuple[int, ...]:
        part = self._whitened(drawn, rows)
        sets = [each for each in best_sets(part, (), MOST_KEPT, quick=True) if part.claimable(each[0])]
        best = best_of(part, sets, self.unit)
        return worthwhile([each for each, _ in sets], [left for _, left in sets], best, self.unit)

    def _whitened(self, drawn: Columns, rows: np.ndarray) -> Whitened:
        """Without sensors the test functions stay, and with them the covariance up to a factor."""
        if self.groups.by_sensor:
            white = drawn.whitened(self.factor)
            return Whitened(Columns(white.terms, white.left, self.noise))
        found = Columns(drawn.terms, drawn.left, self.columns.noise)
        return whitened(found.only(rows), self.covariance[np.ix_(rows, rows)])


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
