"""How far a fit is from the truth; only benchmarks can know.

A score that does not exist is None: precision where nothing is flagged, recall and AUROC where a class is empty, the
distance of a noise law where a method learns none. None survives JSON and is left out of averages; NaN does neither.
"""

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np
from scipy.stats import rankdata

from napinn.noise.law import NoiseLaw
from napinn.results.result import FitResult
from napinn.studies.benchmarks.base import Benchmark
from napinn.studies.benchmarks.corruption import Corrupted, MisfitLaw

LAW_REACH = 40.0
"""Laws are compared this many standard deviations of the noise to either side."""
LAW_CELLS = 100
"""Cells per standard deviation: the mixture's narrowest component is nine of them wide."""
INSTANTS = (0.0, 0.5, 1.0)
"""Where in the record the errors of single instants are taken: its beginning, middle and end."""
REMEMBERED = 3
"""Benchmarks whose truth is kept; the largest takes 150 MB."""


@dataclass(frozen=True)
class Confusion:
    """Bad readings are outliers and those that a fault has changed."""

    bad_flagged: int
    bad_kept: int
    good_flagged: int
    good_kept: int

    @property
    def precision(self) -> float | None:
        """Share of the flagged readings that are bad."""
        return _share(self.bad_flagged, self.bad_flagged + self.good_flagged)

    @property
    def recall(self) -> float | None:
        """Share of the bad readings that are flagged."""
        return _share(self.bad_flagged, self.bad_flagged + self.bad_kept)


@dataclass(frozen=True)
class Scores:
    rmae: float
    rmse: float
    outliers: int
    outliers_flagged: int
    good_readings: int
    """Neither outliers nor faulty."""
    good_flagged: int
    faulty: int
    """Changed by a fault and not counted among the outliers."""
    faulty_flagged: int
    unknown_errors: Mapping[str, float]
    """Found minus true, without its sign."""
    unknown_relative_errors: Mapping[str, float | None]
    """The same in parts of the true value; None where that is zero."""
    confusion: Confusion
    precision: float | None
    recall: float | None
    auroc: float | None
    """Of the reliability: how often a bad reading has less than a good one."""
    law_distance: float | None
    """Of the learned noise law to the true one, between 0 and 1; the mean over the fields."""
    rmae_instants: float
    """Mean of the relative errors at three instants (`INSTANTS`), each divided by the field of its own instant."""
    rmse_instants: float


def score(result: FitResult, benchmark: Benchmark, corrupted: Corrupted) -> Scores:
    points, truth = evaluation(benchmark)
    found = result.field(points)
    fields = benchmark.problem.fields
    outlier = corrupted.is_outlier(fields)
    faulty = corrupted.is_faulty(fields) & ~outlier
    flagged = result.flagged
    bad = outlier | faulty
    confused = confusion(bad, flagged)
    return Scores(
        rmae=relative_error(found, truth, 1),
        rmse=relative_error(found, truth, 2),
        rmae_instants=_error_of_instants(found, truth, benchmark.times, 1),
        rmse_instants=_error_of_instants(found, truth, benchmark.times, 2),
        outliers=int(outlier.sum()),
        outliers_flagged=int((outlier & flagged).sum()),
        good_readings=int((~bad).sum()),
        good_flagged=confused.good_flagged,
        faulty=int(faulty.sum()),
        faulty_flagged=int((faulty & flagged).sum()),
        unknown_errors={name: abs(result.unknowns[name] - true) for name, true in benchmark.unknowns.items()},
        unknown_relative_errors={
            name: _share(abs(result.unknowns[name] - true), abs(true)) for name, true in benchmark.unknowns.items()
        },
        confusion=confused,
        precision=confused.precision,
        recall=confused.recall,
        auroc=auroc(bad, result.reliability),
        law_distance=_mean_law_distance(result, corrupted.law),
    )


def relative_error(found: np.ndarray, truth: np.ndarray, order: int) -> float:
    """Norm of the error over that of the truth, of order 1 (rMAE) or 2 (rMSE), all fields together."""
    return float(((np.abs(found - truth) ** order).sum() / (np.abs(truth) ** order).sum()) ** (1.0 / order))


def _error_of_instants(found: np.ndarray, truth: np.ndarray, times: int, order: int) -> float:
    """Evaluation points come instant by instant."""
    chosen = [round(share * (times - 1)) for share in INSTANTS]
    each = zip(found.reshape(times, -1)[chosen], truth.reshape(times, -1)[chosen], strict=True)
    return float(np.mean([relative_error(mine, true, order) for mine, true in each]))


def confusion(bad: np.ndarray, flagged: np.ndarray) -> Confusion:
    return Confusion(
        bad_flagged=int((bad & flagged).sum()),
        bad_kept=int((bad & ~flagged).sum()),
        good_flagged=int((~bad & flagged).sum()),
        good_kept=int((~bad & ~flagged).sum()),
    )


def auroc(bad: np.ndarray, reliability: np.ndarray) -> float | None:
    """Chance that a bad reading is less reliable than a good one, ties counted half; by ranks, without all pairs."""
    bads, goods = int(bad.sum()), int((~bad).sum())
    if not bads or not goods:
        return None
    above = rankdata(reliability)[~bad].sum() - goods * (goods + 1) / 2
    return float(above / (bads * goods))


Pdf = Callable[[np.ndarray], np.ndarray]


def law_distance(learned: Pdf, true: Pdf, noise_std: float) -> float:
    """Total variation: the probability that would have to move to turn one law into the other.

    Taken as what the learned law lacks of the true one, and only the true one has to lie within the nodes: a
    learned law may be as wide as it likes. The nodes are middles of cells whose edges include the ends of the outlier
    law, where its density jumps.
    """
    cell = noise_std / LAW_CELLS
    cells = round(LAW_REACH * LAW_CELLS)
    nodes = cell * (np.arange(-cells, cells) + 0.5)
    return min(cell * float(np.maximum(true(nodes) - learned(nodes), 0.0).sum()), 1.0)


def _mean_law_distance(result: FitResult, law: MisfitLaw) -> float | None:
    found = [law_distance(_density(noise), law.pdf, law.noise_std) for noise in result.noise.values()]
    return float(np.mean(found)) if found else None


def _density(noise: NoiseLaw) -> Pdf:
    """Zero beyond the law's support, where its log_prob is a score and not a density."""
    low, high = (noise.centre + noise.scale * end for end in noise.support())
    return lambda misfits: np.where((misfits >= low) & (misfits <= high), noise.pdf(misfits), 0.0)


@dataclass(frozen=True)
class _Grid:
    """What the truth at the evaluation points depends on; the benchmark itself has dictionaries and no hash."""

    truth: Callable[[np.ndarray], np.ndarray]
    lows: tuple[float, ...]
    highs: tuple[float, ...]
    times: int
    benchmark: Benchmark = field(compare=False)


def evaluation(benchmark: Benchmark) -> tuple[np.ndarray, np.ndarray]:
    """Evaluation points and the truth there, worked out once for all fits of a process to the same benchmark."""
    problem = benchmark.problem
    return _evaluated(_Grid(benchmark.truth, problem.lows, problem.highs, benchmark.times, benchmark))


@functools.lru_cache(maxsize=REMEMBERED)
def _evaluated(grid: _Grid) -> tuple[np.ndarray, np.ndarray]:
    points = grid.benchmark.evaluation_points()
    truth = grid.truth(points)
    for shared in (points, truth):
        shared.setflags(write=False)
    return points, truth


def _share(part: float, whole: float) -> float | None:
    return part / whole if whole else None
