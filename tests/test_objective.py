"""The objective against the paper's equations, written out a second time with nothing shared."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from napinn.engines.network.objective import (
    Batch,
    Gating,
    Learned,
    NoiseState,
    gated_loss,
    learn_law,
    misfits,
    owners,
    plain_loss,
    reliabilities,
)
from napinn.field.backbones import MLP
from napinn.field.derivatives import FieldNetwork
from napinn.field.scaling import identity_frame
from napinn.noise.density import EBM, BatchStd, RunningSpread, RunningStd, Standard
from napinn.noise.gate import Gate
from napinn.noise.losses import Squared
from napinn.problem import Problem, Unknown

PROBLEM = Problem({"x": (0, 1), "t": (0, 1)}, ("u",), ("u_t = D*u_xx",), {"D": Unknown(0.7)})
SMALL_EBM = EBM(width=8, depth=1, nodes=64)


@pytest.fixture
def learned() -> Learned:
    ends = jnp.ones((2,))
    network = MLP(8, 2).init(jax.random.key(0), 2, 1, -ends, ends)
    field = FieldNetwork(network, identity_frame(2, 1, jnp.dtype(jnp.float64), unknowns=1))
    return Learned(field, {"D": jnp.asarray(0.7)}, Gate().init(jnp.dtype(jnp.float64)))


@pytest.fixture
def batch() -> Batch:
    keys = jax.random.split(jax.random.key(1), 3)
    values = jax.random.normal(keys[2], (30, 1)).at[0].add(6.0)
    return Batch(jax.random.uniform(keys[0], (20, 2)), jax.random.uniform(keys[1], (30, 2)), values, None)


def wide(scale: float) -> Standard:
    return Standard(jnp.zeros((1,)), jnp.asarray([scale]))


def u(learned, point):
    return learned.field(point[None])[0, 0]


def equation_by_hand(learned, batch):
    """Mean squared residual, point by point with reverse mode."""

    @jax.jit
    def residual(point):
        slope = jax.grad(lambda p: u(learned, p))
        return slope(point)[1] - 0.7 * jax.hessian(lambda p: u(learned, p))(point)[0, 0]

    return np.mean([float(residual(point)) ** 2 for point in batch.collocation])


def test_the_plain_loss_is_equation_plus_mean_squared_misfit(learned, batch):
    total, losses = plain_loss(PROBLEM, Squared(), learned, batch)
    data = np.mean([(float(y[0]) - float(u(learned, p))) ** 2 for p, y in zip(batch.points, batch.values, strict=True)])
    equation = equation_by_hand(learned, batch)
    assert float(losses.equation) == pytest.approx(equation, rel=1e-8)
    assert float(total) == pytest.approx(equation + data, rel=1e-8)


def test_the_gated_loss_is_the_papers(learned, batch):
    ebm = SMALL_EBM
    state = ebm.init(jax.random.key(2), jnp.zeros((3,)))
    law = NoiseState(state, wide(1.5), jnp.asarray(0.1), jnp.ones(()))
    gating = Gating(ebm)
    total, (after, losses) = gated_loss(PROBLEM, Squared(), gating, learned, law, batch, jax.random.key(3))

    r = np.array([float(y[0]) - float(u(learned, p)) for p, y in zip(batch.points, batch.values, strict=True)])
    sigma = 0.99 * 1.5 + 0.01 * r.std()
    energy = lambda z: -np.array([float(state.network(jnp.array([[v]]))[0, 0]) for v in z])  # noqa: E731  # pyright: ignore[reportIndexIssue]
    s = energy(np.clip(r / sigma, -10, 10))
    z = (s - s.mean()) / s.std()
    g = 1.0 / (1.0 + np.exp(-5.0 * (2.0 - z)))
    expected = equation_by_hand(learned, batch) + np.mean(g * r**2) + 0.1 * np.mean(1 - g)
    assert float(after.standard.scale[0]) == pytest.approx(sigma, rel=1e-9)
    assert float(total) == pytest.approx(expected, rel=1e-6)
    assert float(losses.rejected) == pytest.approx(np.mean(g < 0.5))


def test_the_density_learns_from_the_pass_that_scores_and_moves_as_if_alone(learned, batch):
    ebm = SMALL_EBM
    law = NoiseState(ebm.init(jax.random.key(2), jnp.zeros((3,))), wide(1.5), jnp.asarray(0.1), jnp.ones(()))
    key = jax.random.key(3)
    _, (together, losses) = gated_loss(PROBLEM, Squared(), Gating(ebm), learned, law, batch, key)
    alone, surprise = learn_law(Gating(ebm), law, misfits(learned.field, batch), owners(batch), key)
    assert eqx.tree_equal(together, alone, rtol=1e-10)
    assert float(losses.surprise) == pytest.approx(float(surprise), rel=1e-12)


def test_the_score_sends_a_gradient_into_the_gate_and_none_into_the_network(learned, batch):
    ebm = SMALL_EBM
    law = NoiseState(ebm.init(jax.random.key(2), jnp.zeros((3,))), wide(1.5), jnp.asarray(50.0), jnp.ones(()))

    def rejection_alone(model):
        total, (_, losses) = gated_loss(PROBLEM, Squared(), Gating(ebm), model, law, batch, jax.random.key(3))
        return total - losses.equation - losses.data

    slope = jax.grad(rejection_alone)(learned)
    assert max(float(jnp.abs(leaf).max()) for leaf in jax.tree.leaves(slope.field.network)) < 1e-6
    assert abs(float(slope.gate.raw_cutoff)) > 1e-6


def test_one_field_a_row_gives_the_same_misfits_as_all_fields_of_a_point():
    ends = jnp.ones((2,))
    field = FieldNetwork(
        MLP(8, 2).init(jax.random.key(0), 2, 2, -ends, ends), identity_frame(2, 2, jnp.dtype(jnp.float64))
    )
    points, values = jax.random.uniform(jax.random.key(1), (6, 2)), jax.random.normal(jax.random.key(2), (6, 2))
    together = misfits(field, Batch(points[:0], points, values, None))
    numbers = jnp.tile(jnp.arange(2), 6)
    apart = misfits(field, Batch(points[:0], jnp.repeat(points, 2, axis=0), values.reshape(-1, 1), numbers))
    np.testing.assert_allclose(together, apart, rtol=1e-12)


def test_reliability_does_not_change_with_the_unit_of_the_readings(learned):
    ebm = SMALL_EBM
    misfit = jax.random.normal(jax.random.key(4), (500,))
    state = ebm.init(jax.random.key(2), misfit)
    owner = jnp.zeros((500,), int)
    for scale in (BatchStd(), RunningStd(0.0), RunningSpread(0.0, floor=0.0)):
        gating = Gating(ebm, scale=scale)
        small, large = (
            reliabilities(
                gating,
                learned,
                NoiseState(state, scale.update(wide(1.0), f * misfit, owner), jnp.zeros(()), jnp.ones(())),
                f * misfit,
                owner,
            )
            for f in (1.0, 1000.0)
        )
        np.testing.assert_allclose(small, large, rtol=1e-8)


def test_misfits_far_below_the_fields_variation_speak_against_no_reading(learned):
    """Readings without noise leave the field's own error, of which some is always the largest."""
    gating = Gating(EBM(), scale=RunningSpread())
    owner = jnp.zeros((2000,), int)
    error = 1e-4 * jax.random.normal(jax.random.key(0), (2000,)).at[:20].mul(10.0)
    error = error.at[0].set(0.5)
    standard = gating.scale.measure(error, owner, 1)
    density = gating.density.init(jax.random.key(1), standard(error, owner))
    learn = eqx.filter_jit(lambda density: gating.density.update(density, standard(error, owner), jax.random.key(0))[0])
    for _ in range(300):
        density = learn(density)
    found = reliabilities(gating, learned, NoiseState(density, standard, jnp.zeros(()), jnp.ones(())), error, owner)
    assert float(found[0]) < 0.5
    assert float(found[1:].min()) == 1.0
