"""Partials: closed forms of orders one to four, streams against nested forward mode, and physics as it was written."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest

from napinn.data.readings import read_table
from napinn.engines.network.objective import Learned, inside_residuals
from napinn.field.backbones import MLP
from napinn.field.derivatives import FieldNetwork, nested_derivatives, stream_sums
from napinn.field.scaling import fitted_frame, identity_frame
from napinn.noise.gate import Gate
from napinn.problem import Problem, Unknown
from napinn.problem.equations import wanted
from napinn.studies.benchmarks.allen_cahn import EQUATION, allen_cahn

NAMES = ("x", "y", "t")
AXES = {"x": 0, "y": 1, "t": 2}


def wave(points):
    """sin(2x - y + 0.5t) and exp(0.3x + 0.2y) t², whose partials of every order are known."""
    x, y, t = points[:, 0], points[:, 1], points[:, 2]
    return jnp.stack([jnp.sin(2 * x - y + 0.5 * t), jnp.exp(0.3 * x + 0.2 * y) * t**2], axis=1)


def wave_partial(points, axes):
    x, y, t = points.T
    counts = [axes.count(axis) for axis in range(3)]
    order = len(axes)
    first = 2.0 ** counts[0] * (-1.0) ** counts[1] * 0.5 ** counts[2] * np.sin(2 * x - y + 0.5 * t + order * np.pi / 2)
    in_time = {0: t**2, 1: 2 * t, 2: 2 + 0 * t}.get(counts[2], 0 * t)
    second = 0.3 ** counts[0] * 0.2 ** counts[1] * np.exp(0.3 * x + 0.2 * y) * in_time
    return np.stack([first, second], axis=1)


@pytest.mark.parametrize(
    "axes",
    [
        (0,),
        (1,),
        (2,),
        (0, 0),
        (0, 1),
        (1, 2),
        (2, 2),
        (0, 0, 0),
        (0, 1, 1),
        (0, 1, 2),
        (0, 0, 0, 0),
        (0, 0, 1, 1),
        (0, 0, 1, 2),
    ],
)
def test_nested_partials_in_float32_match_closed_forms(axes):
    points = np.random.default_rng(0).uniform(0.2, 1.0, (200, 3))
    found = nested_derivatives(wave, jnp.asarray(points, jnp.float32), [(axes,)])[(axes,)]
    expected = wave_partial(points, axes)
    assert found.dtype == jnp.float32
    assert np.abs(np.asarray(found) - expected).max() <= 1e-5 * np.abs(expected).max()


class Sines(eqx.Module):
    """A one-layer network with a closed form, of the user's own kind: it knows nothing of streams."""

    frequencies: jax.Array
    weights: jax.Array

    def __call__(self, points):
        return jnp.sin(points @ self.frequencies) @ self.weights


def test_a_users_own_network_has_partials_of_any_order():
    keys = jax.random.split(jax.random.key(1))
    network = Sines(jax.random.normal(keys[0], (3, 8)), jax.random.normal(keys[1], (8, 2)))
    field = FieldNetwork(network, identity_frame(3, 2, jnp.dtype(jnp.float64)))
    points = jax.random.uniform(jax.random.key(2), (50, 3))
    terms = (("x", "x", "t"),)
    found = field.derivatives(points, [terms], NAMES)[terms]
    f = np.asarray(network.frequencies)
    expected = (-np.cos(np.asarray(points) @ f) * f[0] * f[0] * f[2]) @ np.asarray(network.weights)
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)


@pytest.fixture
def framed() -> FieldNetwork:
    """An MLP in a frame that is far from the identity."""
    box = {"x": (-3.0, 1.0), "y": (0.0, 0.02), "t": (100.0, 400.0)}
    table = {"x": -1.0, "y": 0.01, "t": [100.0, 200.0, 400.0], "u": [900.0, 1000.0, 1200.0], "v": [-0.01, 0.0, 0.04]}
    readings = read_table(pd.DataFrame(table), NAMES, ("u", "v"))
    frame = fitted_frame(Problem(box, ("u", "v"), ("u_t = v_x",)), readings, jnp.dtype(jnp.float64))
    ends = jnp.ones((3,))
    return FieldNetwork(MLP(12, 3).init(jax.random.key(5), 3, 2, -ends, ends), frame)


def test_streams_agree_with_nested_forward_mode_in_any_frame(framed):
    points = jax.random.uniform(jax.random.key(0), (40, 3)) * jnp.array([[4.0, 0.02, 300.0]]) + jnp.array(
        [[-3.0, 0.0, 100.0]]
    )
    wanted = [
        ((),),
        ((0,),),
        ((1,),),
        ((2,),),
        ((0, 0),),
        ((0, 1),),
        ((1, 2),),
        ((0, 0), (1, 1)),
        ((0, 0), (1, 1), (2, 2)),
    ]
    by_streams = stream_sums(framed._flow, points, wanted, [])[0]
    by_nesting = nested_derivatives(framed, points, wanted)
    for terms in wanted:
        scale = float(jnp.abs(by_nesting[terms]).max())
        np.testing.assert_allclose(by_streams[terms], by_nesting[terms], rtol=1e-9, atol=1e-11 * scale)


