"""The choice of the noise law with splines: what it finds, what is saved, and which method a name selects."""

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import curve_fit
from scipy.signal import find_peaks

from napinn import InputError, load, read_table, save
from napinn.cli.choice import Choice
from napinn.engines.choice import estimator_of
from napinn.engines.fitting import fit
from napinn.engines.splines.method import automatic, bsplines
from spline_cases import DECAY, decaying, small_decay

WIDTH, APART, SHARE = 0.02, 0.16, 0.6
"""Of two peaks of noise: the width of each, the distance between them, and how much of the noise is the lower one."""


def fitted(table, density):
    return fit(small_decay(), read_table(table, ("t",), ("u",)), bsplines(density))


@pytest.fixture(scope="module")
def two_peaks():
    random = np.random.default_rng(0)
    times = np.sort(random.uniform(0.0, 3.0, 1500))
    upper = random.uniform(size=1500) > SHARE
    noise = random.normal(0.0, WIDTH, 1500) + APART * (upper - (1.0 - SHARE))
    return pd.DataFrame({"t": times, "u": np.exp(-DECAY * times) + noise})


@pytest.mark.parametrize("density", ["mixture", "kde"])
def test_noise_of_two_peaks_is_found(density, two_peaks, tmp_path):
    result = fitted(two_peaks, density)
    noise = result.noise["u"]
    places = np.linspace(-0.3, 0.3, 601)
    found = noise.pdf(places)
    low, high = places[find_peaks(found, height=0.2 * found.max())[0]]
    assert high - low == pytest.approx(APART, abs=0.02)
    # The valley between the peaks is deep, and the shares are those of the noise.
    assert found[np.abs(places - 0.5 * (low + high)).argmin()] < 0.2 * found.max()
    below = np.trapezoid(np.where(places < 0.5 * (low + high), found, 0.0), places)
    assert below == pytest.approx(SHARE, abs=0.05)
    assert result.unknowns["k"] == pytest.approx(DECAY, rel=0.03)
    save(result, tmp_path / "run")
    again = load(tmp_path / "run")
    assert again.method.density == density  # pyright: ignore[reportAttributeAccessIssue]
    np.testing.assert_array_equal(again.noise["u"].pdf(places), found)


def test_a_learned_law_is_more_precise_than_a_fixed_one(two_peaks):
    """Standard errors: the law of two narrow peaks holds the field more tightly than their common deviation."""
    errors = {name: fitted(two_peaks, name).uncertainty.intervals["k"].error for name in ("kde", "mixture", "cauchy")}
    assert errors["kde"] < 0.8 * errors["cauchy"]
    assert errors["mixture"] < 0.8 * errors["cauchy"]


def test_the_gaussian_law_is_least_squares_and_cauchys_is_robust():
    table = decaying(60, 0.02)
    plain = curve_fit(lambda t, k, a: a * np.exp(-k * t), table["t"], table["u"], p0=(0.5, 1.0))[0][0]
    assert fitted(table, "gaussian").unknowns["k"] == pytest.approx(plain, rel=2e-3)
    corrupted = table.assign(u=np.where(np.arange(60) % 12 == 5, 2.0, table["u"]))
    pulled = curve_fit(lambda t, k, a: a * np.exp(-k * t), corrupted["t"], corrupted["u"], p0=(0.5, 1.0))[0][0]
    assert fitted(corrupted, "gaussian").unknowns["k"] == pytest.approx(pulled, rel=0.02)
    assert fitted(corrupted, "cauchy").unknowns["k"] == pytest.approx(plain, rel=0.05)


def test_a_fixed_law_is_not_learned_however_many_readings_there_are(two_peaks):
    result = fitted(two_peaks, "cauchy")
    places = np.linspace(-0.3, 0.3, 601)
    slopes = np.sign(np.diff(result.noise["u"].pdf(places)))
    assert np.count_nonzero(np.diff(slopes)) == 1


def test_an_unknown_density_is_refused_in_one_sentence():
    for method in (bsplines, automatic):
        with pytest.raises(InputError, match=r"there is no density 'ebm' of splines; .*mixture"):
            method("ebm")


# ---- which method a name selects ------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("choice", "method"),
    [
        (Choice(), "auto"),
        (Choice(density="kde"), "auto"),
        (Choice(density="mixture"), "splines"),
        (Choice(density="cauchy"), "splines"),
        (Choice(density="ebm"), "law_pinn"),
        (Choice(density="gmm"), "law_pinn"),
        (Choice(density="kde", backbone="mlp"), "law_pinn"),
        (Choice("splines", density="kde"), "splines"),
        (Choice("na_pinn", density="kde"), "na_pinn"),
    ],
)
def test_a_density_selects_the_method_that_has_it(choice, method):
    assert choice.check().name == method


def test_the_density_reaches_the_method():
    assert Choice(density="gaussian").make() == bsplines("gaussian")
    assert Choice(density="kde").make() == automatic("kde")


@pytest.mark.parametrize(
    ("choice", "sentence"),
    [
        (Choice("splines", density="ebm"), r"has no density 'ebm', only mixture, .*; use --method law_pinn\.$"),
        (Choice("auto", density="gmm"), r"'auto' has no density 'gmm', only mixture, .*; use --method law_pinn\.$"),
        (Choice("auto", density="cauchy"), r"a network, which has no density 'cauchy'; use --method splines\.$"),
        (Choice("law_pinn", density="mixture"), r"has no density 'mixture', only ebm, .*; use --method splines\.$"),
        (Choice(density="cauchy", backbone="mlp"), r"'law_pinn', which --backbone asks for, has no density 'cauchy'"),
        (Choice("pinn", density="mixture"), r"'pinn' has no choice of density; leave out --density\.$"),
        (Choice(density="mixtur"), r"there is no density 'mixtur'; .*mixture"),
    ],
)  # fmt: skip
def test_a_contradiction_is_one_sentence(choice, sentence):
    with pytest.raises(InputError, match=sentence) as refused:
        choice.check()
    assert len(str(refused.value).splitlines()) == 1


def test_a_network_that_takes_over_learns_kernels_where_these_were_asked_for():
    from napinn.engines.network.methods import compressed
    from napinn.noise.density import KDE

    assert estimator_of("kde") == {"estimator": compressed(KDE())}
    assert estimator_of("mixture") == {}
