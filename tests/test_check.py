"""`napinn check`: what looks wrong is found before training, and what is right raises no alarm."""

import numpy as np
import pandas as pd
import pytest

from napinn import Columns, Experiment, Problem, Unknown, VaryingUnknown, with_experiments
from napinn.data.readings import tidy
from napinn.diagnostics.preflight import Weight, inspect_problem, inspect_readings
from napinn.problem.file import bind_readings, parse_problem
from napinn.problem.tables import Table

BOX = {"x": (0.0, 1.0), "t": (0.0, 1.0)}
HEAT = Problem(BOX, ("u",), ("u_t = D*u_xx",), {"D": Unknown(0.5)})


def series(sensors=4, instants=50):
    rng = np.random.default_rng(0)
    places, times = np.linspace(0, 1, sensors), np.linspace(0, 1, instants)
    x, t = (axis.reshape(-1) for axis in np.meshgrid(places, times, indexing="ij"))
    values = np.sin(3 * x) * np.exp(-t) + rng.normal(0, 0.01, x.size)
    return pd.DataFrame({"sensor": [f"s{int(3 * p)}" for p in x], "x": x, "t": t, "u": values})


def findings(table, problem=HEAT, columns=None):
    return inspect_readings(problem, tidy(table, ("x", "t"), ("u",), columns))


def test_clean_readings_raise_no_alarm():
    assert findings(series()) == []


def changed(change):
    table = series()
    change(table)
    return table


def put(rows, column, value):
    return lambda table: table.__setitem__(column, table[column].mask(table.index.isin(rows), value))


@pytest.mark.parametrize(
    ("table", "weight", "said"),
    [
        (changed(put([3, 60, 170], "u", -999.0)), Weight.DOUBT, "the value -999 of 'u' occurs 3 times"),
        (changed(put(range(60, 75), "u", 0.25)), Weight.DOUBT, "sensor 's1' gives the same u = 0.25 for 15 readings"),
        (changed(put([7], "x", 1.5)), Weight.OBSTACLE, "1 reading(s) lie outside the range of 'x', 0 to 1"),
        (changed(put([7, 8], "u", np.nan)), Weight.NOTE, "2 of 200 cells hold no reading"),
        (pd.concat([series(), series().iloc[:2]]), Weight.OBSTACLE, "2 reading(s) repeat"),
        (series().drop(index=range(60, 80)), Weight.NOTE, "the longest is of 'u' by sensor 's1', from 0.183"),
        (series().query("t < 0.4"), Weight.DOUBT, "less than half of its range"),
        (series().assign(u=1.0), Weight.DOUBT, "every reading of 'u' is the same"),
        (changed(put(range(50, 100), "u", 0.25)), Weight.DOUBT, "sensor 's1' gives u = 0.25 in all of its 50 readings"),
    ],
)
def test_each_fault_of_readings_is_found(table, weight, said):
    found = findings(table)
    assert [finding.weight for finding in found if said in finding.text] == [weight]


def test_coarse_rounding_is_not_taken_for_a_stuck_sensor():
    assert findings(series().assign(u=lambda table: table["u"].round(1))) == []


def test_a_sensor_without_readings_is_named():
    table = pd.DataFrame({"t": [0.0, 0.5, 1.0], "a": [1.0, 2.0, 3.0], "b": [np.nan] * 3})
    columns = Columns(places={"a": {"x": 0.0}, "b": {"x": 1.0}})
    assert any("without any reading: b" in finding.text for finding in findings(table, columns=columns))


ONE = Unknown(0.7)
SIR = ("S_t = -b*S*I", "I_t = b*S*I - g*I", "R_t = g*I")


