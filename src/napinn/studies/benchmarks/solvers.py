"""Reference solutions: explicit finite differences on a periodic square, and what they leave behind.

An `EvolutionSystem` says how fast each field changes and which limits a step must keep. `march` takes it from instant
to instant with second-order central differences in space and Euler steps in time, checking the limits as it goes. A
`Recording` makes the snapshots a function of any point: cubic splines in space, cubic polynomials in time.

The square holds its low edge and not its high edge, which is the same place.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Protocol, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int
from scipy import ndimage

from napinn.errors import InputError

VERSION = 1
"""Part of the key of every cached solution: raise it when a change to a solver or a start changes the numbers."""

Fields = Float[Array, "f n n"]
Progress = Callable[[float], None]


@dataclass(frozen=True)
class Square:
    low: float
    high: float
    count: int
    """Nodes a side."""

    @property
    def spacing(self) -> float:
        return (self.high - self.low) / self.count

    def nodes(self) -> tuple[np.ndarray, np.ndarray]:
        """x and y of every node; x runs along the first axis."""
        axis = self.low + self.spacing * np.arange(self.count)
        x, y = np.meshgrid(axis, axis, indexing="ij")
        return x, y


@dataclass(frozen=True)
class Limit:
    """A number that must not pass its highest value, and what brings it down."""

    what: str
    value: float
    highest: float
    lever: str
    present: float
    power: int = 1
    """The value grows with this power of what the lever is at present."""

    def remedy(self) -> str:
        enough = self.present * (self.highest / self.value) ** (1.0 / self.power)
        return f"use {self.lever} of at most {enough:.3g}"


@runtime_checkable
class EvolutionSystem(Protocol):
    """The fields' rate of change, and the limits that a step from a given state must keep."""

    def rate(self, state: Fields, spacing: Float[Array, ""]) -> Fields: ...

    def limits(self, state: np.ndarray, spacing: float, step: float) -> tuple[Limit, ...]: ...


@dataclass(frozen=True)
class March:
    snapshots: np.ndarray
    """(t, f, n, n), the first being the start."""
    largest: Mapping[str, float]
    """The largest value that each limited number reached."""


def march(
    system: EvolutionSystem,
    square: Square,
    start: np.ndarray,
    instants: np.ndarray,
    longest_step: float,
    progress: Progress | None = None,
) -> March:
    """The solution at each instant, from `start` at the first.

    Every interval is cut into equal steps no longer than `longest_step`, so instants need not be multiples of it.
    Limits are checked at each instant, as for the longest step: the fields hardly change within an interval, and what
    does run away there is caught as not finite.
    """
    largest: dict[str, float] = {}
    snapshots = np.empty((len(instants), *start.shape))
    snapshots[0] = start
    _watch(system, start, instants[0], square, longest_step, largest)
    # A reference carries the errors of thousands of steps, so it is computed in double precision whatever the user set.
    with jax.enable_x64(True):
        state = jnp.asarray(start, jnp.float64)
        for number, interval in enumerate(np.diff(instants), start=1):
            steps = math.ceil(interval / longest_step - 1e-9)
            state = _advance(system, state, interval / steps, square.spacing, steps)
            snapshots[number] = state
            _watch(system, snapshots[number], instants[number], square, longest_step, largest)
            if progress is not None:
                progress(number / (len(instants) - 1))
    return March(snapshots, largest)


@partial(jax.jit, static_argnames="system")
def _advance(
    system: EvolutionSystem, state: Fields, step: Float[Array, ""], spacing: Float[Array, ""], steps: Int[Array, ""]
) -> Fields:
    return jax.lax.fori_loop(0, steps, lambda _, now: now + step * system.rate(now, spacing), state)


def _watch(
    system: EvolutionSystem, state: np.ndarray, instant: float, square: Square, step: float, largest: dict[str, float]
) -> None:
    if not np.isfinite(state).all():
        raise InputError(
            f"the reference solution is no longer finite at t = {instant:.4g}, with steps of {step:.3g} on"
            f" {square.count} nodes a side; take shorter steps or more nodes."
        )
    # A state about to overflow has limits that overflow first; infinity then breaks them as it should.
    with np.errstate(over="ignore"):
        limits = system.limits(state, square.spacing, step)
    for limit in limits:
        if not limit.value <= limit.highest:
            raise InputError(
                f"the {limit.what} of the reference solution is {limit.value:.4g} at t = {instant:.4g}, above its limit"
                f" of {limit.highest:g}; {limit.remedy()}."
            )
        largest[limit.what] = max(limit.value, largest.get(limit.what, 0.0))


