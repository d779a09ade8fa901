"""An evolution on a grid, integrated in time with steps of the solver's own choice: backward differences with exact
sparse Jacobians for stiff problems, which nearly all diffusion on a fine grid is, and Runge–Kutta for others."""

import contextlib
import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

from napinn.diagnostics.forward.method_of_lines import MethodOfLines

NUMBERS, FEWEST_INSTANTS, MOST_INSTANTS = 200_000, 32, 1024
"""How many numbers of a field a solution keeps, and from how many instants."""
TOLERANCE = 1e-6
"""Of the ODE solver, relative and absolute: a thousandth of what readings resolve."""
MOST_RATES = 40_000
"""How often the rate may be computed before the solver gives up."""
HUGE = 1e12
"""Stands for a rate that is not finite, in variations of a component over the duration: the step is then rejected."""
FAR = 100.0
"""A solution this many times larger than the field ever is has diverged from it."""
LEAST_VARIATION = 0.01
"""A field that varies by less than this share of its size is measured by its size."""
SMALL_STATE = 50
"""Numbers of a state up to which a Jacobian is better full than sparse."""


class _GaveUpError(Exception):
    pass


FAILURES = (_GaveUpError, RuntimeError, ValueError, np.linalg.LinAlgError)
"""What ends a solution early; `RuntimeError` is how SciPy's sparse factorisation says that a matrix is singular."""


@dataclass(frozen=True, eq=False)
class Trajectory:
    """Solutions over windows of time of the same length, and the field at the same points."""

    times: np.ndarray
    """(windows, instants); the first of each is where its solution starts."""
    forward: np.ndarray
    """(windows, instants, fields, nodes); not finite from where a solution ended early."""
    fitted: np.ndarray
    far: bool
    """Whether one of them diverged from the field."""

    @property
    def complete(self) -> bool:
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
    lines: MethodOfLines
    stiff: bool

    def over(self, unknowns: Mapping[str, float], windows: int = 1, shift: float = 0.0) -> Trajectory:
        """Solve over windows in a row, each started from the field; `shift` moves the start by so many of the
        components' variations."""
        low, high = self.lines.evolution.problem.coordinates[self.lines.evolution.time]
        kept = np.clip(NUMBERS // (windows * len(self.lines.inner)), FEWEST_INSTANTS, MOST_INSTANTS)
        edges = np.linspace(low, high, windows + 1)
        times = np.linspace(edges[:-1], edges[1:], int(kept) + 1, axis=1)
        found = [self._window(each, unknowns, shift) for each in times]
        forward = np.stack([fields for fields, _ in found])
        fitted = self._fitted(windows, times)
        return Trajectory(times, forward, fitted, any(far for _, far in found))

    @cached_property
    def _kept(self) -> dict[int, np.ndarray]:
        return {}

    def _fitted(self, windows: int, times: np.ndarray) -> np.ndarray:
        """The field does not change from one call to the next."""
        if windows not in self._kept:
            values = self.lines.fitted_fields(times.ravel())
            self._kept[windows] = values.reshape(*times.shape, *values.shape[1:])
        return self._kept[windows]

    @cached_property
    def _sizes(self) -> tuple[np.ndarray, np.ndarray]:
        """Of every component of the state its variation over the box, and its largest value."""
        low, high = self.lines.evolution.problem.coordinates[self.lines.evolution.time]
        values = self.lines.fitted(np.linspace(low, high, FEWEST_INSTANTS + 1), self.lines.inner)
        largest = np.abs(values).max(axis=(0, 2))
        variation = np.maximum(values.std(axis=(0, 2)), LEAST_VARIATION * largest)
        variation = np.where(variation > 0.0, variation, 1.0)
        return variation[:, None], np.maximum(largest, variation)[:, None]

    def _window(self, times: np.ndarray, unknowns: Mapping[str, float], shift: float) -> tuple[np.ndarray, bool]:
        """The fields at these instants, from the fitted field at the first, and whether the solution diverged."""
        lines, (unit, largest) = self.lines, self._sizes
        begin = lines.fitted(times[:1], lines.inner)[0] + shift * unit
        states = np.full((len(times), *begin.shape), np.nan)
        limit, calls = HUGE * unit / (times[-1] - times[0]), 0

        def rate(time: float, state: np.ndarray) -> np.ndarray:
            nonlocal calls
            calls += 1
            if calls > MOST_RATES:
                raise _GaveUpError
            found = lines.rate(time, state.reshape(begin.shape), unknowns)
            return np.where(np.isfinite(found), np.clip(found, -limit, limit), limit).ravel()

        def jacobian(time: float, state: np.ndarray) -> Any:
            found = lines.jacobian(time, state.reshape(begin.shape), unknowns)
            if not np.isfinite(found.data).all():
                raise _GaveUpError
            return found.toarray() if begin.size <= SMALL_STATE else found

        def left(time: float, state: np.ndarray) -> float:
            return 1.0 - float(np.max(np.abs(state.reshape(begin.shape)) / (FAR * largest)))

        left.terminal = True  # pyright: ignore[reportFunctionMemberAccess]
        atol = np.broadcast_to(TOLERANCE * unit, begin.shape).ravel()
        options: dict[str, Any] = {"method": "BDF", "jac": jacobian} if self.stiff else {"method": "DOP853"}
        far = False
        with np.errstate(all="ignore"), warnings.catch_warnings(), contextlib.suppress(*FAILURES):
            # A singular matrix is a failure here; SciPy warns of it besides.
            warnings.simplefilter("ignore")
            found = solve_ivp(
                rate, (times[0], times[-1]), begin.ravel(), t_eval=times, events=left, rtol=TOLERANCE, atol=atol,
                **options,
            )  # fmt: skip
            states[: found.y.shape[1]] = found.y.T.reshape(-1, *begin.shape)
            far = found.status == 1
        return lines.fields(times, states, unknowns), far
