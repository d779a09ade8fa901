"""A kernel density estimate of the noise: a Gaussian at every bin of misfits, wider where misfits are few.

It assumes nothing of the number of peaks, and needs more readings than a mixture for the same precision. Widths follow
the inverse root of a first estimate (Abramson 1982), so that a single gross error makes no peak. Their common factor
maximises the likelihood of each misfit under the kernels of all others."""

import math

import numpy as np

from napinn.noise.mixture import BROAD, REACH, Mixture, tail_share

BINS = 400
"""Of 0.06 deviations of the noise; kernels are at least about as wide, so that bins do not show."""
FACTORS = (1.4, 1.0, 0.7, 0.5, 0.35, 0.25, 0.18)
"""Of Silverman's width, which is too wide for a law with several peaks."""
BROAD_SHARE = 0.01
"""The weight of the broad component, so that the log-density has no abyss between single kernels."""


def learn_kernels(misfits: np.ndarray, narrowest: float) -> Mixture:
    """The law of standardised misfits; `narrowest` is the least width."""
    edges = np.linspace(-REACH, REACH, BINS + 1)
    counts = np.histogram(misfits, edges)[0].astype(float)
    places, counts = (0.5 * (edges[1:] + edges[:-1]))[counts > 0], counts[counts > 0]
    tail, total = tail_share(misfits), float(counts.sum())
    usual = np.full(len(places), max(_silverman(misfits), narrowest))
    pilot = _kernels(places, usual) @ counts / total
    typical = math.exp(float(counts @ np.log(pilot)) / total)
    relative = usual * np.sqrt(typical / pilot)
    choices = [np.clip(factor * relative, narrowest, BROAD) for factor in FACTORS]
    widths = max(choices, key=lambda widths: _left_out_likelihood(places, counts, widths))
    weights = np.append(counts / total * (1.0 - BROAD_SHARE), BROAD_SHARE) * (1.0 - tail)
    return Mixture(weights, np.append(places, 0.0), np.append(widths, BROAD), tail)


def _silverman(misfits: np.ndarray) -> float:
    """Silverman's rule of thumb for the width of kernels."""
    low, high = np.quantile(misfits, (0.25, 0.75))
    return 0.9 * min(float(np.std(misfits)), float(high - low) / 1.34) * len(misfits) ** -0.2


def _kernels(places: np.ndarray, widths: np.ndarray) -> np.ndarray:
    """(places, kernels): every kernel at every place."""
    standard = (places[:, None] - places) / widths
    return np.exp(-0.5 * standard**2) / (widths * math.sqrt(2.0 * math.pi))


def _left_out_likelihood(places: np.ndarray, counts: np.ndarray, widths: np.ndarray) -> float:
    """The log-likelihood of each misfit under the kernels of all others."""
    own = 1.0 / (widths * math.sqrt(2.0 * math.pi))
    others = np.maximum(_kernels(places, widths) @ counts - own, 0.0) / max(counts.sum() - 1.0, 1.0)
    broad = np.exp(-0.5 * (places / BROAD) ** 2) / (BROAD * math.sqrt(2.0 * math.pi))
    return float(counts @ np.log((1.0 - BROAD_SHARE) * others + BROAD_SHARE * broad))
