"""A sensor that the field follows in part is judged beside a field that was fitted without it."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import napinn
from napinn.data.readings import Readings, read_table
from napinn.diagnostics.sensors import judge_sensors, suspects
from napinn.engines.splines.engine import Engine
from napinn.engines.splines.equation_units import measured_units
from napinn.engines.splines.points import settle
from napinn.engines.splines.screening import SensorJudge
from napinn.engines.splines.smoothing import choose_start
from napinn.engines.splines.starts import SETTLED_PRICE, Attempt
from napinn.engines.splines.task import Task
from napinn.problem import Problem, Unknown
from napinn.results.verdicts import Verdict

GROUND = Problem({"x": (0.0, 0.4), "t": (0.0, 10.0)}, ("T",), ("T_t = a*T_xx",), {"a": Unknown(0.2, low=0.0)})
DEPTHS = np.linspace(0.02, 0.38, 8)
NOISE = 0.2


def temperature(x: np.ndarray, t: np.ndarray) -> np.ndarray:
    """Two waves that travel down into ground of diffusivity 0.05."""
    total = np.zeros(np.shape(x))
    for size, rate, phase in ((5.0, 0.785, 0.3), (3.0, 2.5, 1.1)):
        number = np.sqrt(rate / 0.1)
        total = total + size * np.exp(-number * x) * np.cos(rate * t - number * x + phase)
    return total


def measured(gain: float) -> tuple[Readings, np.ndarray]:
    """Eight thermometers of which the deepest shows changes too large, and the true field."""
    random = np.random.default_rng(3)
    x, t = np.repeat(DEPTHS, 100), np.tile(np.linspace(0.0, 10.0, 100), 8)
    true = temperature(x, t)
    read = true * np.where(x == DEPTHS[-1], gain, 1.0) + random.normal(0.0, NOISE, 800)
    names = np.repeat([f"T{number}" for number in range(8)], 100)
    return read_table(pd.DataFrame({"sensor": names, "x": x, "t": t, "T": read}), ("x", "t"), ("T",)), true


def followed(true: np.ndarray, gain: float) -> np.ndarray:
    """A field that has followed the deepest sensor by half, and less and less above it."""
    share = 0.5 * np.exp(-np.arange(7, -1, -1) / 3.0)
    return true * (1.0 + (gain - 1.0) * np.repeat(share, 100))


@pytest.mark.parametrize(("gain", "suspicious"), [(1.0, False), (1.22, True)])
def test_a_sensor_that_the_field_follows_is_suspicious(gain, suspicious):
    readings, true = measured(gain)
    found = suspects(GROUND, readings, followed(true, gain))
    assert bool(found) is suspicious
    if suspicious:
        assert set(readings.sensors[found[0]]) == {"T7"}


def test_a_sensor_that_is_named_is_no_longer_suspicious():
    readings, true = measured(2.0)
    named = {one.sensor for one in judge_sensors(GROUND, readings, true) if one.verdict.faulty}
    assert named == {"T7"}
    assert suspects(GROUND, readings, true) == []


def test_a_wrong_gain_at_the_edge_is_named_and_bends_nothing():
    readings, _ = measured(1.35)
    result = napinn.fit(GROUND, readings, napinn.bsplines())
    verdicts = {one.sensor: one.verdict for one in result.verdicts}
    assert verdicts.pop("T7") is Verdict.GAIN
    assert set(verdicts.values()) == {Verdict.FINE}
    assert result.unknowns["a"] == pytest.approx(0.05, rel=0.06)


def test_a_sensor_with_its_sign_reversed_is_said_to_be_so():
    readings, true = measured(-1.0)
    (said,) = [one.evidence for one in judge_sensors(GROUND, readings, true) if one.verdict is Verdict.GAIN]
    assert "with the wrong sign (reading = -" in said


@pytest.mark.parametrize(("cost", "left_out"), [(SETTLED_PRICE, 0), (1.1 * SETTLED_PRICE, 100)])
def test_sensors_are_judged_before_a_mesh_is_refined_for_the_cost_of_its_equations(cost, left_out):
    readings, _ = measured(2.0)
    task = Task(GROUND, readings)
    engine = Engine(task, 0, SensorJudge(task, 0.01), lambda *_: None)
    start = choose_start(task, 0, 10_000, engine.meter)
    engine.starts.find_first(start)
    system, state = engine.starts.smoothed_state(start)
    least = measured_units(system, state)
    level = replace(settle(system, state, 0.01, least).level, equation_cost=cost)
    used = engine._first_screened(Attempt("weak form", level, least, [])).level.system.used
    assert np.count_nonzero(~used) == left_out
    assert np.all(readings.sensors[~used] == "T7")


def test_a_stuck_sensor_is_left_out_before_anything_is_fitted():
    """Its readings have no noise, so a field that follows them exactly would be the likeliest."""
    readings, _ = measured(1.0)
    own = readings.sensors == "T7"
    late = own & (readings.points[:, 1] > 2.0)
    values = np.where(late, readings.values[np.flatnonzero(late)[0]], readings.values)
    stuck = replace(readings, values=values)
    judge = SensorJudge(Task(GROUND, stuck), 0.01)
    # Any smooth field will do: here none at all.
    assert np.array_equal(judge.stuck(np.zeros(800)), late & (np.cumsum(late) > 1))
    assert not SensorJudge(Task(GROUND, readings), 0.01).stuck(np.zeros(800)).any()
    result = napinn.fit(GROUND, stuck)
    assert result.unknowns["a"] == pytest.approx(0.05, rel=0.05)
    assert {one.sensor: one.verdict for one in result.verdicts if one.verdict.faulty} == {"T7": Verdict.STUCK}
