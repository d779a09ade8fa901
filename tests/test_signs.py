"""A network that is given no start tries both signs of an unknown without bounds."""

import numpy as np
import pandas as pd
import pytest

from napinn import Problem, Unknown, fit, pinn, read_table
from napinn.engines.network.signs import free_signs
from napinn.field.backbones import MLP


def test_only_an_unknown_without_start_and_bounds_has_a_free_sign():
    problem = Problem(
        {"t": (0.0, 1.0)}, ("u",), ("u_t = a*u + b + c*u**2 + e*u**3",),
        {"a": Unknown(), "b": Unknown(0.5), "c": Unknown(low=0.0), "e": Unknown(high=2.0)},
    )  # fmt: skip
    assert free_signs(problem) == ("a",)


@pytest.fixture(scope="module")
def carried():
    """A wave that is carried to the left, fitted from no start by a small network."""
    random = np.random.default_rng(0)
    x, t = random.uniform(0.0, 2.0, 300), random.uniform(0.0, 1.0, 300)
    table = pd.DataFrame({"x": x, "t": t, "u": np.sin(3.0 * (x + 1.5 * t)) + random.normal(0.0, 0.02, 300)})
    problem = Problem({"x": (0.0, 2.0), "t": (0.0, 1.0)}, ("u",), ("u_t + c*u_x = 0",), {"c": Unknown()})
    method = pinn(1500, backbone=MLP(16, 2), collocation_batch=64, reading_batch=64)
    return fit(problem, read_table(table, ("x", "t"), ("u",)), method)


def test_a_velocity_comes_out_with_the_right_sign(carried):
    assert carried.unknowns["c"] == pytest.approx(-1.5, rel=0.2)
