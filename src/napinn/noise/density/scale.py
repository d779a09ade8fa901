"""What standardises misfits before any estimator sees them: a centre and a scale for each field.

The paper's scale is one running deviation for all fields together, and misfits are not centred. napinn's own default
keeps the running median and robust deviation of each field, which gross outliers do not move."""

import abc
from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from napinn.data.robust import MAD_TO_STD, NEGLIGIBLE

SMALLEST = 1e-6
"""In units of the scaled field: a smaller deviation is rounding of single precision."""
FEWEST = 5
"""Fewer misfits of a field in a batch say nothing of its spread."""


class Standard(eqx.Module):
    """Centre and scale by field, in units of the frame's gain."""

    centre: Float[Array, " f"]
    scale: Float[Array, " f"]

    def __call__(self, misfits: Float[Array, " n"], owner: Int[Array, " n"]) -> Float[Array, " n"]:
        """Standardised misfits; `owner` is the field of each."""
        return (misfits - self.centre[owner]) / self.scale[owner]


class Scale(abc.ABC):
    @abc.abstractmethod
    def measure(self, misfits: Float[Array, " n"], owner: Int[Array, " n"], fields: int) -> Standard:
        """Centre and scale of these misfits alone."""

    @abc.abstractmethod
    def update(self, now: Standard, misfits: Float[Array, " n"], owner: Int[Array, " n"]) -> Standard: ...

    @property
    def negligible(self) -> float:
        """A misfit below this, in units of the frame's gain, casts doubt on no reading."""
        return 0.0


@dataclass(frozen=True)
class BatchStd(Scale):
    """The deviation of the batch at hand, with no memory."""

    def measure(self, misfits: Float[Array, " n"], owner: Int[Array, " n"], fields: int) -> Standard:
        scale = jnp.maximum(jnp.std(misfits), SMALLEST)
        return Standard(jnp.zeros((fields,), misfits.dtype), jnp.broadcast_to(scale, (fields,)))

    def update(self, now: Standard, misfits: Float[Array, " n"], owner: Int[Array, " n"]) -> Standard:
        return self.measure(misfits, owner, len(now.scale))


@dataclass(frozen=True)
class RunningStd(Scale):
    """Exponential moving average of the batch deviation: σ ← ρ σ + (1 - ρ) s."""

    decay: float = 0.99

    def measure(self, misfits: Float[Array, " n"], owner: Int[Array, " n"], fields: int) -> Standard:
        return BatchStd().measure(misfits, owner, fields)

    def update(self, now: Standard, misfits: Float[Array, " n"], owner: Int[Array, " n"]) -> Standard:
        batch = self.measure(misfits, owner, len(now.scale))
        return Standard(now.centre, self.decay * now.scale + (1.0 - self.decay) * batch.scale)


@dataclass(frozen=True)
class RunningSpread(Scale):
    """Moving averages of each field's median misfit and of its robust deviation about it."""

    decay: float = 0.99
    floor: float = NEGLIGIBLE
    """Of the deviation, beside the field's own variation."""

    def measure(self, misfits: Float[Array, " n"], owner: Int[Array, " n"], fields: int) -> Standard:
        centre = _medians(misfits, owner, fields)
        centre = jnp.where(jnp.isnan(centre), 0.0, centre)
        spread = MAD_TO_STD * _medians(jnp.abs(misfits - centre[owner]), owner, fields)
        return Standard(centre, jnp.maximum(jnp.where(jnp.isnan(spread), 1.0, spread), self.floor))

    def update(self, now: Standard, misfits: Float[Array, " n"], owner: Int[Array, " n"]) -> Standard:
        batch = self.measure(misfits, owner, len(now.scale))
        old, new = self.decay, 1.0 - self.decay
        moved = Standard(old * now.centre + new * batch.centre, old * now.scale + new * batch.scale)
        enough = jnp.sum(members(owner, len(now.scale)), axis=1) >= FEWEST
        return jax.tree.map(lambda after, before: jnp.where(enough, after, before), moved, now)

    @property
    def negligible(self) -> float:
        return self.floor


def _medians(values: Float[Array, " n"], owner: Int[Array, " n"], fields: int) -> Float[Array, " f"]:
    """By field; nan for a field that has none."""
    if fields == 1:
        return jnp.median(values)[None]
    return jnp.nanmedian(jnp.where(members(owner, fields), values[None, :], jnp.nan), axis=1)


def members(owner: Int[Array, " n"], fields: int) -> Bool[Array, "f n"]:
    """Which misfits are of which field."""
    return owner[None, :] == jnp.arange(fields)[:, None]
