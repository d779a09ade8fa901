"""Readings for the example of units: the heat rod in cm, min and °F, with one reading in ten plainly wrong.

    python make_readings.py            # writes readings.csv

In m, h and °C the field is T = 20 + 50 exp(-h t) (exp(-D π² t) sin(πx) + 0.4 exp(-4 D π² t) sin(2πx)) with
D = 0.05 m²/h, which is 13.889 mm²/s, and h = 0.8 1/h.
"""

from pathlib import Path

import numpy as np
import pandas as pd

DIFFUSIVITY, LOSS, ROOM, SIZE = 0.05, 0.8, 20.0, 50.0


def temperature(x: np.ndarray, t: np.ndarray) -> np.ndarray:
    """In °C, at places in m and times in h."""
    decay = DIFFUSIVITY * np.pi**2 * t
    modes = np.exp(-decay) * np.sin(np.pi * x) + 0.4 * np.exp(-4 * decay) * np.sin(2 * np.pi * x)
    return ROOM + SIZE * np.exp(-LOSS * t) * modes


def readings(seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    places, times = np.linspace(0.05, 0.95, 10), np.linspace(0.0, 1.0, 61)
    x, t = (axis.reshape(-1) for axis in np.meshgrid(places, times, indexing="ij"))
    wrong = rng.random(x.size) < 0.1
    noise = np.where(wrong, rng.uniform(10.0, 40.0, x.size), 0.5 * rng.standard_normal(x.size))
    fahrenheit = 32.0 + 1.8 * (temperature(x, t) + noise)
    names = np.repeat([f"thermometer {n}" for n in range(1, 11)], len(times))
    columns = {"sensor": names, "x": 100.0 * x, "t": 60.0 * t, "T": fahrenheit}
    return pd.DataFrame(columns).round({"x": 6, "t": 6, "T": 3})


if __name__ == "__main__":
    readings().to_csv(Path(__file__).with_name("readings.csv"), index=False)