def viscous_limit(diffusivity: float, spacing: float, step: float) -> Limit:
    """dt ≤ h² / (4ν): beyond it the shortest wave grows."""
    return Limit("viscous number 4ν·dt/h²", 4.0 * diffusivity * step / spacing**2, 1.0, "steps", step)


def laplacian(state: Fields, spacing: Float[Array, ""]) -> Fields:
    padded = _wrapped(state)
    around = padded[:, 2:, 1:-1] + padded[:, :-2, 1:-1] + padded[:, 1:-1, 2:] + padded[:, 1:-1, :-2]
    return (around - 4.0 * state) / spacing**2


def gradient(state: Fields, spacing: Float[Array, ""]) -> tuple[Fields, Fields]:
    padded = _wrapped(state)
    along_x = padded[:, 2:, 1:-1] - padded[:, :-2, 1:-1]
    along_y = padded[:, 1:-1, 2:] - padded[:, 1:-1, :-2]
    return along_x / (2.0 * spacing), along_y / (2.0 * spacing)


def _wrapped(state: Fields) -> Float[Array, "f m m"]:
    # One padded copy and slices of it run half again as fast as rolls, which XLA does not fuse.
    return jnp.pad(state, ((0, 0), (1, 1), (1, 1)), mode="wrap")


TAPS = 4
"""Snapshots in one cubic polynomial of time."""


@dataclass(frozen=True, eq=False)
class Recording:
    """Snapshots as a function of (x, y, t)."""

    square: Square
    instants: np.ndarray
    snapshots: np.ndarray
    """(t, f, n, n)"""

    def __call__(self, points: np.ndarray) -> np.ndarray:
        """(n, 3) points to (n, f) values."""
        times = self._times(points[:, 2])
        places = (points[:, :2].T - self.square.low) / self.square.spacing
        before = np.searchsorted(self.instants, times, side="right") - 1
        firsts = np.clip(before - 1, 0, len(self.instants) - TAPS)
        order = np.argsort(firsts, kind="stable")
        ends = np.searchsorted(firsts[order], np.arange(len(self.instants) - TAPS), side="right")
        values = np.zeros((len(points), self.snapshots.shape[1]))
        for first, rows in enumerate(np.split(order, ends)):
            weights = _lagrange(times[rows], self.instants[first : first + TAPS])
            for tap, weight in enumerate(weights):
                # At a recorded instant three of the four weights are exactly zero: a quarter of the work.
                used = np.flatnonzero(weight)
                at = rows[used]
                values[at] += weight[used, None] * self._in_space(first + tap, places[:, at])
        return values

    def _times(self, times: np.ndarray) -> np.ndarray:
        """The times asked for; one that is an instant but for rounding becomes that instant."""
        low, high = self.instants[0], self.instants[-1]
        if np.any((times < low) | (times > high)):
            raise InputError(
                f"the reference solution was recorded from t = {low:g} to {high:g} and was asked for"
                f" t = {times.min():g} to {times.max():g}; stay inside the box."
            )
        middles = 0.5 * (self.instants[1:] + self.instants[:-1])
        nearest = self.instants[np.searchsorted(middles, times)]
        return np.where(np.abs(times - nearest) < 1e-9 * (high - low), nearest, times)

    def _in_space(self, snapshot: int, places: np.ndarray) -> np.ndarray:
        values = [
            ndimage.map_coordinates(field, places, order=3, mode="grid-wrap", prefilter=False, output=np.float64)
            for field in self._coefficients[snapshot]
        ]
        return np.stack(values, axis=1)

    @cached_property
    def _coefficients(self) -> np.ndarray:
        """B-spline coefficients of every snapshot, filtered in double precision and kept in the snapshots' own."""
        coefficients = np.empty_like(self.snapshots)
        for number, fields in enumerate(self.snapshots):
            along_x = ndimage.spline_filter1d(fields, axis=-2, mode="grid-wrap")
            coefficients[number] = ndimage.spline_filter1d(along_x, axis=-1, mode="grid-wrap")
        return coefficients


def _lagrange(times: np.ndarray, nodes: np.ndarray) -> list[np.ndarray]:
    """Weights of the values at the nodes in the polynomial through them."""
    return [np.prod([(times - other) / (node - other) for other in nodes if other != node], axis=0) for node in nodes]
