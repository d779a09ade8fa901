"""Readings for the rod of two metals: twenty thermometers, and one reading in ten that is plainly wrong.

    python make_readings.py            # writes readings.csv

The diffusivity rises fourfold along the rod, from 0.05 m²/h to 0.2 m²/h. One end follows a heater that swings once in
an hour, the other is kept at zero.
"""

from pathlib import Path

import numpy as np
import pandas as pd
from scipy.integrate import solve_ivp

LOWEST, RATIO = 0.05, 4.0
SENSORS, INSTANTS, NODES = 20, 50, 201


def diffusivity(x: np.ndarray) -> np.ndarray:
    return LOWEST * RATIO ** (0.5 - 0.5 * np.cos(np.pi * x))


def temperature(places: np.ndarray, times: np.ndarray) -> np.ndarray:
    """(places, times): by differences of the flux on a fine grid."""
    x = np.linspace(0.0, 1.0, NODES)
    step, between = x[1] - x[0], diffusivity(0.5 * (x[1:] + x[:-1]))

    def rates(t: float, u: np.ndarray) -> np.ndarray:
        flux = between * np.diff(u) / step
        return np.concatenate([[2.0 * np.pi * np.cos(2.0 * np.pi * t)], np.diff(flux) / step, [0.0]])

    found = solve_ivp(
        rates, (0.0, 1.0), np.sin(np.pi * x), "BDF", times, rtol=1e-7, atol=1e-9, max_step=0.01,
        jac=lambda t, u: _jacobian(between, step),
    )  # fmt: skip
    return np.stack([np.interp(places, x, found.y[:, number]) for number in range(len(times))], axis=1)


def _jacobian(between: np.ndarray, step: float) -> np.ndarray:
    """The rates follow the temperatures linearly, but for those of the two ends."""
    found = np.zeros((NODES, NODES))
    inner = np.arange(1, NODES - 1)
    found[inner, inner - 1], found[inner, inner + 1] = between[:-1] / step**2, between[1:] / step**2
    found[inner, inner] = -(between[:-1] + between[1:]) / step**2
    return found


def readings(seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    places, times = np.linspace(0.0, 1.0, SENSORS), np.linspace(0.0, 1.0, INSTANTS)
    values = temperature(places, times) + 0.01 * rng.normal(size=(SENSORS, INSTANTS))
    wrong = rng.random(values.shape) < 0.1
    values[wrong] += 0.5 * rng.normal(size=int(wrong.sum()))
    x, t = (axis.reshape(-1) for axis in np.meshgrid(places, times, indexing="ij"))
    names = np.repeat([f"thermometer {number}" for number in range(1, SENSORS + 1)], INSTANTS)
    return pd.DataFrame({"sensor": names, "x": x, "t": t, "T": values.reshape(-1)})


if __name__ == "__main__":
    readings().to_csv(Path(__file__).with_name("readings.csv"), index=False)
