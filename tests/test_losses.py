"""Data losses: closed forms, limits, and refusal of settings that mean nothing."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from napinn.errors import InputError
from napinn.noise.data_term import DataTerm, Location, ScoredMisfits
from napinn.noise.density import Standard
from napinn.noise.likelihood import Likelihood
from napinn.noise.losses import Absolute, Huber, Loss, QGaussian, Squared

MISFITS = jnp.asarray([-30.0, -2.0, -0.5, 0.0, 1e-4, 0.7, 3.0, 1e3])


def tsallis(q: float, misfit: np.ndarray) -> np.ndarray:
    return np.log(1.0 + (q - 1.0) / (2.0 * (3.0 - q)) * misfit**2) / (q - 1.0)


CLOSED_FORMS = [
    (Squared(), lambda r: r**2),
    (Absolute(), np.abs),
    (QGaussian(1.9), lambda r: tsallis(1.9, r)),
    (QGaussian(2.9), lambda r: tsallis(2.9, r)),
    (Huber(0.6), lambda r: np.where(np.abs(r) <= 0.6, r**2, 2 * 0.6 * np.abs(r) - 0.36)),
]
LOSSES = [loss for loss, _ in CLOSED_FORMS]


@pytest.mark.parametrize(("loss", "closed"), CLOSED_FORMS, ids=[str(loss) for loss in LOSSES])
def test_closed_form(loss: Loss, closed) -> None:
    np.testing.assert_allclose(loss(MISFITS), closed(np.asarray(MISFITS)), rtol=1e-6, atol=1e-15)


@pytest.mark.parametrize("loss", LOSSES, ids=str)
@pytest.mark.parametrize("dtype", [jnp.float32, jnp.float64])
def test_every_loss_is_elementwise_even_and_least_at_zero(loss: Loss, dtype: jnp.dtype) -> None:
    misfits = MISFITS.astype(dtype)
    values = loss(misfits)
    assert values.shape == misfits.shape
    assert values.dtype == dtype
    np.testing.assert_array_equal(values, loss(-misfits))
    alone = [loss(misfits[i : i + 1])[0] for i in range(misfits.size)]
    np.testing.assert_allclose(values, alone, rtol=1e-6)
    assert np.all(np.diff(loss(jnp.sort(jnp.abs(misfits)))) > 0.0)
    assert loss(jnp.zeros(1, dtype))[0] == 0.0


@pytest.mark.parametrize("loss", LOSSES, ids=str)
def test_every_slope_is_finite(loss: Loss) -> None:
    assert np.all(np.isfinite(jax.grad(lambda r: jnp.sum(loss(r)))(MISFITS)))


@pytest.mark.parametrize("dtype", [jnp.float32, jnp.float64])
@pytest.mark.parametrize("excess", [1e-3, 1e-6, 1e-9, 1e-12])
def test_q_gaussian_becomes_a_quarter_square_as_q_falls_to_one(excess: float, dtype: jnp.dtype) -> None:
    misfits = jnp.asarray([1e-3, 0.1, 1.0, 2.0], dtype)
    found = QGaussian(1.0 + excess)(misfits)
    np.testing.assert_allclose(found, misfits**2 / 4.0, rtol=max(2.0 * excess, 1e-6))


def test_q_gaussian_grows_without_bound_but_ever_slower() -> None:
    slope = jax.vmap(jax.grad(lambda r: QGaussian(1.9)(r[None])[0]))
    assert np.all(np.diff(slope(jnp.asarray([3.0, 10.0, 100.0, 1e4]))) < 0.0)


@pytest.mark.parametrize("q", [1.0, 3.0, 0.5, 3.1, -2.0, float("nan"), float("inf")])
def test_q_outside_one_to_three_is_refused(q: float) -> None:
    with pytest.raises(InputError, match="between 1 and 3"):
        QGaussian(q)


@pytest.mark.parametrize("delta", [0.0, -1.0, float("nan")])
def test_huber_needs_a_positive_delta(delta: float) -> None:
    with pytest.raises(InputError, match="above 0"):
        Huber(delta)


def test_huber_is_squared_when_nothing_is_beyond_delta() -> None:
    np.testing.assert_allclose(Huber(2e3)(MISFITS), Squared()(MISFITS))


DATA_TERMS = (*LOSSES, Likelihood(), Likelihood(gated=True))


@pytest.mark.parametrize("term", DATA_TERMS, ids=repr)
def test_every_data_term_has_a_score_that_is_the_gradient_of_its_value(term: DataTerm) -> None:
    """With law and gate fixed, before the location is profiled out or anchored."""
    misfit = jnp.asarray([-2.0, -0.3, 0.1, 0.4, 1.5])
    standard, owner = Standard(jnp.zeros(1), jnp.ones(1)), jnp.zeros(5, int)
    scored = ScoredMisfits(owner, standard, -0.5 * misfit**2, -misfit, jnp.linspace(0.2, 1.0, 5), jnp.asarray(0.7))
    bare = replace(term, profiled=False, anchor=0.0) if isinstance(term, Likelihood) else term
    expected = 5 * jax.grad(lambda moved: bare.gated_value(moved, scored))(misfit)
    np.testing.assert_allclose(term.score(misfit, scored), expected, rtol=1e-6)
    assert (term.location == Location()) == (not term.is_law)


def test_a_likelihood_without_a_law_is_refused():
    with pytest.raises(TypeError, match="learns no law"):
        Likelihood().plain_value(jnp.ones(3), None)
