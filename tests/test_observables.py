"""Observables: what they add to a problem, where their readings stand, and what is recovered from them alone."""

import numpy as np
import pandas as pd
import pytest

from napinn import Problem, Unknown, bsplines, fit
from napinn.errors import InputError
from napinn.problem.file import bind_readings, parse_problem

TIMES = np.linspace(0.0, 3.0, 60)
DECAY = {"coordinates": {"t": [0, 3]}, "unknowns": {"k": {"positive": True}}, "equations": ["C_t = -k*C"]}


def noise(count: int, size: float, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(0.0, size, count)


def fitted(content: dict, table: pd.DataFrame):
    return fit(*bind_readings(parse_problem(content, "problem.yaml"), table, "readings.csv"), bsplines())


def slab(**observables: str) -> Problem:
    return Problem(
        {"z": (0.0, 2.0), "t": (0.0, 1.0)}, (), ("T_t = D*T_zz",), {"D": Unknown()}, hidden=("T",),
        observables=observables,
    )  # fmt: skip


def residual(problem: Problem, values: dict, points: np.ndarray) -> np.ndarray:
    """Of the last equation, with derivatives by their terms: (n, fields) each."""
    (value, _) = problem.linearised(problem.written[-1], points, values, dict.fromkeys(problem.unknowns, 1.0))
    return np.broadcast_to(value, len(points))


def test_a_logarithm_is_met_where_it_holds_and_has_a_value_where_the_field_is_negative():
    problem = Problem({"t": (0, 1)}, (), ("C_t = 0*C",), hidden=("C",), observables={"y": "log10(C)"})
    assert problem.outputs == ("y", "C")
    points = np.zeros((3, 1))
    values = {((),): np.array([[-1.0, 0.1], [0.0, 1.0], [1.0, 1.0]])}
    np.testing.assert_allclose(residual(problem, values, points), [0.0, 0.0, -0.9], atol=1e-12)
    assert np.isfinite(residual(problem, {((),): np.array([[0.0, -1.0]])}, points[:1])).all()


def test_a_mean_is_a_running_integral_that_is_zero_at_the_low_end():
    problem = slab(mean_T="mean(T, z)")
    assert problem.fields == ("mean_T",)
    (condition,) = problem.placed
    assert dict(condition.at) == {"z": 0.0}
    points = np.array([[0.5, 0.1], [1.5, 0.2]])
    # T = 2z has the running mean z²/2 over a slab of depth 2, whose derivative is z.
    z = points[:, 0]
    values = {((),): np.stack([z**2 / 2, 2 * z], axis=1), (("z",),): np.stack([z, np.full(2, 2.0)], axis=1)}
    np.testing.assert_allclose(residual(problem, values, points), 0.0, atol=1e-12)


@pytest.mark.parametrize(
    ("text", "slope"),
    [
        ("3*mean(T, z) + 1", lambda z: 3 * z + 0.5),
        ("1 - integral(T, z)/4", lambda z: 0.5 - 2 * z / 4),
        ("2*(mean(T, z) + integral(T, z)) - D", lambda z: 2 * (z + 2 * z) - 0.5),
    ],
)
def test_a_sum_of_means_with_coefficients_is_one_running_integral(text, slope):
    problem = slab(volts=text)
    assert problem.outputs == ("volts", "T")
    z = np.array([0.5, 1.5])
    # T = 2z in a slab of depth 2; the slope of the running integral is that of the whole expression.
    values = {((),): np.stack([0 * z, 2 * z], axis=1), (("z",),): np.stack([slope(z), 0 * z + 2.0], axis=1)}
    np.testing.assert_allclose(residual(problem, values, np.stack([z, z], axis=1)), 0.0, atol=1e-12)


def test_an_integral_with_a_factor_gives_the_same_answer_as_the_mean():
    t, odd = np.linspace(0.0, 2.0, 60), 2 * np.arange(40) + 1
    start = np.exp(-0.05 * np.outer(t, (odd * np.pi) ** 2)) * 32.0 / (np.pi * odd) ** 4 * 3.0
    content = {
        "coordinates": {"z": [0, 1], "t": [0, 2]}, "hidden": ["T"], "observables": {"heat": "c*integral(T, z)"},
        "unknowns": {"D": {"positive": True}}, "constants": {"c": 3}, "equations": ["T_t = D*T_zz"],
        "conditions": ["T = 0 at z = 0", "T = 0 at z = 1", "T = 4*z*(1 - z) at t = 0"],
    }  # fmt: skip
    truth = start.sum(axis=1) * 2.0
    result = fitted(content, pd.DataFrame({"t": t, "heat": truth + noise(60, 0.01)}))
    assert result.unknowns["D"] == pytest.approx(0.05, rel=0.05)


def test_readings_of_a_mean_need_no_column_for_its_coordinate():
    content = {
        "coordinates": {"z": [0, 2], "t": [0, 3]}, "hidden": ["T"], "observables": {"m": "mean(T, z)"},
        "unknowns": {"D": {}}, "equations": ["T_t = D*T_zz"],
    }  # fmt: skip
    _, readings = bind_readings(parse_problem(content, "p"), pd.DataFrame({"t": [0.0, 1.0], "m": [1.0, 0.5]}), "r")
    np.testing.assert_array_equal(readings.points, [[2.0, 0.0], [2.0, 1.0]])


def test_a_field_that_is_measured_only_by_an_observable_may_stand_under_fields():
    table = pd.DataFrame({"t": TIMES, "y": -TIMES})
    problem, _ = bind_readings(
        parse_problem({**DECAY, "fields": ["C"], "observables": {"y": "log(C)"}}, "p"), table, "r"
    )
    assert problem.fields == ("y",)
    assert problem.hidden == ("C",)


def test_a_rate_is_recovered_from_logarithms_with_gross_errors():
    read = np.log10(5.0 * np.exp(-0.8 * TIMES)) + noise(60, 0.02)
    read[::9] += 1.0
    result = fitted({**DECAY, "fields": ["C"], "observables": {"y": "log10(C)"}}, pd.DataFrame({"t": TIMES, "y": read}))
    assert result.unknowns["k"] == pytest.approx(0.8, rel=0.02)
    assert result.uncertainty.intervals["k"].low < 0.8 < result.uncertainty.intervals["k"].high
    np.testing.assert_allclose(result.field.at(t=[0.0, 3.0])["C"], 5.0 * np.exp([0.0, -2.4]), rtol=0.05)


def test_two_rates_are_recovered_from_a_sum():
    content = {
        "coordinates": {"t": [0, 6]}, "hidden": ["A", "B"], "observables": {"total": "A + B"},
        "unknowns": {"a": {"low": 1, "high": 9}, "b": {"low": 0, "high": 1}},
        "equations": ["A_t = -a*A", "B_t = -b*B"],
    }  # fmt: skip
    t = np.linspace(0.0, 6.0, 120)
    table = pd.DataFrame({"t": t, "total": np.exp(-2.0 * t) + 0.6 * np.exp(-0.3 * t) + noise(120, 0.005)})
    result = fitted(content, table)
    assert result.unknowns["a"] == pytest.approx(2.0, rel=0.05)
    assert result.unknowns["b"] == pytest.approx(0.3, rel=0.05)


def test_gain_and_rate_are_recovered_where_the_start_is_known():
    content = {
        **DECAY, "hidden": ["C"], "observables": {"volts": "gain*C + 0.5"}, "conditions": ["C = 2 at t = 0"],
        "unknowns": {"k": {"positive": True}, "gain": {}},
    }  # fmt: skip
    table = pd.DataFrame({"t": TIMES, "volts": 3.0 * 2.0 * np.exp(-0.8 * TIMES) + 0.5 + noise(60, 0.02)})
    result = fitted(content, table)
    assert result.unknowns["gain"] == pytest.approx(3.0, rel=0.03)
    assert result.unknowns["k"] == pytest.approx(0.8, rel=0.03)


@pytest.mark.parametrize(
    ("observables", "said"),
    [
        ({"y": "log11(C)"}, "'log11' is not a known function; did you mean 'log10'?"),
        ({"y": "log10(D)"}, "'D' is not known"),
        ({"y": "mean(C, x)"}, "'x' is not one"),
        ({"y": "mean()"}, "write 'mean(expression, coordinate)'"),
        ({"y": "2*k"}, "observable 'y' contains no field"),
        ({"y": "C + mean(C, t)"}, "put all fields inside"),
        ({"y": "mean(mean(C, t), t)"}, "not inside another mean"),
        ({"y": "z = C"}, "write the expression alone"),
        ({"y": "log10(y)"}, "has the name of something in it"),
        ({"y": "log10(mean(C, t))"}, "give the readings of the mean itself"),
        ({"y": "mean(C, t)*mean(C, t)"}, "give the readings of the mean itself"),
        ({"y": "1/mean(C, t)"}, "give the readings of the mean itself"),
        ({"y": "t*mean(C, t)"}, "give the readings of the mean itself"),
        ({"y": ""}, "is empty"),
    ],
)
def test_a_bad_observable_is_one_sentence_with_file_and_entry(observables, said):
    content = {**DECAY, "fields": ["C"], "observables": observables}
    with pytest.raises(InputError) as error:
        bind_readings(parse_problem(content, "p.yaml"), pd.DataFrame({"t": TIMES, "y": TIMES}), "r.csv", "p.yaml")
    assert said in str(error.value)
    assert str(error.value).startswith("p.yaml: ")
    assert "'y" in str(error.value)


def test_a_mean_in_an_equation_is_refused():
    with pytest.raises(InputError, match="only in an observable"):
        Problem({"t": (0, 1)}, ("u",), ("u_t = mean(u, t)",))
