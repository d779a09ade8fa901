"""The equation solved forward: closed forms are followed, a wrong coefficient is not, and what cannot be solved says
why."""

import math
import re

import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest

from known_results import known
from napinn.data.readings import read_table
from napinn.diagnostics.findings import Check, CheckOutcome
from napinn.diagnostics.forward.check import Forward, solve
from napinn.diagnostics.forward.check import check_forward as all_checks
from napinn.diagnostics.forward.evolution import Evolution, Obstacle, evolution_of
from napinn.diagnostics.forward.method_of_lines import stencil
from napinn.problem import Problem, Unknown
from napinn.problem.tables import Table


def check_forward(result) -> Check:
    """The comparison with the field."""
    return all_checks(result)[0]


def difference(check: Check) -> float:
    return max(check.numbers["difference"].values())


HEAT = Problem({"x": (0.0, 1.0), "t": (0.0, 0.5)}, ("u",), ("u_t = D*u_xx",), {"D": Unknown(0.3)})


def heat(x, t):
    return jnp.exp(-0.4 * np.pi**2 * t) * jnp.sin(np.pi * x) + 0.2 * x


def test_exponential_decay_and_logistic_growth_are_followed():
    problem = Problem(
        {"t": (0.0, 5.0)},
        ("u", "v"),
        ("u_t = -k*u", "v_t/r = v*(1 - v/5)"),
        {"k": Unknown(1.0), "r": Unknown(1.0)},
    )
    found = {"k": 0.8, "r": 1.2}
    check = check_forward(known(problem, found, lambda t: jnp.exp(-0.8 * t), lambda t: 5 / (1 + 9 * jnp.exp(-1.2 * t))))
    assert check.outcome is CheckOutcome.PASS
    assert difference(check) < 1e-4


def test_heat_is_followed_to_the_order_of_the_stencils_and_a_wrong_coefficient_is_doubted():
    check = check_forward(known(HEAT, {"D": 0.4}, heat))
    assert check.outcome is CheckOutcome.PASS
    assert difference(check) < 1e-4
    check = check_forward(known(HEAT, {"D": 0.3}, heat))
    assert check.outcome is CheckOutcome.DOUBT
    assert "agreement means 5 % or less" in check.found


def test_a_forced_oscillator_with_a_hidden_algebraic_field_is_followed():
    """y'' = q - y with a table q = t/10 + 2, from rest at its balance: y = t/10 + 2 + sin t; and z = y + y'."""
    times = np.linspace(0.0, 6.0, 4)
    problem = Problem(
        {"s": (0.0, 6.0)},
        ("y",),
        ("y_ss + w*y = q", "2*z = 2*y + 2*y_s"),
        {"w": Unknown(0.5)},
        hidden=("z",),
        tables={"q": Table(("s",), (times,), times / 10 + 2)},
    )
    result = known(
        problem, {"w": 1.0}, lambda s: s / 10 + 2 + jnp.sin(s), lambda s: s / 10 + 2.1 + jnp.sin(s) + jnp.cos(s)
    )
    check = check_forward(result)
    assert check.numbers["difference"].keys() == {"y", "z"}
    assert difference(check) < 1e-3


def test_a_periodic_wave_is_followed():
    problem = Problem(
        {"x": (0.0, 2.0), "t": (0.0, 1.0)}, ("u",), ("u_tt = c**2*u_xx",), {"c": Unknown(1.0)}, periodic=("x",)
    )
    check = check_forward(known(problem, {"c": 1.5}, lambda x, t: jnp.sin(np.pi * (x - 1.5 * t))))
    assert difference(check) < 1e-3


def test_a_long_oscillation_is_compared_over_windows():
    """Two hundred radians on, a coefficient that is wrong by two thousandths is out of step by a fifth of a radian."""
    problem = Problem({"t": (0.0, 200.0)}, ("u",), ("u_tt = -w*u",), {"w": Unknown(1.0)})
    check = check_forward(known(problem, {"w": 1.002}, jnp.sin))
    assert check.numbers["windows"] == 8
    assert check.outcome is CheckOutcome.PASS
    assert "each started from the field" in check.found


def test_a_negative_diffusivity_is_called_ill_posed():
    check = check_forward(known(HEAT, {"D": -0.4}, heat))
    assert check.outcome is CheckOutcome.CANNOT
    assert "ill posed" in check.found


def test_heat_in_the_plane_is_followed_and_a_wrong_coefficient_is_doubted():
    """Time is the middle coordinate, and one axis is periodic."""
    box = {"x": (0.0, 1.0), "t": (0.0, 0.3), "y": (0.0, 2.0)}
    problem = Problem(box, ("u",), ("u_t = D*(u_xx + u_yy)",), {"D": Unknown(0.1)}, periodic=("y",))

    def plate(x, t, y):
        return jnp.exp(-0.2 * 2.0 * np.pi**2 * t) * jnp.sin(np.pi * x) * jnp.cos(np.pi * y) + x

    check = check_forward(known(problem, {"D": 0.2}, plate))
    assert check.outcome is CheckOutcome.PASS
    assert difference(check) < 1e-3
    assert check_forward(known(problem, {"D": 0.3}, plate)).outcome is CheckOutcome.DOUBT


