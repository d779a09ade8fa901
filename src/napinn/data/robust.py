"""Robust spread of numbers, which gross outliers do not set."""

import numpy as np

MAD_TO_STD = 1.4826
"""The standard deviation of a Gaussian over its median absolute deviation."""
NEGLIGIBLE = 0.01
"""Misfits below this part of the field's own variation are not distinguished: so near to it, a fitted field is
itself wrong in ways that differ from sensor to sensor."""


def robust_std(values: np.ndarray) -> float:
    """1.4826 × the median absolute deviation; the ordinary deviation where more than half of the values are equal."""
    if not values.size:
        return 0.0
    spread = MAD_TO_STD * float(np.median(np.abs(values - np.median(values))))
    return spread if spread > 0.0 else float(np.std(values))
