"""What happens to readings on the way from the field to the file, seeded and labelled."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from napinn.benchmarks.base import Benchmark
from napinn.errors import InputError

MIXTURE = ((-9.0, 2.0), (-0.3, 4.0), (2.7, 0.6), (8.5, 1.0))
"""Means and standard deviations of the paper's four equally likely components."""
MIXTURE_SHARE = 0.1
"""The mixture is multiplied by this share of the field's mean magnitude."""


@dataclass(frozen=True)
class Corrupted:
    table: pd.DataFrame
    """Wide readings: sensor, coordinates, one column a field."""
    labels: pd.DataFrame
    """For the same rows: the true value of each field, and whether its reading is an outlier."""

    def is_outlier(self, fields: tuple[str, ...]) -> np.ndarray:
        """One entry a reading, in the order in which a wide table is read."""
        return self.labels[[f"{name}_outlier" for name in fields]].to_numpy(bool).reshape(-1)


def corrupt(benchmark: Benchmark, outliers: float, seed: int) -> Corrupted:
    """The paper's corruption: mixture noise, and a share of readings whose noise is replaced by a gross positive one.

    The outliers' noise is uniform between 3 and 10 standard deviations of the noise law.
    """
    if not 0.0 <= outliers < 1.0:
        raise InputError(f"the share of outliers is {outliers}; it must be at least 0 and below 1.")
    rng = np.random.default_rng(seed)
    points, sensors = benchmark.sensor_points()
    clean = benchmark.truth(points)
    unit = MIXTURE_SHARE * np.abs(clean).mean()
    noise = unit * _mixture(rng, clean.shape)
    hit = np.zeros(clean.size, bool)
    hit[rng.choice(clean.size, round(outliers * clean.size), replace=False)] = True
    hit = hit.reshape(clean.shape)
    gross = rng.uniform(3.0, 10.0, clean.shape) * unit * mixture_std()
    values = clean + np.where(hit, gross, noise)
    problem = benchmark.problem
    table = pd.DataFrame({"sensor": sensors, **dict(zip(problem.coordinates, points.T, strict=True))})
    labels = table.copy()
    for index, name in enumerate(problem.fields):
        table[name] = values[:, index]
        labels[f"{name}_true"] = clean[:, index]
        labels[f"{name}_outlier"] = hit[:, index]
    return Corrupted(table, labels)


def mixture_std() -> float:
    means, deviations = np.array(MIXTURE).T
    return float(np.sqrt(np.mean(deviations**2 + means**2) - np.mean(means) ** 2))


def _mixture(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    means, deviations = np.array(MIXTURE).T
    chosen = rng.integers(len(MIXTURE), size=shape)
    return rng.normal(means[chosen], deviations[chosen])
