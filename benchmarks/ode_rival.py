"""The rival of the suite: `scipy.optimize.least_squares` on a forward solver.

Coefficients and the initial state are free. The solver is LSODA with tolerances of 1e-10. A state that leaves a
thousand times the range of its readings is frozen, so that a bad start gives large residuals and no failure. The
Jacobian is by forward differences: one more solution for each free number."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from ode_systems import System
from scipy.integrate import ODEintWarning, odeint
from scipy.optimize import least_squares

TUNING = 2.385
"""Where the Cauchy loss bends, in deviations of the noise: 95 % efficient if the noise is Gaussian."""
MOST_EVALUATIONS = 200
FAR = 1e3
LEAST_AMOUNT = 0.01
"""Where an amount starts at least, as a share of its median reading."""
STEP = 1e-6


@dataclass(frozen=True, eq=False)
class Forward:
    """Residuals of readings in deviations of the noise, as a function of coefficients and initial state."""

    system: System
    values: np.ndarray
    noise: np.ndarray
    """Deviation of the noise of each state, told from the readings."""

    @property
    def coefficients(self) -> int:
        return len(self.system.truth)

    @property
    def scale(self) -> np.ndarray:
        return np.maximum(np.median(np.abs(self.values), axis=0), self.noise)

    def residuals(self, free: np.ndarray) -> np.ndarray:
        slope, weights, limit = self.system.slope, free[: self.coefficients].tolist(), (FAR * self.scale).tolist()
        still = (0.0,) * len(limit)

        def guarded(t: float, state: np.ndarray) -> tuple[float, ...]:
            numbers: list[float] = state.tolist()
            for value, most in zip(numbers, limit, strict=True):
                if not -most < value < most:
                    return still
            return slope(t, numbers, weights)

        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore", ODEintWarning)
            path = odeint(
                guarded, free[self.coefficients :], self.system.times, tfirst=True, rtol=1e-10,
                atol=1e-10 * self.scale, mxstep=2000,
            )  # fmt: skip
        wrong = np.nan_to_num((path - self.values) / self.noise, nan=FAR, posinf=FAR, neginf=-FAR)
        return np.clip(wrong, -1e6, 1e6).reshape(-1)

    def jacobian(self, free: np.ndarray) -> np.ndarray:
        here = self.residuals(free)
        unit = np.concatenate([np.maximum(np.abs(free[: self.coefficients]), 1e-3), self.scale])
        columns = []
        for index, step in enumerate(STEP * unit):
            moved = free.copy()
            moved[index] += step
            columns.append((self.residuals(moved) - here) / step)
        return np.stack(columns, axis=1)


def noise_of(values: np.ndarray) -> np.ndarray:
    """Robust deviation of the noise: how far readings are from the mean of their two neighbours."""
    apart = values[1:-1] - 0.5 * (values[:-2] + values[2:])
    return 1.4826 * np.median(np.abs(apart), axis=0) / np.sqrt(1.5)


def forward_fit(system: System, values: np.ndarray, seed: int, loss: str, from_truth: bool) -> np.ndarray:
    """Coefficients by least squares (`loss` 'linear') or the Cauchy loss.

    From the truth, coefficients and initial state start at the true ones; otherwise at the start that all methods are
    given, and at the median of the first three readings of each state. A state that is an amount starts above zero: a
    population that noise puts below it has a solution that leaves every range.
    """
    forward = Forward(system, values, noise_of(values))
    if from_truth:
        start = np.concatenate([system.truth, system.initial])
    else:
        first = np.median(values[:3], axis=0)
        first = np.maximum(first, LEAST_AMOUNT * forward.scale) if system.nonnegative else first
        start = np.concatenate([system.start(seed), first])
    low = np.full(start.size, -np.inf)
    if system.positive:
        low[: forward.coefficients] = 0.0
    jacobian: Any = forward.jacobian  # the stub of SciPy knows names of schemes alone
    found = least_squares(
        forward.residuals, start, jacobian, bounds=(low, np.inf), loss=loss, f_scale=TUNING, x_scale="jac",
        ftol=1e-8, xtol=1e-8, gtol=1e-10, max_nfev=MOST_EVALUATIONS,
    )  # fmt: skip
    return found.x[: forward.coefficients]
