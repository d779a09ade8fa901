"""How much of the misfits is noise: misfits of neighbours that agree are what the field has not learned yet.

The law of the noise can be learned only from misfits that are noise. Noise of one reading says nothing of the next
one's; a front that the network has not resolved makes all readings around it wrong together, and a law learned from
those would call them outliers and give up on them. So the signs of each reading's and of its nearest neighbour's
misfit are compared, about the median; the correlation that their agreement implies decides whether the likelihood is
trusted (none), or the absolute misfits of the warm-up, which never give up (much)."""

import numpy as np

from napinn.diagnostics.correlation import ALL_NOISE, NO_NOISE

MOST = 100_000
"""Readings of a field that are looked at."""


def noise_share(misfits: np.ndarray, places: np.ndarray, owner: np.ndarray) -> float:
    """The weight of the likelihood, 0 to 1; `places` are the points in units of the box, `owner` the fields."""
    products = [_agreement(misfits[owner == field], places[owner == field]) for field in np.unique(owner)]
    signs = np.concatenate(products)
    if not signs.size:
        return 1.0
    # Two standard errors off, so that a handful of readings proves nothing.
    agreement = max(float(signs.mean()) - 2.0 / np.sqrt(signs.size), 0.0)
    correlation = np.sin(0.5 * np.pi * agreement)
    return float(np.clip((NO_NOISE - correlation) / (NO_NOISE - ALL_NOISE), 0.0, 1.0))


def _agreement(misfits: np.ndarray, places: np.ndarray) -> np.ndarray:
    """1 for each reading whose misfit lies on the same side of the median as its neighbour's, else -1."""
    if len(misfits) < 2:
        return np.zeros(0)
    if len(misfits) > MOST:
        chosen = np.random.default_rng(0).choice(len(misfits), MOST, replace=False)
        misfits, places = misfits[chosen], places[chosen]
    from scipy.spatial import KDTree  # A quarter of a second that the first steps need not wait for.

    side = np.sign(misfits - np.median(misfits))
    two = np.asarray(KDTree(places).query(places, k=2)[1])
    # Where two readings share a place, either may come first.
    nearest = np.where(two[:, 1] == np.arange(len(misfits)), two[:, 0], two[:, 1])
    return side * side[nearest]
