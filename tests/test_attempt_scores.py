"""How attempts of the spline engine are compared: the law of the misfits, and the price of a faulty sensor."""

import numpy as np
import pandas as pd
import pytest

from napinn import read_table
from napinn.engines.splines.attempt_scores import faulty_excess, likeliest
from napinn.engines.splines.cost import Meter
from napinn.engines.splines.journal import Level
from napinn.engines.splines.smoothing import first_space
from napinn.engines.splines.state import State
from napinn.engines.splines.system import System
from napinn.engines.splines.task import Task
from spline_cases import small_decay


def constant(task: Task, value: float) -> Level:
    """A field that has one value everywhere, beside noise of deviation 1."""
    space = first_space(task, (6,), 1)
    state = State(np.full(space.size, value), np.ones(1), np.zeros(1), np.ones(1), task.working_laws)
    system = System(task, space, 2, np.ones(len(task.readings), bool), Meter())
    return Level(system, state, 1.0, 0.0, 1.0, 0.1, np.ones(1))


@pytest.mark.parametrize(("density", "chosen"), [("mixture", 0), ("cauchy", 0), ("gaussian", 1)])
def test_attempts_are_compared_by_the_law_that_they_were_fitted_with(density, chosen):
    """A gross error of ten deviations pulls the mean of twenty readings to 0.5, and Cauchy's location hardly at all."""
    table = pd.DataFrame({"t": np.linspace(0.0, 3.0, 20), "u": np.where(np.arange(20) == 7, 10.0, 0.0)})
    task = Task(small_decay(), read_table(table, ("t",), ("u",)), density)
    assert likeliest([constant(task, 0.0), constant(task, 0.5)], held=True) == chosen


def costs(extra: float) -> tuple[np.ndarray, np.ndarray]:
    """Six sensors of 50 readings that cost a nat each; each reading of the last costs more."""
    sensor = np.repeat(np.arange(6), 50)
    return np.where(sensor == 5, 1.0 + extra, 1.0), sensor


def test_a_sensor_counts_at_most_as_much_as_a_fault_costs():
    price = np.log(7 * 6) + 1.5 * np.log(300)
    assert faulty_excess(*costs(0.9 * price / 50)) == 0.0
    assert faulty_excess(*costs(1.1 * price / 50)) == pytest.approx(0.1 * price)
    assert faulty_excess(*costs(100.0)) == pytest.approx(5000.0 - price)


def test_a_third_of_the_sensors_may_count_as_faulty_and_no_more():
    cost, sensor = costs(0.0)
    cost[sensor >= 3] += 100.0
    price = np.log(7 * 6) + 1.5 * np.log(300)
    # The typical sensor lies between the good and the bad ones, and two of the three bad ones are excused.
    assert faulty_excess(cost, sensor) == pytest.approx(2 * (50 * 50.0 - price))


def test_two_sensors_are_never_excused():
    cost = np.repeat([1.0, 100.0], 20)
    assert faulty_excess(cost, np.repeat([0, 1], 20)) == 0.0
