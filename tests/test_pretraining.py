"""A network is pretrained on the field of another engine before it is trained."""

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest

from napinn import Problem, Unknown, fit, read_table
from napinn.engines.network.methods import law_pinn
from napinn.engines.network.model import frame_of, initial
from napinn.engines.network.pretraining import pretrained
from napinn.engines.splines.method import bsplines
from napinn.field.backbones import MLP


@pytest.fixture(scope="module")
def wave():
    """A damped oscillation that splines have fitted, and what a small network begins with."""
    times = np.linspace(0.0, 4.0, 120)
    values = np.exp(-0.3 * times) * np.cos(3.0 * times) + np.random.default_rng(0).normal(0.0, 0.02, 120)
    problem = Problem(
        {"t": (0.0, 4.0)}, ("u",), ("u_tt + c*u_t + w*u = 0",), {"c": Unknown(0.5, low=0.0), "w": Unknown(8.0, low=0.0)}
    )
    readings = read_table(pd.DataFrame({"t": times, "u": values}), ("t",), ("u",))
    method = law_pinn(60, backbone=MLP(32, 3))
    frame = frame_of(problem, readings, method, jnp.dtype(jnp.float32))
    return (
        problem,
        readings,
        fit(problem, readings, bsplines()).model,
        initial(problem, method, frame, jax.random.key(0)),
    )


def test_the_network_takes_the_field_and_nothing_else(wave):
    problem, readings, model, learned = wave
    after = pretrained(learned, model, problem, readings, jax.random.key(1))
    places = np.linspace(0.0, 4.0, 57)[:, None]
    wanted = model.values(places)
    found = np.asarray(after.field(jnp.asarray(places, jnp.float32)))
    assert np.sqrt(np.mean((found - wanted) ** 2)) < 0.1 * np.std(wanted)
    assert jax.tree.all(jax.tree.map(jnp.array_equal, after.unknowns, learned.unknowns))
    assert jax.tree.all(jax.tree.map(jnp.array_equal, after.field.frame, learned.field.frame))


def test_a_field_that_is_not_finite_teaches_nothing(wave, monkeypatch):
    problem, readings, model, learned = wave
    monkeypatch.setattr(type(model), "values", lambda self, points: np.full((len(points), 1), np.nan))
    assert pretrained(learned, model, problem, readings, jax.random.key(1)) is learned
