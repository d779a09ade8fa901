"""Coefficients that vary: how they are written, closed forms of their splines, and functions found from readings."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import napinn
from napinn import VaryingUnknown
from napinn.engines.splines.model import EARLIER_CELLS, SplineModel, _functions
from napinn.errors import InputError
from napinn.field.splines.functions import Bases, function_space
from napinn.problem.file import parse_problem
from napinn.report import plot, unknown_figures
from napinn.report.function_charts import function_charts
from napinn.report.html import report_html
from napinn.results.functions import FoundFunction
from napinn.storage.arrays import saved_arrays


def rate(t: np.ndarray) -> np.ndarray:
    return 0.4 + 0.25 * np.sin(1.5 * t)


def amount(t: np.ndarray) -> np.ndarray:
    """The solution of u' = -k u with the rate above, from u = 2."""
    return 2.0 * np.exp(-(0.4 * t + (0.25 / 1.5) * (1.0 - np.cos(1.5 * t))))


def fitted(values: np.ndarray, t: np.ndarray, **entries: bool) -> napinn.FitResult:
    table = pd.DataFrame({"t": t, "u": values + 0.004 * np.random.default_rng(2).normal(size=len(t))})
    varying = {"k": VaryingUnknown(("t",), **entries)}
    problem = napinn.Problem({"t": (0.0, 4.0)}, ("u",), ("u_t = -k*u",), varying=varying)
    return napinn.fit(problem, napinn.read_readings(table, problem), napinn.bsplines())


@pytest.fixture(scope="module")
def smooth() -> napinn.FitResult:
    t = np.linspace(0.0, 4.0, 150)
    return fitted(amount(t), t, positive=True)


def test_a_smooth_rate_is_found_with_its_band(smooth: napinn.FitResult) -> None:
    t = np.linspace(0.0, 4.0, 81)[:, None]
    found, truth = smooth.functions["k"], rate(t[:, 0])
    low, high = found.band(t)
    assert np.linalg.norm(found(t) - truth) < 0.06 * np.linalg.norm(truth)
    assert np.mean((low <= truth) & (truth <= high)) > 0.75
    assert np.all(low > 0.0)


def test_a_switch_is_found_at_its_time() -> None:
    t = np.linspace(0.0, 4.0, 120)
    values = 2.0 * np.where(t < 1.7, np.exp(-0.2 * t), np.exp(-0.2 * 1.7 - 0.8 * (t - 1.7)))
    result = fitted(values, t, positive=True, steps=True)
    jumps = result.functions["k"].jumps()
    assert min(abs(place - 1.7) for place, _, _ in jumps) < 0.08
    assert result.functions["k"](np.array([[0.5], [3.5]])) == pytest.approx([0.2, 0.8], rel=0.1)


def test_functions_are_kept_drawn_and_exported(smooth: napinn.FitResult, tmp_path: Path) -> None:
    napinn.save(smooth, tmp_path / "run")
    again = napinn.load(tmp_path / "run")
    places = np.linspace(0.0, 4.0, 11)[:, None]
    np.testing.assert_allclose(again.functions["k"].band(places)[1], smooth.functions["k"].band(places)[1])
    assert {"k", "k_low", "k_high"} <= set(again.grid(11).data_vars)
    assert "k along t" in report_html(again)
    assert len(plot.unknowns(again)) == 1
    assert "k(t) runs from" in str(again)


def test_a_function_of_two_coordinates_is_drawn_beside_its_band(smooth: napinn.FitResult) -> None:
    box = {"x": (0.0, 1.0), "t": (0.0, 4.0)}
    problem = replace(smooth.problem, coordinates=box, varying={"k": VaryingUnknown(("x", "t"))})
    space = function_space(("x", "t"), list(box.values()), positive=False, steps=False)
    found = FoundFunction(space, np.ones(space.size), 0.01 * np.eye(space.size), np.zeros((space.size, space.size)))
    assert isinstance(smooth.model, SplineModel)
    result = replace(smooth, problem=problem, model=replace(smooth.model, found={"k": found}))
    left, right = unknown_figures.draw_functions(result, ["k"])
    assert left.get_title(loc="left") == "k"
    assert "half width of the 95 % band" in right.get_title(loc="left")
    charts = function_charts(result)
    assert [chart.title for chart in charts] == ["k along x and t", "Half width of the 95 % band of k"]


