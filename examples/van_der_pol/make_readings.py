"""Readings of a Van der Pol oscillator over ten periods: one reading in seven plainly wrong, and for a while stuck.

    python make_readings.py            # writes readings.csv

x'' = μ (1 - x²) x' - x with μ = 1, whose period is 6.6633; the start lies on the limit cycle.
"""

from pathlib import Path

import numpy as np
import pandas as pd
from scipy.integrate import solve_ivp

DAMPING, PERIOD, START = 1.0, 6.6633, (2.0086, 0.0)
END = 10 * PERIOD
STUCK = (0.42 * END, 0.47 * END)


def position(t: np.ndarray) -> np.ndarray:
    def slope(_: float, state: np.ndarray) -> list[float]:
        x, speed = state
        return [speed, DAMPING * (1.0 - x * x) * speed - x]

    times, back = np.unique(t, return_inverse=True)
    return solve_ivp(slope, (0.0, END), START, "DOP853", times, rtol=1e-10, atol=1e-10).y[0][back]


def readings(seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    t = np.sort(rng.uniform(0.0, END, 500))
    truth = position(t)
    spread = np.std(truth)
    values = truth + 0.05 * spread * rng.standard_normal(t.size)
    stuck = (t >= STUCK[0]) & (t <= STUCK[1])
    values[stuck] = values[np.argmax(stuck)]
    wrong = rng.random(t.size) < 0.15
    far = rng.uniform(3.0, 10.0, t.size) * rng.choice([-1.0, 1.0], t.size) * spread
    return pd.DataFrame({"t": t, "x": np.where(wrong, truth + far, values)})


if __name__ == "__main__":
    readings().to_csv(Path(__file__).with_name("readings.csv"), index=False)
