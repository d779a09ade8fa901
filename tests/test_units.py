"""Units: read by pint, derived from the equations, converted where they differ, refused where they disagree."""

import re

import numpy as np
import pandas as pd
import pytest

from napinn import InputError, Problem, Unknown
from napinn.problem.file.binding import bind_readings
from napinn.problem.file.loading import parse_problem
from napinn.problem.units import UnitSystem
from napinn.problem.units.system import LARGEST_EXPONENT, LONGEST, MOST_OWN
from napinn.report.labels import label, with_unit


def problem_of(equation: str, units: dict[str, str], unknowns: str = "k", **more) -> Problem:
    names = {name: Unknown(1.0) for name in unknowns}
    return Problem({"x": (0, 1), "t": (0, 1)}, ("u",), (equation,), names, units=units, **more)


def residual(problem: Problem, number: int = 0, **known: float) -> float:
    """The residual of an equation with a value for every leaf; a derivative is named as `u_xx`."""

    def look_up(leaf):
        if hasattr(leaf, "terms"):
            return known["_".join(filter(None, (leaf.field, "".join(leaf.terms[0]))))]
        return getattr(leaf, "value", None) if hasattr(leaf, "value") else known[leaf.name]

    return float(problem.stated[number].residual(look_up))


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("μm²/h", "μm²/h"), ("m^2/s", "m²/s"), ("kg*m**-3", "kg/m³"), ("W/(m·K)", "W/(m·K)"), ("m/s/s", "m/s²"),
        ("1/h", "1/h"), ("°C", "°C"), ("%", "%"), ("1", ""), ("-", ""), ("", ""), ("(m)²/m", "m"), ("m s-1", "m/s"),
        ("m2/s", "m²/s"), ("mol/L", "mol/L"), ("cmH2O", "cmH2O"), ("deg C", "degC"), ("m per s", "m/s"),
        ("kg m⁻³", "kg/m³"), ("m^(1/2)", "m^(1/2)"), (f"m^{LARGEST_EXPONENT}", "m¹²"), ("boys/km²", "boys/km²"),
    ],
)  # fmt: skip
def test_a_unit_is_read_as_people_write_it_and_written_back_so(text, written):
    system = UnitSystem(("boys",))
    assert system.write(system.read(text, "units: u")) == written


@pytest.mark.parametrize(
    "text",
    [
        "9**9**9**9", "m**99999999", f"m^{LARGEST_EXPONENT + 1}", "m**m", "2*m", "1e9 m", "(" * 30, "m" * (LONGEST + 1),
        "()", "m/", "*m", "m**", "__import__('os')", "m;s", "m**(9**9)", "((m**12)**12)**12", "m\n#", "lambda: 0",
        "m@s", "10", "[length]", "m+s", "m-s", "'m'", "²", "m**-", "1/0", "\x00", "m**(1/0)",
    ],
)  # fmt: skip
def test_a_hostile_text_is_refused_at_once_in_one_sentence(text):
    with pytest.raises(InputError, match=r"^units: u: .*\.$"):
        UnitSystem().read(text, "units: u")


def test_a_unit_that_pint_does_not_know_is_refused_with_the_nearest_and_the_way_to_declare_it():
    with pytest.raises(InputError) as refused:
        problem_of("u_t = k*u", {"u": "kelvn"})
    assert str(refused.value) == (
        "units: u: 'kelvn' is not a known unit (the nearest is 'kelvin'); correct it, or write "
        "'own_units: [kelvn]' if it is a count, such as cells."
    )
    assert problem_of("u_t = k*u**2", {"t": "d", "u": "pelts"}, own_units=("pelts",)).unit_of("k") == "1/(pelts·d)"


@pytest.mark.parametrize("own", ["m", "two words", "__x", "x" * (LONGEST + 1), "a/b"])
def test_a_unit_of_ones_own_needs_a_name_that_is_free(own):
    with pytest.raises(InputError, match=r"^own_units: .*\.$"):
        problem_of("u_t = k*u", {"u": "K"}, own_units=(own,))


