"""What goes into the report: equations as mathematics, fields laid on a page, arrays packed small, names as text."""

import base64
import dataclasses
import json
import re
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

from known_results import known
from napinn import Problem, Unknown, fit, read_table
from napinn.engines.network.methods import pinn
from napinn.field.backbones import MLP
from napinn.problem.equations import mathml
from napinn.report.charts import gate_curve, noise_chart, noise_edges, scores
from napinn.report.columns import packed, quantised, thinned
from napinn.report.html import report_html
from napinn.report.identifiability import correlation_sentence, identifiability_charts
from napinn.report.view import ViewKind, view_of
from napinn.results.intervals import FieldSpread, Interval, Uncertainty


def problem_of(equation: str, **unknowns: float) -> Problem:
    names = {name: Unknown(value) for name, value in unknowns.items()}
    return Problem({"x": (0, 1), "t": (0, 1)}, ("u",), (equation,), names)


def said(problem: Problem, values: dict[str, float] | None = None) -> str:
    """The visible text of the markup, which must be well-formed; fractions as a/b, powers as a^b."""
    root = ElementTree.fromstring(mathml(problem.written[0], values).replace("&", "&amp;"))

    def text(node: ElementTree.Element) -> str:
        inner = [text(child) for child in node]
        if node.tag == "mfrac":
            return f"[{inner[0]}]/[{inner[1]}]"
        if node.tag in ("msup", "msub"):
            return ("^" if node.tag == "msup" else "_").join(inner)
        return (node.text or "").replace("&#x2062;", " ").replace("&#x2061;", "") + "".join(inner)

    return text(root)


@pytest.mark.parametrize(
    ("equation", "unknowns", "expected"),
    [
        ("u_t = D*u_xx", {"D": 1.0}, "[∂u]/[∂t]=D [∂^2u]/[∂x^2]"),
        ("u_t - (a + u)*u_x = 0", {"a": 1.0}, "[∂u]/[∂t]−(a+u) [∂u]/[∂x]=0"),
        ("u_t = u_x**2/k_1", {"k_1": 1.0}, "[∂u]/[∂t]=[([∂u]/[∂x])^2]/[k_1]"),
        ("u_xt = -omega*sin(pi*x)*u", {"omega": 1.0}, "[∂^2u]/[∂x∂t]=−ω·sin(π·x)·u"),
        ("u_t = k*Ca*Cb**2*(1 - u)", {"k": 1.0, "Ca": 1.0, "Cb": 1.0}, "[∂u]/[∂t]=k·Ca·Cb^2 (1−u)"),
    ],
)
def test_an_equation_is_written_as_on_paper(equation, unknowns, expected):
    assert said(problem_of(equation, **unknowns)) == expected


def test_the_numbers_found_stand_in_the_equation():
    problem = problem_of("u_t = 2*a*u_xx - b*u", a=1.0, b=1.0)
    assert said(problem, {"a": 0.3, "b": -1.5e-7}) == "[∂u]/[∂t]=2×0.3 [∂^2u]/[∂x^2]−(−1.5×10^−7)·u"


def test_a_long_equation_breaks_before_its_terms():
    problem = problem_of("u_t = " + " + ".join(["D*u_xx*sin(pi*x)*cos(pi*t)"] * 5), D=1.0)
    rows = ElementTree.fromstring(mathml(problem.written[0]).replace("&", "&amp;")).findall(".//mtr")
    assert len(rows) == 5
    assert "".join(rows[1].itertext()).startswith("+")


def unpacked(entry: dict) -> np.ndarray:
    raw = np.frombuffer(base64.b64decode(entry["data"]), f"<{entry['packed']}")
    return raw if "low" not in entry else entry["low"] + (raw.astype(float) + 32_767) / 65_534 * entry["width"]


def test_packing_loses_less_than_an_eye_can_see():
    values = np.random.default_rng(0).normal(5.0, 3.0, 1000)
    np.testing.assert_allclose(unpacked(packed(values)), values, rtol=1e-6)
    assert np.abs(unpacked(quantised(values)) - values).max() <= 0.51 * np.ptp(values) / 65_534
    np.testing.assert_array_equal(unpacked(quantised(np.full(7, 2.5))), 2.5)
    assert len(thinned(10_000, 300)) == 300
    assert thinned(5, 300).tolist() == [0, 1, 2, 3, 4]


