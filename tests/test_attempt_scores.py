"""How attempts of the spline engine are compared: the price of a faulty sensor."""

import numpy as np
import pytest

from napinn.engines.splines.attempt_scores import faulty_excess


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
