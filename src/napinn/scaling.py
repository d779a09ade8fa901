"""Physical units to the units that a network likes, and back.

Coordinates go to [-1, 1] over the box; fields are centred on their median and measured in robust standard deviations,
so that gross outliers do not set the scale. The identity frame is what the paper's presets use."""

from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from napinn.equations import wanted
from napinn.problem import Problem

MAD_TO_STD = 1.4826
"""The standard deviation of a Gaussian over its median absolute deviation."""


class Frame(eqx.Module):
    """Network coordinate = (coordinate + shift) * factor; field = (network output + offset) * gain.

    Losses are taken of misfits in units of `gain` and of residuals in units of `residual`, which holds one unit an
    equation and then one a condition.
    """

    shift: Float[Array, " d"]
    factor: Float[Array, " d"]
    offset: Float[Array, " f"]
    gain: Float[Array, " f"]
    residual: Float[Array, " e"]


def identity_frame(inputs: int, outputs: int, dtype: jnp.dtype, equations: int = 1) -> Frame:
    arrays = (np.zeros(inputs), np.ones(inputs), np.zeros(outputs), np.ones(outputs), np.ones(equations))
    return Frame(*(jnp.asarray(array.astype(dtype)) for array in arrays))


def fitted_frame(problem: Problem, values: Sequence[np.ndarray], dtype: jnp.dtype) -> Frame:
    """The frame of a problem's box and of the readings of each measured field (an empty array where there are none).

    A hidden field is centred on zero and has the scale that the problem gives it, or else the median scale of the
    measured ones."""
    lows, highs = np.asarray(problem.lows, float), np.asarray(problem.highs, float)
    measured = [robust_std(v) or 1.0 for v in values]
    usual = float(np.median(measured))
    centres = np.array([*(np.median(v) if v.size else 0.0 for v in values), *(0.0 for _ in problem.hidden)])
    gains = np.array([*measured, *(problem.scales.get(name, usual) for name in problem.hidden)])
    arrays = (-(lows + highs) / 2.0, 2.0 / (highs - lows), centres / gains, gains, residual_units(problem, gains))
    return Frame(*(jnp.asarray(np.asarray(array, dtype)) for array in arrays))


def residual_units(problem: Problem, gains: np.ndarray) -> np.ndarray:
    """How large the terms of each equation and condition typically are, so that none weighs more for its unit.

    Each derivative is given its natural size, field gain over half-widths of the box, one at a time with all others
    zero, and the largest response of the equation counts. Unknowns are zero in the first attempt, because their start
    may be orders of magnitude away; they stand at their start only where nothing responds without them."""
    half = {name: (high - low) / 2.0 for name, (low, high) in problem.coordinates.items()}
    centre = jnp.asarray([[(low + high) / 2.0 for low, high in problem.coordinates.values()]])
    bound = (*problem.system, *(condition.equation for condition in problem.placed))
    still = {terms: np.zeros((1, len(gains))) for terms in wanted(bound)}
    alone = []
    for terms in still:
        for field, gain in enumerate(gains):
            moved = np.zeros((1, len(gains)))
            moved[0, field] = gain / np.prod([half[axis] for axis in terms[0]])
            alone.append({**still, terms: moved})

    @jax.jit
    def responses(unknowns: dict[str, Array]) -> Array:
        rest = problem.left_over(bound, centre, jax.tree.map(jnp.asarray, still), unknowns)
        each = [
            problem.left_over(bound, centre, jax.tree.map(jnp.asarray, values), unknowns) - rest for values in alone
        ]
        sizes = jnp.abs(jnp.concatenate(each))
        return jnp.max(jnp.where(jnp.isfinite(sizes), sizes, 0.0), axis=0)

    absent = np.asarray(responses({name: jnp.asarray(0.0) for name in problem.unknowns}))
    started = np.asarray(responses({name: jnp.asarray(u.start) for name, u in problem.unknowns.items()}))
    largest = np.where(absent > 0.0, absent, started)
    return np.where(largest > 0.0, largest, 1.0)


def robust_std(values: np.ndarray) -> float:
    """1.4826 × the median absolute deviation; the ordinary deviation where more than half of the values are equal."""
    if not values.size:
        return 0.0
    spread = MAD_TO_STD * float(np.median(np.abs(values - np.median(values))))
    return spread if spread > 0.0 else float(np.std(values))
