"""One problem from several seeds: how far the answer depends on where a fit began.

The fits run one after another and share the programs that the first compiled. Stepping them together as one program
was measured too (`benchmarks/seeds_at_once.py`): on processors it saves little or nothing and takes twice as long to
compile."""

import time
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from napinn.data.readings import Readings
from napinn.diagnostics.status import judge_seeds, with_uncertainty
from napinn.engines.base import Progress, RunOptions
from napinn.engines.catalogue import DEFAULT, METHODS
from napinn.engines.fitting import fit_request
from napinn.engines.request import Request, check_readings
from napinn.engines.snapshot import Snapshot
from napinn.errors import InputError
from napinn.problem import Problem
from napinn.results.intervals import Uncertainty
from napinn.results.recipe import Recipe
from napinn.results.result import FitResult, FitStatus


@dataclass(frozen=True, eq=False)
class SeedFits:
    """Fits that differ in their seed alone: what `napinn.fit_seeds` gives back.

    :param results: In the order of their seeds.

    >>> fits = napinn.SeedFits((result, result))
    >>> fits.table()[["seed", "status"]].values.tolist()
    [[0, 'CONVERGED'], [0, 'CONVERGED']]
    """

    results: tuple[FitResult, ...]
    """In the order of their seeds."""

    @property
    def chosen(self) -> FitResult:
        """The fit that predicts held-out readings best; where none were held out, the one with the least loss."""
        return max(self.results, key=score)

    @property
    def best(self) -> FitResult:
        """The chosen fit with what all of them say: the status, a note for every coefficient, wider intervals."""
        status, notes = judge_seeds(self.results)
        added = tuple(note for note in notes if note not in self.chosen.notes)
        return replace(
            widened(self.chosen, self.table()), status=status, notes=(*self.chosen.notes, *added, self.sentence())
        )

    def with_uncertainty(self, uncertainty: Uncertainty) -> "SeedFits":
        """The same fits, with intervals for the chosen one."""
        chosen = self.chosen
        return SeedFits(tuple(with_uncertainty(each, uncertainty) if each is chosen else each for each in self.results))

    def table(self) -> pd.DataFrame:
        """One row a seed: its coefficients, score, status, and whether it was chosen."""
        chosen = self.chosen
        rows = [
            {"seed": each.seed, **each.unknowns, "score": score(each), "status": each.status.name,
             "seconds": round(each.seconds, 1), "chosen": each is chosen}
            for each in self.results
        ]  # fmt: skip
        return pd.DataFrame(rows)

    def sentence(self) -> str:
        """How far the seeds are apart."""
        count = len(self.results)
        found = {name: np.array([each.unknowns[name] for each in self.results]) for name in self.chosen.unknowns}
        ranges = [f"'{name}' from {values.min():.4g} to {values.max():.4g}" for name, values in found.items()]
        clause = f" found {', '.join(ranges)}" if ranges else " were fitted"
        return f"{count} seeds{clause}; this is seed {self.chosen.seed}, the best {_by(self.chosen)}."


def fit_seeds(
    problem: Problem,
    readings: Readings,
    method: Recipe | None = None,
    *,
    seeds: int = 8,
    seed: int = 0,
    progress: Progress | None = None,
) -> SeedFits:
    """Fit the same problem from several seeds, and say how far the answers differ.

    An interrupt (Ctrl-C) ends it with the seeds that are done, or with the first as far as it came.

    :param problem: What to fit.
    :param readings: What was measured.
    :param method: With what; the default is that of `napinn.fit`.
    :param seeds: How many; at least 2. Default 8.
    :param seed: The first of them.
    :param progress: A function that is called regularly with a snapshot; default none.
    :return: All fits; `best` is the one that predicts best, with a status and notes on all of them.
    :raises InputError: if fewer than two seeds are asked for, or the readings do not belong to the problem.

    >>> fits = napinn.fit_seeds(problem, readings, napinn.bsplines(), seeds=2)
    >>> len(fits.results), fits.best.status.name
    (2, 'CONVERGED')
    """
    if seeds < 2:
        raise InputError(f"several seeds are at least 2, not {seeds}; one fit is `fit`.")
    request = Request(problem, readings, METHODS[DEFAULT].make() if method is None else method, seed)
    check_readings(problem, readings, request.method.double)
    return fit_seeds_of(request, seeds, progress or (lambda snapshot: None))


def fit_seeds_of(request: Request, seeds: int, progress: Progress) -> SeedFits:
    """Fits of a request whose readings were checked, from its seed on.

    :param request: What to fit, from which first seed.
    :param seeds: How many seeds.
    :param progress: Called regularly with a snapshot."""
    done: list[FitResult] = []
    first_began = time.perf_counter()
    for number in range(request.seed, request.seed + seeds):
        one = RunOptions(_of_seed(progress, number, len(done), seeds, first_began))
        result = fit_request(replace(request, seed=number), one)
        if result.status is FitStatus.INTERRUPTED:
            return SeedFits(tuple(done or [result]))
        done.append(result)
    return SeedFits(tuple(done))


def _of_seed(progress: Progress, seed: int, before: int, seeds: int, first_began: float) -> Progress:
    """Progress of one of several fits, shown as that of all of them: which seed it is, and the time that all take."""
    began = time.perf_counter()

    def report(snapshot: Snapshot) -> None:
        left = snapshot.seconds_left
        if left is not None:
            left += (seeds - before - 1) * (time.perf_counter() - began + left)
        done, total = before * snapshot.total + snapshot.done, seeds * snapshot.total
        phase, seconds = f"seed {seed}, {snapshot.phase}", began - first_began + snapshot.seconds
        progress(replace(snapshot, phase=phase, done=done, total=total, seconds=seconds, seconds_left=left))

    return report


def widened(result: FitResult, table: pd.DataFrame) -> FitResult:
    """The result with intervals, if it has any, that hold what every seed of the table found."""
    uncertainty = result.uncertainty
    if uncertainty is None:
        return result
    wider = {
        name: replace(
            interval, low=min(interval.low, float(table[name].min())), high=max(interval.high, float(table[name].max()))
        )
        for name, interval in uncertainty.intervals.items()
    }
    source = f"{uncertainty.source} and {len(table)} seeds"
    return replace(result, uncertainty=replace(uncertainty, intervals=wider, source=source))


def score(result: FitResult) -> float:
    """How well a fit did by itself, higher being better; truth has no part in it."""
    last = result.history.iloc[-1] if len(result.history) else pd.Series(dtype=float)
    if "held_out" in last and np.isfinite(last["held_out"]):
        return float(last["held_out"])
    return -float(last["total"]) if "total" in last and np.isfinite(last["total"]) else -np.inf


def _by(result: FitResult) -> str:
    return "on held-out readings" if "held_out" in result.history else "by its loss, for none were held out"