@pytest.mark.parametrize("own", [False, True])
def test_training_sees_the_residuals_of_the_equations_as_written(framed, own):
    """What a network carries as one array leaves the residuals, and their slopes, as they were."""
    texts = ("u_t + v*u_x = pi*D*(u_xx + u_yy) - u", "v_t = pi*D*(v_xx + v_yy) + k*v_x")
    box = {"x": (-3.0, 1.0), "y": (0.0, 0.02), "t": (100.0, 400.0)}
    problem = Problem(box, ("u", "v"), texts, {"D": Unknown(0.4), "k": Unknown(2.0)})
    if own:
        keys = jax.random.split(jax.random.key(1))
        network = Sines(jax.random.normal(keys[0], (3, 8)), jax.random.normal(keys[1], (8, 2)))
        framed = eqx.tree_at(lambda field: field.network, framed, network)
    frame = eqx.tree_at(lambda frame: frame.unknowns, framed.frame, jnp.ones((2,)))
    frame = eqx.tree_at(lambda frame: frame.residual, frame, jnp.asarray([3.0, 0.2]))
    field = FieldNetwork(framed.network, frame)
    unknowns = {"D": jnp.asarray(0.4), "k": jnp.asarray(2.0)}
    places = jax.random.uniform(jax.random.key(0), (20, 3), minval=jnp.array([-3.0, 0.0, 100.0])) * 1.2
    assert wanted(problem.carried) == {((),), (("x",),)}

    def carried(unknowns):
        return inside_residuals(problem, Learned(field, unknowns, Gate().init(jnp.dtype(jnp.float64))), places)

    def written(unknowns):
        values = field.derivatives(places, problem.wanted, NAMES)
        return problem.residuals(places, values, unknowns) / frame.residual[None]

    for form in (lambda function: function, jax.jacrev):
        for found, expected in zip(
            *(jax.tree.leaves(form(each)(unknowns)) for each in (carried, written)), strict=True
        ):
            np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-10 * float(jnp.abs(expected).max()))


def test_streams_in_float32_match_float64():
    ends = jnp.ones((3,))
    exact = FieldNetwork(MLP().init(jax.random.key(5), 3, 2, -ends, ends), identity_frame(3, 2, jnp.dtype(jnp.float64)))
    short = jax.tree.map(lambda leaf: leaf.astype(jnp.float32), exact)
    points = jax.random.uniform(jax.random.key(0), (500, 3), jnp.float32)
    wanted = [((0,),), ((2,),), ((0, 0), (1, 1)), ((0, 1),)]
    reference = stream_sums(exact._flow, points.astype(jnp.float64), wanted, [])[0]
    found = stream_sums(short._flow, points, wanted, [])[0]
    for terms in wanted:
        error = np.linalg.norm(np.asarray(found[terms], float) - reference[terms]) / np.linalg.norm(reference[terms])
        assert error <= 1e-5


def residual_on_truth(equation: str) -> float:
    """The largest residual of an equation on the Allen–Cahn truth, which the test writes down a second time."""
    benchmark = allen_cahn()
    base = benchmark.problem
    problem = Problem(base.coordinates, base.fields, (equation,), {"eps": Unknown(1.0)}, base.constants)

    def truth(points):
        x, y, t = points[:, 0], points[:, 1], points[:, 2]
        return (jnp.sin(jnp.pi * x) * jnp.sin(jnp.pi * y) * jnp.cos(8.0 * t))[:, None]

    field = FieldNetwork(truth, identity_frame(3, 1, jnp.dtype(jnp.float64)))
    points = jax.random.uniform(jax.random.key(0), (300, 3))
    values = field.derivatives(points, problem.wanted, NAMES)
    return float(jnp.abs(problem.residuals(points, values, {"eps": jnp.asarray(0.3)})).max())


def test_the_manufactured_solution_solves_its_equation():
    assert residual_on_truth(EQUATION) < 1e-10


SIGNS = [i for i, mark in enumerate(EQUATION) if mark in "+-"]


@pytest.mark.parametrize("position", SIGNS)
def test_one_changed_sign_is_noticed(position):
    flipped = EQUATION[:position] + {"+": "-", "-": "+"}[EQUATION[position]] + EQUATION[position + 1 :]
    assert residual_on_truth(flipped) > 1e-2
