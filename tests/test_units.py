"""Units of coefficients: read, derived from the equations, and left out where they are not the only ones possible."""

import pytest

from napinn import Problem, Unknown
from napinn.problem.units import read_unit, write_unit
from napinn.report.labels import label, with_unit


def problem_of(equation: str, units: dict[str, str], unknowns: str = "k", **more) -> Problem:
    names = {name: Unknown(1.0) for name in unknowns}
    return Problem({"x": (0, 1), "t": (0, 1)}, ("u",), (equation,), names, units=units, **more)


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("μm²/h", "μm²/h"), ("m^2/s", "m²/s"), ("kg*m**-3", "kg/m³"), ("W/(m·K)", "W/(m·K)"), ("m/s/s", "m/s²"),
        ("1/h", "1/h"), ("°C", "°C"), ("%", "%"), ("1", ""), ("-", ""), ("", ""), ("(m)²/m", "m"),
        ("thousand pelts", "thousand pelts"), ("m s-1", "m s-1"), ("m²·", "m²·"), ("(" * 500, "(" * 500),
    ],
)  # fmt: skip
def test_a_unit_is_taken_apart_or_left_as_it_is(text, written):
    assert write_unit(read_unit(text)) == written


@pytest.mark.parametrize(
    ("equation", "units", "expected"),
    [
        ("u_t = k*u_xx", {"x": "m", "t": "h", "u": "K"}, "m²/h"),
        ("u_t = k*u_xx", {"x": "m", "t": "h"}, "m²/h"),
        ("u_t = k*u**3", {"t": "s", "u": "mol/L"}, "L²/(mol²·s)"),
        ("u_t = -k*sqrt(u)", {"t": "s", "u": "m"}, "m^(1/2)/s"),
        ("u_t = -k*u", {"t": "d", "u": "thousand pelts"}, "1/d"),
        ("u_t = -k*u**2", {"t": "d", "u": "thousand pelts"}, "1/((thousand pelts)·d)"),
        ("u_t = sin(k*t)*u/4", {"t": "s"}, None),
        ("u_tt = -9.81*sin(u) + k*u_t", {"t": "s", "u": "1"}, "1/s"),
        ("u_t = k*exp(-u)", {"t": "s", "u": "1"}, "1/s"),
        # Not the only one possible, or contradictory.
        ("u_t = k*u_xx", {"t": "h", "u": "K"}, None),
        ("u_t = k*exp(-u)", {"t": "s"}, None),
        ("u_t = k*u + u", {"t": "s", "u": "K"}, None),
        ("u_t = 60*k*u", {"t": "s", "u": "K"}, None),
        ("u_t = 12*k*u", {"t": "s", "u": "K"}, "1/s"),
        ("u_t = k*exp(-u)", {"t": "s", "u": "K"}, None),
    ],
)
def test_the_unit_of_a_coefficient_follows_from_the_equation_or_is_left_out(equation, units, expected):
    assert problem_of(equation, units).unit_of("k") == expected


def test_constants_and_other_equations_help_to_determine_a_unit():
    units = {"t": "d", "u": "boys", "v": "boys"}
    problem = Problem(
        {"t": (0, 1)}, ("u",), ("u_t = k*u*v/N - g*u", "u + v = N"), {"k": Unknown(1.0), "g": Unknown(1.0)}, {"N": 763},
        units, hidden=("v",),
    )  # fmt: skip
    assert (problem.unit_of("k"), problem.unit_of("g")) == ("1/d", "1/d")
    assert problem.unit_of("N") is None


def test_a_unit_that_was_given_is_kept_and_labels_have_the_derived_one():
    problem = problem_of("u_t = a*u_xx + b*u", {"x": "m", "t": "h", "b": "per hour"}, "ab")
    assert problem.unit_of("b") == "per hour"
    problem = problem_of("u_t = a*u_xx + b*u", {"x": "m", "t": "h"}, "ab")
    assert label(problem, "a") == "a [m²/h]"
    assert with_unit(problem, "b", 0.25) == "0.25 1/h"
