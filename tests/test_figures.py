"""Figures, animations and exports of a finished run: what they show is what the fit found."""

import json
import shutil
import sys

import jax
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from PIL import Image

from known_results import known
from napinn import InputError, Problem, Unknown, fit, plot, read_table
from napinn.cli import main
from napinn.engines.network.methods import pinn
from napinn.field.backbones import MLP
from napinn.report.animation import animate
from napinn.runs import folder
from napinn.runs.export import export_model
from napinn.storage.json_files import FORMAT

TINY = {"backbone": MLP(4, 1), "collocation_batch": 8, "reading_batch": 8}
MAGIC = {".png": b"\x89PNG", ".pdf": b"%PDF", ".svg": b"<?xml"}


EVERY_FIT = [name for name in plot.FIGURES if name not in ("profile", "correlation", "unknowns", "discrepancy")]
"""Figures of which no fit lacks what they show."""


@pytest.fixture(scope="module")
def rod():
    """A field over space and time after two steps: enough to draw and to export."""
    x, t = (axis.reshape(-1) for axis in np.meshgrid(np.linspace(0, 1, 4), np.linspace(0, 2, 5), indexing="ij"))
    problem = Problem(
        {"x": (0, 1), "t": (0, 2)}, ("T",), ("T_t = D*T_xx",), {"D": Unknown(0.1)}, units={"x": "m", "T": "K"}
    )
    return fit(problem, read_table(pd.DataFrame({"x": x, "t": t, "T": x * t}), ("x", "t"), ("T",)), pinn(2, **TINY))


def napinn(monkeypatch, capfd, *arguments):
    monkeypatch.setattr(sys, "argv", ["napinn", *map(str, arguments)])
    with pytest.raises(SystemExit) as stop:
        main.run()
    return stop.value.code, *capfd.readouterr()


@pytest.mark.parametrize(("what", "suffix"), list(zip(EVERY_FIT, [".png", ".pdf", ".svg"] * 2, strict=True)))
def test_every_figure_can_be_had_as_a_file(finished_run, tmp_path, monkeypatch, capfd, what, suffix):
    path = tmp_path / f"figure{suffix}"
    code, out, _ = napinn(monkeypatch, capfd, "plot", finished_run, "--what", what, "-o", path, "--json")
    assert code == 0
    assert json.loads(out) == {"what": what, "file": str(path)}
    assert path.read_bytes().startswith(MAGIC[suffix])


def test_figures_name_their_axes_and_show_the_fit(finished):
    for name in EVERY_FIT:
        assert all(axes.get_ylabel() for axes in plot.FIGURES[name](finished, None))
    (axes,) = plot.noise(finished)
    area = sum(bar.get_width() * bar.get_height() for bar in axes.patches)  # pyright: ignore[reportAttributeAccessIssue]
    low = axes.patches[0].get_x()  # pyright: ignore[reportAttributeAccessIssue]
    high = low + whole_width(axes)
    inside = (finished.misfits >= low) & (finished.misfits <= high)
    assert area == pytest.approx(inside.mean())
    assert inside[~finished.flagged].mean() > 0.99
    (axes,) = plot.parameters(finished)
    assert axes.lines[0].get_ydata()[-1] == pytest.approx(finished.unknowns["k"])  # pyright: ignore[reportIndexIssue]
    (axes,) = plot.field(finished)
    t, u = axes.lines[0].get_data()
    np.testing.assert_allclose(u, finished.field.at(t=t)["u"])  # pyright: ignore[reportCallIssue]
    with pytest.raises(InputError, match="no field 'w'"):
        plot.field(finished, "w")


def whole_width(axes) -> float:
    """From the first to the last edge of a histogram."""
    return max(bar.get_x() + bar.get_width() for bar in axes.patches) - axes.patches[0].get_x()


@pytest.mark.parametrize(
    ("names", "drawn"),
    [
        ("xyz", ("x", "z")),
        ("xy", ("x", "y")),
        ("txy", ("x", "y")),
        ("xyt", ("x", "y")),
        ("xt", ("t", "x")),
        ("t", None),
    ],
)
def test_sensors_are_drawn_where_they_stand(names, drawn):
    rows = np.random.default_rng(0).random((6, len(names)))
    table = pd.DataFrame(rows, columns=list(names)).assign(u=1.0, sensor=list("aabbcc"))
    if names == "xyz":
        table["y"] = 0.5
    problem = Problem(dict.fromkeys(names, (0, 1)), ("u",), ("u = 1",))
    result = known(problem, {}, lambda *_: 1.0, readings=read_table(table, tuple(names), ("u",)))
    (axes,) = plot.sensors(result)
    if drawn is None:
        assert len(axes.patches) == 3
    else:
        assert (axes.get_xlabel(), axes.get_ylabel()) == drawn
        # Beside time there is a mark for every reading, otherwise one for every sensor.
        places = table[list(drawn)] if "t" in drawn else table.groupby("sensor")[list(drawn)].mean()
        np.testing.assert_allclose(axes.collections[0].get_offsets(), places)  # pyright: ignore[reportCallIssue]


@pytest.mark.parametrize("names", ["t", "xt", "xyt"])
def test_a_hidden_field_is_drawn_too(names):
    problem = Problem(dict.fromkeys(names, (0, 1)), ("u",), ("u_t = S", "S_t = 0*u"), hidden=("S",))
    result = known(problem, {}, lambda *at: at[-1], lambda *at: 3.0 + at[0])
    for axes in plot.field(result, "S"):
        assert axes.lines or axes.collections[0].get_clim() == pytest.approx((3.0, 4.0), abs=0.1)
    with pytest.raises(InputError, match="no field 'S'"):
        plot.noise(result, "S")


