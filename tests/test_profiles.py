"""Profile likelihood: closed forms of its ends and classes, and profiles of small fits."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import napinn
from napinn import plot
from napinn.cli.console import Console
from napinn.cli.running import show_unknowns
from napinn.engines.base import backend_of
from napinn.errors import InputError
from napinn.evaluation import finishing
from napinn.report.html import report_html
from napinn.report.identifiability import correlation_sentence, identifiability_charts
from napinn.results.profiles import FLAT, THRESHOLD, Identifiability, Profile


def parabola(low: float, high: float, error: float = 1.0) -> Profile:
    values = np.linspace(low, high, 21)
    return Profile(values, 0.5 * (values / error) ** 2)


def logistic(equation: str, unknowns: dict[str, napinn.Unknown]) -> napinn.FitResult:
    t = np.linspace(0.0, 10.0, 40)
    u = 1.0 / (1.0 + 9.0 * np.exp(-0.8 * t)) + 0.03 * np.random.default_rng(1).normal(size=40)
    problem = napinn.Problem({"t": (0.0, 10.0)}, ("u",), (equation,), unknowns)
    result = napinn.fit(problem, napinn.read_readings(pd.DataFrame({"t": t, "u": u}), problem), napinn.bsplines())
    return with_profiles(result)


def with_profiles(result: napinn.FitResult) -> napinn.FitResult:
    return replace(result, profiles=backend_of(result.method).profiles(result))


@pytest.fixture(scope="module")
def growth() -> napinn.FitResult:
    unknowns = {"r": napinn.Unknown(0.5, low=0.0), "K": napinn.Unknown(1.5, low=0.0)}
    return logistic("u_t = r*u*(1-u/K)", unknowns)


def test_the_ends_of_a_parabola_are_those_of_a_normal_interval() -> None:
    profile = parabola(-3.0, 3.0)
    assert profile.low == pytest.approx(-1.96, abs=1e-3)
    assert profile.high == pytest.approx(1.96, abs=1e-3)
    assert profile.kind is Identifiability.IDENTIFIABLE


def test_a_side_below_the_threshold_is_open() -> None:
    profile = parabola(-3.0, 1.0)
    assert profile.high == np.inf
    assert profile.kind is Identifiability.PRACTICALLY_NOT
    assert profile.interval == "above -1.96"


@pytest.mark.parametrize(
    ("height", "kind"),
    [(0.9 * FLAT, Identifiability.STRUCTURALLY_NOT), (1.1 * FLAT, Identifiability.PRACTICALLY_NOT)],
)
def test_a_flat_profile_is_structural(height: float, kind: Identifiability) -> None:
    assert Profile(np.array([-1.0, 0.0, 1.0]), np.array([height, 0.0, height])).kind is kind


@pytest.mark.parametrize("factor", [0.99, 1.01])
def test_the_threshold_decides_whether_an_end_is_found(factor: float) -> None:
    profile = Profile(np.array([-3.0, 0.0, 1.0]), np.array([9.0, 0.0, factor * THRESHOLD]))
    assert np.isfinite(profile.high) == (factor > 1.0)


def test_profiles_agree_with_intervals_where_the_problem_is_nearly_linear(growth: napinn.FitResult) -> None:
    assert growth.uncertainty is not None
    for name, truth in (("r", 0.8), ("K", 1.0)):
        profile, error = growth.profiles[name], growth.uncertainty.intervals[name].error
        assert profile.kind is Identifiability.IDENTIFIABLE
        assert profile.low < truth < profile.high
        assert profile.high - profile.low == pytest.approx(3.92 * error, rel=0.5)


def test_a_product_of_unknowns_is_structurally_not_identifiable() -> None:
    result = logistic("u_t = a*b*u*(1-u)", {"a": napinn.Unknown(0.5, low=0.0), "b": napinn.Unknown(1.5, low=0.0)})
    assert {each.kind for each in result.profiles.values()} == {Identifiability.STRUCTURALLY_NOT}
    assert result.profiles["a"].interval == "any value"


def test_profiles_are_kept_in_the_run_folder_and_shown(growth: napinn.FitResult, tmp_path: Path) -> None:
    napinn.save(growth, tmp_path / "run")
    again = napinn.load(tmp_path / "run")
    assert again.profiles["r"].high == pytest.approx(growth.profiles["r"].high)
    # A run that was read back is profiled as the fit itself is.
    fresh = backend_of(again.method).profiles(again)
    assert fresh["r"].high == pytest.approx(growth.profiles["r"].high, rel=1e-3)
    page = report_html(again)
    assert "Profile likelihood of r" in page
    # Two unknowns have one correlation, which is a sentence and no chart.
    assert again.uncertainty is not None
    assert again.uncertainty.correlation is not None
    assert f"The correlation of r and K is {again.uncertainty.correlation[0, 1]:.2f}." in page
    assert "Correlation of the unknowns" not in page
    assert len(plot.profile(again)) == 2
    assert len(plot.correlation(again)) == 1


def test_the_answer_of_a_fit_with_profiles_shows_their_classes(
    growth: napinn.FitResult, capsys: pytest.CaptureFixture[str]
) -> None:
    show_unknowns(growth, Console())
    shown = capsys.readouterr().out
    assert "95 % interval by profile" in shown
    assert shown.count(Identifiability.IDENTIFIABLE.value) == 2


@pytest.mark.parametrize(("count", "charts", "said"), [(1, 0, False), (2, 0, True), (3, 1, False)])
def test_the_correlation_is_a_sentence_for_two_unknowns_and_a_chart_for_more(
    growth: napinn.FitResult, count: int, charts: int, said: bool
) -> None:
    assert growth.uncertainty is not None
    names = [f"k{number}" for number in range(count)]
    equations = (f"u_t = -u*({' + '.join(names)})",)
    problem = replace(growth.problem, unknowns=dict.fromkeys(names, napinn.Unknown(1.0)), equations=equations)
    known = replace(growth.uncertainty, correlation=np.full((count, count), 0.5))
    result = replace(growth, problem=problem, uncertainty=known, profiles={})
    assert len(identifiability_charts(result)) == charts
    assert bool(correlation_sentence(result)) == said


def test_a_method_without_profiles_keeps_the_fit_and_says_so(growth: napinn.FitResult) -> None:
    again = finishing.with_profiles(replace(growth, method=napinn.law_pinn(5), profiles={}))
    assert again.profiles == {}
    assert "method 'law_pinn' has no profile likelihood" in again.notes[-1]


def test_a_profile_of_other_shapes_is_refused() -> None:
    with pytest.raises(InputError, match="ascending values"):
        Profile(np.array([1.0, 0.0]), np.array([0.0, 1.0]))
