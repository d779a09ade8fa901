"""Systems on which no threshold of the discovery was set: they judge it.

Series are read at 1001 instants, fields of one dimension on a grid of 128 places and 101 instants."""

from collections.abc import Callable, Mapping

import numpy as np

from napinn.studies.discovery.spectral import march_waves, smooth_waves, wave_numbers
from napinn.studies.discovery.truths import Record, Truth, series

PLACES, FRAMES = 128, 101
Rate = Callable[[np.ndarray], np.ndarray]


def duffing() -> Record:
    """Damped, in a double well."""
    truth = {"x_t": {"y": 1.0}, "y_t": {"x": 1.0, "y": -0.1, "x**3": -1.0}}
    return series(lambda _, u: [u[1], u[0] - 0.1 * u[1] - u[0] ** 3], [1.5, 1.0], 30.0, truth)


def epidemic() -> Record:
    """Susceptible and infected shares of a population."""
    truth = {"s_t": {"s*i": -0.8}, "i_t": {"s*i": 0.8, "i": -0.2}}
    return series(lambda _, u: [-0.8 * u[0] * u[1], 0.8 * u[0] * u[1] - 0.2 * u[1]], [0.98, 0.02], 30.0, truth)


def brusselator() -> Record:
    truth = {"x_t": {"1": 1.0, "x": -4.0, "x**2*y": 1.0}, "y_t": {"x": 3.0, "x**2*y": -1.0}}
    return series(
        lambda _, u: [1.0 - 4.0 * u[0] + u[0] ** 2 * u[1], 3.0 * u[0] - u[0] ** 2 * u[1]], [1.0, 1.0], 25.0, truth
    )  # fmt: skip


def roessler() -> Record:
    truth = {"x_t": {"y": -1.0, "z": -1.0}, "y_t": {"x": 1.0, "y": 0.2}, "z_t": {"1": 0.2, "z": -5.7, "x*z": 1.0}}
    return series(
        lambda _, u: [-u[1] - u[2], u[0] + 0.2 * u[1], 0.2 + u[2] * (u[0] - 5.7)], [1.0, 1.0, 1.0], 40.0, truth
    )  # fmt: skip


def linear_oscillator() -> Record:
    truth = {"x_t": {"x": -0.1, "y": 2.0}, "y_t": {"x": -2.0, "y": -0.1}}
    return series(lambda _, u: [-0.1 * u[0] + 2.0 * u[1], -2.0 * u[0] - 0.1 * u[1]], [2.0, 0.0], 20.0, truth)


def _periodic(length: float, end: float, start: Rate, diffusion: float, rest: Rate, truth: Truth) -> Record:
    """u_t = diffusion u_xx + rest(u), where `rest` takes and gives values on the grid."""
    x, times = length * np.arange(PLACES) / PLACES, np.linspace(0.0, end, FRAMES)
    numbers = wave_numbers(PLACES, length)
    kept = smooth_waves(numbers)
    field = march_waves(
        -diffusion * numbers**2, lambda now: kept * np.fft.fft(rest(np.fft.ifft(now).real)), start(x), times, 10, (0,)
    )
    return Record({"t": times, "x": x}, {"u": field}, truth)


def burgers() -> Record:
    numbers = wave_numbers(PLACES, 2.0 * np.pi)

    def rest(u: np.ndarray) -> np.ndarray:
        return np.fft.ifft(-0.5j * numbers * np.fft.fft(u**2)).real

    truth = {"u_t": {"u*u_x": -1.0, "u_xx": 0.1}}
    return _periodic(2.0 * np.pi, 3.0, lambda x: np.sin(x) + 0.5 * np.cos(2.0 * x), 0.1, rest, truth)


def heat() -> Record:
    def start(x: np.ndarray) -> np.ndarray:
        return np.sin(np.pi * x) + 0.7 * np.cos(2.0 * np.pi * x) + 0.4 * np.sin(3.0 * np.pi * x)

    return _periodic(2.0, 0.5, start, 0.1, np.zeros_like, {"u_t": {"u_xx": 0.1}})


def fisher_kpp() -> Record:
    """A population that grows and spreads."""

    def start(x: np.ndarray) -> np.ndarray:
        return 0.6 * np.exp(-((x - 6.0) ** 2)) + 0.3 * np.exp(-((x - 14.0) ** 2) / 2.0)

    truth = {"u_t": {"u_xx": 0.2, "u": 1.0, "u**2": -1.0}}
    return _periodic(20.0, 6.0, start, 0.2, lambda u: u - u**2, truth)


def allen_cahn() -> Record:
    def start(x: np.ndarray) -> np.ndarray:
        return 0.5 * np.sin(x) + 0.4 * np.cos(3.0 * x)

    truth = {"u_t": {"u_xx": 0.05, "u": 1.0, "u**3": -1.0}}
    return _periodic(2.0 * np.pi, 4.0, start, 0.05, lambda u: u - u**3, truth)


def wave() -> Record:
    """A string, of second order in time."""
    t, x = np.linspace(0.0, 2.0, FRAMES), np.linspace(0.0, 1.0, PLACES)
    modes = [(1, 1.0, 0.0), (2, 0.5, 0.8), (3, 0.3, 2.0)]
    field = sum(
        size * np.cos(1.5 * number * np.pi * t + phase)[:, None] * np.sin(number * np.pi * x)
        for number, size, phase in modes
    )
    return Record({"t": t, "x": x}, {"u": np.asarray(field)}, {"u_tt": {"u_xx": 2.25}})


UNSEEN: Mapping[str, Callable[[], Record]] = {
    "duffing": duffing,
    "epidemic": epidemic,
    "brusselator": brusselator,
    "roessler": roessler,
    "linear_oscillator": linear_oscillator,
    "burgers": burgers,
    "heat": heat,
    "fisher_kpp": fisher_kpp,
    "allen_cahn": allen_cahn,
    "wave": wave,
}