def readings_at(coordinates: dict[str, np.ndarray], problem: Problem):
    return read_table(pd.DataFrame({**coordinates, "u": 1.0}), tuple(problem.coordinates), problem.fields)


@pytest.mark.parametrize(
    ("names", "kind", "sliders"),
    [
        (("t",), ViewKind.CURVE, ()),
        (("x", "t"), ViewKind.SPACE_TIME, ("t",)),
        (("x", "y"), ViewKind.MAP, ()),
        (("t", "x", "y"), ViewKind.MAP, ("t",)),
        (("x", "y", "z"), ViewKind.MAP, ("z",)),
        (("x", "y", "z", "t"), ViewKind.MAP, ("t", "z")),
    ],
)
def test_every_number_of_coordinates_has_a_view(names, kind, sliders):
    rng = np.random.default_rng(1)
    equation = " + ".join(f"a*u_{name}" for name in names) + " = 0"
    problem = Problem(dict.fromkeys(names, (0.0, 1.0)), ("u",), (equation,), {"a": Unknown(1.0)})
    view = view_of(problem, readings_at({name: rng.random(150) for name in names}, problem))
    assert (view.kind, view.sliders) == (kind, sliders)
    # Each coordinate counts in its own decimal place, so a value tells which node it belongs to.
    weights = np.array([10.0**place for place in range(len(names))])
    values = view.values(lambda points: (points @ weights)[:, None], names)
    assert values.size <= 290_000
    index = tuple(len(view.axes[name]) // 3 for name in view.order)
    at = {name: view.axes[name][node] for name, node in zip(view.order, index, strict=True)}
    assert values[(0, *index)] == pytest.approx(sum(w * at[n] for w, n in zip(weights, names, strict=True)))


def test_readings_lie_on_the_steps_at_which_they_were_taken():
    problem = problem_of("u_t = a*u_xx", a=1.0)
    times = np.array([0.0, 0.1, 0.35, 0.8])
    view = view_of(problem, readings_at({"x": np.linspace(0, 1, 4), "t": times}, problem))
    np.testing.assert_array_equal(view.axes["t"], times)
    np.testing.assert_array_equal(view.step_of("t", np.array([0.8, 0.04, 0.06, 0.2])), [3, 0, 1, 1])


def test_the_curve_of_the_gate_passes_through_the_readings(finished):
    np.testing.assert_allclose(gate_curve(finished.model.gate, scores(finished)), finished.reliability, atol=1e-4)


def test_readings_of_known_deviation_meet_law_and_gate_as_in_training(finished, weighed):
    np.testing.assert_allclose(scores(weighed), scores(finished), atol=1e-6)
    assert noise_chart(weighed, 0).data == noise_chart(finished, 0).data
    assert "known deviation relative to the median" in noise_chart(weighed, 0).caption


def test_readings_that_were_left_out_do_not_move_the_gate(finished):
    bad = finished.readings.sensors == "fine"
    kept = scores(finished)[~bad]
    seen = gate_curve(finished.model.gate, (kept - kept.mean()) / kept.std())
    reliability = np.zeros(len(bad))
    reliability[~bad] = seen
    left_out = dataclasses.replace(finished, reliability=reliability)
    np.testing.assert_allclose(gate_curve(left_out.model.gate, scores(left_out))[~bad], seen, atol=1e-6)


def test_a_large_run_makes_a_page_that_can_be_mailed():
    rng = np.random.default_rng(0)
    places, times = rng.random((225, 2)), np.linspace(0, 1, 100)
    x, y = np.repeat(places, 100, axis=0).T
    table = pd.DataFrame({"x": x, "y": y, "t": np.tile(times, 225), "u": rng.normal(size=22_500)})
    problem = Problem({"x": (0, 1), "y": (0, 1), "t": (0, 1)}, ("u",), ("u_t = D*(u_xx + u_yy)",), {"D": Unknown(0.1)})
    readings = read_table(table, ("x", "y", "t"), ("u",))
    page = report_html(fit(problem, readings, pinn(2, backbone=MLP(4, 1), collocation_batch=8, reading_batch=8)))
    assert len(page.encode()) < 8e6
    assert "Shown: 1,000 of 22,500 good readings, evenly thinned." in page
    bundle = json.loads(page.split('id="bundle">')[1].split("</script>")[0])
    assert len(bundle["field"]["axes"]["t"]["data"]) == len(packed(times, "f8")["data"])


def test_an_interval_is_shown_beside_its_coefficient(finished):
    assert "95 % interval 0.7 to 0.9" in report_html(finished, intervals={"k": (0.7, 0.9)})


def test_nothing_in_the_bundle_can_end_it(finished):
    page = report_html(finished)
    assert len(re.findall(r"</script", page)) == 3
    bundle = json.loads(page.split('id="bundle">')[1].split("</script>")[0])
    assert bundle["sensors"] == ["</script><script>alert(1)</script>", "fine"]


def test_correlations_of_three_unknowns_are_a_chart(finished):
    problem = problem_of("u_t = k*u_xx - b*u + c", k=1.0, b=1.0, c=1.0)
    uncertainty = Uncertainty({}, "3 sensors", Known(problem), np.eye(3))
    result = dataclasses.replace(finished, problem=problem, uncertainty=uncertainty)
    assert [chart.id for chart in identifiability_charts(result)] == ["correlation"]
    assert correlation_sentence(result) == ""


def test_each_note_stands_in_a_line_of_its_own(finished):
    page = report_html(dataclasses.replace(finished, notes=("first <note>", "second")))
    assert f"<p>{finished.status.value}</p><ul><li>first &lt;note&gt;</li><li>second</li></ul>" in page


def test_an_unknown_without_a_start_is_reported_as_begun_at_its_natural_size(finished):
    problem = dataclasses.replace(finished.problem, unknowns={"k": Unknown()})
    assert "started at its natural size" in report_html(dataclasses.replace(finished, problem=problem))


def bundle_of(page: str) -> dict:
    return json.loads(page.split('id="bundle">')[1].split("</script>")[0])


class Known(FieldSpread):
    """A spread of 0.1 + t in every field."""

    def __init__(self, problem: Problem) -> None:
        self.time, self.fields = list(problem.coordinates).index("t"), len(problem.outputs)

    def __call__(self, points: np.ndarray) -> np.ndarray:
        return np.repeat(0.1 + points[:, [self.time]], self.fields, axis=1)

    def arrays(self) -> dict[str, np.ndarray]:
        return {}


def with_uncertainty(result, **intervals):
    found = {name: Interval(low, high, 0.1) for name, (low, high) in intervals.items()}
    return dataclasses.replace(result, uncertainty=Uncertainty(found, "3 sensors", Known(result.problem)))


@pytest.mark.parametrize("names", ["t", "xt", "tx", "xyt", "tzyx"])
def test_the_uncertainty_of_the_field_is_a_layer_on_the_same_nodes(names):
    equation = " + ".join(f"u_{name}" for name in names) + " = 0"
    problem = Problem(dict.fromkeys(names, (0.0, 1.0)), ("u",), (equation,))
    field = bundle_of(report_html(with_uncertainty(known(problem, {}, lambda *_: 1.0))))["field"]
    view = view_of(problem, known(problem, {}, lambda *_: 1.0).readings)
    spread = unpacked(field["spread"][0]).reshape([len(view.axes[name]) for name in view.order])
    expected = view.values(lambda points: 0.1 + points[:, [names.index("t")]], tuple(names))[0]
    np.testing.assert_allclose(spread, expected, atol=1e-4)


def test_a_page_without_uncertainty_offers_no_layer(finished):
    page = report_html(dataclasses.replace(finished, uncertainty=None))
    assert bundle_of(page)["field"]["spread"] is None
    assert "standard deviations of the field" not in page
    problem = Problem({"x": (0, 1), "t": (0, 1)}, ("u",), ("u_t = u_xx",))
    assert 'value="spread"' in report_html(with_uncertainty(known(problem, {}, lambda *_: 1.0)))
    assert 'value="spread"' not in report_html(known(problem, {}, lambda *_: 1.0))


def test_each_condition_is_listed_with_how_far_it_is_missed():
    conditions = ("u = 0 at x = 0", "u_x = 0 at x = 1", "0 = u_x at t = 0")
    problem = Problem(
        {"x": (0, 1), "t": (0, 1)},
        ("u",),
        ("u_t = D*u_xx",),
        constants={"D": 1.0},
        conditions=conditions,
        units={"u": "K", "x": "m", "t": "s"},
    )
    page = report_html(known(problem, {}, lambda x, t: x))
    rows = [[re.sub("<.*?>", "", cell) for cell in re.findall("<td>(.*?)</td>", row)]
            for row in re.findall("<tr>(.*?)</tr>", page) if " at " in row]  # fmt: skip
    assert [(row[0], row[1], row[3]) for row in rows] == [
        ("u = 0 at x = 0", "0 K", "met"),
        ("∂u/∂x = 0 at x = 1", "1 K/m", "missed"),
        ("0 = ∂u/∂x at t = 0", "1 K/m", "missed"),
    ]
    free = dataclasses.replace(problem, conditions=())
    assert "<h2>Conditions</h2>" not in report_html(known(free, {}, lambda x, t: x))


def test_a_period_is_listed_as_a_condition():
    problem = Problem({"x": (0, 1), "t": (0, 1)}, ("u",), ("u_t = u_xx",), periodic=("x",), units={"u": "K"})
    page = report_html(known(problem, {}, lambda x, t: 3.0 * x + t))
    assert "<td>u periodic in x</td><td>3 K</td>" in page


def test_each_coefficient_has_a_chart_of_its_own_with_its_interval():
    problem = problem_of("u_t = a*u_xx - b*u", a=1.0, b=1.0)
    history = pd.DataFrame({"phase": "p", "step": [1, 2], "total": 1.0, "equation": 1.0, "data": 1.0,
                            "a": [1e-6, 2e-6], "b": [1e6, 2e6]})  # fmt: skip
    result = dataclasses.replace(known(problem, {"a": 2e-6, "b": 2e6}, lambda *_: 1.0), history=history)
    charts = bundle_of(report_html(with_uncertainty(result, a=(1e-6, 3e-6))))["charts"]
    assert unpacked(charts["unknown-a"]["data"][0]["y"]).tolist() == [1e-6, 2e-6]
    assert unpacked(charts["unknown-b"]["data"][0]["y"]).tolist() == [1e6, 2e6]
    assert [shape["y0"] for shape in charts["unknown-a"]["layout"]["shapes"]] == [1e-6, 3e-6]
    assert charts["unknown-b"]["layout"]["shapes"] == []


def test_outliers_do_not_stretch_the_axis_of_the_noise_law():
    problem = problem_of("u_t = u_xx")
    rng = np.random.default_rng(0)
    noise = np.concatenate([rng.normal(0.0, 1.0, 1000), rng.uniform(50.0, 1000.0, 100)])
    readings = readings_at({"x": rng.random(1100), "t": rng.random(1100)}, problem)
    readings = dataclasses.replace(readings, values=noise)
    result = known(problem, {}, lambda *_: 0.0, readings=readings)
    # A method that judges no reading: eight robust deviations.
    edges = noise_edges(result, 0)
    assert edges[0] > -8.0
    assert 8.0 < edges[-1] < 14.0
    assert "100 misfits lie beyond the ends of the axis." in noise_chart(result, 0).caption
    # A method that has flagged them: those that are good.
    flagged = dataclasses.replace(result, reliability=(noise < 10.0).astype(float))
    assert noise_edges(flagged, 0)[-1] < 6.0


def test_misfits_that_a_law_was_learned_of_and_that_are_good_stay_on_its_axis(finished):
    good = dataclasses.replace(finished, reliability=np.ones(len(finished.readings)))
    low, high = np.quantile(finished.misfits, [0.001, 0.999])
    assert noise_edges(good, 0)[0] < low < high < noise_edges(good, 0)[-1]
    sizes = np.abs(finished.misfits)
    half = dataclasses.replace(finished, reliability=(sizes < np.median(sizes)).astype(float))
    assert np.ptp(noise_edges(good, 0)) > 2.0 * np.ptp(noise_edges(half, 0))
