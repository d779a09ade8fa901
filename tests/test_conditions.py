"""Conditions, periodicity, tables and hidden fields: residuals that vanish on what they describe and nowhere else."""

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest

from napinn import InputError, Problem, Unknown, fit, load, pinn, read_table, save
from napinn.data.readings import Readings
from napinn.engines.network.model import blank_frame
from napinn.engines.network.objective import Learned, equation_loss, face_residuals, inside_residuals, mean_squares
from napinn.engines.network.training import Adam
from napinn.field.backbones import MLP
from napinn.field.derivatives import FieldNetwork
from napinn.field.scaling import fitted_frame, identity_frame
from napinn.noise.gate import Gate
from napinn.problem.file import parse_problem
from napinn.problem.tables import Table, table_from_rows

BOX = {"x": (0.0, 2.0), "t": (0.0, 1.0)}
POINTS = jax.random.uniform(jax.random.key(0), (64, 2)) * jnp.asarray([[2.0, 1.0]])
DOUBLE = jnp.dtype(jnp.float64)


def wave(points):
    """sin(πx) exp(-t): zero at both ends, of period 2, and of slope π exp(-t) at x = 0."""
    return (jnp.sin(jnp.pi * points[:, 0]) * jnp.exp(-points[:, 1]))[:, None]


def loss_of(conditions, periodic=(), field=wave, unknowns=None, **parts):
    problem = Problem(BOX, ("u",), ("u_t = -u",), unknowns or {}, conditions=conditions, periodic=periodic, **parts)
    frame = blank_frame(problem, DOUBLE)
    raw = {name: jnp.asarray(unknown.raw_start()) for name, unknown in problem.unknowns.items()}
    learned = Learned(FieldNetwork(field, frame), raw, Gate().init(DOUBLE))
    return float(mean_squares(face_residuals(problem, learned, POINTS)))


@pytest.mark.parametrize(
    ("true", "false"),
    [
        ("u = sin(pi*x) at t = 0", "u = -sin(pi*x) at t = 0"),
        ("u_x = pi*exp(-t) at x = 0", "u_x = pi*exp(t) at x = 0"),
        ("u = 0 at x = 2", "u = 0.1 at x = 2"),
        ("u_xx + pi**2*u = 0 at t = 1/2", "u_xx - pi**2*u = 0 at t = 1/2"),
        ("u = exp(-1) at x = 1/2, t = 1", "u = exp(1) at x = 1/2, t = 1"),
        ("u_t + u = 0 at x = c", "u_t = u at x = c"),
    ],
)
def test_a_condition_vanishes_on_what_it_describes_and_not_with_a_sign_changed(true, false):
    assert loss_of((true,), constants={"c": 0.3}) < 1e-20
    assert loss_of((false,), constants={"c": 0.3}) > 1e-3


def test_periodicity_asks_for_the_value_and_for_the_slope():
    assert loss_of((), ("x",)) < 1e-20
    half = lambda points: wave(points / 2.0)  # noqa: E731  # sin(πx/2): the same value at both ends, opposite slopes
    tilted = lambda points: wave(points) + points[:, :1]  # noqa: E731
    assert loss_of((), ("x",), half) > 1e-2
    assert loss_of((), ("x",), tilted) == pytest.approx(4.0)


def line_of(unit: float) -> Readings:
    """Readings of a field that rises from minus to plus one unit."""
    along = np.linspace(0.0, 1.0, 50)
    return read_table(pd.DataFrame({"x": along, "t": along, "u": unit * (2.0 * along - 1.0)}), ("x", "t"), ("u",))


def test_conditions_and_periods_weigh_as_equations_do():
    problem = Problem(BOX, ("u",), ("u_t = -u",), conditions=("u = 2 at t = 0",), periodic=("x",))
    tilted = lambda points: wave(points) + points[:, :1]  # noqa: E731
    found = []
    for weight in (1.0, 10.0):
        frame = fitted_frame(problem, line_of(1.0), DOUBLE, weight)
        learned = Learned(FieldNetwork(tilted, frame), {}, Gate().init(DOUBLE))
        inside = inside_residuals(problem, learned, POINTS)
        found.append([float(mean_squares([table])) for table in (inside, *face_residuals(problem, learned, POINTS))])
    light, heavy = np.array(found)
    assert light[0] > 0.0
    assert light[2] > 0.0
    np.testing.assert_allclose(heavy, 10.0 * light, atol=1e-12)


def test_an_unknown_may_stand_in_a_condition():
    flux = {"h": Unknown(np.pi)}
    assert loss_of(("u_x = h*exp(-t) at x = 0",), unknowns=flux) < 1e-20
    assert loss_of(("u_x = h*exp(-t) at x = 0",), unknowns={"h": Unknown(3.0)}) > 1e-3


