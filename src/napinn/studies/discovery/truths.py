"""Solutions whose equations are to be found again, and readings of them.

Korteweg–de Vries, Kuramoto–Sivashinsky and λ–ω have the equations, starts and ranges of Messenger and Bortz 2021 (doi
10.1016/j.jcp.2021.110525); both equations in one dimension also have their grids. λ–ω is recorded on a coarser grid,
and the porous medium is that of one dimension, because their records of three coordinates are too many readings for a
study that ends. Lorenz, Van der Pol, Lotka–Volterra and FitzHugh–Nagumo are read at 1001 instants."""

import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.integrate import solve_ivp

from napinn.data.readings import Readings, read_table
from napinn.studies.discovery.spectral import march_waves, smooth_waves, wave_numbers

NEAREST, FARTHEST = 3.0, 10.0
"""A gross error is uniform between these, in standard deviations of the field, up or down."""
INSTANTS = 1001
SENSORS, SENSOR_INSTANTS = 225, 100
"""Of scattered sensors: places drawn among the nodes of the grid, and instants at which all are read."""
Truth = Mapping[str, Mapping[str, float]]


@dataclass(frozen=True, eq=False)
class Record:
    """A solution on a tensor grid: coordinates in order with their nodes, and one array a field."""

    coordinates: Mapping[str, np.ndarray]
    fields: Mapping[str, np.ndarray]
    truth: Truth
    """Left side to term to coefficient."""

    def readings(self, noise: float, outliers: float, seed: int, scattered: bool = False) -> Readings:
        """Noise is Gaussian, a share of the root mean square of each field; gross errors take the place of it."""
        random = np.random.default_rng([zlib.crc32(" ".join(self.truth).encode()), seed])
        axes = [part.ravel() for part in np.meshgrid(*self.coordinates.values(), indexing="ij")]
        table = dict(zip(self.coordinates, axes, strict=True))
        for name, field in self.fields.items():
            true = field.ravel()
            values = true + noise * np.sqrt(np.mean(true**2)) * random.normal(size=true.size)
            far = np.std(true) * random.uniform(NEAREST, FARTHEST, true.size) * random.choice([-1.0, 1.0], true.size)
            table[name] = np.where(random.random(true.size) < outliers, true + far, values)
        kept = self._scattered(random) if scattered else np.ones(axes[0].size, bool)
        frame = pd.DataFrame({name: column[kept] for name, column in table.items()})
        return read_table(frame, tuple(self.coordinates), tuple(self.fields))

    def _scattered(self, random: np.random.Generator) -> np.ndarray:
        """All readings of some places at some instants; time is the first coordinate."""
        shape = next(iter(self.fields.values())).shape
        places = int(np.prod(shape[1:]))
        chosen = np.zeros(places, bool)
        chosen[random.permutation(places)[:SENSORS]] = True
        instants = np.zeros(shape[0], bool)
        instants[np.linspace(0, shape[0] - 1, min(SENSOR_INSTANTS, shape[0])).round().astype(int)] = True
        return (instants[:, None] & chosen[None, :]).ravel()


def _waves(x: np.ndarray, length: float, linear: np.ndarray, start: np.ndarray, times: np.ndarray) -> np.ndarray:
    numbers = wave_numbers(len(x), length)
    kept = smooth_waves(numbers)

    def rest(now: np.ndarray) -> np.ndarray:
        return -0.5j * numbers * kept * np.fft.fft(np.fft.ifft(now).real ** 2)

    return march_waves(linear, rest, start, times, 4, (0,))


def kdv() -> Record:
    count, times = 400, np.linspace(0.0, 0.006, 601)
    x = -np.pi + 2.0 * np.pi * np.arange(count) / count
    start = 1875.0 / np.cosh(12.5 * (x + 2.0)) ** 2 + 768.0 / np.cosh(8.0 * (x + 1.0)) ** 2
    linear = 1j * wave_numbers(count, 2.0 * np.pi) ** 3
    field = _waves(x, 2.0 * np.pi, linear, start, times)
    return Record({"t": times, "x": x}, {"u": field}, {"u_t": {"u*u_x": -1.0, "u_xxx": -1.0}})


def kuramoto_sivashinsky() -> Record:
    count, times, length = 256, np.linspace(0.0, 150.0, 301), 32.0 * np.pi
    x = length * np.arange(1, count + 1) / count
    numbers = wave_numbers(count, length)
    start = np.cos(x / 16.0) * (1.0 + np.sin(x / 16.0))
    field = _waves(x, length, numbers**2 - numbers**4, start, times)
    return Record({"t": times, "x": x}, {"u": field}, {"u_t": {"u*u_x": -1.0, "u_xx": -1.0, "u_xxxx": -1.0}})


def porous_medium() -> Record:
    """u_t = (u²)_xx from two humps on a low ground, spectral in space."""
    count, times, length = 256, np.linspace(0.0, 2.0, 201), 10.0
    x = -5.0 + length * np.arange(count) / count
    numbers = wave_numbers(count, length)
    start = 0.05 + np.exp(-((x + 1.5) ** 2) / 0.3) + 0.6 * np.exp(-((x - 1.5) ** 2) / 0.1)

    def rate(_: float, now: np.ndarray) -> np.ndarray:
        return np.fft.ifft(-(numbers**2) * np.fft.fft(now**2)).real

    field = solve_ivp(rate, (0.0, 2.0), start, "BDF", times, rtol=1e-8, atol=1e-10).y.T
    return Record({"t": times, "x": x}, {"u": field}, {"u_t": {"d(u**2, x, x)": 1.0}})


