"""Systems of ordinary differential equations with published coefficients, and readings of all of their states.

Coefficients, initial states, time ranges and ranges of starts are those that two papers on weak-form estimation print
or publish beside them: Bortz, Messenger, Dukic 2023 (doi 10.1007/s11538-023-01208-6: logistic, Lotka–Volterra,
FitzHugh–Nagumo, the seven-term Lorenz system, 10-coefficient Hindmarsh–Rose) and Rummel, Messenger, Becker, Dukic,
Bortz 2025 (arXiv 2502.08881: Lorenz, Goodwin, SIR with time-dependent infection, ranges of starts). Each is read at 257
instants (256 intervals, their coarser samplings), Hindmarsh–Rose also at 1025, the Lorenz systems at published steps.

Starts follow the paper that a system is from and are the same for every method: uniform in the published range where
there is one, otherwise uniform within ±√3/4 (43 %) of the truth, the rule of the 2023 forward-solver comparison.
"""

import dataclasses
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from scipy.integrate import solve_ivp

from napinn.data.readings import Readings, read_table
from napinn.problem import Problem, Unknown
from napinn.studies.benchmarks.corruption import FARTHEST, NEAREST

START_SHARE = 0.25 * np.sqrt(3.0)
"""Half the width of the starts of a system without published ranges, as a share of each coefficient."""
Slope = Callable[[float, Sequence[float], Sequence[float]], tuple[float, ...]]