def test_the_unit_of_the_field_does_not_change_the_loss_of_a_condition():
    totals = []
    for unit in (1.0, 1000.0):
        problem = Problem(BOX, ("u",), ("u_t = -u",), conditions=(f"u = {unit} at t = 0", "u_x = 0 at x = 0"))
        frame = fitted_frame(problem, line_of(unit), DOUBLE)
        inside = lambda points: jnp.sin(points[:, :1] + points[:, 1:])  # noqa: E731
        learned = Learned(FieldNetwork(inside, frame), {}, Gate().init(DOUBLE))
        totals.append(float(mean_squares(face_residuals(problem, learned, POINTS))))
    assert totals[0] == pytest.approx(totals[1], rel=1e-9)


def test_without_conditions_the_equation_term_is_what_it_was():
    problem = Problem(BOX, ("u",), ("u_t = u",))
    learned = Learned(FieldNetwork(wave, identity_frame(2, 1, DOUBLE)), {}, Gate().init(DOUBLE))
    assert float(equation_loss(problem, learned, POINTS)) == pytest.approx(float(jnp.mean(4 * wave(POINTS) ** 2)))
    assert face_residuals(problem, learned, POINTS) == []


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        ("u = 0", "does not say where it holds"),
        ("u = 0 at x", "'x' is not a place"),
        ("u = 0 at z = 0", "'z' is not a coordinate"),
        ("u = 0 at x = 5", "x = 5 is outside the range of 'x', 0 to 2"),
        ("u = 0 at x = t", "'t' is not a number"),
        ("u = 0 at x = log(0)", "is not finite"),
        ("w = 0 at x = 0", "'w' is not known"),
        ("1 = 0 at x = 0", "contains no field"),
        ("u = 0 at x = __import__('os')", "not a known function"),
    ],
)
def test_each_mistake_in_a_condition_gets_its_sentence(condition, said):
    with pytest.raises(InputError) as caught:
        Problem(BOX, ("u",), ("u_t = -u",), conditions=(condition,))
    assert said in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


def test_a_fit_with_an_initial_condition_is_better_there():
    """Readings from the last third of the time only; what was at the start is told."""
    times = np.linspace(2.0, 3.0, 40)
    readings = read_table(pd.DataFrame({"t": times, "u": np.cos(times)}), ("t",), ("u",))
    method = pinn(300, backbone=MLP(8, 1), collocation_batch=16, reading_batch=32, optimiser=Adam(1e-2))
    errors = []
    for conditions in ((), ("u = 1 at t = 0",)):
        problem = Problem({"t": (0.0, 3.0)}, ("u",), ("0*u_t = 0*u",), conditions=conditions)
        errors.append(abs(float(fit(problem, readings, method).field.at(t=0.0)["u"]) - 1.0))
    assert errors[1] < 0.3 * errors[0]


def plane(x, t):
    """A multilinear function, which linear interpolation gives exactly."""
    return 1.0 + 2.0 * x - 3.0 * t + 0.5 * x * t


def test_a_table_is_exact_for_multilinear_functions_whatever_its_steps_and_order():
    x, t = (axis.reshape(-1) for axis in np.meshgrid([0.0, 0.1, 1.5, 2.0], [0.0, 0.7, 1.0], indexing="ij"))
    rows = pd.DataFrame({"x": x, "t": t, "q": plane(x, t)}).sample(frac=1.0, random_state=0).astype(str)
    table = table_from_rows(rows, ("t", "x"), "q", "q.csv")
    found = table.at([POINTS[:, 1], POINTS[:, 0]])
    np.testing.assert_allclose(found, plane(POINTS[:, 0], POINTS[:, 1]), rtol=1e-12)


