"""The size of a field: neither gross errors, faulty sensors nor a quiet majority set it."""

import numpy as np
import pandas as pd
import pytest

from napinn import Problem, Unknown, read_table
from napinn.data.robust import robust_std
from napinn.data.variation import A_RECORD, FEWEST, MOST, field_size, variation
from napinn.field.scaling import field_sizes

NOISE = 0.02


def records(sensors: int = 40, times: int = 50) -> tuple[np.ndarray, np.ndarray]:
    """Places of readings and the numbers of their sensors, which stand anywhere along x and read at even times."""
    x = np.random.default_rng(0).uniform(size=sensors)
    places = np.stack([np.repeat(x, times), np.tile(np.linspace(0.0, 1.0, times), sensors)], axis=1)
    return places, np.repeat(np.arange(sensors), times)


def passing(places: np.ndarray, height: float = 1.0, width: float = 0.04) -> np.ndarray:
    """A pulse that passes every sensor once, and is near one of them a tenth of the time."""
    return height * np.exp(-(((places[:, 1] - 0.2 - 0.6 * places[:, 0]) / width) ** 2))


def noisy(values: np.ndarray, seed: int = 1) -> np.ndarray:
    return values + NOISE * np.random.default_rng(seed).standard_normal(len(values))


def test_a_pulse_among_quiet_readings_sets_the_size_and_the_noise_does_not():
    places, sensors = records()
    values = noisy(passing(places))
    assert robust_std(values) < 2.0 * NOISE
    assert 0.2 < field_size(places, values, sensors) < 0.5
    assert 0.2 < variation(places, values) < 0.5


@pytest.mark.parametrize(("height", "own"), [(0.1, False), (0.3, True)])
def test_a_pulse_counts_where_it_is_clearly_larger_than_the_noise(height, own):
    places, sensors = records()
    values = noisy(passing(places, height))
    assert (field_size(places, values, sensors) >= 2.0 * robust_std(values)) is own
    assert (field_size(places, values, sensors) == robust_std(values)) is not own


@pytest.mark.parametrize(
    ("field", "own"),
    [
        (lambda x, t: np.sin(6.0 * t) * np.cos(6.0 * x), False),
        (lambda x, t: np.exp(-3.0 * t), False),
        (lambda x, t: np.exp(-5.0 * t), True),
        (lambda x, t: np.tanh((x - t) / 0.3), False),
        (lambda x, t: np.tanh((t - 0.8) / 0.02), True),
        (lambda x, t: np.tanh((x - 0.8) / 0.02), False),
        (lambda x, t: 0.0 * x, False),
    ],
    ids=["wave", "decay", "fast decay", "slope", "switch", "levels of sensors", "nothing"],
)
def test_a_field_that_varies_everywhere_keeps_its_robust_deviation(field, own):
    """To the last bit; one that is nearly constant most of the time does not. Sensors that are always at another level
    cannot be distinguished from faulty ones, so they do not count."""
    places, sensors = records()
    values = noisy(field(*places.T))
    assert (field_size(places, values, sensors) != robust_std(values)) is own


@pytest.mark.parametrize("share", [0.05, 0.15, 0.25])
def test_gross_errors_do_not_set_the_size(share):
    places, sensors = records()
    values, random = noisy(np.sin(6.0 * places[:, 1])), np.random.default_rng(2)
    gross = random.random(len(values)) < share
    values[gross] += 1000.0 * random.standard_normal(gross.sum())
    assert field_size(places, values, sensors) == robust_std(values)


def test_gross_errors_do_not_change_the_size_of_a_pulse_much():
    places, sensors = records()
    values, random = noisy(passing(places)), np.random.default_rng(2)
    clean = field_size(places, values, sensors)
    gross = random.random(len(values)) < 0.15
    values[gross] += 1000.0 * random.standard_normal(gross.sum())
    assert field_size(places, values, sensors) == pytest.approx(clean, rel=0.5)


def test_sensors_that_drift_away_do_not_set_the_size():
    places, sensors = records(9)
    values = noisy(np.sin(6.0 * places[:, 1])) + np.where(sensors < 2, 50.0 * places[:, 1], 0.0)
    assert field_size(places, values, sensors) == robust_std(values)


@pytest.mark.parametrize(("times", "own"), [(A_RECORD, False), (A_RECORD - 1, True)])
def test_only_a_sensor_with_a_record_can_be_off_throughout(times, own):
    """Where every sensor has a few readings only, as where each stands alone, one in ten that is off is a pulse."""
    places, sensors = records(100, times)
    values = noisy(np.where(np.argsort(np.argsort(places[::times, 0]))[sensors] < 10, 1.0, 0.0))
    assert (field_size(places, values, sensors) != robust_std(values)) is own


@pytest.mark.parametrize(("count", "own"), [(FEWEST - 1, False), (FEWEST, True), (MOST + 1, True)])
def test_few_readings_keep_their_robust_deviation_and_of_many_some_are_drawn(count, own):
    places = np.random.default_rng(0).uniform(size=(count, 2))
    values = noisy(passing(places, width=0.12))
    size = field_size(places, values, np.arange(count))
    assert (size > 2.0 * robust_std(values)) is own


@pytest.mark.parametrize("values", [np.zeros(0), np.full(200, 3.0)], ids=["none", "one value"])
def test_readings_that_do_not_vary_have_no_size(values):
    places, sensors = np.random.default_rng(0).uniform(size=(len(values), 2)), np.arange(len(values))
    assert field_size(places, values, sensors) == 0.0
    assert variation(places, values) > 0.0


def test_sizes_are_by_field_and_in_its_own_unit():
    places, sensors = records()
    table = {"x": 5.0 * places[:, 0], "t": 9.0 * places[:, 1], "sensor": sensors}
    table |= {"u": 1000.0 * noisy(passing(places)), "v": noisy(np.sin(6.0 * places[:, 1]))}
    problem = Problem({"x": (0.0, 5.0), "t": (0.0, 9.0)}, ("u", "v"), ("u_t = a*u_x", "v_t = u"), {"a": Unknown(1.0)})
    readings = read_table(pd.DataFrame(table), ("x", "t"), ("u", "v"))
    pulse, wave = field_sizes(problem, readings)
    assert 200.0 < pulse < 500.0
    assert wave == robust_std(readings.of_field(1))