def test_a_hidden_field_moves_too(tmp_path, monkeypatch, capfd):
    problem = Problem({"x": (0, 1), "t": (0, 1)}, ("u",), ("u_t = S", "S_t = 0*u"), hidden=("S",))
    table = pd.DataFrame({"x": [0.0, 1.0], "t": [0.0, 1.0], "u": [0.0, 1.0]})
    readings = read_table(table, ("x", "t"), ("u",))
    result = known(problem, {}, lambda x, t: t, lambda x, t: 3.0 + x, readings=readings)
    monkeypatch.setattr(folder, "load", lambda run: result)
    (tmp_path / "result.json").write_text(json.dumps({"format": FORMAT}))
    np.savez(tmp_path / "model.npz")
    code, out, _ = napinn(monkeypatch, capfd, "animate", tmp_path, "--field", "S", "-o", tmp_path / "S.gif", "--json")
    assert (code, json.loads(out)["frames"]) == (0, 2)


def test_flagged_readings_differ_without_colour(finished):
    (axes,) = plot.noise(finished)
    good, flagged = axes.containers
    assert {bar.get_hatch() for bar in good} != {bar.get_hatch() for bar in flagged}
    (axes,) = plot.history(finished)[:1]
    assert len({line.get_linestyle() for line in axes.lines[:3]}) == 3


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["plot", "RUN", "--what", "fild", "-o", "a.png"], "did you mean 'field'?"),
        (["plot", "RUN", "-o", "a.docx"], "name a file that ends in .png, .pdf, .svg"),
        (["plot", "nowhere", "-o", "a.png"], "nowhere does not exist"),
        (["animate", "RUN", "-o", "a.gif"], "needs a field over space and time"),
        (["export", "RUN", "--what", "modle", "-o", "a"], "did you mean 'model'?"),
        (["report", "nowhere"], "nowhere does not exist"),
    ],
)
def test_a_wrong_wish_is_one_sentence(finished_run, monkeypatch, capfd, arguments, said):
    wish = [str(finished_run) if word == "RUN" else word for word in arguments]
    code, out, err = napinn(monkeypatch, capfd, *wish)
    assert (code, out) == (2, "")
    assert said in " ".join(err.split())


def test_the_report_can_be_written_again(finished_run, tmp_path, monkeypatch, capfd):
    code, _, _ = napinn(monkeypatch, capfd, "report", finished_run, "-o", tmp_path / "new" / "page.html")
    assert code == 0
    assert "∂u/∂t = −k u" in (tmp_path / "new" / "page.html").read_text()


def test_an_animation_has_a_frame_for_every_instant(rod, tmp_path, monkeypatch):
    assert animate(rod, tmp_path / "rod.gif", "T") == 5
    with Image.open(tmp_path / "rod.gif") as gif:
        assert gif.n_frames == 5  # pyright: ignore[reportAttributeAccessIssue]
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(InputError, match="install ffmpeg"):
        animate(rod, tmp_path / "rod.mp4", "T")
    with pytest.raises(InputError, match="neither a GIF nor an MP4"):
        animate(rod, tmp_path / "rod.avi", "T")


def test_the_model_evaluates_without_napinn_for_any_number_of_points(rod, tmp_path):
    export_model(rod, tmp_path / "field.stablehlo")
    program = jax.export.deserialize((tmp_path / "field.stablehlo").read_bytes())
    for count in (1, 7):
        x, t = np.linspace(0, 1, count, dtype=np.float32), np.linspace(0, 2, count, dtype=np.float32)
        np.testing.assert_allclose(program.call({"x": x, "t": t})["T"], rod.field.at(x=x, t=t)["T"], rtol=1e-5)


def test_the_field_opens_in_xarray_with_its_coordinates_known(finished_run, tmp_path, monkeypatch, capfd, rod):
    assert napinn(monkeypatch, capfd, "export", finished_run, "--what", "field", "-o", tmp_path / "field.nc")[0] == 0
    with xr.open_dataset(tmp_path / "field.nc") as field:
        assert field.attrs["Conventions"] == "CF-1.11"
        assert field["t"].attrs["axis"] == "T"
    grid = rod.grid(5)
    assert {name: grid[name].attrs.get("axis") for name in ("x", "t")} == {"x": "X", "t": "T"}
    assert (grid["x"].attrs["units"], grid["T"].attrs["units"]) == ("m", "K")
    assert grid["T"].attrs["long_name"] == "fitted field T"
    np.testing.assert_allclose(grid["T"].sel(x=0.5, t=1.0), rod.field.at(x=0.5, t=1.0)["T"], rtol=1e-5)


def test_readings_come_back_from_parquet_as_they_are(finished_run, finished, decay_table, tmp_path, monkeypatch, capfd):
    path = tmp_path / "readings.parquet"
    assert napinn(monkeypatch, capfd, "export", finished_run, "--what", "readings", "-o", path)[0] == 0
    exported = pd.read_parquet(path)
    pd.testing.assert_frame_equal(exported, finished.readings_table(), check_dtype=False)
    pd.testing.assert_frame_equal(exported[["t", "u"]], decay_table)
