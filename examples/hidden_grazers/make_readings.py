"""Readings of plankton along a line; the grazers that eat it are never counted.

    python make_readings.py            # writes readings.csv

u_t = D u_xx + u (1 - u) - u v  and  v_t = D v_xx + e u v - m v, nothing leaving through the ends, with D = 0.02,
e = 1.5 and m = 0.5, on 201 nodes by the method of lines. One reading in seven is plainly wrong.
"""

from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.integrate import solve_ivp
from scipy.interpolate import RectBivariateSpline

SPREADING, GAIN, DEATH = 0.02, 1.5, 0.5
END, NODES = 10.0, 201


@cache
def solution() -> tuple[RectBivariateSpline, RectBivariateSpline]:
    """Plankton and grazers as functions of x and t."""
    x, times = np.linspace(0.0, 1.0, NODES), np.linspace(0.0, END, 401)

    def bend(values: np.ndarray) -> np.ndarray:
        mirrored = np.concatenate([values[1:2], values, values[-2:-1]])
        return SPREADING * np.diff(mirrored, 2) * (NODES - 1) ** 2

    def slope(_: float, state: np.ndarray) -> np.ndarray:
        u, v = np.split(state, 2)
        return np.concatenate([bend(u) + u * (1.0 - u) - u * v, bend(v) + GAIN * u * v - DEATH * v])

    start = np.concatenate([0.6 + 0.3 * np.cos(np.pi * x), 0.3 + 0.2 * np.cos(2.0 * np.pi * x)])
    path = solve_ivp(slope, (0.0, END), start, "BDF", times, rtol=1e-8, atol=1e-10).y
    u, v = (RectBivariateSpline(x, times, part) for part in np.split(path, 2))
    return u, v


def plankton(x: np.ndarray, t: np.ndarray) -> np.ndarray:
    return solution()[0].ev(x, t)


def grazers(x: np.ndarray, t: np.ndarray) -> np.ndarray:
    return solution()[1].ev(x, t)


def readings(seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    x, t = rng.uniform(0.0, 1.0, 2000), rng.uniform(0.0, END, 2000)
    truth = plankton(x, t)
    spread = np.std(truth)
    wrong = rng.random(x.size) < 0.15
    far = rng.uniform(3.0, 10.0, x.size) * rng.choice([-1.0, 1.0], x.size)
    noise = np.where(wrong, far, 0.05 * rng.standard_normal(x.size))
    return pd.DataFrame({"x": x, "t": t, "u": truth + spread * noise})


if __name__ == "__main__":
    readings().to_csv(Path(__file__).with_name("readings.csv"), index=False)