@pytest.mark.parametrize("cells", [EARLIER_CELLS, None])
def test_a_function_of_two_coordinates_is_restored_also_with_the_cells_of_earlier_runs(
    cells: int | None, tmp_path: Path
) -> None:
    box = {"x": (0.0, 1.0), "t": (0.0, 4.0)}
    problem = napinn.Problem(box, ("u",), ("u_t = k*u_xx",), varying={"k": VaryingUnknown(("x", "t"))})
    space = function_space(("x", "t"), list(box.values()), False, False, cells)
    rows = np.concatenate([np.linspace(0.0, 1.0, space.size)[None, :], np.eye(space.size), np.eye(space.size)])
    np.savez(tmp_path / "model.npz", **{"function.k": rows})
    with saved_arrays(tmp_path / "model.npz") as saved:
        found = _functions(problem, saved)["k"]
    place = np.array([[0.3, 1.7]])
    assert found(place) == pytest.approx(space.basis(place) @ rows[0])


def test_ten_cells_along_each_of_two_coordinates_follow_two_spots() -> None:
    x, t = (axis.ravel() for axis in np.meshgrid(np.linspace(0.0, 1.0, 41), np.linspace(0.0, 1.0, 41)))
    spots = 3.0 * np.exp(-(((x - 0.6) / 0.12) ** 2) - ((t - 0.4) / 0.125) ** 2)
    spots += 1.2 * np.exp(-(((x - 0.25) / 0.1) ** 2) - ((t - 0.75) / 0.15) ** 2)

    def missed(cells: int | None) -> float:
        basis = function_space(("x", "t"), [(0.0, 1.0)] * 2, False, False, cells).basis(np.stack([x, t], axis=1))
        rest = spots - basis @ np.linalg.lstsq(basis, spots, rcond=None)[0]
        return float(np.linalg.norm(rest) / np.linalg.norm(spots))

    assert missed(None) < 0.05
    assert missed(EARLIER_CELLS) > 0.15


@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("along", [(), ("x",), ("x", "x"), ("x", "y")])
def test_slopes_along_coefficients_are_exact(positive: bool, along: tuple[str, ...]) -> None:
    space = function_space(("x", "y"), [(0.0, 1.0), (0.0, 2.0)], positive, steps=False)
    random = np.random.default_rng(0)
    coefficients, places = 0.3 * random.normal(size=space.size), random.uniform(size=(5, 2)) * [1.0, 2.0]
    bases = Bases(space, places)
    step = random.normal(size=space.size)
    _, slopes = space.evaluated(coefficients, bases, along)
    ends = [space.evaluated(coefficients + sign * 1e-6 * step, bases, along)[0] for sign in (-1.0, 1.0)]
    np.testing.assert_allclose(slopes @ step, (ends[1] - ends[0]) / 2e-6, rtol=1e-5, atol=1e-6)


def test_a_flux_is_taken_apart() -> None:
    varying = {"k": VaryingUnknown(("x",), positive=True)}
    box = {"x": (0.0, 1.0), "t": (0.0, 1.0)}
    problem = napinn.Problem(box, ("T",), ("T_t = d(k*T_x, x)",), varying=varying)
    same = napinn.Problem(box, ("T",), ("T_t = k*T_xx + k_x*T_x",), varying=varying)
    points = np.random.default_rng(1).uniform(size=(6, 2))
    values = {leaf.terms: np.random.default_rng(2).normal(size=(6, 1)) for leaf in same.written[0].needs}
    function = {"k": lambda places, along: np.sin(places[:, 0]) if along else 1.0 + places[:, 0]}
    np.testing.assert_allclose(
        problem.residual_values(problem.written, points, values, function),
        same.residual_values(same.written, points, values, function),
    )
    assert "∂k/∂x" in problem.show()


BOX = {"coordinates": {"x": [0, 1], "t": [0, 1]}, "fields": ["T"], "equations": ["T_t = k*T_xx"]}


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ({"of": ["z"]}, "'z', which is not a coordinate"),
        ({"of": []}, "along 0 coordinates; name one or 2"),
        ({"of": ["x", "x"]}, "'x' twice"),
        ({"of": ["x", "t", "x"]}, "3 coordinates"),
        ({"of": ["x", "t"], "steps": True}, "one coordinate only"),
        ({"of": ["x"], "low": 1.0}, "takes no 'low'"),
        ({"of": ["x"], "prior": "normal(1, 1)"}, "takes no 'prior'"),
        ({"of": ["x"], "per": "experiment"}, "takes no 'per'"),
        ({"of": ["x"], "positive": True, "start": -1.0}, "must be above 0"),
        ({"steps": True}, "of: \\[t\\]"),
        ({"off": ["x"]}, "not an entry of a problem file"),
        ({"of": "x"}, "must be a list"),
    ],
)
def test_a_bad_entry_is_one_sentence(entry: dict[str, object], said: str) -> None:
    with pytest.raises(InputError, match=said):
        parse_problem({**BOX, "unknowns": {"k": entry}}, "problem.yaml").problem()


def test_a_network_refuses_a_coefficient_that_varies() -> None:
    problem = parse_problem({**BOX, "unknowns": {"k": {"of": ["x"]}}}, "problem.yaml").problem()
    assert problem.spline_only == "unknown 'k' varies along x"
