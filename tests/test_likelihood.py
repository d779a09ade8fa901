"""The likelihood loss: its value, its gradient, and what it leaves to the equation."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from napinn.engines.network.training.coherence import noise_share
from napinn.noise.data_term import ScoredMisfits
from napinn.noise.density import EBM, GMM, KDE, Compressed, Density, RunningSpread, Standard
from napinn.noise.likelihood import Likelihood, learn_and_score

TWO_FIELDS = Standard(jnp.asarray([0.1, -0.4]), jnp.asarray([0.5, 2.0]))
OWNER = jnp.tile(jnp.arange(2), 50)
MISFIT = jax.random.normal(jax.random.key(0), (100,)) * TWO_FIELDS.scale[OWNER] + TWO_FIELDS.centre[OWNER]
TRUST = jnp.mean(TWO_FIELDS.scale[OWNER] ** 2) / TWO_FIELDS.scale[OWNER] ** 2
"""Squares of a field count for as much as its noise is small beside that of the others."""
FREE = Likelihood(anchor=0.0)
ONE = jnp.ones(())
SMALL_EBM = EBM(width=16, depth=2, nodes=64)


def gaussian(misfit, standard=TWO_FIELDS, owner=OWNER):
    """Log-densities and slopes of the standard normal law at standardised misfits."""
    z = standard(misfit, owner)
    return -0.5 * z * z - 0.5 * jnp.log(2 * jnp.pi), -z


def slopes(loss: Likelihood, misfit, weights=None):
    log_prob, slope = gaussian(misfit)
    weights = jnp.ones_like(misfit) if weights is None else weights
    return jax.grad(lambda m: loss.gated_value(m, ScoredMisfits(OWNER, TWO_FIELDS, log_prob, slope, weights, ONE)))(
        misfit
    )


def by_field(values):
    return np.asarray(values).reshape(-1, 2)


def test_a_gaussian_law_gives_half_squares_about_the_centre_of_each_field():
    found = slopes(Likelihood(anchor=0.0, profiled=False), MISFIT)
    np.testing.assert_allclose(found, TRUST * (MISFIT - TWO_FIELDS.centre[OWNER]) / 100, rtol=1e-10)


def test_profiled_it_does_not_feel_a_constant_added_to_a_field():
    """Least squares about the batch's own mean: no pull along a common shift of either field."""
    found = by_field(slopes(FREE, MISFIT))
    np.testing.assert_allclose(found.sum(axis=0), 0.0, atol=1e-12)
    misfit = by_field(MISFIT)
    np.testing.assert_allclose(found, by_field(TRUST) * (misfit - misfit.mean(axis=0)) / 100, rtol=1e-9, atol=1e-12)


def test_the_anchor_pulls_the_median_of_accepted_readings_to_zero():
    """A third of one-sided outliers shift the median of all readings, yet the anchor rests where the good ones do."""
    z = np.sort(np.random.default_rng(0).standard_normal(400))
    good = 0.5 * (z - z[::-1])
    misfit = jnp.asarray(np.concatenate([good, np.full(200, 8.0)]))
    weights = jnp.asarray(np.concatenate([np.ones(400), np.zeros(200)]))
    standard, owner = Standard(jnp.zeros(1), jnp.ones(1)), jnp.zeros((600,), int)

    def common_pull(shift):
        log_prob, slope = gaussian(misfit + shift, standard, owner)
        loss = Likelihood(anchor=0.1)
        scored = ScoredMisfits(owner, standard, log_prob, slope, weights, ONE)
        return jax.grad(lambda s: loss.gated_value(misfit + s, scored))(shift)

    assert float(common_pull(0.0)) == pytest.approx(0.0, abs=1e-10)
    assert float(common_pull(0.2)) > 1e-3
    assert float(common_pull(-0.2)) < -1e-3


def test_a_reading_beyond_the_clip_pulls_at_nothing_and_costs_the_clip():
    far = MISFIT.at[3].add(1e3)
    log_prob, slope = gaussian(far)
    loss = Likelihood(clip=12.0, anchor=0.0, profiled=False)
    assert float(slopes(loss, far)[3]) == 0.0
    scale = TWO_FIELDS.scale[OWNER]
    expected = np.mean(np.asarray(scale**2)) * np.mean(np.minimum(-np.asarray(log_prob), 12.0))
    scored = ScoredMisfits(OWNER, TWO_FIELDS, log_prob, slope, jnp.ones_like(far), ONE)
    assert float(loss.gated_value(far, scored)) == pytest.approx(expected)


def test_gated_readings_weigh_what_the_gate_says():
    weights = jnp.where(jnp.arange(100) < 30, 0.0, 1.0)
    found = slopes(Likelihood(gated=True, anchor=0.0, profiled=False), MISFIT, weights)
    assert float(jnp.abs(found[:30]).max()) == 0.0
    assert float(jnp.abs(found[30:]).min()) > 0.0


