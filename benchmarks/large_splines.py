"""Splines on problems that are too large for a factorisation at every step: matrix-free steps in the plane and time.

    python benchmarks/large_splines.py                                   # λ–ω, in a process of its own
    python benchmarks/large_splines.py --only reaction_diffusion 1       # prints the row of one case and seed

The schedule is the same for all cases and knows no truth. Readings are smoothed on 4 × 4 × 4 cells. The tolerance of
the equations falls to 0.3 there, and every cell is bisected. At a tolerance of 0.1 the noise law is learned, and the
axes along which residuals vary most inside cells are bisected once more; then the tolerance falls to 0.03. The field is
compared with the truth only after the last step. Seconds are processor time of the process on one thread, imports
included, reference solution and comparison left out. Writes `benchmarks/results/large_splines.json`."""

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from napinn.data.readings import read_table
from napinn.engines.splines import system as systems
from napinn.engines.splines.bisection import WORTH_MARKING, _inner_variation
from napinn.engines.splines.cost import Meter
from napinn.engines.splines.equation_units import measured_units
from napinn.engines.splines.learning import learn_law
from napinn.engines.splines.matrix_free import Iterative, Preconditioner
from napinn.engines.splines.points import Point, noise_levels, settle
from napinn.engines.splines.sizes import natural_sizes
from napinn.engines.splines.smoothing import FIRST_ROUGHNESS_WEIGHT, first_space, smoothed
from napinn.engines.splines.state import State
from napinn.engines.splines.system import System
from napinn.engines.splines.task import Task
from napinn.engines.splines.weak_form import weak_start
from napinn.field.splines.factorised import dense_basis
from napinn.field.splines.space import Space
from napinn.studies.benchmarks.allen_cahn import allen_cahn
from napinn.studies.benchmarks.base import Benchmark
from napinn.studies.benchmarks.burgers import burgers
from napinn.studies.benchmarks.corruption import corrupt
from napinn.studies.benchmarks.reaction_diffusion import reaction_diffusion
from napinn.studies.benchmarks.scores import relative_error
from napinn.studies.paper.provenance import provenance

RESULT = Path(__file__).parent / "results" / "large_splines.json"
BENCHMARKS: dict[str, Callable[[], Benchmark]] = {
    "reaction_diffusion": reaction_diffusion,
    "burgers": burgers,
    "allen_cahn": allen_cahn,
}
CASES = (("reaction_diffusion", 0),)
"""What is run without `--only`; other benchmarks and seeds are tried one by one."""
OUTLIERS = 0.15
FIRST_CELLS = (4, 4, 4)
MOST = 12_000
"""Coefficients."""
MATRIX_FREE_FROM = 0.1
"""Seconds of a step with a factorisation from which steps are matrix-free: nearly all steps are."""


class Counted:
    """How many steps, iterations and factorisations there were."""

    def __init__(self) -> None:
        self.steps = self.iterations = self.factors = 0
        moves, made = Iterative.moves, Preconditioner.__init__

        def counted_moves(factor: Iterative, *given: Any) -> np.ndarray:
            found = moves(factor, *given)
            self.steps += 1
            self.iterations += factor.preconditioner.iterations
            return found

        def counted_made(preconditioner: Preconditioner, *given: Any) -> None:
            self.factors += 1
            made(preconditioner, *given)

        setattr(Iterative, "moves", counted_moves)  # noqa: B010
        setattr(Preconditioner, "__init__", counted_made)  # noqa: B010


def bisected(point: Point, every: bool) -> tuple[System, State] | None:
    """The point on a finer mesh: all axes, or those along which residuals vary most; None above the most
    coefficients."""
    space = point.system.space
    variation = np.array([float(along.sum()) for along in _inner_variation(point)])
    chosen = np.ones(len(variation), bool) if every else variation >= WORTH_MARKING[3] * variation.max()
    marks = [np.full(axis.cells, bool(wanted)) for axis, wanted in zip(space.axes, chosen, strict=True)]
    finer = space.bisected(marks)
    if finer.size > MOST:
        return None
    return point.system.on(finer), replace(point.state, coefficients=space.prolonged(point.state.coefficients, finer))


