"""How far a fit is from the truth; only benchmarks can know."""

from dataclasses import dataclass

import numpy as np

from napinn.benchmarks.base import Benchmark
from napinn.benchmarks.corruption import Corrupted
from napinn.result import FitResult


@dataclass(frozen=True)
class Scores:
    rmae: float
    rmse: float
    outliers: int
    outliers_flagged: int
    good_readings: int
    good_flagged: int


def score(result: FitResult, benchmark: Benchmark, corrupted: Corrupted) -> Scores:
    points = benchmark.evaluation_points()
    error = result.field(points) - (truth := benchmark.truth(points))
    outlier = corrupted.is_outlier(benchmark.problem.fields)
    flagged = result.flagged
    return Scores(
        rmae=float(np.abs(error).sum() / np.abs(truth).sum()),
        rmse=float(np.sqrt((error**2).sum() / (truth**2).sum())),
        outliers=int(outlier.sum()),
        outliers_flagged=int((outlier & flagged).sum()),
        good_readings=int((~outlier).sum()),
        good_flagged=int((~outlier & flagged).sum()),
    )
