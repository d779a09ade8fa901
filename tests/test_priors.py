"""Prior knowledge: how it is written, and what it does to an answer."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import napinn
from napinn.engines.splines.priors import DISAGREE, PriorRole
from napinn.errors import InputError
from napinn.problem.prior import read_prior


def decay(prior: str | None = None, low: float | None = None, log: bool = False) -> napinn.Problem:
    known = None if prior is None else read_prior(prior)
    return napinn.Problem(
        {"t": (0.0, 1.0)}, ("u",), ("u_t = -k*u",), {"k": napinn.Unknown(low=low, prior=known, log=log)}
    )


def fitted(problem: napinn.Problem, times: np.ndarray, rate: float = 0.8) -> napinn.FitResult:
    noise = 0.01 * np.random.default_rng(3).normal(size=len(times))
    table = pd.DataFrame({"t": times, "u": np.exp(-rate * times) + noise, "sensor": np.arange(len(times))})
    return napinn.fit(problem, napinn.read_readings(table, problem), napinn.bsplines())


@pytest.fixture(scope="module")
def without() -> napinn.FitResult:
    return fitted(decay(), np.linspace(0.0, 1.0, 60))


def interval(result: napinn.FitResult) -> napinn.Interval:
    assert result.uncertainty is not None
    return result.uncertainty.intervals["k"]


def test_where_readings_say_nothing_the_answer_is_the_prior() -> None:
    result = fitted(decay("normal(0.3, 0.05)"), np.linspace(0.0, 1e-3, 12))
    assert result.unknowns["k"] == pytest.approx(0.3, abs=0.001)
    assert interval(result).low == pytest.approx(0.3 - 1.96 * 0.05, abs=0.002)
    assert interval(result).high == pytest.approx(0.3 + 1.96 * 0.05, abs=0.002)
    assert "The prior normal(0.3, 0.05) gives 100 % of the information on 'k'." in result.notes


def test_a_lognormal_prior_is_one_of_the_logarithm() -> None:
    result = fitted(decay("lognormal(0.3, 0.5)"), np.linspace(0.0, 1e-3, 12))
    assert result.unknowns["k"] == pytest.approx(0.3, abs=0.001)
    assert interval(result).low == pytest.approx(0.3 * np.exp(-0.98), rel=0.02)
    assert interval(result).high == pytest.approx(0.3 * np.exp(0.98), rel=0.02)


def test_many_readings_outweigh_a_wide_prior(without: napinn.FitResult) -> None:
    result = fitted(decay("normal(1.0, 0.3)"), np.linspace(0.0, 1.0, 60))
    width = interval(without).high - interval(without).low
    assert abs(result.unknowns["k"] - without.unknowns["k"]) < 0.1 * width


def test_readings_that_contradict_a_prior_are_named() -> None:
    result = fitted(decay("normal(2.0, 0.1)"), np.linspace(0.0, 1.0, 60))
    assert result.status is napinn.FitStatus.DOUBTFUL
    assert any("Readings and prior disagree on 'k'" in note for note in result.notes)


def share_said(result: napinn.FitResult) -> float:
    """Of the information that comes from the prior, as the notes say, in per cent."""
    (said,) = [note for note in result.notes if "of the information" in note]
    return float(said.split(" gives ")[1].split(" %")[0])


def test_the_share_of_a_prior_follows_from_both_precisions(without: napinn.FitResult) -> None:
    deviation = interval(without).error
    result = fitted(decay(f"normal({without.unknowns['k']:.4g}, {deviation:.4g})"), np.linspace(0.0, 1.0, 60))
    assert share_said(result) == pytest.approx(50.0, abs=8.0)


def test_a_prior_that_holds_the_answer_against_the_readings_has_most_of_the_information() -> None:
    """The readings alone are precise; beside the prior their misfits pass for noise, and the answer is the prior."""
    result = fitted(decay("normal(2.0, 0.02)"), np.linspace(0.0, 1.0, 60))
    assert result.unknowns["k"] == pytest.approx(2.0, abs=0.1)
    assert share_said(result) > 60.0


def test_a_logarithmic_scale_gives_the_same_answer_and_an_interval_of_the_logarithm(without: napinn.FitResult) -> None:
    result = fitted(decay(log=True), np.linspace(0.0, 1.0, 60))
    found, ends = result.unknowns["k"], interval(result)
    assert found == pytest.approx(without.unknowns["k"], rel=1e-4)
    assert ends.high / found == pytest.approx(found / ends.low, rel=0.02)


@pytest.mark.parametrize(("apart", "disagrees"), [(0.99 * DISAGREE, False), (1.01 * DISAGREE, True)])
def test_the_limit_of_disagreement(apart: float, disagrees: bool) -> None:
    unknown = napinn.Unknown(prior=read_prior("normal(1.0, 0.3)"))
    role = PriorRole("k", unknown, 1.0 + apart * 0.5, 0.4, 0.6)
    assert role.disagree is disagrees


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("normal(0.3, 0.05, 1)", "cannot be read"),
        ("normale(0.3, 0.05)", "there is no prior 'normale'"),
        ("normal(a, 0.05)", "two numbers"),
        ("normal(0.3, -1)", "deviation above 0"),
        ("lognormal(-0.3, 1)", "median above 0"),
        ("normal(nan, 1)", "finite numbers"),
    ],
)
def test_a_bad_prior_is_one_sentence(text: str, said: str) -> None:
    with pytest.raises(InputError, match=said.replace("(", r"\(")):
        read_prior(text)


def test_a_prior_outside_the_bounds_is_refused() -> None:
    with pytest.raises(InputError, match="centre outside the bounds"):
        decay("normal(0.3, 0.05)", low=1.0)


def test_a_logarithm_needs_a_positive_range() -> None:
    with pytest.raises(InputError, match="logarithmic scale"):
        decay(log=True, low=-1.0)


def test_a_prior_is_kept_in_the_run_folder(tmp_path: Path) -> None:
    result = fitted(decay("lognormal(0.75, 0.5)"), np.linspace(0.0, 1.0, 30))
    napinn.save(result, tmp_path / "run")
    assert napinn.load(tmp_path / "run").problem.unknowns["k"] == result.problem.unknowns["k"]


def test_a_network_refuses_a_prior_in_one_sentence() -> None:
    problem = decay("normal(0.3, 0.05)")
    assert problem.spline_only == "unknown 'k' has a prior"
