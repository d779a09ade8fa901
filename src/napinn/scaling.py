"""Physical units to the units that a network likes, and back.

Coordinates go to [-1, 1] over the box; fields are centred on their median and measured in robust standard deviations,
so that gross outliers do not set the scale. The identity frame is what the paper's presets use."""

from collections.abc import Sequence

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

MAD_TO_STD = 1.4826
"""The standard deviation of a Gaussian over its median absolute deviation."""


class Frame(eqx.Module):
    """Network coordinate = (coordinate + shift) * factor; field = (network output + offset) * gain."""

    shift: Float[Array, " d"]
    factor: Float[Array, " d"]
    offset: Float[Array, " f"]
    gain: Float[Array, " f"]


def identity_frame(inputs: int, outputs: int, dtype: jnp.dtype) -> Frame:
    return Frame(
        jnp.zeros((inputs,), dtype),
        jnp.ones((inputs,), dtype),
        jnp.zeros((outputs,), dtype),
        jnp.ones((outputs,), dtype),
    )


def fitted_frame(low: Sequence[float], high: Sequence[float], values: Sequence[np.ndarray], dtype: jnp.dtype) -> Frame:
    """The frame of a box and of the readings of each field (an empty array for a field that was not measured)."""
    lows, highs = np.asarray(low, float), np.asarray(high, float)
    centres = np.array([np.median(v) if v.size else 0.0 for v in values])
    gains = np.array([robust_std(v) or 1.0 for v in values])
    return Frame(
        jnp.asarray(-(lows + highs) / 2.0, dtype),
        jnp.asarray(2.0 / (highs - lows), dtype),
        jnp.asarray(centres / gains, dtype),
        jnp.asarray(gains, dtype),
    )


def robust_std(values: np.ndarray) -> float:
    """1.4826 × the median absolute deviation; the ordinary deviation where more than half of the values are equal."""
    if not values.size:
        return 0.0
    spread = MAD_TO_STD * float(np.median(np.abs(values - np.median(values))))
    return spread if spread > 0.0 else float(np.std(values))