@dataclass(frozen=True, eq=False)
class System:
    """A system, its true coefficients in the order of `names`, and how it is read."""

    name: str
    states: tuple[str, ...]
    equations: tuple[str, ...]
    truth: tuple[float, ...]
    initial: tuple[float, ...]
    end: float
    slope: Slope
    """Right-hand side in plain floats, (time, state, coefficients): forward solvers call it thousands of times."""
    ranges: tuple[tuple[float, float], ...] | None = None
    positive: bool = False
    """Whether all methods are told that no coefficient is negative; the right-hand side needs it."""
    count: int = 257
    nonnegative: bool = False
    """Whether its states are amounts, so that a forward solver is not started below zero."""

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(f"w{number + 1}" for number in range(len(self.truth)))

    @cached_property
    def times(self) -> np.ndarray:
        return np.linspace(0.0, self.end, self.count)

    @cached_property
    def path(self) -> np.ndarray:
        """The true states at the times of the readings, (times, states)."""
        found = solve_ivp(
            lambda t, u: self.slope(t, u, self.truth), (0.0, self.end), self.initial, "DOP853", self.times,
            rtol=1e-12, atol=1e-12,
        )  # fmt: skip
        return found.y.T

    def start(self, seed: int) -> np.ndarray:
        """Where every method starts its coefficients."""
        truth, random = np.array(self.truth), self._random("start", seed)
        if self.ranges is None:
            return truth + START_SHARE * np.abs(truth) * random.uniform(-1.0, 1.0, truth.size)
        low, high = np.array(self.ranges).T
        return random.uniform(low, high)

    def read(self, noise: float, outliers: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """Readings (times, states), and which of them are gross errors.

        Noise is Gaussian, its deviation a share of each state's root mean square. A gross error takes the place of
        the noise: between 3 and 10 standard deviations of the state, up or down. All levels of a seed share draws.
        """
        path = self.path
        values = path + noise * np.sqrt(np.mean(path**2, axis=0)) * self._random("noise", seed).normal(size=path.shape)
        random = self._random("outliers", seed)
        order, size, sign = random.permutation(path.size), random.random(path.shape), random.random(path.shape)
        gross = (order < round(outliers * path.size)).reshape(path.shape)
        far = np.std(path, axis=0) * (NEAREST + (FARTHEST - NEAREST) * size) * np.where(sign < 0.5, -1.0, 1.0)
        return np.where(gross, path + far, values), gross

    def problem(self, seed: int) -> Problem:
        low, start = 0.0 if self.positive else None, self.start(seed)
        unknowns = {name: Unknown(float(value), low=low) for name, value in zip(self.names, start, strict=True)}
        return Problem({"t": (0.0, self.end)}, self.states, self.equations, unknowns, name=self.name)

    def readings(self, values: np.ndarray) -> Readings:
        table = pd.DataFrame({"t": self.times, **dict(zip(self.states, values.T, strict=True))})
        return read_table(table, ("t",), self.states)

    def _random(self, purpose: str, seed: int) -> np.random.Generator:
        return np.random.default_rng([zlib.crc32(f"{self.name} {purpose}".encode()), seed])


def _logistic(t: float, u: Sequence[float], w: Sequence[float]) -> tuple[float, ...]:
    return (w[0] * u[0] + w[1] * u[0] * u[0],)


def _lotka_volterra(t: float, u: Sequence[float], w: Sequence[float]) -> tuple[float, ...]:
    x, y = u
    return w[0] * x + w[1] * x * y, w[2] * y + w[3] * x * y


def _fitzhugh_nagumo(t: float, u: Sequence[float], w: Sequence[float]) -> tuple[float, ...]:
    x, y = u
    return w[0] * x + w[1] * x * x * x + w[2] * y, w[3] * x + w[4] + w[5] * y


def _lorenz(t: float, u: Sequence[float], w: Sequence[float]) -> tuple[float, ...]:
    x, y, z = u
    return w[0] * (y - x), x * (w[1] - z) - y, x * y - w[2] * z


def _lorenz_terms(t: float, u: Sequence[float], w: Sequence[float]) -> tuple[float, ...]:
    x, y, z = u
    return w[0] * y + w[1] * x, w[2] * x + w[3] * x * z + w[4] * y, w[5] * x * y + w[6] * z


def _hindmarsh_rose(t: float, u: Sequence[float], w: Sequence[float]) -> tuple[float, ...]:
    x, y, z = u
    square = x * x
    first = w[0] * y - w[1] * square * x + w[2] * square - w[3] * z
    return first, w[4] - w[5] * square - w[6] * y, w[7] * x + w[8] - w[9] * z


def _goodwin(t: float, u: Sequence[float], w: Sequence[float]) -> tuple[float, ...]:
    x, y, z = u
    try:
        first = w[0] / (2.15 + w[2] * (z ** w[3] if z > 0.0 else 0.0))
    except OverflowError:
        first = 0.0
    return first - w[1] * x, w[4] * x - w[5] * y, w[6] * y - w[7] * z


def _sir_tdi(t: float, u: Sequence[float], w: Sequence[float]) -> tuple[float, ...]:
    x, y, z = u
    kept = np.exp(-w[0] * w[1])
    loss = w[0] * kept / max(1.0 - kept, 1e-300) * z
    treated = w[3] * (1.0 - np.exp(-w[4] * t * t)) * y
    return loss - w[0] * x + w[2] * y, w[0] * x - w[2] * y - treated, treated - loss


HINDMARSH_ROSE = System(
    "hindmarsh_rose", ("x", "y", "z"),
    ("x_t = w1*y - w2*x**3 + w3*x**2 - w4*z", "y_t = w5 - w6*x**2 - w7*y", "z_t = w8*x + w9 - w10*z"),
    (10.0, 10.0, 30.0, 10.0, 10.0, 50.0, 10.0, 0.04, 0.0319, 0.01), (-1.31, -7.6, -0.2), 10.0, _hindmarsh_rose,
    ranges=(*((0.0, 20.0),) * 2, (0.0, 60.0), *((0.0, 20.0),) * 2, (0.0, 100.0), (0.0, 20.0), *((0.0, 1.0),) * 3),
)  # fmt: skip
"""Its spikes hold five or six readings each at 257 instants, and two dozen at the papers' finest sampling."""
SYSTEMS = {
    system.name: system
    for system in (
        System("logistic", ("u",), ("u_t = w1*u + w2*u**2",), (1.0, -1.0), (0.01,), 10.0, _logistic,
               nonnegative=True),
        System(
            "lotka_volterra", ("x", "y"), ("x_t = w1*x + w2*x*y", "y_t = w3*y + w4*x*y"),
            (3.0, -1.0, -6.0, 1.0), (1.0, 1.0), 5.0, _lotka_volterra, nonnegative=True,
        ),
        System(
            "fitzhugh_nagumo", ("x", "y"), ("x_t = w1*x + w2*x**3 + w3*y", "y_t = w4*x + w5 + w6*y"),
            (3.0, -3.0, 3.0, -1.0 / 3.0, 0.34 / 3.0, 0.2 / 3.0), (0.0, 0.1), 25.0, _fitzhugh_nagumo,
        ),
        System(
            "lorenz", ("x", "y", "z"), ("x_t = w1*(y - x)", "y_t = x*(w2 - z) - y", "z_t = x*y - w3*z"),
            (10.0, 28.0, 8.0 / 3.0), (2.0, 1.0, 1.0), 10.0, _lorenz,
            ranges=((0.0, 20.0), (0.0, 35.0), (0.0, 5.0)), count=251,
        ),
        System(
            "lorenz_terms", ("x", "y", "z"),
            ("x_t = w1*y + w2*x", "y_t = w3*x + w4*x*z + w5*y", "z_t = w6*x*y + w7*z"),
            (10.0, -10.0, 28.0, -1.0, -1.0, 1.0, -8.0 / 3.0), (-8.0, 7.0, 27.0), 6.0, _lorenz_terms, count=301,
        ),
        HINDMARSH_ROSE,
        dataclasses.replace(HINDMARSH_ROSE, name="hindmarsh_rose_1025", count=1025),
        System(
            "goodwin", ("x", "y", "z"),
            ("x_t = w1/(2.15 + w3*z**w4) - w2*x", "y_t = w5*x - w6*y", "z_t = w7*y - w8*z"),
            (3.4884, 0.0969, 1.0, 10.0, 0.0969, 0.0581, 0.0969, 0.0775), (0.3617, 0.9137, 1.3934), 80.0, _goodwin,
            ranges=((1.0, 5.0), (0.0, 0.2), (0.0, 2.0), (5.0, 15.0), *((0.0, 0.2),) * 4), positive=True,
            nonnegative=True,
        ),
        System(
            "sir_tdi", ("x", "y", "z"),
            ("x_t = -w1*x + w3*y + w1*exp(-w1*w2)/(1 - exp(-w1*w2))*z",
             "y_t = w1*x - w3*y - w4*(1 - exp(-w5*t**2))*y",
             "z_t = w4*(1 - exp(-w5*t**2))*y - w1*exp(-w1*w2)/(1 - exp(-w1*w2))*z"),
            (0.2, 1.5, 0.074, 0.113, 0.0024), (1.0, 0.0, 0.0), 50.0, _sir_tdi,
            ranges=((1e-4, 1.0), (1e-4, 2.0), *((1e-4, 1.0),) * 3), positive=True, nonnegative=True,
        ),
    )
}  # fmt: skip
