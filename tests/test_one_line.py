"""A problem from one line: coordinates, fields and unknowns are deduced from the equation and the columns."""

import numpy as np
import pandas as pd
import pytest

from napinn import InputError
from napinn.problem import Unknown
from napinn.problem.file import ProblemTexts, bind_readings, deduce
from napinn.problem.file.deduction import unknown_entry


def table(*columns, rows=6):
    rng = np.random.default_rng(0)
    return pd.DataFrame(rng.uniform(0, 1, (rows, len(columns))), columns=list(columns)).assign(sensor="a", note="b")


@pytest.mark.parametrize(
    ("equations", "unknowns", "columns", "coordinates", "fields", "hidden"),
    [
        (["u_t = D*u_xx"], ["D"], "x t u", ["x", "t"], ["u"], []),
        (["u_t = -k*u"], ["k"], "t u", ["t"], ["u"], []),
        (["d(T, depth, depth) = 0"], [], "depth T", ["depth"], ["T"], []),
        (["T_depthdepth = q*sin(time)"], ["q"], "depth time T", ["depth", "time"], ["T"], []),
        (["u_t + u*u_x + v*u_y = 0"], [], "x y t u v", ["x", "y", "t"], ["u", "v"], []),
        (["S_t = -b*S*I", "I_t = b*S*I - g*I"], ["b", "g"], "t I", ["t"], ["I"], ["S"]),
        (["wind_x_t = wind_x"], [], "t wind_x", ["t"], ["wind_x"], []),
        (["u_t = -k*u"], ["k"], "x t u", ["x", "t"], ["u"], []),
        (["sigma_t = -k*sigma"], ["k"], "t sigma", ["t"], ["sigma"], []),
        (["u_xx = f"], [], "x u f", ["x"], ["f", "u"], []),
        (["N_t = r*N - d*N"], ["r", "d"], "t N", ["t"], ["N"], []),
        (["d(d, t) = -k*d"], ["k"], "t d", ["t"], ["d"], []),
        (["d(f, t) = a*d(x*f, x)"], ["a"], "x t f", ["x", "t"], ["f"], []),
        (["d(D*(1 + f)*d(f, depth), depth) = 0"], ["D"], "depth f", ["depth"], ["f"], []),
        (["d(T, d, d) = q"], ["q"], "d T", ["d"], ["T"], []),
    ],
)
def test_roles_are_deduced_from_the_equation_and_the_columns(equations, unknowns, columns, coordinates, fields, hidden):
    frame = table(*columns.split())
    file = deduce(ProblemTexts(tuple(equations), tuple(unknowns)), frame, "r.csv")
    problem, readings = bind_readings(file, frame, "r.csv")
    assert list(problem.coordinates) == coordinates
    assert list(problem.fields) == fields
    assert list(problem.hidden) == hidden
    assert len(readings) == 6 * len(fields)
    assert problem.lows == tuple(readings.points.min(axis=0))


def test_a_long_table_is_understood():
    frame = table("t", "value").assign(field=["u", "v"] * 3)
    file = deduce(ProblemTexts(("u_t = v", "v_t = -w*u"), ("w",)), frame, "r.csv")
    assert (file.fields, file.hidden) == (["u", "v"], [])


def test_columns_are_known_by_their_short_names():
    frame = table("T [K]", "depth").assign(time_h=[3.0, 1.0, 2.0, 0.0, 5.0, 4.0], probe=["a", "b"] * 3)
    frame = frame.drop(columns="sensor")
    file = deduce(ProblemTexts(("T_t = a*d(T, depth, depth)",), ("a",)), frame, "r.csv")
    problem, readings = bind_readings(file, frame, "r.csv")
    assert list(problem.coordinates) == ["depth", "t"]
    assert readings.columns.renamed == {"T": "T [K]", "t": "time_h"}
    assert readings.columns.sensor == "probe"
    literal = deduce(ProblemTexts(("u_time_h = -k*u",), ("k",)), table("time_h", "u"), "r.csv")
    assert (list(literal.coordinates), literal.columns.rename) == (["time_h"], {})


def test_columns_that_name_their_places_are_one_field_at_places_x():
    frame = table("t", "T_10cm", "T_25cm", "volt").drop(columns="sensor")
    file = deduce(ProblemTexts(("T_t = D*T_xx",), ("D",)), frame, "r.csv")
    problem, readings = bind_readings(file, frame, "r.csv")
    assert (problem.fields, [*problem.coordinates], len(readings)) == (("T",), ["t", "x"], 12)
    assert problem.coordinates["x"] == (10.0, 25.0)
    # An equation in the columns themselves means each of them.
    apart = deduce(ProblemTexts(("T_10cm_t = k*(T_25cm - T_10cm)",), ("k",)), frame, "r.csv")
    assert (apart.fields, apart.sensors) == (["T_10cm", "T_25cm"], {})