def test_there_is_a_limit_of_units_of_ones_own():
    names = tuple(f"count_{chr(97 + number)}" for number in range(MOST_OWN + 1))
    UnitSystem(names[:-1])
    with pytest.raises(InputError, match=f"has {MOST_OWN + 1} names"):
        UnitSystem(names)


@pytest.mark.parametrize(
    ("equation", "units", "expected"),
    [
        ("u_t = k*u_xx", {"x": "m", "t": "h", "u": "K"}, "m²/h"),
        ("u_t = k*u_xx", {"x": "m", "t": "h"}, "m²/h"),
        ("u_t = k*u**3", {"t": "s", "u": "mol/L"}, "L²/(mol²·s)"),
        ("u_t = -k*sqrt(u)", {"t": "s", "u": "m"}, "m^(1/2)/s"),
        ("u_t = k*u**0.37", {"t": "s", "u": "m"}, "m^(63/100)/s"),
        ("u_t = sin(k*t)*u/4", {"t": "s"}, "1/s"),
        ("u_tt = -9.81*sin(u) + k*u_t", {"t": "s", "u": "1"}, "1/s"),
        ("u_t = k*exp(-u)", {"t": "s", "u": "1"}, "1/s"),
        ("u_t = k*u*(1 - u)", {"t": "s", "u": "mg/L"}, "L/(mg·s)"),
        ("u_t = -2*u + k*u", {"t": "s", "u": "mg/L"}, "1/s"),
        ("u_t = k*u + sin(pi*x)", {"t": "s", "x": "m", "u": "K"}, "1/s"),
        ("u_t = 12*k*u", {"t": "s", "u": "K"}, "1/s"),
        # Not the only one possible.
        ("u_t = 13*k*u", {"t": "s", "u": "K"}, None),
        ("u_t = k*u_xx", {"t": "h", "u": "K"}, None),
        ("u_t = k*exp(-u)", {"t": "s"}, None),
        ("u_t = 60*k*u", {"t": "s", "u": "K"}, None),
    ],
)
def test_the_unit_of_a_coefficient_follows_from_the_equation_or_is_left_out(equation, units, expected):
    assert problem_of(equation, units).unit_of("k") == expected


def test_constants_and_other_equations_help_to_determine_a_unit():
    units = {"t": "d", "u": "boys", "v": "boys"}
    problem = Problem(
        {"t": (0, 1)}, ("u",), ("u_t = k*u*v/N - g*u", "u + v = N"), {"k": Unknown(1.0), "g": Unknown(1.0)}, {"N": 763},
        units, hidden=("v",), own_units=("boys",),
    )  # fmt: skip
    assert [problem.unit_of(name) for name in "kgN"] == ["1/d", "1/d", "boys"]


def test_a_unit_that_was_given_is_kept_and_labels_have_the_derived_one():
    problem = problem_of("u_t = a*u_xx + b*u", {"x": "m", "t": "h", "b": "1/hour"}, "ab")
    assert problem.unit_of("b") == "1/hour"
    problem = problem_of("u_t = a*u_xx + b*u", {"x": "m", "t": "h"}, "ab")
    assert label(problem, "a") == "a [m²/h]"
    assert with_unit(problem, "b", 0.25) == "0.25 1/h"


UNITS = {"x": "m", "t": "h", "u": "K"}