@pytest.mark.parametrize(
    ("fields", "hidden", "equations", "unknowns", "doubtful"),
    [
        (("u",), (), ("u_t = D*u_xx - h*u",), "D h", ""),
        (("u",), (), ("u_t = a*b*u_xx",), "a b", "a b"),
        (("u",), (), ("u_t = (a + b)*u_xx + c*u",), "a b c", "a b"),
        (("u",), (), ("a*u_t = b*u_xx",), "a b", "a b"),
        (("u",), (), ("u_t = a*u_xx + 0*k*u",), "a k", "k"),
        (("u",), (), ("u_t = a**2*exp(c)*u + g*u_x",), "a c g", "a c"),
        (("u",), ("v",), ("u_t = v", "v_t = -w*u - c*v"), "w c", ""),
        (("u",), ("v",), ("u_t = k*v", "v_t = -g*v"), "k g", "k"),
        (("u",), ("v",), ("u_t = u_xx", "v_t = -g*v"), "g", "g"),
        (("u",), ("v",), ("u_t = a*v_x", "v_t = u_x"), "a", ""),
        (("I",), ("S", "R"), SIR, "b g", ""),
    ],
)  # fmt: skip
def test_unknowns_that_nothing_determines_are_found(fields, hidden, equations, unknowns, doubtful):
    problem = Problem(BOX, fields, equations, dict.fromkeys(unknowns.split(), ONE), hidden=hidden)
    readings = tidy(series().rename(columns={"u": fields[0]}), ("x", "t"), fields)
    texts = [finding.text for finding in inspect_problem(problem, readings)]
    named = [text.split("'")[1] for text in texts if "cannot be determined" in text]
    assert named == doubtful.split()


@pytest.mark.parametrize(
    ("equation", "of", "steps", "doubtful"),
    [
        ("u_t = D*u_xx + q", ("x", "t"), False, "D"),
        ("u_t = D*u_xx + q", ("t",), False, ""),
        ("u_t = D*u_xx + q", ("t",), True, ""),
        ("u_t = D*q*u_xx", ("x",), False, "D"),
        ("u_t = q*u_xx - D*u", ("x",), False, ""),
        ("u_t = d(q*u_x, x) - D*u_x", ("x",), False, ""),
        ("u_t = d(q*u_x, x) + D*u_xx", ("x",), False, "D"),
    ],
)
def test_an_unknown_that_an_unknown_function_can_take_the_place_of_is_named(equation, of, steps, doubtful):
    varying = {"q": VaryingUnknown(of, steps=steps)}
    problem = Problem(BOX, ("u",), (equation,), {"D": ONE}, varying=varying)
    texts = [finding.text for finding in inspect_problem(problem, tidy(series(), ("x", "t"), ("u",)))]
    assert [text.split("'")[1] for text in texts] == doubtful.split()
    assert all("traded against unknown function 'q'." in text for text in texts)


EPIDEMIC = ("S_t = -b*S*I", "I_t = b*S*I - g*I")
START, END = "S = 0.995 at t = 0", "S = 0.4 at t = 50"


def epidemic(fields=("I",), more=(), conditions=(START,), steps=False, days=50.0, g=0.1, **others):
    unknowns = {"g": Unknown(g), **others}
    hidden = tuple(name for name in "S" if name not in fields)
    return Problem(
        {"t": (0.0, days)}, fields, (*EPIDEMIC, *more), unknowns, hidden=hidden, conditions=conditions,
        varying={"b": VaryingUnknown(("t",), steps=steps)},
    )  # fmt: skip


def findings_of(problem, days=50.0):
    table = pd.DataFrame({"t": np.linspace(0.0, days, 4), **{name: [0.1, 0.2, 0.1, 0.3] for name in problem.fields}})
    return inspect_problem(problem, tidy(table, ("t",), problem.fields))


@pytest.mark.parametrize(
    ("problem", "doubtful"),
    [
        (epidemic(), ["g"]),
        (epidemic(conditions=(START, END)), []),
        (epidemic(conditions=(START, "S = 0.7 at t = 23.1")), []),
        (epidemic(("I", "S"), conditions=()), []),
        (epidemic(("I", "R"), ("R_t = g*I",)), []),
        (epidemic(("I", "new"), ("new = b*S*I",)), []),
        (epidemic(conditions=("S = s at t = 0",), s=ONE), ["g", "s"]),
    ],
)
def test_an_unknown_function_and_a_hidden_field_take_an_unknown_up_together(problem, doubtful):
    """For every g there are b(t) and S(t) that meet all readings of I, unless something else binds S."""
    found = findings_of(problem)
    assert [finding.text.split("'")[1] for finding in found] == doubtful
    assert all(finding.weight is Weight.DOUBT and "traded" in finding.text for finding in found)