def test_columns_that_may_be_sensors_are_pointed_out():
    wide, placed = table("t", "P1", "P2"), table("t", "x", "P1", "P2")
    with pytest.raises(InputError, match=r"'h_xx' is not a column.*give their places in a problem file: napinn init"):
        deduce(ProblemTexts(("h_t = D*h_xx",), ("D",)), wide, "r.csv")
    with pytest.raises(InputError, match=r"'h_zz' is not a column.*add --unknown h_zz\.$"):
        deduce(ProblemTexts(("h_t = D*h_zz",), ("D",)), placed, "r.csv")


def test_what_a_logger_writes_for_no_reading_is_understood():
    frame = table("t", "u", rows=9)
    frame.loc[:2, "u"] = -9999.0
    file = deduce(ProblemTexts(("u_t = -k*u",), ("k",)), frame, "r.csv")
    assert file.missing == [-9999]
    assert len(bind_readings(file, frame, "r.csv")[1]) == 6


def test_a_column_of_dates_is_time():
    dates = pd.date_range("2024-03-01", periods=6, freq="6h").strftime("%d.%m.%Y %H:%M")
    frame = table("u").assign(taken=dates)
    problem, readings = bind_readings(deduce(ProblemTexts(("u_t = -k*u",), ("k",)), frame, "r.csv"), frame, "r.csv")
    assert problem.coordinates == {"t": (0.0, 30.0)}
    assert readings.columns.clocks["t"].unit == "hours"


def test_an_id_that_numbers_the_rows_is_no_sensor():
    frame = table("t", "u").assign(id=range(6))
    assert deduce(ProblemTexts(("u_t = -k*u",), ("k",)), frame, "r.csv").columns.sensor == "sensor"


def test_an_unknown_is_written_with_its_start_and_bounds():
    assert unknown_entry("D") == ("D", {})
    assert unknown_entry("D=0.5") == ("D", {"start": 0.5})
    assert unknown_entry("D = 0.5, low = 0, high=1e1") == ("D", {"start": 0.5, "low": 0.0, "high": 10.0})
    for text in ("D,prior=normal(0.3, 0.05)", "D, prior = normal(0.3, 0.05)", "D ,prior= normal(0.3, 0.05)"):
        assert unknown_entry(text) == ("D", {"prior": "normal(0.3, 0.05)"})
    assert unknown_entry("D=0.5, low=0, prior=normal(0.3, 0.05)")[1]["low"] == 0.0
    frame = table("t", "u")
    file = deduce(ProblemTexts(("u_t = -k*u + c",), ("k=2,positive",), ("c=0.3",)), frame, "r.csv")
    problem, _ = bind_readings(file, frame, "r.csv")
    assert problem.unknowns == {"k": Unknown(2.0, low=0.0)}
    assert problem.constants == {"c": 0.3}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ProblemTexts(("N_t = 0*N",)),
            "r.csv has no column 'N' (columns here: x, t, u, note); write the equation with",
        ),
        (ProblemTexts(("u_t = D*u_xx",)), "'D' is not a column of r.csv (x, t, u, note) and not named as an unknown"),
        (
            ProblemTexts(("u_time = 0*u",)),
            "'u_time' is not a derivative of 'u', because 'time' is not a column of r.csv (x, t, u",
        ),
        (ProblemTexts(("u_t = u",), ("D=much",)), "'much' in 'D=much' is not a number"),
        (ProblemTexts(("u_t = u",), ("D=1,lwo=0",)), "cannot be read"),
        (ProblemTexts(("u_t = D*u",), ("D=1,low=2",)), "unknown 'D': an unknown starts at 1"),
        (ProblemTexts(("u_t - u",)), "has no '='"),
        (ProblemTexts(("u_t = u",), conditions=("u = 0 at y = 0",)), "'y' is not a coordinate"),
    ],
)
def test_each_mistake_in_one_line_gets_its_sentence(words, said):
    frame = table("x", "t", "u")
    with pytest.raises(InputError) as caught:
        bind_readings(deduce(words, frame, "r.csv"), frame, "r.csv", "the command line")
    assert said in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


def test_a_condition_beyond_the_last_sensor_widens_the_box():
    frame = table("x", "t", "u")
    words = ProblemTexts(("u_t = u_xx",), conditions=("u = 0 at x = 1.5", "u = 1 at t = -2, x = 0"))
    problem, _ = bind_readings(deduce(words, frame, "r.csv"), frame, "r.csv")
    assert problem.coordinates["x"] == (0.0, 1.5)
    assert problem.lows[1] == -2.0


def test_the_unnamed_column_of_a_saved_index_is_no_name():
    frame = table("", "x", "t", "u")
    with pytest.raises(InputError, match=r"'k_s' is not a column of r\.csv \(x, t, u, note\).*add --unknown k_s"):
        deduce(ProblemTexts(("u_t = k_s*u_xx",)), frame, "r.csv")
    assert deduce(ProblemTexts(("u_t = k_s*u_xx",), ("k_s",)), frame, "r.csv").fields == ["u"]


def test_without_any_coordinate_the_columns_are_listed():
    with pytest.raises(InputError, match=r"no coordinate of r\.csv is in the equation"):
        deduce(ProblemTexts(("u = 2*v",)), table("u", "v"), "r.csv")