@pytest.mark.parametrize(
    ("equation", "units", "more", "told"),
    [
        ("u_t = k*u + u_xx", UNITS, {}, ("∂u/∂t (K/h, temperature/time)", "∂²u/∂x² (K/m², temperature/length²)")),
        ("u_t = k*u_xx", {**UNITS, "k": "m/h"}, {}, ("∂u/∂t (K/h,", "k ∂²u/∂x² (K/(m·h), temperature/(length·time))")),
        ("u_t = k*u*exp(-t)", UNITS, {}, ("−t (h, time)", "plain number")),
        ("u_t = k*u*(1 - u)", {**UNITS, "u": "%"}, {}, ("the number 1", "factor 100")),
        ("u_t = 60*k*u", {**UNITS, "k": "1/min"}, {}, ("the number 60", "factor 60", "constants")),
        ("u_t = 10*k", {"t": "s", "u": "mm", "k": "cm/s"}, {"conditions": ()}, None),
        ("u_t = -k*(u - a)", {**UNITS, "a": "°C"}, {"constants": {"a": 20.0}}, ("a is in °C and u in K", "zeros")),
        ("u_t = k*exp(-a/(R*u))", {**UNITS, "u": "°C", "R": "J/(mol*K)", "a": "J/mol"},
         {"constants": {"a": 1.0, "R": 8.3}}, ("u is in °C", "R in J/(mol*K)", "absolute zero")),
        ("u_t = k*u", UNITS, {"conditions": ("u_x = k at x = 0",)}, ("condition", "∂u/∂x", "k")),
        ("u_t = k*u", {**UNITS, "y": "m"}, {"observables": {"y": "2*k*u"}}, ("observable 'y'", "y", "2 k u")),
    ],
)  # fmt: skip
def test_terms_that_disagree_are_named_with_their_dimensions(equation, units, more, told):
    if told is None:
        # Beside a named coefficient 10 is a pure number, and millimetres are converted.
        assert residual(problem_of(equation, units, **more), u_t=100.0, k=1.0) == 0.0
        return
    with pytest.raises(InputError) as refused:
        problem_of(equation, units, **more)
    sentence = str(refused.value)
    assert all(part in sentence for part in told), sentence
    assert sentence.endswith(".")
    assert ";" in sentence


@pytest.mark.parametrize(
    ("equation", "units", "unknowns", "known"),
    [
        # x in m and t in h, but k in mm²/s: 3600 s and 1e-6 m² are between them.
        ("u_t = k*u_xx", {**UNITS, "k": "mm²/s"}, "k", {"u_t": 3.6e-3, "k": 1.0, "u_xx": 1.0}),
        ("u_t = -k*u_x", {**UNITS, "k": "km/h"}, "k", {"u_t": -2000.0, "k": 2.0, "u_x": 1.0}),
        ("u_t = -a*u + k*u", {**UNITS, "a": "1/min"}, "ka", {"u_t": -59.0, "a": 1.0, "k": 1.0, "u": 1.0}),
        ("u_t = k*cos(a)", {**UNITS, "a": "deg"}, "ka", {"u_t": 0.5, "k": 1.0, "a": 60.0}),
        ("u_t = k*u*exp(-a*t)", {**UNITS, "a": "1/min"}, "ka",
         {"u_t": np.exp(-1.0), "k": 1.0, "a": 1.0, "t": 1 / 60, "u": 1.0}),
        ("u_t = a*min(u, k)", {"t": "s", "u": "m", "k": "cm"}, "ka", {"u_t": 0.5, "a": 1.0, "u": 1.0, "k": 50.0}),
        ("u_tt + u_xx = k*u", {"x": "cm", "t": "m"}, "k", {"u_tt": 1.0, "u_xx": 1.0, "k": 10001.0, "u": 1.0}),
    ],
)  # fmt: skip
def test_units_of_one_dimension_are_converted_to_the_right_number(equation, units, unknowns, known):
    problem = problem_of(equation, units, unknowns)
    assert residual(problem, **known) == pytest.approx(0.0, abs=1e-9)
    assert problem.dimensions.conversions


def test_a_mean_is_converted_and_a_logarithm_is_of_the_number():
    units = {"x": "m", "t": "h", "u": "mg/L", "m": "ug/L", "n": "ug·m/L"}
    problem = problem_of("u_t = k*u", units, observables={"m": "mean(u, x)", "y": "log10(u)", "n": "integral(u, x)"})
    conversions = list(problem.dimensions.conversions.values())
    assert len(conversions) == 2
    assert all("multiplied by 1000" in each for each in conversions)
    assert problem.unit_of("y") is None


