"""The learned law of the noise: a mixture of Gaussians, one broad component and a flat tail.

It is fitted by expectation–maximisation on binned misfits, with the number of components chosen by BIC. The curvature
that Gauss–Newton takes is the law's Fisher information about its location (Fisher scoring): positive and the same for
all readings. No component may be narrower than a floor that the caller sets from how well the field is known, because
a law that is learned from misfits would otherwise sharpen on itself."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.interpolate import CubicHermiteSpline
from scipy.special import ndtr

from napinn.noise.laws import Law

REACH = 12.0
"""Deviations of the noise within which the law has components; beyond there is only the flat tail."""
TAIL_REACH = 60.0
"""Where the flat tail ends, as far as it is counted as a density."""
BINS = 1200
"""Of a histogram over the reach of the components: each is a fortieth of a deviation wide."""
COMPONENTS = (1, 2, 3, 4, 6)
ITERATIONS = 150
"""Of EM at most; it ends earlier where the likelihood no longer improves."""
BETTER = 3.0
"""Nats by which the BIC of more components must be better."""
PRIOR_READINGS = 20.0
"""What is taken for granted of the law of few readings, as if so many had been seen."""
BROAD = 4.0
"""The first width of the broad component."""
BULK = 3.5
"""Deviations of the noise within which its peaks are sought; what lies beyond are gross errors."""
MOST_EXACT = 12
"""Components above which losses are read from a table: the exact sum for every misfit would dominate a step."""
ROUNDING = 1e-6
"""By which the weights of a law in a file may differ from a sum of one."""


@dataclass(frozen=True, eq=False)
class Mixture(Law):
    """The last component is the broad one; `tail` is the weight of the flat tail."""

    weights: np.ndarray
    means: np.ndarray
    widths: np.ndarray
    tail: float

    @property
    def shape(self) -> np.ndarray:
        """(3, components + 1) weights, means and widths, as `mixture_of` takes them."""
        return np.stack([self.weights, self.means, self.widths])

    @property
    def components(self) -> int:
        return len(self.weights) - 1

    @property
    def constant_curvature(self) -> bool:
        return True

    @property
    def located(self) -> bool:
        return self.components > 1

    @cached_property
    def information(self) -> float:
        """The Fisher information about the location."""
        places = np.linspace(-REACH, REACH, 4001)
        density = np.exp(-self.loss(places))
        return float(np.sum(self.score(places) ** 2 * density) / np.sum(density))

    def density(self, misfits: np.ndarray) -> np.ndarray:
        return self._parts(misfits)[0].sum(axis=-1) + self.tail / (2.0 * TAIL_REACH)

    def distribution(self, misfits: np.ndarray) -> np.ndarray:
        """The cumulative distribution."""
        below = ndtr((np.asarray(misfits)[..., None] - self.means) / self.widths) @ self.weights
        return below + self.tail * np.clip(0.5 + np.asarray(misfits) / (2.0 * TAIL_REACH), 0.0, 1.0)

    def _parts(self, misfits: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        standard = (misfits[..., None] - self.means) / self.widths
        return self.weights * np.exp(-0.5 * standard**2) / (self.widths * math.sqrt(2.0 * math.pi)), standard

    @cached_property
    def _table(self) -> CubicHermiteSpline:
        """The loss of many components (a kernel estimate) between the nodes of a fine grid."""
        end = float(np.max(np.abs(self.means) + 8.0 * self.widths))
        nodes = np.linspace(-end, end, 2 * math.ceil(4.0 * end / float(self.widths.min())) + 1)
        return CubicHermiteSpline(nodes, -np.log(self.density(nodes)), self._score(nodes))

    def loss(self, misfits: np.ndarray) -> np.ndarray:
        if self.components > MOST_EXACT:
            return self._table(self._inside(misfits))
        return -np.log(self.density(misfits))

    def score(self, misfits: np.ndarray) -> np.ndarray:
        if self.components > MOST_EXACT:
            return np.where(misfits == self._inside(misfits), self._table(self._inside(misfits), 1), 0.0)
        return self._score(misfits)

    def _inside(self, misfits: np.ndarray) -> np.ndarray:
        """Misfits within the table; beyond it there is only the flat tail."""
        return np.clip(misfits, self._table.x[0], self._table.x[-1])

    def _score(self, misfits: np.ndarray) -> np.ndarray:
        parts, standard = self._parts(misfits)
        return np.sum(parts * standard / self.widths, axis=-1) / (parts.sum(axis=-1) + self.tail / (2.0 * TAIL_REACH))

    def curvature(self, misfits: np.ndarray) -> np.ndarray:
        return np.full(misfits.shape, self.information)

    def second_derivative(self, misfits: np.ndarray) -> np.ndarray:
        parts, standard = self._parts(misfits)
        density = parts.sum(axis=-1) + self.tail / (2.0 * TAIL_REACH)
        return self._score(misfits) ** 2 - np.sum(parts * (standard**2 - 1.0) / self.widths**2, axis=-1) / density


def names_in_files(group: int) -> tuple[str, str]:
    """Under which the shape and the tail of a noise group's law are kept; those of the first group have no number.

    Args:
        group: its number, from 0."""
    return ("law", "tail") if group == 0 else (f"law.{group}", f"tail.{group}")


def mixture_of(shape: np.ndarray, tail: float) -> Mixture:
    """The law whose weights, means and widths were read from a file; raises `ValueError` unless they are a density."""
    if shape.ndim != 2 or shape.shape[0] != 3 or shape.shape[1] < 2 or shape.dtype.kind not in "fi":
        raise ValueError("not weights, means and widths")
    weights, means, widths = shape.astype(float)
    if not (np.all(np.isfinite(shape)) and np.all(weights >= 0.0) and np.all(widths > 0.0) and tail >= 0.0):
        raise ValueError("not a density")
    if abs(weights.sum() + tail - 1.0) > ROUNDING:
        raise ValueError("weights do not sum to one")
    return Mixture(weights, means, widths, tail)


def tail_share(misfits: np.ndarray) -> float:
    """The weight of the flat tail: the share of misfits beyond the reach, or that of one misfit."""
    return max(float(np.mean(np.abs(misfits) >= REACH)), 1.0 / len(misfits))


def learn_mixture(misfits: np.ndarray, narrowest: float) -> Mixture:
    """The mixture of standardised misfits; `narrowest` is the least width."""
    edges = np.linspace(-REACH, REACH, BINS + 1)
    counts = np.histogram(misfits, edges)[0].astype(float)
    places = 0.5 * (edges[1:] + edges[:-1])[counts > 0]
    counts = counts[counts > 0]
    tail = tail_share(misfits)
    best, best_bic = None, math.inf
    for components in COMPONENTS:
        law = _maximised(places, counts, _first_guess(misfits, components), narrowest, tail)
        if components == 1 and _has_second_peak(law):
            continue
        loss = law.loss(places)
        if components == 1 and _skewed_bulk(law):
            # A law of one component is used without its skewness, so it is judged without.
            loss = _centred(law).loss(places - _peak(law))
        bic = float(np.sum(counts * loss)) + 0.5 * (3 * components + 3) * math.log(len(misfits))
        if bic < best_bic - BETTER:
            best, best_bic = law, bic
    assert best is not None
    return best if best.located else _centred(best)


def _has_second_peak(law: Mixture) -> bool:
    """Whether the broad component of a law of one component is a narrow peak in the bulk of the noise. Centred, such a
    law would be one wide peak in the middle, where there is no noise at all."""
    return _skewed_bulk(law) and float(law.widths.sum()) < abs(float(law.means[0] - law.means[1]))


def _skewed_bulk(law: Mixture) -> bool:
    """Whether the broad component of a law of one component belongs to the bulk of the noise, and not to gross errors.
    If it lies to one side, the noise is skewed: a law without skewness shifts the field, and with it the unknowns."""
    apart = abs(float(law.means[0] - law.means[1]))
    return float(law.widths[1]) < 0.5 * BROAD and apart < BULK


def _peak(law: Mixture) -> float:
    """About where the peak is that the components of a law share."""
    precision = law.weights / law.widths**2
    return float(precision @ law.means) / float(precision.sum())


def _centred(law: Mixture) -> Mixture:
    """A law of one peak, moved so that the peak is at zero and symmetric about it.

    Its two components may share the peak with different means, so each keeps its second moment about the peak."""
    away = law.means - _peak(law)
    return Mixture(law.weights, np.zeros(2), np.hypot(law.widths, away), law.tail)


def _first_guess(misfits: np.ndarray, components: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    near = misfits[np.abs(misfits) < BULK]
    levels = np.quantile(near if near.size else misfits, (np.arange(components) + 0.5) / components)
    weights = np.full(components + 1, 1.0 / (components + 1))
    means = np.append(levels, np.median(misfits))
    widths = np.append(np.full(components, 1.0 / components), BROAD)
    return weights, means, widths


def _maximised(
    places: np.ndarray,
    counts: np.ndarray,
    start: tuple[np.ndarray, np.ndarray, np.ndarray],
    narrowest: float,
    tail: float,
) -> Mixture:
    """Expectation–maximisation; widths are drawn a little towards the narrowest (as by four more misfits)."""
    weights, means, widths = start
    for _ in range(ITERATIONS):
        distance = places[:, None] - means
        share = weights * np.exp(-0.5 * (distance / widths) ** 2) / widths + 1e-300
        share *= (counts / share.sum(axis=1))[:, None]
        total = share.sum(axis=0) + 1e-2
        weights, means = total / total.sum(), (share * places[:, None]).sum(axis=0) / total
        squares = (share * (places[:, None] - means) ** 2).sum(axis=0)
        widths = np.maximum(np.sqrt((squares + 4.0 * narrowest**2) / (total + 4.0)), narrowest)
    return Mixture(weights * (1.0 - tail), means, widths, tail)


def few_readings_law(misfits: np.ndarray) -> Mixture:
    """A law of one Gaussian, the broad component and the tail, for readings too few to tell its shape.

    The deviation of the misfits is the unit already, so the width is one; only the shares are learned, beside
    `PRIOR_READINGS` that are nearly all of the Gaussian."""
    weights = np.array([0.93, 0.05, 0.02])
    widths = np.array([1.0, BROAD])
    prior = PRIOR_READINGS * weights
    for _ in range(ITERATIONS):
        parts = weights[:2] * np.exp(-0.5 * (misfits[:, None] / widths) ** 2) / (widths * math.sqrt(2.0 * math.pi))
        shares = np.concatenate([parts, np.full((len(misfits), 1), weights[2] / (2.0 * TAIL_REACH))], axis=1)
        counts = (shares / shares.sum(axis=1, keepdims=True)).sum(axis=0) + prior
        weights = counts / counts.sum()
    return Mixture(weights[:2], np.zeros(2), widths, float(weights[2]))
