"""Noise laws: scores are derivatives of losses, the learned law is a density and finds what the noise is."""

import numpy as np
import pytest
from scipy.integrate import quad

from napinn.engines.splines.model import SplineNoise
from napinn.noise.kernels import learn_kernels
from napinn.noise.laws import Cauchy, Gaussian, Huber, deviation
from napinn.noise.mixture import (
    BROAD,
    REACH,
    TAIL_REACH,
    Mixture,
    few_readings_law,
    learn_mixture,
)

FOUR = Mixture(
    np.array([0.3, 0.2, 0.25, 0.2, 0.03]), np.array([-1.5, -0.5, 0.5, 1.5, 0.2]),
    np.array([0.1, 0.15, 0.1, 0.12, 3.0]), 0.02,
)  # fmt: skip
"""Four peaks, a broad component and a tail."""
PLACES = np.array([-30.0, -8.0, -2.3, -1.41, -0.6, 0.0, 0.3, 0.97, 1.8, 5.0, 40.0])


def drawn(law, count, seed=0):
    """Misfits from a mixture."""
    random = np.random.default_rng(seed)
    part = random.choice(len(law.weights) + 1, size=count, p=[*law.weights, law.tail])
    centre, width = np.append(law.means, 0.0)[part], np.append(law.widths, 0.0)[part]
    flat = random.uniform(-TAIL_REACH, TAIL_REACH, count)
    return np.where(part == len(law.weights), flat, centre + width * random.normal(size=count))


def divergence(law, truth):
    """The mean loss of a law for misfits of another, above that of the other: a divergence, never negative."""
    places = np.linspace(-REACH, REACH, 20_001)
    density = truth.density(places)
    return float(np.sum(density * (law.loss(places) - truth.loss(places))) / np.sum(density))


