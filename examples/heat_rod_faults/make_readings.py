"""Readings of ten thermometers on a rod: the fourth drifts, the seventh is stuck, one reading in twenty is wrong.

    python make_readings.py            # writes readings.csv

The ends are kept at zero, and the field is exp(-D π² t) sin(πx) + 0.5 exp(-9 D π² t) sin(3πx) with D = 0.1.
"""

from pathlib import Path

import numpy as np
import pandas as pd

DIFFUSIVITY = 0.1
SENSORS, INSTANTS = 10, 101
DRIFTING, STUCK = 3, 6
"""Sensors, counted from nought."""
DRIFT = 0.4
"""What the drifting thermometer has gained in the end."""
STUCK_SINCE = 0.3


def temperature(x: np.ndarray, t: np.ndarray) -> np.ndarray:
    decay = DIFFUSIVITY * np.pi**2 * t
    return np.exp(-decay) * np.sin(np.pi * x) + 0.5 * np.exp(-9.0 * decay) * np.sin(3.0 * np.pi * x)


def readings(seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    places, times = np.linspace(0.05, 0.95, SENSORS), np.linspace(0.0, 1.0, INSTANTS)
    x, t = np.meshgrid(places, times, indexing="ij")
    values = temperature(x, t) + 0.02 * rng.standard_normal(x.shape)
    values[DRIFTING] += DRIFT * times
    stuck = times >= STUCK_SINCE
    values[STUCK, stuck] = values[STUCK, np.argmax(stuck)]
    wrong = rng.random(x.shape) < 0.05
    values = np.where(wrong, values + rng.choice([-1.0, 1.0], x.shape) * rng.uniform(0.3, 1.0, x.shape), values)
    names = np.repeat([f"thermometer {n}" for n in range(1, SENSORS + 1)], INSTANTS)
    return pd.DataFrame({"sensor": names, "x": x.reshape(-1), "t": t.reshape(-1), "u": values.reshape(-1)})


if __name__ == "__main__":
    readings().to_csv(Path(__file__).with_name("readings.csv"), index=False)
