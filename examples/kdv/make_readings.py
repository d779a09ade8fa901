"""Readings of two solitons, the fast overtaking the slow: 2,000 at random, one in seven plainly wrong.

    python make_readings.py            # writes readings.csv

u_t + 6 u u_x + u_xxx = 0 has the solution u = 2 (log F)_xx with F = 1 + e^p + e^q + ((k - l)/(k + l))² e^(p + q),
p = k (x - k² t - a) and q = l (x - l² t - b).
"""

from pathlib import Path

import numpy as np
import pandas as pd

STEEPENING, DISPERSION = 6.0, 1.0
FAST, SLOW = 1.0, 0.6
STARTS = (-16.0, -5.0)


def height(x: np.ndarray, t: np.ndarray) -> np.ndarray:
    waves = (np.array(wave) for wave in ((FAST, 0.0), (0.0, SLOW), (FAST, SLOW)))
    phases = [k * (x - k * k * t - start) for k, start in zip((FAST, SLOW), STARTS, strict=True)]
    shift = 2.0 * np.log((FAST - SLOW) / (FAST + SLOW))
    rates = np.array([0.0, *(wave.sum() for wave in waves)])
    powers = np.stack([np.zeros_like(x), *phases, phases[0] + phases[1] + shift])
    # (log F)_xx is the variance of the rates under weights e^power; the largest is taken out against overflow.
    shares = np.exp(powers - powers.max(axis=0))
    shares = shares / shares.sum(axis=0)
    mean = np.tensordot(rates, shares, 1)
    return 2.0 * (np.tensordot(rates**2, shares, 1) - mean**2)


def readings(seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    x, t = rng.uniform(-30.0, 30.0, 2000), rng.uniform(0.0, 20.0, 2000)
    truth = height(x, t)
    spread = np.std(truth)
    wrong = rng.random(x.size) < 0.15
    far = rng.uniform(3.0, 10.0, x.size) * rng.choice([-1.0, 1.0], x.size)
    noise = np.where(wrong, far, 0.05 * rng.standard_normal(x.size))
    return pd.DataFrame({"x": x, "t": t, "u": truth + spread * noise})


if __name__ == "__main__":
    readings().to_csv(Path(__file__).with_name("readings.csv"), index=False)
