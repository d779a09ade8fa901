"""Thresholds that judge readings and sensors: what is just on one side of each is accepted, and on the other is not."""

import numpy as np
import pandas as pd
import pytest

from napinn import Problem, Unknown
from napinn.data.readings import Readings, tidy, words_for_nothing
from napinn.data.readings.sentinels import FAR, FEWEST_NUMBERS, SENTINEL_TIMES
from napinn.diagnostics.preflight import inspect_readings
from napinn.diagnostics.preflight.data import FEWEST, HUGE, LONG_GAP, PART_OF_BOX, STUCK_TIMES
from napinn.diagnostics.sensors import judge_sensors
from napinn.diagnostics.sensors.records import FEWEST_READINGS
from napinn.diagnostics.sensors.sensors import FEWEST_SENSORS as FEWEST_JUDGED
from napinn.diagnostics.uncertainty.groups import FEWEST_SENSORS as FEWEST_LEFT_OUT
from napinn.diagnostics.uncertainty.groups import groups_of
from napinn.evaluation.comparison import FEWEST_SENSORS as FEWEST_HELD_OUT
from napinn.evaluation.comparison import split
from napinn.results.verdicts import Verdict

DECAY = Problem({"t": (0.0, 1.0)}, ("u",), ("u_t = -k*u",), {"k": Unknown(1.0)})
NORMAL = np.random.default_rng(0).normal(size=40)


def read(values: np.ndarray, times: np.ndarray | None = None, sensors: object = "a") -> Readings:
    times = np.linspace(0.0, 1.0, len(values)) if times is None else times
    return tidy(pd.DataFrame({"t": times, "u": values, "sensor": sensors}), ("t",), ("u",))


def mentions(readings: Readings, words: str) -> bool:
    return any(words in finding.text for finding in inspect_readings(DECAY, readings))


def with_last(count: int, value: float) -> np.ndarray:
    """Values of median 0 and robust deviation 1, of which the last ones are given."""
    values = np.concatenate([NORMAL, np.full(count, value)])
    values[:40] = (NORMAL - np.median(NORMAL)) / (1.4826 * np.median(np.abs(NORMAL - np.median(NORMAL))))
    return values


@pytest.mark.parametrize(("count", "found"), [(SENTINEL_TIMES - 1, False), (SENTINEL_TIMES, True)])
def test_a_far_value_that_repeats_often_is_taken_for_a_sentinel(count, found):
    assert mentions(read(with_last(count, 20.0)), "occurs") is found


@pytest.mark.parametrize(("times", "found"), [(0.8, False), (1.5, True)])
def test_a_value_is_far_from_eight_deviations_on(times, found):
    assert mentions(read(with_last(SENTINEL_TIMES, times * FAR)), "occurs") is found


@pytest.mark.parametrize(("numbers", "found"), [(FEWEST_NUMBERS * 10, []), (FEWEST_NUMBERS * 10 + 1, ["OVER"])])
def test_words_are_gaps_where_more_than_half_of_the_cells_are_numbers(numbers, found):
    cells = pd.Series(["1.5"] * int(numbers) + ["OVER"] * (10 - int(numbers)))
    assert words_for_nothing(cells) == found


@pytest.mark.parametrize(("times", "found"), [(0.8, False), (1.5, True)])
def test_a_value_of_a_million_deviations_is_no_reading(times, found):
    assert mentions(read(with_last(1, times * HUGE)), "deviations from the median") is found


@pytest.mark.parametrize(("count", "found"), [(STUCK_TIMES - 1, False), (STUCK_TIMES, True)])
def test_equal_readings_in_a_row_are_doubted_from_ten_on(count, found):
    values = NORMAL.copy()
    values[5 : 5 + count] = 0.5
    assert mentions(read(values), "readings in a row") is found


@pytest.mark.parametrize(("times", "found"), [(0.98, False), (1.02, True)])
def test_a_gap_is_long_from_five_usual_steps_on(times, found):
    steps = np.ones(39)
    steps[20] = times * LONG_GAP
    passed = np.concatenate([[0.0], np.cumsum(steps)])
    assert mentions(read(NORMAL, passed / passed[-1]), "have a gap") is found


@pytest.mark.parametrize(("count", "found"), [(FEWEST - 1, False), (FEWEST, True)])
def test_gaps_are_judged_from_eight_readings_on(count, found):
    times = np.linspace(0.0, 0.1, count)
    times[-1] = 1.0
    assert mentions(read(NORMAL[:count], times), "have a gap") is found


@pytest.mark.parametrize(("times", "found"), [(1.02, False), (0.98, True)])
def test_readings_must_cover_half_of_the_box(times, found):
    assert mentions(read(NORMAL, np.linspace(0.0, times * PART_OF_BOX, 40)), "less than half of its range") is found


def several(sensors: int, readings: int) -> Readings:
    names = np.repeat([f"s{number}" for number in range(sensors)], readings)
    values = np.random.default_rng(1).normal(size=sensors * readings)
    return read(values, np.tile(np.linspace(0.0, 1.0, readings), sensors), names)


def words(readings: Readings) -> set[Verdict]:
    return {each.verdict for each in judge_sensors(DECAY, readings, np.zeros(len(readings)))}


def test_sensors_are_compared_from_three_on():
    """Of two sensors that disagree it cannot be known which one is wrong."""
    assert words(several(FEWEST_JUDGED - 1, 40)) == {Verdict.ALONE}
    assert words(several(FEWEST_JUDGED, 40)) == {Verdict.FINE}


def test_a_sensor_is_judged_from_ten_readings_on():
    assert words(several(5, FEWEST_READINGS - 1)) == {Verdict.FEW}
    assert words(several(5, FEWEST_READINGS)) == {Verdict.FINE}


def test_whole_sensors_are_held_out_from_four_on():
    """Without one sensor of three, a third of the box would have no reading."""
    assert split(several(FEWEST_HELD_OUT - 1, 20), seed=0).sensors == ()
    assert len(split(several(FEWEST_HELD_OUT, 20), seed=0).sensors) == 1


def test_the_jackknife_leaves_whole_sensors_out_from_six_on():
    """Fewer than five degrees of freedom make its error mostly chance."""
    for count, source in ((FEWEST_LEFT_OUT - 1, "30 stretches of 5 sensors"), (FEWEST_LEFT_OUT, "6 sensors")):
        readings = several(count, 20)
        assert groups_of(readings, np.ones(len(readings), bool)).source == source
