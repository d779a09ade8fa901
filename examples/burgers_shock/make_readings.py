"""Readings of the Burgers shock: 2,000 at random, one in seven plainly wrong.

    python make_readings.py            # writes readings.csv

u_t + u u_x = ν u_xx with ν = 0.01/π and u = -sin(πx) at t = 0, by Cole and Hopf: u is the mean of -sin(π(x - z)) over
z with weights exp(-z²/(4νt) - cos(π(x - z))/(2πν)), a Gauss–Hermite sum.
"""

from pathlib import Path

import numpy as np
import pandas as pd

SPEED, VISCOSITY = 1.0, 0.01 / np.pi
NODES = 200


def velocity(x: np.ndarray, t: np.ndarray) -> np.ndarray:
    nodes, weights = np.polynomial.hermite.hermgauss(NODES)
    place = np.pi * (x[..., None] - 2.0 * np.sqrt(VISCOSITY * t[..., None]) * nodes)
    power = -np.cos(place) / (2.0 * np.pi * VISCOSITY)
    each = weights * np.exp(power - power.max(axis=-1, keepdims=True))
    return -np.sum(np.sin(place) * each, axis=-1) / np.sum(each, axis=-1)


def readings(seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    x, t = rng.uniform(-1.0, 1.0, 2000), rng.uniform(0.0, 1.0, 2000)
    truth = velocity(x, t)
    spread = np.std(truth)
    wrong = rng.random(x.size) < 0.15
    far = rng.uniform(3.0, 10.0, x.size) * rng.choice([-1.0, 1.0], x.size)
    noise = np.where(wrong, far, 0.05 * rng.standard_normal(x.size))
    return pd.DataFrame({"x": x, "t": t, "u": truth + spread * noise})


if __name__ == "__main__":
    readings().to_csv(Path(__file__).with_name("readings.csv"), index=False)