def stages(task: Task) -> list[tuple[str, float, Point]]:
    """What each stage of the schedule found, and when it ended."""
    meter, found = Meter(), []
    space = first_space(task, FIRST_CELLS, task.fields)
    coefficients = smoothed(task, space, FIRST_ROUGHNESS_WEIGHT, meter, np.ones(len(task.readings), bool))
    system = System(task, space, 2, np.ones(len(task.readings), bool), meter)
    first = np.zeros(len(task.unknowns))
    state = State(coefficients, first, np.zeros(len(task.noise_unit)), task.noise_unit, task.working_laws)
    natural = natural_sizes(system, state)
    first = np.array([each.started(float(size)) for each, size in zip(task.parameters.values(), natural, strict=True)])
    state = replace(state, unknowns=first, sigma=noise_levels(system, state))
    least = measured_units(system, state)
    given = weak_start(system, state, first)
    state = state if given is None else replace(state, unknowns=given)

    def kept(name: str, point: Point) -> Point:
        found.append((name, time.process_time(), point))
        print(name, summary(point), round(time.process_time(), 1), file=sys.stderr, flush=True)  # noqa: T201
        return point

    point = kept("first mesh", settle(system, state, 1.0, least))
    point = kept("tolerance 0.3", settle(system, point.state, 0.1**0.5, least))
    finer = bisected(point, every=True)
    if finer is not None:
        point = kept("bisected", settle(*finer, 0.1**0.5, least))
    point = settle(point.system, point.state, 0.1, least)
    point = kept("noise law", learn_law(kept("tolerance 0.1", point), least, lambda *_: None))
    finer = bisected(point, every=False)
    if finer is not None:
        point = kept("bisected again", settle(*finer, 0.1, least))
    point = kept("noise law again", learn_law(point, least, lambda *_: None))
    point = kept("tolerance 0.03", settle(point.system, point.state, 0.1**1.5, least))
    kept("noise law at the end", learn_law(point, least, lambda *_: None))
    return found


def summary(point: Point) -> dict[str, Any]:
    """What a fit knows of itself at a point."""
    axes, unknowns = point.system.space.axes, point.system.task.unknowns
    return {
        "cells": [axis.cells for axis in axes],
        "coefficients": point.system.space.size,
        "tolerance": float(f"{point.tolerance:.3g}"),
        "price": float(f"{point.equation_cost:.4g}"),
        "parameters_spent": round(point.parameters),
        "unknowns": {n: float(f"{v:.5g}") for n, v in zip(unknowns, point.state.unknowns, strict=True)},
        "errors": {n: float(f"{v:.2g}") for n, v in zip(unknowns, point.solution.errors, strict=True)},
    }


def field_at(space: Space, coefficients: np.ndarray, points: np.ndarray) -> np.ndarray:
    """(n, fields) values at all points of a tensor grid, of which the last coordinate comes first (`Benchmark`)."""
    tensor = np.moveaxis(space.tensor(coefficients), [1 + space.order.index(axis) for axis in (2, 0, 1)], (1, 2, 3))
    t, x, y = (dense_basis(space.axes[axis], np.unique(points[:, axis]), 0) for axis in (2, 0, 1))
    values = np.einsum("ta,xb,yc,fabc->txyf", t, x, y, tensor, optimize=True)
    return values.reshape(-1, space.fields)


def measured(name: str, seed: int) -> dict[str, Any]:
    systems.MATRIX_FREE_FROM = MATRIX_FREE_FROM
    imported = time.process_time()
    benchmark = BENCHMARKS[name]()
    corrupted = corrupt(benchmark, OUTLIERS, seed)
    problem, begun = benchmark.problem, time.process_time()
    counted = Counted()
    found = stages(Task(problem, read_table(corrupted.table, tuple(problem.coordinates), problem.fields)))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    points = benchmark.evaluation_points()
    truth = benchmark.truth(points)
    rows = {}
    for stage, ended, point in found:
        error = relative_error(field_at(point.system.space, point.state.coefficients, points), truth, 2)
        rows[stage] = {"processor_seconds": round(imported + ended - begun, 1), **summary(point)}
        rows[stage]["rmse"] = float(f"{error:.3g}")
    return {
        "readings": len(found[0][2].system.values),
        "truth": dict(benchmark.unknowns),
        "peak_gb": round(peak, 2),
        "steps": counted.steps,
        "iterations": counted.iterations,
        "factorisations": counted.factors,
        "stages": rows,
    }


def main(out: Path) -> None:
    rows, one = {}, {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    for name, seed in CASES:
        command = [sys.executable, __file__, "--only", name, str(seed)]
        done = subprocess.run(command, env=one, stdout=subprocess.PIPE, text=True, check=False)
        rows[f"{name} {seed}"] = json.loads(done.stdout) if done.returncode == 0 else {"failed": done.returncode}
        content = {"made_by": "python benchmarks/large_splines.py", **provenance(), "outliers": OUTLIERS, "rows": rows}
        out.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs=2, metavar=("CASE", "SEED"), help="print the row of this case alone")
    parser.add_argument("--out", type=Path, default=RESULT)
    given = parser.parse_args()
    if given.only is None:
        main(given.out)
    else:
        print(json.dumps(measured(given.only[0], int(given.only[1]))))  # noqa: T201
