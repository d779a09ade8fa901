"""Hidden fields far smaller or larger than the measured ones."""

import numpy as np
import pandas as pd
import pytest
from scipy.integrate import solve_ivp

import napinn
from napinn.data.readings import read_table
from napinn.engines.catalogue import METHODS
from napinn.engines.splines.hidden_sizes import FAR, Extent, hidden_sizes
from napinn.problem import Problem, Unknown

USUAL = Extent(centre=90.0, scale=50.0)


def sizes(*equations: str, conditions: tuple[str, ...] = ()) -> dict[str, float]:
    problem = Problem(
        {"t": (0.0, 10.0)}, ("G",), equations, {"p": Unknown(), "q": Unknown()}, hidden=("X",), conditions=conditions
    )
    return hidden_sizes(problem, {"G": USUAL}, USUAL)


def test_a_hidden_rate_has_the_size_of_the_change_over_what_it_multiplies():
    found = sizes("G_t = -p*(G - 90) - X*G", "X_t = -q*X + p")
    assert found == pytest.approx({"X": 5.0 / USUAL.size})


@pytest.mark.parametrize("equation", ["G_t = -p*X*G", "G_t = -p*G + q*X", "G_t = -p*(G - X)"])
def test_beside_an_unknown_coefficient_a_hidden_field_has_the_usual_size(equation):
    assert sizes(equation, "X_t = q*G - p*X") == {}


def test_a_derivative_of_a_hidden_field_gives_its_size_over_the_length_of_the_box():
    found = sizes("G_t = -0.001*X_t - p*G", "X_t = q*G - p*X")
    assert found == pytest.approx({"X": 10.0 * 5.0 / 0.001})


@pytest.mark.parametrize(
    ("start", "far"), [(0.9 * FAR * USUAL.size, False), (1.1 * FAR * USUAL.size, True), (4.0, True), (6.0, False)]
)
def test_only_a_size_far_from_the_usual_one_counts(start, far):
    found = sizes("G_t = -p*X*G", "X_t = -q*X", conditions=(f"X = {start} at t = 0",))
    assert found == (pytest.approx({"X": start}) if far else {})


def test_rates_of_a_small_hidden_field_are_found_without_any_start():
    """Bergman's minimal model of glucose under insulin: the action X of insulin is a thousandth of the glucose."""
    times, truth = np.linspace(0.0, 150.0, 76), {"p1": 0.03, "p2": 0.05, "p3": 4e-4}

    def rate(t: float, state: np.ndarray) -> list[float]:
        insulin = 60.0 * np.exp(-0.06 * t) * (1.0 - np.exp(-0.5 * t))
        glucose, action = state
        return [-0.03 * (glucose - 90.0) - action * glucose, -0.05 * action + 4e-4 * insulin]

    glucose = solve_ivp(rate, (0.0, 150.0), [280.0, 0.0], t_eval=times, rtol=1e-9).y[0]
    table = pd.DataFrame({"t": times, "G": glucose + 1.5 * np.random.default_rng(0).normal(size=76)})
    problem = Problem(
        {"t": (0.0, 150.0)}, ("G",),
        ("G_t = -p1*(G - 90) - X*G", "X_t = -p2*X + p3*60*exp(-0.06*t)*(1 - exp(-0.5*t))"),
        {name: Unknown(low=0.0) for name in truth}, hidden=("X",), conditions=("X = 0 at t = 0",),
    )  # fmt: skip
    result = napinn.fit(problem, read_table(table, ("t",), ("G",)), METHODS["splines"].make())
    assert result.unknowns == pytest.approx(truth, rel=0.15)
    assert result.status.trusted
    assert all(each.low <= truth[name] <= each.high for name, each in result.uncertainty.intervals.items())