@pytest.mark.parametrize(
    "density", [SMALL_EBM, GMM(), KDE(size=256), Compressed(SMALL_EBM)], ids=lambda d: type(d).__name__
)
def test_slopes_come_from_the_pass_that_learns(density: Density):
    misfits = jax.random.normal(jax.random.key(1), (64,))
    key = jax.random.key(2)
    state = density.init(key, misfits)
    after, log_prob, slope = jax.jit(lambda s, m: learn_and_score(density, s, m, key))(state, misfits)
    alone, scored = jax.jit(density.update)(state, misfits, key)
    np.testing.assert_allclose(log_prob, scored, rtol=1e-12)
    expected = jax.jit(jax.grad(lambda m: jnp.sum(density.log_prob(state, m))))(misfits)
    np.testing.assert_allclose(slope, expected, rtol=1e-6, atol=1e-9)
    for new, same in zip(jax.tree.leaves(after), jax.tree.leaves(alone), strict=True):
        np.testing.assert_allclose(new, same, rtol=1e-8, atol=1e-12)


def test_far_clusters_of_outliers_stay_improbable_when_compressed():
    """Fifteen per cent of readings at exactly one far value: a spike, and yet less dense than the good readings."""
    rng = np.random.default_rng(0)
    misfits = jnp.asarray(np.concatenate([rng.standard_normal(850), np.full(150, 500.0)]))
    density = Compressed(EBM(low=-15.0, high=15.0, nodes=512))
    state = density.init(jax.random.key(0), misfits)
    update = jax.jit(density.update)
    for _ in range(300):
        state, _ = update(state, misfits, jax.random.key(1))
    near, far = density.log_prob(state, jnp.asarray([0.0, 500.0]))
    assert float(near) > float(far) + 3.0


def test_centre_and_spread_ignore_gross_outliers_and_follow_each_field():
    rng = np.random.default_rng(0)
    clean = np.stack([3.0 + 0.5 * rng.standard_normal(2000), -1.0 + 4.0 * rng.standard_normal(2000)], axis=1)
    clean[:200] += 1e6
    misfits, owner = jnp.asarray(clean.reshape(-1)), jnp.tile(jnp.arange(2), 2000)
    measured = RunningSpread().measure(misfits, owner, 3)
    np.testing.assert_allclose(measured.centre[:2], [3.0, -1.0], atol=0.7)
    np.testing.assert_allclose(measured.scale[:2], [0.5, 4.0], rtol=0.25)
    assert (float(measured.centre[2]), float(measured.scale[2])) == (0.0, 1.0)  # A field without readings.


def test_a_field_that_is_rare_in_batches_keeps_its_spread():
    """Two misfits of it, one or none say nothing; what was measured on all readings stands."""
    scale, random = RunningSpread(), np.random.default_rng(0)
    standard = Standard(jnp.zeros(2), jnp.full((2,), 0.05))
    for _ in range(200):
        rare = int(random.poisson(1.5))
        misfits = jnp.asarray(0.05 * random.standard_normal(100))
        standard = scale.update(standard, misfits, jnp.asarray([1] * rare + [0] * (100 - rare)))
    np.testing.assert_allclose(standard.scale, [0.05, 0.05], rtol=0.1)


def test_misfits_that_are_not_noise_are_taken_as_absolute():
    log_prob, slope = gaussian(MISFIT)
    weights = jnp.ones_like(MISFIT)

    def total(misfit):
        return FREE.gated_value(misfit, ScoredMisfits(OWNER, TWO_FIELDS, log_prob, slope, weights, jnp.zeros(())))

    assert float(total(MISFIT)) == pytest.approx(float(jnp.mean(jnp.abs(MISFIT))))
    np.testing.assert_allclose(jax.grad(total)(MISFIT), jnp.sign(MISFIT) / 100)


def test_noise_is_told_from_what_the_field_has_not_learned():
    rng = np.random.default_rng(0)
    places, owner = rng.uniform(0, 1, (4000, 2)), rng.integers(0, 2, 4000)
    front = np.exp(-(((places[:, 0] - 0.5) / 0.1) ** 2))
    skewed = rng.exponential(size=4000)
    outliers = np.where(rng.random(4000) < 0.15, rng.uniform(3, 10, 4000), 0.0)
    assert noise_share(skewed + outliers, places, owner) == 1.0
    assert noise_share(front, places, owner) == 0.0
    assert noise_share(skewed + outliers + 0.3 * front, places, owner) == 1.0
    assert 0.0 <= noise_share(0.03 * skewed + front, places, owner) < 0.5
    assert noise_share(rng.standard_normal(6), places[:6], np.zeros(6, int)) == 1.0
    # Readings that repeat a place judge each other.
    twice = np.repeat(places[:500], 2, axis=0)
    assert noise_share(np.repeat(rng.standard_normal(500), 2), twice, np.zeros(1000, int)) == 0.0
