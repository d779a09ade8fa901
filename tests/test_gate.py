"""The gate keeps its promises: monotone, within [0, 1], and blind to order and to the unit of the scores."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from napinn.noise.gate import Gate, GateState, standardise

GATES = [Gate(), Gate(1.0, 0.5), Gate(20.0, 3.0)]


@pytest.fixture(params=GATES, ids=str)
def gate(request: pytest.FixtureRequest) -> Gate:
    return request.param


@pytest.fixture
def state(gate: Gate) -> GateState:
    return gate.init(jnp.dtype(jnp.float64))


@pytest.fixture
def scores() -> jax.Array:
    """Log-densities with a heavy lower tail, as outliers give."""
    rng = np.random.default_rng(5)
    return jnp.asarray(np.concatenate([rng.normal(-1.0, 0.5, 200), rng.normal(-8.0, 3.0, 20)]))


def test_starts_at_its_settings(gate: Gate, state: GateState) -> None:
    np.testing.assert_allclose([state.steepness, state.cutoff], [gate.steepness, gate.cutoff])


def test_half_weight_at_the_cutoff(gate: Gate, state: GateState, scores: jax.Array) -> None:
    weights = gate.weights(state, scores)
    np.testing.assert_array_equal(weights < 0.5, standardise(scores) < -gate.cutoff)


def test_weights_lie_between_zero_and_one(gate: Gate, state: GateState, scores: jax.Array) -> None:
    weights = gate.weights(state, scores)
    assert weights.shape == scores.shape
    assert np.all((weights >= 0.0) & (weights <= 1.0))


def test_a_likelier_misfit_never_weighs_less(gate: Gate, state: GateState, scores: jax.Array) -> None:
    weights = gate.weights(state, jnp.sort(scores))
    assert np.all(np.diff(weights) >= 0.0)
    assert weights[-1] > weights[0]


def test_order_does_not_matter(gate: Gate, state: GateState, scores: jax.Array) -> None:
    order = np.random.default_rng(0).permutation(scores.size)
    np.testing.assert_allclose(gate.weights(state, scores[order]), gate.weights(state, scores)[order], rtol=1e-12)


@pytest.mark.parametrize(("slope", "shift"), [(3.0, 0.0), (0.01, 7.0), (250.0, -1e3)])
def test_the_unit_of_the_scores_does_not_matter(
    gate: Gate, state: GateState, scores: jax.Array, slope: float, shift: float
) -> None:
    changed = gate.weights(state, slope * scores + shift)
    np.testing.assert_allclose(changed, gate.weights(state, scores), rtol=1e-9)


def test_cost_is_what_is_not_kept(gate: Gate, state: GateState, scores: jax.Array) -> None:
    weights = gate.weights(state, scores)
    np.testing.assert_array_equal(gate.cost(weights), 1.0 - weights)


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.float64])
def test_equal_scores_weigh_alike_and_have_slopes(gate: Gate, dtype: jnp.dtype) -> None:
    state, equal = gate.init(jnp.dtype(dtype)), jnp.full((9,), -2.5, dtype)
    weights = gate.weights(state, equal)
    assert weights.dtype == dtype
    np.testing.assert_allclose(weights, jax.nn.sigmoid(gate.steepness * gate.cutoff), rtol=1e-5)
    slopes = jax.grad(lambda s: jnp.sum(gate.weights(s, equal)))(state)
    assert all(np.isfinite(leaf) for leaf in jax.tree.leaves(slopes))


def test_both_numbers_of_the_gate_are_trained(gate: Gate, state: GateState, scores: jax.Array) -> None:
    slopes = jax.grad(lambda s: jnp.sum(gate.weights(s, scores)))(state)
    assert slopes.raw_cutoff > 0.0
    assert slopes.raw_steepness != 0.0