@pytest.mark.parametrize(("rate", "outcome"), [(0.8, CheckOutcome.PASS), (0.83, CheckOutcome.DOUBT)])
def test_the_solution_is_compared_with_the_readings(rate, outcome):
    """With a rate that is wrong by a twenty-fifth the solution is within 5 % of the field, and five deviations off."""
    problem = Problem({"t": (0.0, 3.0)}, ("u",), ("u_t = -k*u",), {"k": Unknown(1.0)})
    times = np.linspace(0.0, 3.0, 100)
    noise = np.random.default_rng(0).normal(0.0, 0.002, 100)
    table = pd.DataFrame({"t": times, "u": np.exp(-0.8 * times) + noise})
    result = known(problem, {"k": rate}, lambda t: jnp.exp(-0.8 * t), readings=read_table(table, ("t",), ("u",)))
    beside_field, beside_readings = all_checks(result)
    assert beside_field.outcome is CheckOutcome.PASS
    assert beside_readings.outcome is outcome
    found = beside_readings.numbers["misfits"]["u"]
    assert found["field"] == pytest.approx(0.002, rel=0.3)
    exact = 1.4826 * np.median(np.abs(table["u"] - np.exp(-rate * times)))
    assert found["forward"] == pytest.approx(exact, rel=0.15)


def test_the_difference_from_the_field_is_interpolated_to_any_point():
    result = known(HEAT, {"D": 0.3}, heat)
    evolution = evolution_of(HEAT)
    assert isinstance(evolution, Evolution)
    forward = solve(evolution, result.model, result.unknowns)
    assert isinstance(forward, Forward)
    points = np.array([[0.5, 0.0], [0.0, 0.2], [1.0, 0.5], [0.5, 0.25]])
    found = forward.difference(points)[:, 0]
    np.testing.assert_allclose(found[:3], 0.0, atol=1e-12)
    # With u = 0 at both ends the first wave decays at 0.3 π² in place of 0.4 π²; nodes next to them follow the field.
    exact = np.exp(-0.3 * np.pi**2 * 0.25) - np.exp(-0.4 * np.pi**2 * 0.25)
    assert found[3] == pytest.approx(exact, rel=0.03)


@pytest.mark.parametrize(
    ("coordinates", "equations", "why"),
    [
        ("xyzt", ("u_t = u_xx + u_yy",), "4 coordinates"),
        ("xy", ("u_xx + u_yy = 0",), "do not say which is time"),
        ("xt", ("u_xx = 0",), "nothing in it is differentiated by t"),
        ("xt", ("u_t**2 = u",), "is not linear in its highest time derivative"),
        ("xt", ("exp(u_t) = u",), "is not linear in its highest time derivative"),
        ("xt", ("u = 1/u_t",), "is not linear in its highest time derivative"),
        ("xt", ("u_t = u_xxt + u",), "is differentiated along space as well"),
        ("t", ("u_t = -u", "u_t = -2*u"), r"2 equation\(s\) determine 1 field\(s\)"),
        ("t", (lambda point, fields, unknowns: fields.u_t + fields.u,), "a Python function"),
    ],
)
def test_what_cannot_be_solved_forward_says_why(coordinates, equations, why):
    found = evolution_of(Problem(dict.fromkeys(coordinates, (0.0, 1.0)), ("u",), equations))
    assert isinstance(found, Obstacle)
    assert re.search(why, found.why)


def test_a_coordinate_that_is_read_as_dates_is_time():
    problem = Problem({"x": (0.0, 1.0), "day": (0.0, 9.0)}, ("u",), ("d(u, day) = u_xx",))
    assert isinstance(evolution_of(problem), Obstacle)
    found = evolution_of(problem, frozenset({"day"}))
    assert isinstance(found, Evolution)
    assert (found.time, found.spaces) == ("day", ("x",))


def test_equations_that_share_time_derivatives_are_solved_together():
    """u' + v' = 3, u' - v' = 1: u' = 2 and v' = 1."""
    found = evolution_of(Problem({"t": (0.0, 1.0)}, ("u", "v"), ("u_t + v_t = 3", "u_t - v_t = 1")))
    assert isinstance(found, Evolution)
    highest = found.highest({"t": np.zeros(2)}, {}, {})
    np.testing.assert_allclose(highest, [[2.0, 2.0], [1.0, 1.0]])


@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_stencils_differentiate_polynomials_exactly_and_converge_at_their_order(order):
    half = len(stencil(order)) // 2
    offsets = np.arange(-half, half + 1)
    for power in range(order + 4):
        exact = math.factorial(order) if power == order else 0.0
        assert np.sum(stencil(order) * offsets**power) == pytest.approx(exact, abs=1e-9)
    errors = {
        narrow: [abs(np.sum(stencil(order, narrow) * np.exp(h * offsets)) / h**order - 1.0) for h in (0.1, 0.05)]
        for narrow in (False, True)
    }
    assert errors[False][0] / errors[False][1] == pytest.approx(16.0, rel=0.1)
    assert errors[True][0] / errors[True][1] == pytest.approx(4.0, rel=0.1)
