"""What can be checked of a finished fit at once: each check on both sides of its threshold."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from exact_backend import Even, Exact
from napinn.data.readings import read_table
from napinn.diagnostics.consistency import (
    agreements,
    correlated,
    excursions,
    misses,
    not_determined,
    not_narrow,
    still_moves,
    undetermined,
)
from napinn.diagnostics.correlation import agreement_of_places, local_bias
from napinn.diagnostics.exchange import exchanges
from napinn.diagnostics.identifiability import free_levels, undeterminable
from napinn.diagnostics.status import judge_fit, with_uncertainty
from napinn.diagnostics.trades import trades
from napinn.engines.fitting import fit
from napinn.engines.splines.method import bsplines
from napinn.problem import Problem, Unknown
from napinn.results.intervals import Interval, Uncertainty
from napinn.results.result import FitStatus

TIMES = np.linspace(0.0, 3.0, 200)
DECAY = Problem({"t": (0.0, 3.0)}, ("u",), ("u_t = -k*u",), {"k": Unknown(0.3)})


def autoregressive(correlation, count=200, seed=0):
    """Gaussian noise with this correlation from one reading to the next."""
    random, noise = np.random.default_rng(seed), np.zeros(count)
    for number in range(count):
        before = noise[number - 1] if number else 0.0
        noise[number] = correlation * before + np.sqrt(1.0 - correlation**2) * random.normal()
    return noise


def fitted(noise, problem=DECAY, sensors=None, times=TIMES):
    """u = exp(-0.8 t) is found; the readings are that and the noise, times 0.05."""
    table = pd.DataFrame({"t": times, "u": np.exp(-0.8 * times) + 0.05 * noise})
    if sensors is not None:
        table.insert(0, "sensor", sensors)
    return fit(problem, read_table(table, ("t",), ("u",)), Exact(0.8, 0.05))


@pytest.mark.parametrize(("correlation", "status"), [(0.0, FitStatus.CONVERGED), (0.6, FitStatus.DOUBTFUL)])
def test_misfits_that_remember_the_one_before_are_doubted(correlation, status):
    result = fitted(autoregressive(correlation))
    assert result.status is status
    assert any("agree in sign" in note for note in result.notes) is (status is FitStatus.DOUBTFUL)
    found = agreements(result)["u"]
    assert found.correlation == pytest.approx(correlation, abs=0.15)


def test_false_alarms_of_independent_noise_are_rare():
    """One in a thousand is asked for; of two hundred there may be three."""
    doubted = 0
    for seed in range(200):
        random = np.random.default_rng(seed)
        found = agreement_of_places(random.uniform(size=(100, 2)), random.standard_t(3, 100))
        doubted += correlated(found)
    assert doubted <= 3


def test_records_are_followed_sensor_by_sensor():
    """Two sensors in turn, each off on its own side: neighbours in time disagree, successive ones of a sensor agree."""
    side = np.where(np.arange(200) % 2, 2.0, -2.0) + 0.1 * autoregressive(0.0)
    found = agreements(replace(fitted(side, sensors=np.where(side > 0, "a", "b")), verdicts=()))["u"]
    assert (found.along, found.mean) == ("records", 1.0)


def test_misfits_that_are_negligible_beside_the_field_are_not_compared():
    assert agreements(fitted(0.05 * autoregressive(0.9))) == {}


@pytest.mark.parametrize(("shift", "told"), [(0.0, False), (2.0, True)])
def test_a_bias_in_a_small_part_of_the_box_is_named(shift, told):
    noise = autoregressive(0.0) + shift * ((TIMES > 1.0) & (TIMES < 1.5))
    result = fitted(noise)
    assert any("from the field on average" in note for note in result.notes) is told


def test_a_bias_has_the_chance_that_it_claims():
    chances = []
    for seed in range(200):
        random = np.random.default_rng(seed)
        chances.append(local_bias(random.uniform(size=(128, 2)), random.normal(size=128)).chance)
    assert np.mean(np.array(chances) < 0.05) <= 0.07


@pytest.mark.parametrize(("value", "missed"), [(1.02, False), (1.2, True)])
def test_a_condition_is_missed_by_more_than_the_noise(value, missed):
    """The field is 1 at t = 0, and the noise 0.05."""
    result = fitted(autoregressive(0.0), replace(DECAY, conditions=(f"u = {value} at t = 0",)))
    (miss,) = misses(result)
    assert miss.amount == pytest.approx(value - 1.0)
    assert miss.allowed == pytest.approx(0.05, rel=0.2)
    assert miss.missed is missed
    assert any("is missed by" in note for note in result.notes) is missed


@pytest.mark.parametrize(("slope", "missed"), [(-0.8, False), (-0.78, False), (-0.75, True)])
def test_a_condition_on_a_slope_may_be_missed_by_a_tenth_of_its_size(slope, missed):
    result = fitted(0.2 * autoregressive(0.0), replace(DECAY, conditions=(f"u_t = {slope} at t = 0",)))
    assert misses(result)[0].missed is missed


@pytest.mark.parametrize(
    ("interval", "moves"),
    [
        (Interval(0.75, 0.85, 0.02), False),
        (Interval(0.75, 0.89, 0.02, 0.04), False),
        (Interval(0.75, 0.91, 0.02, 0.06), True),
        (Interval(0.0, 1.65, 0.5, 0.15), False),
        (Interval(0.0, 1.7, 0.5, 0.2), True),
        (Interval(-np.inf, np.inf, np.inf, 0.0), False),
        (Interval(0.75, np.inf, 0.02, np.inf), True),
    ],
)
def test_a_coefficient_has_settled_within_its_interval_and_a_fifth_of_itself(interval, moves):
    assert still_moves(interval, 0.8) is moves


@pytest.mark.parametrize(
    ("low", "high", "open_"),
    [
        (0.6, 1.1, False),
        (0.5, 1.1, True),
        (-0.1, 1.0, True),
        (0.0, 1.0, True),
        (-1.1, -0.6, False),
        (0.6, np.inf, True),
    ],
)
def test_an_interval_determines_a_coefficient_within_a_factor_of_two(low, high, open_):
    assert not_determined(Interval(low, high, 0.1)) is open_


@pytest.mark.parametrize(("low", "high", "open_"), [(-0.4, 0.5, False), (-0.5, 0.6, True), (0.1, np.inf, True)])
def test_an_offset_may_be_zero_and_is_determined_within_the_deviation_of_its_readings(low, high, open_):
    assert not_narrow(Interval(low, high, 0.1), 1.0) is open_


def test_an_offset_of_zero_is_no_reason_for_doubt():
    rng, problem = np.random.default_rng(1), Problem(
        {"t": (0.0, 3.0)}, (), ("C_t = -k*C",), {"k": Unknown(0.5, low=0.0), "gain": Unknown(1.0), "b": Unknown(0.1)},
        hidden=("C",), observables={"volts": "gain*C + b"}, conditions=("C = 2 at t = 0",),
    )  # fmt: skip
    volts = 3.0 * 2.0 * np.exp(-0.8 * TIMES) + 0.05 * rng.normal(size=len(TIMES))
    result = fit(problem, read_table(pd.DataFrame({"t": TIMES, "volts": volts}), ("t",), ("volts",)), bsplines())
    interval = result.uncertainty.intervals["b"]
    assert interval.low < 0.0 < interval.high
    assert undetermined(result) == []
    assert result.status is FitStatus.CONVERGED


def test_intervals_may_change_the_status_of_a_fit():
    result = fitted(autoregressive(0.0))
    assert result.status is FitStatus.CONVERGED
    wide = Uncertainty({"k": Interval(0.1, 1.5, 0.3)}, "200 readings", Even(0.01))
    judged = with_uncertainty(result, wide)
    assert judged.status is FitStatus.NOT_IDENTIFIABLE
    assert judged.notes == ("The readings determine 'k' only to a factor of 15: its 95 % interval is 0.1 … 1.5.",)
    assert judge_fit(judged, settled=True) == (judged.status, judged.notes)
    without_sign = Uncertainty({"k": Interval(-0.1, 1.5, 0.3)}, "200 readings", Even(0.01))
    assert with_uncertainty(result, without_sign).notes == (
        "The readings do not determine 'k': its 95 % interval is -0.1 … 1.5.",
    )
    bound = replace(result, status=FitStatus.AT_BOUND)
    assert with_uncertainty(bound, wide).status is FitStatus.AT_BOUND


def test_readings_of_a_faulty_sensor_that_were_used_are_doubted():
    times = np.tile(np.linspace(0.0, 3.0, 60), 6)
    sensors = np.repeat([f"s{number}" for number in range(6)], 60)
    noise = autoregressive(0.0, 360) + 40.0 * (sensors == "s2")
    result = fitted(noise, sensors=sensors, times=times)
    assert list(result.faulty_sensors().index) == ["s2"]
    left_out = replace(result, reliability=np.where(sensors == "s2", 0.0, 1.0))
    assert judge_fit(left_out, settled=True)[0] is FitStatus.CONVERGED
    status, notes = judge_fit(replace(result, reliability=np.ones(360)), settled=True)
    assert status is FitStatus.DOUBTFUL
    assert any("faulty sensors ('s2')" in note for note in notes)


def two_decays(**parts):
    unknowns = {"p": Unknown(0.5, low=0.0), "q": Unknown(1.5, low=0.0)}
    system = ("a_t = -p*a", "2*b_t + 2*q*b = 0", "s = a + b")
    return Problem({"t": (0.0, 6.0)}, ("s",), system, **{"unknowns": unknowns, "hidden": ("a", "b"), **parts})


def test_an_exchange_of_rates_and_hidden_fields_is_found():
    """One equation is written another way and twice as large; that changes nothing."""
    (found,) = exchanges(two_decays())
    assert (found.unknowns, found.hidden) == ((("p", "q"),), (("a", "b"),))
    assert "cannot say which is which" in found.sentence
    assert len(exchanges(two_decays(conditions=("a = 1 at t = 0", "b = 1 at t = 0")))) == 1


@pytest.mark.parametrize(
    "parts",
    [
        {"conditions": ("a = 1 at t = 0", "b = 2 at t = 0")},
        {"conditions": ("a = 1 at t = 0",)},
        {"unknowns": {"p": Unknown(0.5, 0.0, 1.0), "q": Unknown(1.5, 1.0, 9.0)}},
    ],
)
def test_conditions_and_bounds_tell_exchanged_rates_apart(parts):
    assert exchanges(two_decays(**parts)) == []


def test_a_small_term_beside_a_large_one_is_no_exchange():
    """Fourth powers of absolute temperatures are a billion times as large as temperature differences, and in a narrow
    range nearly proportional to them."""
    system = ("T_t = -h*(T - 21) - e*((T + 273.15)**4 - 294.15**4)",)
    assert exchanges(Problem({"t": (0.0, 9.0)}, ("T",), system, {"h": Unknown(0.02), "e": Unknown(5e-11)})) == []


@pytest.mark.parametrize(
    ("equation", "traded"),
    [
        ("T_t = -h*(T - 293) - e*(T**4 - 293**4)", set()),
        ("T_t = -h*(T - 293) - e*g*(T**4 - 293**4)", {"e", "g"}),
        ("c*T_t = -h*(T - 293) - e*(T**4 - 293**4)", {"c", "h", "e"}),
        ("T_t = -e*g*T + h*log(T - 1)", {"e", "g"}),
    ],
)
def test_a_large_term_that_an_unknown_multiplies_is_not_the_whole_equation(equation, traded):
    names = [name for name in "chge" if f"{name}*" in equation]
    problem = Problem({"t": (0.0, 9.0)}, ("T",), (equation,), {name: Unknown() for name in names})
    found = set(trades(problem))
    # Beside the largest term, the others of a trade may be lost in rounding; one of them is enough to say so.
    assert found <= traded
    assert bool(found) == bool(traded)


def test_rates_in_exponentials_that_leave_double_precision_are_no_error():
    """Values at which both would matter alike are infinite."""
    system = ("u_t = -exp(-900*a)*u - b",)
    assert exchanges(Problem({"t": (0.0, 9.0)}, ("u",), system, {"a": Unknown(1.0), "b": Unknown(1.0)})) == []


def test_a_chain_of_two_different_steps_has_no_exchange():
    system = ("a_t = -p*a", "b_t = p*a - q*b")
    assert exchanges(Problem({"t": (0.0, 6.0)}, ("a", "b"), system, {"p": Unknown(1.0), "q": Unknown(1.0)})) == []


@pytest.mark.parametrize(
    ("equations", "conditions", "free"),
    [
        (("u_t + u*u_x = -p_x",), (), {"p": "a function of t"}),
        (("u_t + u*u_x = -p_x",), ("p = 0 at x = 0",), {}),
        (("u_t = p_x", "p_t = u_x"), (), {"p": "a constant"}),
        (("u_t = p_x", "p = u_x"), (), {}),
    ],
)
def test_a_hidden_field_that_is_free_up_to_something_is_named(equations, conditions, free):
    box = {"x": (0.0, 1.0), "t": (0.0, 1.0)}
    assert free_levels(Problem(box, ("u",), equations, hidden=("p",), conditions=conditions)) == free


@pytest.mark.parametrize(
    ("equations", "conditions", "open_"),
    [
        (("u_t = -k*u + f",), (), {"k"}),
        (("u_t = -k*u + f", "f_t = 0"), (), set()),
        (("u_t = -k*u", "f_t = m*u"), (), {"m"}),
        (("u_t = -k*u", "f_t = m*u"), ("f = 0 at t = 0", "f = 1 at t = 3"), set()),
    ],
)
def test_an_equation_that_only_defines_a_hidden_field_determines_nothing(equations, conditions, open_):
    names = {name for name in "km" if any(f"{name}*" in each for each in equations)}
    problem = Problem(
        {"t": (0.0, 3.0)}, ("u",), equations, {name: Unknown(0.5) for name in sorted(names)}, hidden=("f",),
        conditions=conditions,
    )  # fmt: skip
    readings = read_table(pd.DataFrame({"t": TIMES, "u": np.exp(-0.8 * TIMES)}), ("t",), ("u",))
    assert set(undeterminable(problem, readings)) == open_


@pytest.mark.parametrize(("rate", "doubted"), [(-0.1, False), (-2.0, True)])
def test_a_field_that_runs_far_beyond_its_readings_is_doubted(rate, doubted):
    """Readings at both ends of the record, and a field that climbs between them."""
    times = np.concatenate([np.linspace(0.0, 0.2, 30), [3.0]])
    values = np.concatenate([np.linspace(1.0, 1.2, 30), [1.2]])
    table = pd.DataFrame({"t": times, "u": values})
    result = fit(DECAY, read_table(table, ("t",), ("u",)), Exact(rate, 0.4))
    assert bool(excursions(result)) is doubted
    assert any("Between its readings" in note for note in result.notes) is doubted