@pytest.mark.parametrize("days", [1.0, 1e4, 5e6])
@pytest.mark.parametrize(("second", "doubtful"), [((), True), ((0.5,), False)])
def test_what_is_determined_depends_on_no_unit(days, second, doubtful):
    conditions = ("S = 1e7 at t = 0", *(f"S = 3e6 at t = {share * days}" for share in second))
    found = findings_of(epidemic(conditions=conditions, days=days, g=1.0 / days), days)
    assert bool(found) is doubtful


def test_what_only_few_jumps_determine_is_a_note():
    (found,) = findings_of(epidemic(steps=True))
    assert found.weight is Weight.NOTE
    assert "'g' is determined only by how few jumps 'b' may have" in found.text
    assert findings_of(epidemic(steps=True, conditions=(START, END))) == []


def test_a_function_of_place_leaves_the_rates_of_a_hidden_field_determined():
    """Readings along time say what the function of place cannot."""
    problem = Problem(
        BOX, ("u",), ("u_t = D*u_xx + f*v", "v_t = -m*v"), dict.fromkeys("Dm", ONE), hidden=("v",),
        varying={"f": VaryingUnknown(("x",))},
    )  # fmt: skip
    assert inspect_problem(problem, tidy(series(), ("x", "t"), ("u",))) == []


def test_a_mean_covers_the_coordinate_that_it_is_over():
    content = {
        "coordinates": {"z": [0, 1], "t": [0, 3]}, "hidden": ["T"], "observables": {"m": "mean(T, z)"},
        "unknowns": {"D": {}}, "equations": ["T_t = D*T_zz"],
    }  # fmt: skip
    table = pd.DataFrame({"t": np.linspace(0.0, 3.0, 9), "m": np.linspace(1.0, 0.2, 9)})
    assert inspect_readings(*bind_readings(parse_problem(content, "p"), table, "r")) == []
    short = bind_readings(parse_problem(content, "p"), table.assign(t=table["t"] / 3), "r")
    assert ["along 't'" in finding.text for finding in inspect_readings(*short)] == [True]


def test_two_experiments_tell_an_unknown_from_a_function_that_they_share():
    base = Problem({"t": (0.0, 1.0)}, ("u",), ("u_t = -k*u + q",), {"k": ONE}, varying={"q": VaryingUnknown(("t",))})
    both = with_experiments(base, {"a": Experiment(), "b": Experiment()})
    table = pd.DataFrame({"t": [0.0, 0.5, 1.0], "u": [1.0, 2.0, 3.0]})
    alone = inspect_problem(base, tidy(table, ("t",), ("u",)))
    assert [finding.text.split("'")[1] for finding in alone] == ["k"]
    twice = pd.concat([table.assign(experiment=name) for name in "ab"], ignore_index=True)
    assert inspect_problem(both, tidy(twice, ("t",), ("u",), experiments=("a", "b"))) == []


def test_a_condition_or_a_known_forcing_can_settle_what_could_be_traded():
    readings = tidy(series(), ("x", "t"), ("u",))
    parts = dict(coordinates=BOX, fields=("u",), unknowns={"k": ONE}, hidden=("v",))
    equations = ("u_t = k*v", "v_t = -v")
    (found,) = inspect_problem(Problem(equations=equations, **parts), readings)
    assert "traded against the scale of hidden field 'v'" in found.text
    assert inspect_problem(Problem(equations=equations, conditions=("v = 1 at t = 0",), **parts), readings) == []
    forcing = Table(("t",), (np.array([0.0, 1.0]),), np.array([1.0, 2.0]))
    forced = ("u_t = k*v", "v_t = -v + q")
    assert inspect_problem(Problem(equations=forced, tables={"q": forcing}, **parts), readings) == []


def test_readings_along_one_line_cannot_show_what_happens_across_it():
    readings = tidy(series().query("x == 0").assign(x=0.5), ("x", "t"), ("u",))
    problem = Problem(BOX, ("u",), ("u_t = D*u_xx - h*u",), {"D": ONE, "h": ONE})
    (found,) = inspect_problem(problem, readings)
    assert "unknown 'D' cannot be determined: the readings do not vary along 'x'" in found.text
