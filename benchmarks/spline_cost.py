"""The factors of the model of cost (`napinn.engines.splines.cost`), from the processor time of Gauss–Newton steps.

    OMP_NUM_THREADS=1 python benchmarks/spline_cost.py

Each step is timed three times and the least is taken. The factors are non-negative least squares of relative errors.
Prints them beside those in use, and how far the model in use is from each step; writes no file, because the factors
belong to one machine."""

import importlib.util
import os
import time
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pulse
from scipy.optimize import nnls

from napinn.data.readings import Readings, read_table
from napinn.engines.splines import cost
from napinn.engines.splines.cost import Meter
from napinn.engines.splines.equation_units import measured_units
from napinn.engines.splines.normal_equations import evaluate, linearise
from napinn.engines.splines.smoothing import first_space
from napinn.engines.splines.state import State
from napinn.engines.splines.system import System
from napinn.engines.splines.task import Task
from napinn.problem import Problem
from napinn.problem.file import bind_readings, load_problem_file

EXAMPLES = Path(__file__).parents[1] / "examples"
MESHES: dict[str, list[tuple[int, ...]]] = {
    "lynx_hare": [(32,), (128,), (1000,)],
    "van_der_pol": [(64,), (640,)],
    "kdv": [(16, 16), (60, 36), (117, 69)],
    "hidden_grazers": [(8, 8), (14, 15), (30, 30)],
    "puff": [(4, 4, 4), (8, 8, 4), (13, 8, 9), (16, 14, 8)],
}
NAMES = ("STEP", "PRODUCT", "SCATTER", "BAND", "FACTOR")


def problem_of(name: str) -> tuple[Problem, Readings]:
    if name in pulse.CASES:
        problem, table = pulse.CASES[name].problem, pulse.CASES[name].make(0)
        return problem, read_table(table, tuple(problem.coordinates), problem.fields)
    folder = EXAMPLES / name
    spec = importlib.util.spec_from_file_location("make_readings", folder / "make_readings.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    file = load_problem_file(folder / "problem.yaml")
    return bind_readings(file, module.readings(), name, name)


def timed_step(task: Task, mesh: tuple[int, ...], points: int) -> tuple[float, System]:
    """The least seconds of three steps, and the system that they are taken on."""
    space = first_space(task, mesh, task.fields)
    system = System(task, space, points, np.ones(len(task.readings), bool), Meter())
    noise = 0.01 * np.random.default_rng(0).normal(size=space.size)
    coefficients = np.tile(task.centre, (space.functions, 1)).ravel() + noise
    sigma = task.scale[: task.measured]
    state = State(coefficients, np.ones(len(task.unknowns)), np.zeros(task.measured), sigma, task.working_laws)
    units, seconds = measured_units(system, state), []
    for _ in range(4):
        begun = time.process_time()
        normal = linearise(system, units, 0.1, state, evaluate(system, units, 0.1, state))
        factor = normal.matrix.factor(normal.floor + 1e-3 * normal.matrix.diagonal)
        factor.solve(np.c_[normal.gradient, normal.border])
        seconds.append(time.process_time() - begun)
    # The first one also fills tables that later steps share.
    return min(seconds[1:]), system


def operations(system: System) -> list[float]:
    """What each factor of the model is multiplied by."""
    space, grid = system.space, system.grid
    own, all_fields = len(space.offsets) ** 2, len(space.all_offsets) ** 2
    products = system.count * own + grid.cells * grid.points * len(system.task.equations) * all_fields
    entries = len(system.rows.members) * own + grid.cells * all_fields
    return [1.0, products, entries, space.size * space.bandwidth, space.size * space.bandwidth**2]


def main() -> None:
    rows: list[tuple[Any, ...]] = []
    for name, meshes in MESHES.items():
        task = Task(*problem_of(name))
        for mesh in meshes:
            for points in (2, 3):
                seconds, system = timed_step(task, mesh, points)
                rows.append((seconds, operations(system)))
                ratio = system.step_seconds / seconds
                print(f"{name} {mesh}, {points} points: {seconds:.4f} s, model {ratio:.2f} of it", flush=True)  # noqa: T201
    seconds, counts = np.array([row[0] for row in rows]), np.array([row[1] for row in rows])
    found, _ = nnls(counts / seconds[:, None], np.ones(len(seconds)))
    for name, value in zip(NAMES, found, strict=True):
        print(f"{name} {value:.2g}, in use {getattr(cost, name):.2g}")  # noqa: T201


if __name__ == "__main__":
    main()