def test_an_equation_with_a_table_is_the_equation_with_the_function():
    nodes = np.linspace(0, 1, 2001)
    forcing = Table(("t",), (nodes,), np.cos(3 * nodes))
    by_table = Problem(BOX, ("u",), ("u_t = -u + q",), tables={"q": forcing})
    by_hand = Problem(BOX, ("u",), ("u_t = -u + cos(3*t)",))
    by_function = Problem(BOX, ("u",), (lambda p, f, c: f.u_t + f.u - p.q,), tables={"q": forcing})
    assert by_table.show() == "∂u/∂t = −u + q(t)"
    learned = Learned(FieldNetwork(wave, identity_frame(2, 1, DOUBLE)), {}, Gate().init(DOUBLE))
    values = learned.field.derivatives(POINTS, by_hand.wanted, ("x", "t"))
    expected = by_hand.residuals(POINTS, values, {})
    assert np.abs(expected).max() > 0.5
    np.testing.assert_allclose(by_table.residuals(POINTS, values, {}), expected, atol=1e-6)
    np.testing.assert_allclose(by_function.residuals(POINTS, values, {}), expected, atol=1e-6)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("t,q\n0,1\n0.5,2\n", "covers 't' from 0 to 0.5, but the problem runs from 0 to 1"),
        ("t,q\n0,1\n1,abc\n", "q.csv, row 3, column 'q': expected a finite number"),
        ("t,w\n0,1\n1,2\n", "has no column 'q'"),
        ("t,q\n0,1\n0,2\n1,3\n", "not one for each of the 2 nodes"),
        ("t,q\n1,2\n", "at least two different values"),
    ],
)
def test_each_mistake_in_a_table_gets_its_sentence(tmp_path, text, said):
    (tmp_path / "q.csv").write_text(text)
    content = {
        "coordinates": {"x": [0, 2], "t": [0, 1]},
        "fields": ["u"],
        "equations": ["u_t = -u_x + q"],
        "tables": {"q": {"file": "q.csv", "coordinates": ["t"], "value": "q"}},
    }
    with pytest.raises(InputError) as caught:
        parse_problem(content, "p.yaml", tmp_path).problem()
    assert said in str(caught.value)


def test_a_hidden_field_is_found_and_the_run_comes_back(tmp_path):
    """u' = v, v' = -w² u + q with only u read: w and v are found, and everything survives the disk."""
    rng = np.random.default_rng(0)
    times = rng.uniform(0, 3, 300)
    table = pd.DataFrame({"t": times, "u": np.cos(2 * times) + rng.normal(0, 0.01, 300)})
    forcing = Table(("t",), (np.array([0.0, 3.0]),), np.zeros(2))
    problem = Problem(
        {"t": (0.0, 3.0)}, ("u",), ("u_t = v", "v_t = -w**2*u + q"), {"w": Unknown(1.5)},
        hidden=("v",), scales={"v": 2.0}, tables={"q": forcing}, conditions=("v = 0 at t = 0",),
    )  # fmt: skip
    method = pinn(1500, backbone=MLP(16, 2), collocation_batch=64, reading_batch=64, optimiser=Adam(5e-3))
    result = fit(problem, read_table(table, ("t",), ("u",)), method)
    assert result.unknowns["w"] == pytest.approx(2.0, rel=0.03)
    grid = np.linspace(0, 3, 31)
    assert np.abs(result.field.at(t=grid)["v"] + 2 * np.sin(2 * grid)).max() < 0.15
    save(result, tmp_path / "run")
    back = load(tmp_path / "run")
    np.testing.assert_array_equal(back.field(grid[:, None]), result.field(grid[:, None]))
    assert back.problem.show() == problem.show()
    np.testing.assert_array_equal(back.problem.tables["q"].values, forcing.values)
    assert list(back.grid(5).data_vars) == ["u", "v"]


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ({"hidden": ("u",)}, "'u' is declared as field and as hidden field"),
        ({"hidden": ("w",)}, "field 'w' is in no equation"),
        ({"hidden": ("v",), "scales": {"u": 1.0}}, "a scale is given for 'u'"),
        ({"hidden": ("v",), "scales": {"v": -1.0}}, "scale of hidden field 'v' is -1"),
        ({"hidden": ("v",), "periodic": ("y",)}, "periodic 'y' is not a coordinate"),
    ],
)
def test_each_mistake_about_hidden_fields_gets_its_sentence(parts, said):
    with pytest.raises(InputError, match=said):
        Problem(BOX, ("u",), ("u_t = v_x" if "v" in parts["hidden"] else "u_t = u_x",), **parts)


def test_the_report_shows_a_hidden_field():
    from napinn.report.html import report_html

    table = pd.DataFrame({"t": np.linspace(0, 1, 20), "u": np.linspace(0, 1, 20)})
    problem = Problem({"t": (0.0, 1.0)}, ("u",), ("u_t = v", "v_t = 0*v"), hidden=("v",))
    method = pinn(10, backbone=MLP(4, 1), collocation_batch=8, reading_batch=8)
    page = report_html(fit(problem, read_table(table, ("t",), ("u",)), method))
    assert '<option value="1">v</option>' in page
    assert '"names": ["u", "v"]' in page or '"names":["u","v"]' in page


def test_a_table_in_single_precision_reaches_the_edge_of_the_box():
    times = np.float32([0.0, 0.7]).astype(float)
    assert times[-1] < 0.7
    Table(("t",), (times,), np.ones(2)).check_covers("q", {"t": (0.0, 0.7)})
