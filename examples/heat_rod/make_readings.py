"""Readings for the heat-rod example: ten thermometers, skewed noise, one reading in ten plainly wrong.

    python make_readings.py            # writes readings.csv

The field is T = exp(-h t) (exp(-D π² t) sin(πx) + 0.4 exp(-4 D π² t) sin(2πx)) with D = 0.05, h = 0.8.
"""

from pathlib import Path

import numpy as np
import pandas as pd

DIFFUSIVITY, LOSS = 0.05, 0.8


def temperature(x: np.ndarray, t: np.ndarray) -> np.ndarray:
    decay = DIFFUSIVITY * np.pi**2 * t
    modes = np.exp(-decay) * np.sin(np.pi * x) + 0.4 * np.exp(-4 * decay) * np.sin(2 * np.pi * x)
    return np.exp(-LOSS * t) * modes


def readings(seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    places, times = np.linspace(0.05, 0.95, 10), np.linspace(0.0, 1.0, 101)
    x, t = (axis.reshape(-1) for axis in np.meshgrid(places, times, indexing="ij"))
    skewed = 0.03 * (rng.gamma(2.0, 1.0, x.size) - 2.0)
    wrong = rng.random(x.size) < 0.1
    values = temperature(x, t) + np.where(wrong, rng.uniform(0.3, 1.0, x.size), skewed)
    names = np.repeat([f"thermometer {n}" for n in range(1, 11)], len(times))
    return pd.DataFrame({"sensor": names, "x": x, "t": t, "T": values})


if __name__ == "__main__":
    readings().to_csv(Path(__file__).with_name("readings.csv"), index=False)