def lambda_omega() -> Record:
    """Spiral waves of two fields, diffusion 0.1, on a square of length 20."""
    count, times, length = 64, np.linspace(0.0, 10.0, 101), 20.0
    x = -10.0 + length * np.arange(count) / count
    across, up = np.meshgrid(x, x, indexing="ij")
    radius, angle = np.hypot(across, up), np.angle(across + 1j * up)
    start = np.stack([np.tanh(radius) * np.cos(angle - radius), np.tanh(radius) * np.sin(angle - radius)])
    numbers = wave_numbers(count, length)
    linear = -0.1 * (numbers[:, None] ** 2 + numbers[None, :] ** 2)[None] * np.ones((2, 1, 1))

    def rest(now: np.ndarray) -> np.ndarray:
        u, v = np.fft.ifftn(now, axes=(1, 2)).real
        square = u**2 + v**2
        return np.fft.fftn(np.stack([u * (1.0 - square) + square * v, v * (1.0 - square) - square * u]), axes=(1, 2))

    field = march_waves(linear, rest, start, times, 4, (1, 2))
    truth = {
        "u_t": {"u_xx": 0.1, "u_yy": 0.1, "u": 1.0, "u**3": -1.0, "u*v**2": -1.0, "v**3": 1.0, "u**2*v": 1.0},
        "v_t": {"v_xx": 0.1, "v_yy": 0.1, "v": 1.0, "v**3": -1.0, "u**2*v": -1.0, "u**3": -1.0, "u*v**2": -1.0},
    }
    return Record({"t": times, "x": x, "y": x}, {"u": field[:, 0], "v": field[:, 1]}, truth)


def series(rate: Callable[[float, np.ndarray], list[float]], start: list[float], end: float, truth: Truth) -> Record:
    times = np.linspace(0.0, end, INSTANTS)
    found = solve_ivp(rate, (0.0, end), start, "DOP853", times, rtol=1e-10, atol=1e-12).y
    names = [left.removesuffix("_t") for left in truth]
    return Record({"t": times}, dict(zip(names, found, strict=True)), truth)


def van_der_pol() -> Record:
    truth = {"x_t": {"y": 1.0}, "y_t": {"x": -1.0, "y": 2.0, "x**2*y": -2.0}}
    return series(lambda _, u: [u[1], 2.0 * (1.0 - u[0] ** 2) * u[1] - u[0]], [2.0, 0.0], 20.0, truth)


def lorenz() -> Record:
    truth = {
        "x_t": {"x": -10.0, "y": 10.0},
        "y_t": {"x": 28.0, "y": -1.0, "x*z": -1.0},
        "z_t": {"z": -8.0 / 3.0, "x*y": 1.0},
    }
    return series(
        lambda _, u: [10.0 * (u[1] - u[0]), u[0] * (28.0 - u[2]) - u[1], u[0] * u[1] - 8.0 / 3.0 * u[2]],
        [-8.0, 7.0, 27.0], 10.0, truth,
    )  # fmt: skip


def lotka_volterra() -> Record:
    truth = {"x_t": {"x": 1.0, "x*y": -0.1}, "y_t": {"y": -1.5, "x*y": 0.075}}
    return series(
        lambda _, u: [u[0] - 0.1 * u[0] * u[1], -1.5 * u[1] + 0.075 * u[0] * u[1]], [10.0, 5.0], 30.0, truth
    )  # fmt: skip


def fitzhugh_nagumo() -> Record:
    truth = {
        "x_t": {"x": 3.0, "x**3": -1.0, "y": 3.0},
        "y_t": {"1": 0.34 / 3.0, "x": -1.0 / 3.0, "y": -0.2 / 3.0},
    }
    return series(
        lambda _, u: [3.0 * u[0] - u[0] ** 3 + 3.0 * u[1], (0.34 - u[0] - 0.2 * u[1]) / 3.0], [0.0, 0.1], 25.0, truth
    )  # fmt: skip


def pure_noise() -> Record:
    """No field at all, 500 readings: no equation may be claimed."""
    times = np.linspace(0.0, 10.0, 500)
    return Record({"t": times}, {"u": np.zeros(500)}, {"u_t": {}})


RECORDS: Mapping[str, Callable[[], Record]] = {
    "kdv": kdv,
    "kuramoto_sivashinsky": kuramoto_sivashinsky,
    "porous_medium": porous_medium,
    "lambda_omega": lambda_omega,
    "van_der_pol": van_der_pol,
    "lorenz": lorenz,
    "lotka_volterra": lotka_volterra,
    "fitzhugh_nagumo": fitzhugh_nagumo,
    "pure_noise": pure_noise,
}


def noise_readings(seed: int) -> Readings:
    """Standard normal readings of nothing."""
    times = np.linspace(0.0, 10.0, 500)
    values = np.random.default_rng([zlib.crc32(b"pure noise"), seed]).normal(size=500)
    return read_table(pd.DataFrame({"t": times, "u": values}), ("t",), ("u",))
