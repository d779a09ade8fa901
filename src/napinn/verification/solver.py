"""An evolution on a line, integrated in time by a Runge–Kutta method with steps of its own choice: an implicit one for
stiff problems, which nearly all diffusion on a fine line is, and an explicit one for others.

Nearly all that a solution costs is the compilation, so windows, coefficients and stencils are arguments of one program.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import diffrax
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from napinn.compiled import owned_jit
from napinn.verification.lines import Lines

INSTANTS = 32
TOLERANCE = 1e-5
MOST_STEPS = 10_000
FAR = 100.0
"""A solution this many times larger than the field ever is has left it for good."""
LEAST_VARIATION = 0.01
"""A field that varies by less than this share of its size is measured by its size."""


@dataclass(frozen=True, eq=False)
class Course:
    """Solutions over stretches of time of the same length, and the field at the same points."""

    forward: np.ndarray
    """(stretches, instants, fields, nodes); not finite from where a solution ended early."""
    fitted: np.ndarray
    far: bool
    """Whether one of them left the field for good."""

    @property
    def whole(self) -> bool:
        return bool(np.isfinite(self.forward).all())

    @property
    def differences(self) -> np.ndarray:
        """Between solution and field, field by field."""
        return apart(self.forward, self.fitted, self.fitted)


def apart(first: np.ndarray, second: np.ndarray, field: np.ndarray) -> np.ndarray:
    """Root mean square differences field by field, in units of the variation of each; infinite where a solution
    ended."""
    axes = (0, 1, 3)
    variation = np.maximum(np.std(field, axis=axes), LEAST_VARIATION * np.sqrt(np.mean(field**2, axis=axes)))
    if not (np.isfinite(first).all() and np.isfinite(second).all()):
        return np.full(len(variation), math.inf)
    return np.sqrt(np.mean((first - second) ** 2, axis=axes)) / np.maximum(variation, np.finfo(float).tiny)


@dataclass(frozen=True, eq=False)
class Solver:
    lines: Lines
    stiff: bool

    def over(self, unknowns: Mapping[str, float], windows: int = 1, shift: float = 0.0, narrow: bool = False) -> Course:
        """Solve over windows in a row, each started from the field; `shift` moves the start by so many of the
        components' variations."""
        low, high = self.lines.evolution.problem.coordinates[self.lines.evolution.time]
        length = (high - low) / windows
        values = {name: jnp.asarray(value, jnp.float64) for name, value in unknowns.items()}
        rest = jnp.asarray(length), jnp.asarray(shift), values, self.lines.weights(narrow)
        found = [self._run(jnp.asarray(low + length * number), *rest) for number in range(windows)]
        forward, fitted, far = (np.stack([np.asarray(each[part]) for each in found]) for part in range(3))
        return Course(forward, fitted, bool(far.any()))

    @cached_property
    def _sizes(self) -> tuple[Array, Array]:
        """Of every component of the state its variation over the box, and its largest value."""
        low, high = self.lines.evolution.problem.coordinates[self.lines.evolution.time]
        inner = jnp.asarray(self.lines.line.inner)
        times = jnp.linspace(low, high, INSTANTS + 1)
        values = np.asarray(owned_jit(jax.vmap(lambda time: self.lines.fitted(time, inner)))(times))
        largest = np.abs(values).max(axis=(0, 2))
        variation = np.maximum(values.std(axis=(0, 2)), LEAST_VARIATION * largest)
        variation = np.where(variation > 0.0, variation, 1.0)
        return jnp.asarray(variation)[:, None], jnp.asarray(largest / variation)[:, None]

    @cached_property
    def _run(self) -> Callable[..., tuple[Array, Array, Array]]:
        lines = self.lines
        inner = jnp.asarray(lines.line.inner)
        unit, largest = self._sizes
        instants = jnp.linspace(0.0, 1.0, INSTANTS + 1)[1:]
        scheme = diffrax.Kvaerno3() if self.stiff else diffrax.Tsit5()

        def rate(passed: Any, state: Float[Array, "c n"], given: Any) -> Float[Array, "c n"]:
            start, length, *rest = given
            return lines.rate(start + length * passed, state * unit, *rest) * length / unit

        def left(passed: Any, state: Float[Array, "c n"], given: Any, **_: Any) -> Array:
            return jnp.any(jnp.abs(state) > FAR * jnp.maximum(largest, 1.0))

        def run(
            start: Array, length: Array, shift: Array, unknowns: dict[str, Array], weights: dict[int, Array]
        ) -> tuple[Array, Array, Array]:
            solution = diffrax.diffeqsolve(
                diffrax.ODETerm(rate), scheme, 0.0, 1.0, None, lines.fitted(start, inner) / unit + shift,
                (start, length, unknowns, weights), saveat=diffrax.SaveAt(ts=instants),
                stepsize_controller=diffrax.PIDController(rtol=TOLERANCE, atol=TOLERANCE),
                event=diffrax.Event(left), max_steps=MOST_STEPS, throw=False,
            )  # fmt: skip
            times = start + length * instants
            fields = jax.vmap(lambda time, state: lines.fields(time, state * unit, unknowns, weights))
            fitted = jax.vmap(lambda time: lines.fitted_fields(time, inner))
            return fields(times, solution.ys), fitted(times), solution.result == diffrax.RESULTS.event_occurred

        return owned_jit(run)
