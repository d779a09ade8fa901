"""Readings of a predator and its prey: 401 instants, 10 % noise, one reading in ten a gross error."""

import numpy as np
import pandas as pd
from scipy.integrate import solve_ivp

RATES = (1.0, 0.1, 1.5, 0.075)
"""x' = a x - b x y and y' = -g y + c x y; `napinn discover` is told none of this."""


def readings(seed: int = 3) -> pd.DataFrame:
    times, (a, b, g, c) = np.linspace(0.0, 30.0, 401), RATES
    truth = solve_ivp(
        lambda _, u: [a * u[0] - b * u[0] * u[1], -g * u[1] + c * u[0] * u[1]], (0.0, 30.0), [10.0, 5.0], "DOP853",
        times, rtol=1e-10, atol=1e-12,
    ).y.T  # fmt: skip
    random = np.random.default_rng(seed)
    values = truth + 0.1 * np.sqrt(np.mean(truth**2, axis=0)) * random.normal(size=truth.shape)
    gross = random.random(truth.shape) < 0.1
    far = truth.std(axis=0) * random.uniform(3.0, 10.0, truth.shape) * random.choice([-1.0, 1.0], truth.shape)
    values = np.where(gross, truth + far, values)
    return pd.DataFrame({"t": times, "x": values[:, 0], "y": values[:, 1]}).round(4)


if __name__ == "__main__":
    readings().to_csv("readings.csv", index=False)
