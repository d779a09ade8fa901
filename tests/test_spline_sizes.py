"""Starts of unknowns that only multiply or divide, when the user gives none."""

import numpy as np
import pandas as pd
import pytest

import napinn
from napinn.data.readings import read_table
from napinn.engines.catalogue import METHODS
from napinn.engines.splines.cost import Meter
from napinn.engines.splines.smoothing import FINEST, FINEST_STIFFNESS, choose_start, finest
from napinn.engines.splines.task import Task
from napinn.problem import Problem, Unknown


def fitted(equation: str, path: np.ndarray, times: np.ndarray, *names: str) -> dict[str, float]:
    """Unknowns without any start, from readings of one field with a hundredth of noise."""
    problem = Problem({"t": (0.0, float(times[-1]))}, ("u",), (equation,), {name: Unknown() for name in names})
    noise = 0.01 * np.std(path) * np.random.default_rng(0).normal(size=len(path))
    readings = read_table(pd.DataFrame({"t": times, "u": path + noise}), ("t",), ("u",))
    return dict(napinn.fit(problem, readings, METHODS["splines"].make()).unknowns)


def test_an_unknown_that_only_multiplies_another_has_a_size() -> None:
    times = np.linspace(0.0, 10.0, 120)
    found = fitted("u_t = a*(b - u)", 20.0 + 60.0 * np.exp(-0.35 * times), times, "a", "b")
    assert found["a"] == pytest.approx(0.35, rel=0.02)
    assert found["b"] == pytest.approx(20.0, rel=0.02)


def test_an_unknown_that_divides_has_the_size_of_what_it_divides() -> None:
    times = np.linspace(0.0, 10.0, 120)
    found = fitted("u_t = r*u*(1 - u/K)", 9e3 / (1.0 + 40.0 * np.exp(-0.9 * times)), times, "r", "K")
    assert found["r"] == pytest.approx(0.9, rel=0.02)
    assert found["K"] == pytest.approx(9e3, rel=0.02)


def task_of(readings: int) -> Task:
    times = np.linspace(0.0, 1.0, readings)
    problem = Problem({"t": (0.0, 1.0)}, ("u",), ("u_t = r*u*(1 - u/K) - u/(c*K)",), {n: Unknown() for n in "rKc"})
    return Task(problem, read_table(pd.DataFrame({"t": times, "u": 5.0 + times}), ("t",), ("u",)))


@pytest.mark.parametrize(("readings", "doublings"), [(12, 0), (40, 1), (2000, FINEST)])
def test_the_finest_start_has_no_more_functions_than_readings_support(readings: int, doublings: int) -> None:
    task = task_of(readings)
    start = choose_start(task, 0, 10_000, Meter())
    starts = finest(task, start)
    assert set(starts) == (set(FINEST_STIFFNESS) if doublings else set())
    assert all(each.cells == (start.cells[0] * 2**doublings,) for each in starts.values())
