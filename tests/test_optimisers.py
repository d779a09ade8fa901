"""Optimisers: against closed forms and each other on problems whose answer is known."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from napinn.engines.network.training import SOAP, Adam, ConstantRate, CosineRate
from napinn.engines.network.training.phase_progress import EarlyStopping, StepBudget
from napinn.engines.network.training.soap import scale_by_soap


def rotated_valley():
    """A quadratic of a 6 × 5 matrix whose narrow directions lie along no coordinate: condition number 1e4."""
    rng = np.random.default_rng(0)
    rows, columns = (np.linalg.qr(rng.standard_normal((side, side)))[0] for side in (6, 5))
    weights = jnp.asarray(np.logspace(0, -2, 6)[:, None] * np.logspace(0, -2, 5)[None, :])
    rows, columns = jnp.asarray(rows), jnp.asarray(columns)
    return lambda w: jnp.sum(weights * (rows.T @ w @ columns - 1.0) ** 2)


def descend(optimiser, loss, steps):
    start = {"w": jnp.zeros((6, 5))}
    transformation = optimiser.transformation()
    factors = jnp.asarray(CosineRate().factor(np.arange(steps) / steps))

    def body(number, carry):
        now, state = carry
        slope = jax.grad(lambda p: loss(p["w"]))(now)
        moves, state = transformation.update(slope, state, now)
        return jax.tree.map(lambda p, move: p + factors[number] * move, now, moves), state

    return jax.jit(lambda: jax.lax.fori_loop(0, steps, body, (start, transformation.init(start))))()[0]["w"]


def test_soap_descends_a_rotated_valley_where_adam_crawls():
    loss = rotated_valley()
    soap, adam = (float(loss(descend(optimiser, loss, 400))) for optimiser in (SOAP(rate=0.02), Adam(rate=0.02)))
    assert soap < 1e-3 * float(loss(jnp.zeros((6, 5))))
    assert soap < 0.1 * adam


def test_soap_is_adam_on_all_that_is_not_a_matrix():
    parameters = {"bias": jnp.arange(4.0), "one": jnp.asarray(2.0), "column": jnp.ones((5, 1))}
    soap, adam = scale_by_soap(0.9, 0.99, 1e-8, 10), optax.scale_by_adam(0.9, 0.99, 1e-8)
    ours, theirs = soap.init(parameters), adam.init(parameters)
    for number in range(5):
        slopes = jax.tree.map(lambda p: jnp.cos(p + number), parameters)  # noqa: B023
        moves, ours = soap.update(slopes, ours)
        expected, theirs = adam.update(slopes, theirs)
        for name in parameters:
            np.testing.assert_allclose(moves[name], expected[name], rtol=1e-6)  # pyright: ignore[reportCallIssue, reportIndexIssue]


def test_soap_keeps_its_bases_orthonormal_and_finds_the_gradients_directions():
    """Gradients of one fixed rank-one direction: the first basis vectors become that direction."""
    left, right = np.linalg.qr(np.random.default_rng(1).standard_normal((6, 6)))[0][:, 0], np.eye(4)[:, 2]
    soap = scale_by_soap(0.9, 0.9, 1e-8, 1)
    state, update = soap.init({"w": jnp.zeros((6, 4))}), jax.jit(soap.update)
    for number in range(20):
        slope = jnp.asarray(np.outer(left, right) * (1 + number % 3))
        moves, state = update({"w": slope}, state)
    (bases,) = state.bases  # pyright: ignore[reportAttributeAccessIssue]
    np.testing.assert_allclose(bases.row_basis.T @ bases.row_basis, np.eye(6), atol=1e-10)
    assert abs(float(bases.row_basis[:, 0] @ left)) == pytest.approx(1.0, abs=1e-4)
    assert np.isfinite(np.asarray(moves["w"])).all()  # pyright: ignore[reportPossiblyUnboundVariable]


def test_a_gradient_of_zero_moves_nothing():
    for optimiser in (SOAP(), Adam()):
        transformation = optimiser.transformation()
        parameters = {"w": jnp.ones((3, 3)), "b": jnp.ones((3,))}
        moves, _ = transformation.update(jax.tree.map(jnp.zeros_like, parameters), transformation.init(parameters))
        assert all(float(jnp.abs(move).max()) == 0.0 for move in jax.tree.leaves(moves))


def test_schedules():
    cosine = CosineRate(rise=0.2, end=0.1)
    shares = np.asarray([0.0, 0.1, 0.2, 0.6, 1.0])
    np.testing.assert_allclose(cosine.factor(shares), [0.0, 0.5, 1.0, 0.55, 0.1], atol=1e-12)
    assert float(ConstantRate().factor(np.asarray(0.7))) == 1.0


def test_the_watch_ends_a_phase_only_when_the_score_has_not_risen_for_long_enough():
    watch = EarlyStopping(200)
    assert [watch.stalled(100 * n, score) for n, score in enumerate([0.0, 1.0, 0.9, 1.1, 1.0, 1.0], start=1)] == [
        False, False, False, False, False, True,
    ]  # fmt: skip
    assert not EarlyStopping(None).stalled(10_000, 0.0)
    assert not EarlyStopping(5).stalled(10_000, None)


def test_the_pace_follows_steps_or_the_clock_whichever_is_further():
    by_steps = StepBudget(1000, None)
    assert not by_steps.over(250, 1e9)
    assert by_steps.shares() == (0.25, 0.001)
    by_clock = StepBudget(1000, 10.0)
    assert not by_clock.over(100, 5.0)
    assert by_clock.shares() == pytest.approx((0.5, 0.005))
    assert by_clock.over(100, 5.0)
