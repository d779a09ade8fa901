"""Values in a notebook: one screen of text, HTML that opens and closes, figures, a report and a bar."""

import sys
import types
from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.axes import Axes

import napinn
from known_results import known
from napinn.diagnostics.findings import Check, CheckOutcome, Verification
from napinn.engines.notebook_progress import bar, notebook_bar
from napinn.engines.snapshot import Snapshot
from napinn.results.intervals import FieldSpread
from napinn.results.verdicts import SensorVerdict, Verdict

SNAPSHOT = Snapshot("joint", 3, 10, 13, 20, {}, {"k": 0.5}, {}, 1.0, 10.0, seconds_left=7.0)


@pytest.fixture(scope="module")
def result() -> napinn.FitResult:
    """A result with many sensors, unknowns of hostile names in the table, and notes."""
    problem = napinn.Problem({"t": (0.0, 1.0)}, ("u",), ("u_t = -k*u",), {"k": napinn.Unknown(1.0)}, name="<b>decay")
    t = np.linspace(0.0, 1.0, 40)
    table = pd.DataFrame({"sensor": [f"<i>s{number}" for number in range(40)], "t": t, "u": np.exp(-t)})
    found = known(problem, {"k": 1.0}, lambda t: np.e**-t, readings=napinn.read_readings(table, problem))
    verdicts = tuple(
        SensorVerdict(f"<i>s{number}", "u", Verdict.OFFSET, "too high by 1", np.array([number])) for number in range(30)
    )
    return replace(found, verdicts=verdicts, notes=tuple(f"Note {number}." for number in range(30)))


def test_a_result_is_one_screen(result):
    text = repr(result)
    assert len(text.splitlines()) <= 24
    assert len(text) < 3000
    assert "k = 1" in text
    assert "and 25 more faulty sensors" in text
    assert result.status.value in text


def test_html_opens_and_closes_and_is_escaped(result):
    for value in (result, result.problem, result.readings):
        text = value._repr_html_()
        assert "<details" in text
        assert "<b>decay" not in text
        assert "<i>s0" not in text
    assert "&lt;b&gt;decay" in result._repr_html_()
    assert len(repr(result.readings)) < 200


def test_checks_and_intervals_are_a_line_each():
    check = Check("status of the fit", CheckOutcome.PASS, "It has <settled>.")
    verification = Verification((check,))
    assert repr(verification).splitlines()[1] == "  pass   status of the fit: It has <settled>."
    assert "It has &lt;settled&gt;." in verification._repr_html_()
    spread = known_spread()
    uncertainty = napinn.Uncertainty({"k": napinn.Interval(0.7, 0.9, 0.05)}, "3 sensors", spread)
    assert repr(uncertainty).splitlines() == ["<napinn.Uncertainty from 3 sensors; 95 % intervals>", "  k: 0.7 … 0.9"]


def known_spread() -> FieldSpread:
    class Flat(FieldSpread):
        def __call__(self, points: np.ndarray) -> np.ndarray:
            return np.zeros((len(points), 1))

        def arrays(self) -> dict[str, np.ndarray]:
            return {}

    return Flat()


def test_many_sensors_are_not_all_shown(result):
    from napinn.results import summary

    many = result._repr_html_().count("<tr>")
    assert many <= summary.MOST_ROWS + 10


def test_the_report_is_shown_in_a_frame(result):
    frame = result.show(height=400)
    text = frame._repr_html_()
    assert text.startswith("<iframe srcdoc=")
    assert "height:400px" in text
    assert '"' not in text.split('srcdoc="')[1].split('" style')[0]
    assert len(repr(frame)) < 200


def test_figures_give_back_axes(result):
    for draw in (result.plot.field, result.plot.sensors, result.plot.gate):
        axes = draw()
        assert all(isinstance(each, Axes) for each in axes)
    with pytest.raises(napinn.InputError, match="there is no field 'v'"):
        result.plot.field("v")
    plt.close("all")


def test_a_bar_is_shown_in_a_notebook_alone(monkeypatch):
    with notebook_bar("splines") as show:
        show(SNAPSHOT)
    shown: list[str] = []

    class Handle:
        def update(self, content: str) -> None:
            shown.append(content)

    display = types.SimpleNamespace(HTML=str, display=lambda content, display_id: shown.append(content) or Handle())
    kernel = types.SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: kernel, display=display))
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    with notebook_bar("<splines>") as show:
        show(SNAPSHOT)
        show(SNAPSHOT)
    assert shown[0].startswith("<div>&lt;splines&gt; <progress>")
    assert 'max="20" value="13"' in shown[1]
    assert "k 0.5" in shown[1]
    # The second snapshot followed at once, and the bar is gone at the end.
    assert shown[2:] == [""]
    assert "about 7 s left" in bar("splines", SNAPSHOT)


def test_fit_takes_paths_and_tables(tmp_path):
    t = np.linspace(0.0, 3.0, 30)
    table = pd.DataFrame({"t": t, "u": np.exp(-0.8 * t)})
    table.to_csv(tmp_path / "readings.csv", index=False)
    (tmp_path / "problem.yaml").write_text(
        "coordinates: {t: [0, 3]}\nfields: [u]\nunknowns: {k: 0.5}\nequations: ['u_t = -k*u']\n", encoding="utf-8"
    )
    found = napinn.fit(str(tmp_path / "problem.yaml"), tmp_path / "readings.csv", napinn.bsplines())
    assert found.unknowns["k"] == pytest.approx(0.8, abs=1e-3)
    with pytest.raises(napinn.InputError, match="give the path of the table"):
        napinn.fit(tmp_path / "problem.yaml", found.readings)