FILE = {
    "coordinates": {"x": [0, 1], "t": [0, 2]}, "fields": ["T"], "unknowns": {"D": 1.0}, "equations": ["T_t = D*T_xx"],
    "units": {"x": "m", "t": "h", "T": "°C"}, "columns": {"units": {"T": "degF", "x": "cm", "t": "min"}},
}  # fmt: skip
TABLE = pd.DataFrame(
    {"x": [0.0, 50.0, 100.0], "t": [0.0, 60.0, 120.0], "T": [32.0, 212.0, -999], "sigma": [1.8, 3.6, 1.8]}
)


def test_columns_in_other_units_are_converted_with_their_deviations():
    file = parse_problem({**FILE, "missing": [-999]}, "problem.yaml")
    problem, readings = bind_readings(file, TABLE, "readings.csv", "problem.yaml")
    assert readings.values == pytest.approx([0.0, 100.0])
    assert readings.sigma == pytest.approx([1.0, 2.0])
    assert readings.points == pytest.approx(np.array([[0.0, 0.0], [0.5, 1.0]]))
    assert problem.unit_of("D") == "m²/h"
    # What stands beside a column has the column's unit.
    conversion = readings.columns.conversions["T"]
    assert readings.converted(readings.values, type(conversion).outward) == pytest.approx([32.0, 212.0])
    assert readings.converted(readings.sigma, type(conversion).difference_outward) == pytest.approx([1.8, 3.6])


def test_a_column_of_values_is_converted_by_field():
    table = pd.DataFrame(
        {"t": [0.0, 60.0, 60.0], "value": [1.0, 2.0, 3.0], "field": ["u", "u", "v"], "sensor": ["a", "a", "b"]}
    )
    content = {
        "coordinates": {"t": {"range": [0, 1], "unit": "min"}}, "fields": ["u", "v"], "unknowns": {"k": 1.0},
        "equations": ["u_t = k*u", "v_t = k*v"], "units": {"t": "h", "u": "m", "v": "m"},
        "columns": {"units": {"v": "cm"}},
    }  # fmt: skip
    _, readings = bind_readings(parse_problem(content, "p"), table, "r", "p")
    assert readings.values == pytest.approx([1.0, 2.0, 0.03])
    assert readings.points[:, 0] == pytest.approx([0.0, 1.0, 1.0])


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"units": {"x": "m", "t": "h", "TT": "K"}}, "p: units: 'TT' is not a name of the problem"),
        ({"columns": {"units": {"TT": "degF"}}}, "p: columns: units: TT: 'TT' has no column"),
        ({"columns": {"units": {"T": "m"}}}, "p: columns: units: T: m (length) cannot be converted to °C"),
        ({"columns": {"units": {"T": "degFF"}}}, "p: columns: units: T: 'degFF' is not a known unit"),
        ({"units": {"x": "m", "t": "h"}}, "p: columns: units: T: the problem has no unit for 'T'"),
        ({"columns": {"units": "degF"}}, "p: entry 'columns.units'"),
        ({"columns": {"unit": {"T": "degF"}}}, "p: 'columns.unit'"),
        ({"own_units": "cells"}, "p: entry 'own_units'"),
        ({"own_unit": ["cells"]}, "p: 'own_unit'"),
        ({"units": ["m"]}, "p: entry 'units'"),
        ({"units": {"x": 3}}, "p: entry 'units.x'"),
        ({"coordinates": {"x": [0, 1], "t": {"range": [0, 2], "unit": "min", "origin": "2024-03-01"}}, "columns": {}},
         "p: coordinates: t: unit: 't' is given as dates"),
    ],
)  # fmt: skip
def test_a_wrong_entry_of_units_is_told_with_file_entry_and_remedy(changed, told):
    with pytest.raises(InputError) as refused:
        bind_readings(parse_problem({**FILE, **changed}, "p"), TABLE, "readings.csv", "p")
    sentence = str(refused.value)
    assert sentence.startswith(told), sentence
    assert re.search(r"[;:?].*[.?]$", sentence)


def test_nothing_is_imported_or_refused_where_there_are_no_units():
    problem = problem_of("u_t = k*u + u_xx", {})
    assert problem.unit_of("k") is None
    assert not problem.dimensions.conversions
