"""What the search works on: smoothed fields with their readings, and integrals of left side and terms."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from napinn.discovery.bumps import Bumps
from napinn.discovery.local_means import LocalMeans
from napinn.discovery.regress import Columns
from napinn.discovery.smooth import Smooth
from napinn.discovery.smoother import Measured
from napinn.discovery.terms import Term
from napinn.discovery.weak import WeakForm
from napinn.problem.equations import Derivative


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


def columns_of(weak: WeakForm, wanted: Wanted, draws: Sequence[Mapping[str, np.ndarray]] = ()) -> Columns:
    terms = [weak.column(term, draws) for term in wanted.terms]
    left = weak.left(wanted.side, draws)
    for term in wanted.known:
        left = [one - other for one, other in zip(left, weak.column(term, draws), strict=True)]
    noise = [np.stack([*(term[number] for term in terms), left[number]], 1) for number in range(1, len(left))]
    shape = (0, len(left[0]), len(terms) + 1)
    return Columns(np.stack([term[0] for term in terms], 1), left[0], np.stack(noise) if noise else np.zeros(shape))
