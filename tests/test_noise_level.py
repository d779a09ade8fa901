"""Noise that depends on the value of its field is seen, and even noise of any law is not."""

import numpy as np
import pytest

from napinn.diagnostics.noise_level import FEWEST, UNEVEN, noise_ratio


def drawn(seed: int, count: int, power: float) -> tuple[np.ndarray, np.ndarray]:
    """Values over two decades, and Student noise whose deviation is a power of the value."""
    rng = np.random.default_rng(seed)
    values = 10.0 ** rng.uniform(-1.0, 1.0, count)
    return values, 0.05 * values**power * rng.standard_t(3, count)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("power", [1.0, -1.0])
def test_noise_in_proportion_to_the_value_or_its_inverse_is_seen(power, seed):
    ratio = noise_ratio(*drawn(seed, 200, power))
    assert ratio is not None
    assert (ratio > UNEVEN) == (power > 0)


def test_even_noise_with_outliers_is_not():
    for seed in range(200):
        values, misfits = drawn(seed, 120, 0.0)
        misfits[::10] += 2.0
        assert noise_ratio(values, misfits) is None


def test_a_difference_below_the_threshold_is_not():
    values = np.linspace(1.0, 2.0, 3000)
    rng = np.random.default_rng(0)
    for factor, seen in ((0.7 * UNEVEN, False), (1.5 * UNEVEN, True)):
        deviation = np.where(np.arange(3000) < 1500, 1.0, factor)
        assert (noise_ratio(values, deviation * rng.standard_normal(3000)) is not None) == seen


def test_few_readings_say_nothing():
    values = np.linspace(1.0, 10.0, FEWEST)
    misfits = values**3 * np.where(np.arange(FEWEST) % 2, 1.0, -1.0)
    assert noise_ratio(values, misfits) is not None
    assert noise_ratio(values[1:], misfits[1:]) is None