@pytest.mark.parametrize(
    "law",
    [Huber(), Huber(1.5), Cauchy(), Gaussian(), FOUR],
    ids=["huber", "huber 1.5", "cauchy", "gaussian", "mixture"],
)
def test_the_score_is_the_derivative_of_the_loss(law):
    step = 1e-6
    slope = (law.loss(PLACES + step) - law.loss(PLACES - step)) / (2.0 * step)
    np.testing.assert_allclose(law.score(PLACES), slope, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize(
    "law", [Huber(1.5), Cauchy(), Gaussian(), FOUR], ids=["huber", "cauchy", "gaussian", "mixture"]
)
def test_the_bend_is_the_derivative_of_the_score(law):
    step = 1e-6
    slope = (law.score(PLACES + step) - law.score(PLACES - step)) / (2.0 * step)
    np.testing.assert_allclose(law.second_derivative(PLACES), slope, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("law", [Huber(), Cauchy(), FOUR], ids=["huber", "cauchy", "mixture"])
def test_the_curvature_is_never_negative(law):
    curvature = law.curvature(PLACES)
    assert curvature.shape == PLACES.shape
    assert (curvature >= 0.0).all()


def test_working_laws_are_least_squares_near_zero():
    small = np.array([-1e-3, 1e-3])
    for law in (Huber(), Cauchy()):
        np.testing.assert_allclose(law.loss(small), 0.5 * small**2, rtol=1e-5)
        assert not law.located


def test_the_cauchy_law_is_as_efficient_as_it_is_said():
    """95 % of least squares where the noise is Gaussian: (E ψ')² / E ψ²."""
    law = Cauchy()
    gauss = lambda x: np.exp(-0.5 * x**2) / np.sqrt(2.0 * np.pi)  # noqa: E731
    squares = quad(lambda x: float(law.score(np.array([x]))[0]) ** 2 * gauss(x), -12, 12)[0]
    # Integration by parts: E ψ' = E x ψ.
    slope = quad(lambda x: x * float(law.score(np.array([x]))[0]) * gauss(x), -12, 12)[0]
    assert slope**2 / squares == pytest.approx(0.95, abs=0.005)


def test_the_robust_deviation_is_that_of_gaussian_noise_and_ignores_outliers():
    misfits = np.random.default_rng(0).normal(0.0, 2.0, 20_000)
    assert deviation(misfits) == pytest.approx(2.0, rel=0.02)
    misfits[::20] = 1e6
    assert deviation(misfits) == pytest.approx(2.0, rel=0.1)


def test_a_mixture_is_a_density_and_its_distribution_is_the_integral():
    total = quad(lambda x: float(FOUR.density(np.array([x]))[0]), -TAIL_REACH, TAIL_REACH, points=[-3, 0, 3], limit=400)
    assert total[0] == pytest.approx(1.0, abs=1e-6)
    for place in (-4.0, 0.4, 1.6):
        below = quad(lambda x: float(FOUR.density(np.array([x]))[0]), -TAIL_REACH, place, points=[-3.0, 0.0], limit=400)
        assert float(FOUR.distribution(np.array([place]))[0]) == pytest.approx(below[0], abs=1e-6)


def test_the_information_of_one_gaussian_is_that_of_its_width():
    narrow = Mixture(np.array([1.0, 0.0]), np.zeros(2), np.array([0.5, BROAD]), 0.0)
    assert narrow.information == pytest.approx(4.0, rel=1e-6)
    np.testing.assert_array_equal(narrow.curvature(PLACES), narrow.information)


def test_four_peaks_are_learned():
    misfits = drawn(FOUR, 20_000)
    law = learn_mixture(misfits, 0.05)
    assert law.located
    assert law.components == 4
    order = np.argsort(law.means[:-1])
    np.testing.assert_allclose(law.means[:-1][order], FOUR.means[:-1], atol=0.02)
    np.testing.assert_allclose(law.widths[:-1][order], FOUR.widths[:-1], rtol=0.15)
    np.testing.assert_allclose(law.weights[:-1][order], FOUR.weights[:-1], atol=0.02)
    assert divergence(law, FOUR) < 0.01
    assert law.weights.sum() + law.tail == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_gaussian_noise_has_one_centred_component(seed):
    misfits = np.random.default_rng(seed).normal(size=800)
    law = learn_mixture(misfits, 0.05)
    assert law.components == 1
    assert not law.located
    assert not law.means.any()
    # The broad component may share the peak; what counts is their sum.
    gaussian = Mixture(np.array([1.0, 0.0]), np.zeros(2), np.array([1.0, BROAD]), 0.0)
    assert divergence(law, gaussian) < 0.01
    assert law.information == pytest.approx(1.0, abs=0.2)


def test_heavy_tails_are_put_into_the_broad_component_and_the_tail():
    random = np.random.default_rng(3)
    misfits = random.normal(size=4000)
    misfits[:200] = random.uniform(-40.0, 40.0, 200)
    law = learn_mixture(misfits, 0.05)
    beyond = np.mean(np.abs(misfits) >= REACH)
    assert law.tail == pytest.approx(beyond)
    assert law.loss(np.array([20.0]))[0] < 12.0
    assert law.weights[0] == pytest.approx(0.95, abs=0.03)


@pytest.mark.parametrize("floor", [0.05, 0.3, 0.6])
def test_no_component_is_narrower_than_the_floor(floor):
    law = learn_mixture(drawn(FOUR, 4000), floor)
    assert law.widths.min() >= floor


def test_a_law_of_equal_misfits_does_not_sharpen_below_the_floor():
    law = learn_mixture(np.full(500, 0.25), 0.1)
    assert law.widths.min() >= 0.1
    assert np.isfinite(law.loss(PLACES)).all()


def test_the_law_of_few_readings_is_mostly_prior():
    assert few_readings_law(np.zeros(0)).weights[0] == pytest.approx(0.93)
    clean = few_readings_law(np.random.default_rng(0).normal(size=20))
    assert clean.components == 1
    assert clean.weights[0] > 0.9
    assert clean.weights.sum() + clean.tail == pytest.approx(1.0, abs=1e-12)
    assert clean.widths[0] == 1.0
    assert not clean.located


def test_the_law_of_few_readings_sees_gross_errors():
    random = np.random.default_rng(1)
    clean = random.normal(size=30)
    corrupted = np.concatenate([clean, random.choice([-1.0, 1.0], 10) * random.uniform(20.0, 50.0, 10)])
    assert few_readings_law(corrupted).tail > 5.0 * few_readings_law(clean).tail


def test_the_noise_law_of_a_field_is_a_density_in_its_own_unit():
    noise = SplineNoise(FOUR, 0.3, 0.01)
    places = 0.3 + 0.01 * np.linspace(-TAIL_REACH, TAIL_REACH, 400_001)
    density = np.exp(noise.log_prob(places))
    assert np.trapezoid(density, places) == pytest.approx(1.0, abs=1e-3)
    assert (noise.centre, noise.scale) == (0.3, 0.01)


# ---- kernels ---------------------------------------------------------------------------------------------------------
TWO = Mixture(np.array([0.6, 0.35, 0.03]), np.array([-0.8, 1.4, 0.0]), np.array([0.3, 0.3, 3.0]), 0.02)
"""Two peaks of different height."""


@pytest.mark.parametrize("truth", [TWO, FOUR], ids=["two peaks", "four peaks"])
def test_kernels_find_a_law_of_several_peaks(truth):
    law = learn_kernels(drawn(truth, 4000), 0.05)
    assert divergence(law, truth) < 0.03
    assert law.located


def test_kernels_find_a_skewed_law():
    """An exponential law, less its median: a cliff to the left, a slope to the right."""
    misfits = np.random.default_rng(0).exponential(1.0, 4000) - np.log(2.0)
    places = np.array([-0.4, 0.0, 0.5, 1.5, 3.0])
    found = learn_kernels(misfits, 0.05).density(places)
    np.testing.assert_allclose(found, np.exp(-(places + np.log(2.0))), rtol=0.25)
    assert learn_kernels(misfits, 0.05).density(np.array([-1.2]))[0] < 0.05


def test_the_table_of_many_kernels_is_their_sum():
    law = learn_kernels(drawn(TWO, 2000), 0.05)
    places = np.linspace(-40.0, 40.0, 3001)
    np.testing.assert_allclose(law.loss(places), -np.log(law.density(places)), atol=1e-4)
    step = 1e-6
    slope = (law.loss(PLACES + step) - law.loss(PLACES - step)) / (2.0 * step)
    np.testing.assert_allclose(law.score(PLACES), slope, rtol=1e-4, atol=1e-5)
    assert quad(lambda x: float(law.density(np.array([x]))[0]), -60, 60, limit=500)[0] == pytest.approx(1.0, abs=1e-3)


def test_a_gross_error_makes_no_peak_of_its_own():
    """A narrow kernel at a single misfit would draw the field towards it."""
    misfits = np.append(np.random.default_rng(0).normal(size=2000), 9.0)
    law = learn_kernels(misfits, 0.05)
    assert np.abs(law.score(np.array([8.5, 9.5]))).max() < 1.0


def test_two_narrow_peaks_are_not_taken_for_one_peak_and_its_broad_part():
    law = learn_mixture(drawn(TWO, 4000), 0.05)
    assert law.components >= 2
    assert divergence(law, TWO) < 0.01


@pytest.mark.parametrize("count", [400, 800])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_skewed_noise_has_a_law_with_a_location_and_symmetric_noise_has_none(count, seed):
    """One centred component would put the field at the peak, and a nonlinear equation would shift the unknowns."""
    random = np.random.default_rng(seed)
    skewed = random.gamma(2.0, size=count)
    for misfits, located in ((skewed, True), (random.laplace(size=count), False), (random.normal(size=count), False)):
        middle = misfits - np.median(misfits)
        assert learn_mixture(middle / deviation(middle), 0.3).located is located


@pytest.mark.parametrize(("place", "width"), [(5.0, 0.3), (0.0, 3.0), (2.0, 2.5)])
def test_one_peak_and_gross_errors_are_a_law_of_one_component(place, width):
    """Gross errors that lie outside the bulk, or are broad, leave the field its location."""
    random = np.random.default_rng(0)
    law = learn_mixture(np.append(random.normal(size=3600), random.normal(place, width, 400)), 0.3)
    assert not law.located
    np.testing.assert_array_equal(law.means, 0.0)
