"""Gauss–Newton steps: the algebra, the rows they are made of, and what a handful of readings is enough for."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
from jax.flatten_util import ravel_pytree

from napinn.collocation import Latin
from napinn.fitting import fit
from napinn.likelihood import Likelihood
from napinn.losses import Absolute, Squared
from napinn.methods import law_pinn
from napinn.network_model import frame_of, initial
from napinn.networks import MLP
from napinn.objective import frozen_loss, plain_loss
from napinn.problem import Problem, Unknown
from napinn.readings import read_table
from napinn.training import SOAP, GaussNewton, Kind, Method, Phase, load
from napinn.training.gauss_newton import Rows
from napinn.training.loop import _first_law
from napinn.training.rows import all_rows

DOUBLE = jnp.dtype(jnp.float64)
HEAT = Problem(
    {"x": (0.0, 1.0), "t": (0.0, 1.0)},
    ("u",),
    ("u_t = D*u_xx",),
    {"D": Unknown(0.3, low=0.0)},
    conditions=("u_x = 0 at x = 0",),
    periodic=("t",),
)


def test_a_linear_problem_is_solved_in_one_step_by_the_shortest_way():
    rng = np.random.default_rng(0)
    matrix, target = rng.normal(size=(5, 12)), rng.normal(size=5)
    method = GaussNewton(damping=1e-9).transformation()
    start = {"w": jnp.asarray(rng.normal(size=12))}

    def left(params):
        return jnp.asarray(matrix) @ params["w"] - jnp.asarray(target)

    def value(params):
        return jnp.sum(left(params) ** 2)

    step, state = method.update(
        start,
        method.init(start),
        start,
        value=value(start),
        value_fn=value,
        rows=lambda: Rows(left(start), jnp.asarray(matrix)),
    )
    shortest = np.linalg.lstsq(matrix, -np.asarray(left(start)), rcond=None)[0]
    np.testing.assert_allclose(step["w"], shortest, rtol=1e-6)
    assert float(state.level) < 1e-6


def test_a_step_that_does_not_help_is_taken_back_and_damped():
    method = GaussNewton(damping=1e-2).transformation()
    start = {"w": jnp.ones(3)}
    wrong = Rows(jnp.ones(1), -jnp.ones((1, 3)))  # the slope has the wrong sign
    step, state = method.update(
        start,
        method.init(start),
        start,
        value=jnp.asarray(9.0),
        value_fn=lambda params: jnp.sum(params["w"]) ** 2,
        rows=lambda: wrong,
    )
    assert not np.any(step["w"])
    assert float(state.level) == pytest.approx(5e-2)


@pytest.mark.parametrize(
    "loss", [Squared(), Absolute(), Likelihood(profiled=False)], ids=lambda loss: type(loss).__name__
)
def test_the_rows_hold_the_slope_of_the_loss(loss):
    """With a condition and a period; `J'r` is the gradient, whatever the data term."""
    rng = np.random.default_rng(1)
    table = pd.DataFrame({"x": rng.uniform(size=40), "t": rng.uniform(size=40), "u": rng.normal(size=40)})
    readings = read_table(table, ("x", "t"), ("u",))
    method = law_pinn(backbone=MLP(5, 2))
    data, _ = load(HEAT, readings, DOUBLE)
    learned = initial(HEAT, method, frame_of(HEAT, readings, method, DOUBLE), jax.random.key(0))
    batch = data.batch(slice(0, 40), jnp.asarray(rng.uniform(size=(16, 2))), None)
    gating = law = None
    if isinstance(loss, Likelihood):
        gating = method.gating
        assert gating is not None
        law = _first_law(gating, jnp.asarray(rng.normal(size=40)), data.owner, 1, jax.random.key(1))
    moving, static = eqx.partition(learned, eqx.is_array)

    def value(moved):
        now = eqx.combine(moved, static)
        if law is None or gating is None:
            return plain_loss(HEAT, loss, now, batch, 7.0)[0]
        return frozen_loss(HEAT, loss, gating, now, law, batch, 7.0)[0]

    rows = all_rows(HEAT, loss, gating, learned, law, batch, 7.0)
    slope = ravel_pytree(jax.grad(value)(moving))[0]
    np.testing.assert_allclose(rows.slopes.T @ rows.left, slope, rtol=1e-6, atol=1e-9)


def test_forty_readings_of_two_populations_are_enough():
    """Lotka and Volterra in logarithms, from four of whose five rates the equations alone could not be told."""
    rates = {"a": 0.6, "b": 0.03, "g": 0.8, "c": 0.025}

    def slopes(state):
        return np.array([rates["a"] - rates["b"] * np.exp(state[1]), -rates["g"] + rates["c"] * np.exp(state[0])])

    state, path, step = np.log([30.0, 5.0]), [], 0.005
    for _ in range(2001):
        path.append(state)
        middle = state + 0.5 * step * slopes(state)
        state = state + step * slopes(middle)
    rng = np.random.default_rng(0)
    seen = np.array(path)[::100] + 0.05 * rng.standard_normal((21, 2))
    seen[4, 0] += 2.0
    table = pd.DataFrame({"t": np.linspace(0.0, 10.0, 21), "u": seen[:, 0], "v": seen[:, 1]})
    problem = Problem(
        {"t": (0.0, 10.0)},
        ("u", "v"),
        ("u_t = a - b*exp(v)", "v_t = -g + c*exp(u)"),
        {name: Unknown(start, low=0.0) for name, start in (("a", 1.0), ("b", 0.1), ("g", 1.0), ("c", 0.1))},
    )
    method = law_pinn(3000, backbone=MLP(16, 2), collocation_batch=128, reading_batch=64, log_every=500)
    result = fit(problem, read_table(table, ("t",), ("u", "v")), method)
    for name, rate in rates.items():
        assert result.unknowns[name] == pytest.approx(rate, rel=0.1)
    assert result.flagged[8]
    assert result.flagged.sum() <= 3


@pytest.mark.parametrize("better", ["first", "second"])
def test_of_two_starts_the_better_goes_on(better):
    """A second start with too few steps to get anywhere loses; after a first start of as few steps it wins."""
    times = np.linspace(0.0, 2.0, 40)
    table = pd.DataFrame({"t": times, "u": np.exp(-0.8 * times)})
    problem = Problem({"t": (0.0, 2.0)}, ("u",), ("u_t = -k*u",), {"k": Unknown(0.1)})
    long, short = (1500, 2) if better == "first" else (2, 1500)
    phases = (
        Phase("one", Kind.PLAIN, long, Absolute()),
        Phase("two", Kind.PLAIN, short, Absolute(), optimiser=SOAP(), afresh=True, chooses=True),
    )
    method = Method("two starts", phases, backbone=MLP(16, 2), optimiser=SOAP(), collocation_batch=64, reading_batch=40)
    found = fit(problem, read_table(table, ("t",), ("u",)), method)
    assert found.unknowns["k"] == pytest.approx(0.8, rel=0.05)
    first = found.history[found.history.phase == "one"].iloc[-1]
    assert np.isclose(found.unknowns["k"], first["k"], rtol=1e-6) == (better == "first")


@pytest.mark.parametrize(("weight", "better"), [(0.01, "one"), (100.0, "two")])
def test_two_starts_are_compared_under_equations_as_heavy_as_in_the_end(weight, better):
    """Readings that leave the equation half-way: a start under light equations follows them, another does not."""
    times = np.linspace(0.0, 2.0, 40)
    values = np.exp(-0.8 * times) + np.where(times < 1.0, 0.0, 0.15 * np.sin(np.pi * (times - 1.0)))
    problem = Problem({"t": (0.0, 2.0)}, ("u",), ("u_t = -k*u",), {"k": Unknown(0.5)})
    phases = (
        Phase("one", Kind.PLAIN, 1000, Absolute(), stiffness=(0.03, 0.03)),
        Phase("two", Kind.PLAIN, 1000, Absolute(), optimiser=SOAP(), afresh=True, chooses=True),
        Phase("end", Kind.PLAIN, 1, Absolute(), stiffness=(weight, weight)),
    )
    method = Method("two starts", phases, backbone=MLP(16, 2), optimiser=SOAP(), collocation_batch=64, reading_batch=40)
    found = fit(problem, read_table(pd.DataFrame({"t": times, "u": values}), ("t",), ("u",)), method)
    first = found.history[found.history.phase == "one"].iloc[-1]
    assert (abs(found.unknowns["k"] - first["k"]) < 5e-3) == (better == "one")


def test_a_latin_hypercube_has_one_point_in_every_part_of_every_axis():
    low, high = jnp.asarray([-1.0, 2.0]), jnp.asarray([1.0, 7.0])
    points = np.asarray(Latin().draw(jax.random.key(0), 64, low, high))
    parts = np.floor(64 * (points - np.asarray(low)) / np.asarray(high - low)).astype(int)
    assert [sorted(axis) for axis in parts.T] == [list(range(64))] * 2
    assert abs(np.corrcoef(points.T)[0, 1]) < 0.4
