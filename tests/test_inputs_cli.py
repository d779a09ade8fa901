"""From a table to predictions by the commands alone, and the same from Python as the user guide has it."""

import json
import re
import runpy
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import napinn
from napinn.cli import main
from napinn.problem.file import load_problem_file
from napinn.problem.file.template import TEMPLATE, schema_text

ROOT = Path(__file__).parent.parent


@pytest.fixture
def folder(tmp_path, monkeypatch, small_networks):
    """A cooling rod, watched from noon on; one cell empty, one sentinel."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    x, t = np.repeat(np.linspace(0, 1, 5), 12), np.tile(np.linspace(0, 5.5, 12), 5)
    table = pd.DataFrame({"sensor": [f"p{int(4 * p)}" for p in x], "x": x, "t": t})
    table["T"] = np.exp(-0.2 * t) * np.sin(np.pi * x) + rng.normal(0, 0.01, len(x))
    table.to_csv("readings.csv", index=False)
    when = pd.Timestamp("2024-03-01 12:00") + pd.to_timedelta(t, unit="h")
    dated = table.drop(columns="t").assign(when=when.strftime("%Y-%m-%d %H:%M"))
    dated.loc[3, "T"] = -999.0
    dated.to_csv("dated.csv", index=False)
    return tmp_path


def run(monkeypatch, capfd, *arguments):
    monkeypatch.setattr(sys, "argv", ["napinn", *arguments])
    with pytest.raises(SystemExit) as stop:
        main.run()
    out, err = capfd.readouterr()
    return stop.value.code, out, err


DATED = """
coordinates: {x: [0, 1], t: {column: when, unit: hours, origin: first reading}}
fields: [T]
unknowns: {D: {start: 0.1, positive: true}}
equations: [T_t = D*T_xx]
missing: [-999]
"""


def test_a_problem_is_begun_checked_fitted_in_one_line_and_predicted(folder, monkeypatch, capfd):
    code, out, _ = run(monkeypatch, capfd, "new")
    assert code == 0
    assert run(monkeypatch, capfd, "new")[0] == 2
    code, out, _ = run(monkeypatch, capfd, "check", "problem.yaml", "readings.csv", "--no-time", "--json")
    told = json.loads(out)
    assert code == 0
    assert told["equations"] == ["∂T/∂t = D ∂²T/∂x²"]
    assert told["fields"]["T"]["readings"] == 60
    assert told["sensors"]["count"] == 5
    again = ["check", "readings.csv", "--problem", "problem.yaml", "--no-time", "--json"]
    assert json.loads(run(monkeypatch, capfd, *again)[1]) == told
    assert run(monkeypatch, capfd, *again, "-e", "T_t = D*T_xx")[0] == 2

    one_line = ["fit", "readings.csv", "-e", "T_t = D*T_xx", "-u", "D=0.1,positive", "-m", "pinn", "--steps", "20"]
    code, out, err = run(monkeypatch, capfd, *one_line)
    assert code == 3
    assert "understood: coordinates x (0 to 1), t (0 to 5.5); measured T; unknown D from 0.1" in err
    fitted = napinn.load("runs/readings")

    code, out, _ = run(monkeypatch, capfd, "predict", "runs/readings", "--grid", "7", "-o", "grid.nc", "--json")
    assert json.loads(out) == {"file": "grid.nc", "points": 49, "fields": ["T"], "outside": 0}
    with xr.open_dataset("grid.nc", engine="h5netcdf") as grid:
        expected = fitted.field.at(x=grid["x"].to_numpy()[:, None], t=grid["t"].to_numpy()[None])["T"]
        np.testing.assert_allclose(grid["T"], expected, rtol=1e-6)
    pd.DataFrame({"x": [0.5, 2.0], "t": [1.0, 1.0], "note": ["a", "b"]}).to_csv("points.csv", index=False)
    for name, read in (("out.csv", pd.read_csv), ("out.parquet", pd.read_parquet)):
        code, out, _ = run(monkeypatch, capfd, "predict", "runs/readings", "--at", "points.csv", "-o", name)
        assert code == 0
        assert "1 of them lie outside the problem's box" in out
        found = read(name)
        np.testing.assert_allclose(found["T"], fitted.field.at(x=found["x"], t=1.0)["T"], rtol=1e-6)
        assert found["note"].tolist() == ["a", "b"]


def test_dates_and_gaps_survive_fit_and_prediction(folder, monkeypatch, capfd):
    Path("dated.yaml").write_text(DATED)
    problem, readings = napinn.read_problem("dated.yaml", "dated.csv")
    assert problem.coordinates["t"] == (0.0, 5.5)
    assert problem.units["t"] == "hours"
    result = napinn.fit(problem, readings, napinn.bsplines())
    assert result.readings_table()["verdict"].tolist()[:5] == ["good", "good", "good", "missing", "good"]
    asked = pd.DataFrame({"x": [0.5], "when": ["2024-03-01 14:00"], "T": ["7"], "id": ["007"]})
    expected = pytest.approx(float(result.field.at(x=0.5, t=2.0)["T"]))
    assert napinn.predict(result, asked)["T_predicted"][0] == expected
    grid = xr.Dataset(coords={"t": pd.to_datetime(["2024-03-01 13:00", "2024-03-01 14:00"]), "x": [0.5]})
    assert float(napinn.predict(result, grid)["T"][0, 1]) == expected
    counted = napinn.predict(result, grid.assign_coords(t=[1, 2]))
    assert float(counted["T"][0, 1]) == expected
    napinn.save(result, "runs/dated")
    asked.to_csv("points.csv", index=False)
    asked.assign(when=pd.to_datetime(asked["when"])).to_parquet("points.parquet", index=False)
    for name in ("points.csv", "points.parquet"):
        command = ["predict", "runs/dated", "--at", name, "-o", "out.parquet", "--overwrite"]
        assert run(monkeypatch, capfd, *command)[0] == 0
        found = pd.read_parquet("out.parquet").iloc[0]
        assert found["T_predicted"] == expected
        assert (found["T"], found["id"]) == (7, "007")
    with pytest.raises(napinn.InputError, match="points has no column 'when' for the coordinate"):
        napinn.predict(result, asked.drop(columns="when"))


def test_the_python_example_of_the_user_guide_runs(folder):
    guide = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    (example,) = [block for block in re.findall(r"```python\n(.*?)```", guide, re.S) if "read_problem" in block]
    Path("example.py").write_text(example, encoding="utf-8")
    Path("problem.yaml").write_text(TEMPLATE, encoding="utf-8")
    said = runpy.run_path("example.py")
    assert said["again"].unknowns == said["result"].unknowns
    assert list(said["table"].columns) == ["x", "t", "T", "T_spread"]
    assert said["grid"]["T"].dims == ("x", "t")


def test_xarray_goes_in_and_comes_out(folder):
    problem, readings = napinn.read_problem(_written(TEMPLATE), "readings.csv")
    result = napinn.fit(problem, readings, napinn.bsplines())
    asked = xr.Dataset(coords={"t": [1.0, 2.0, 3.0], "x": [0.2, 0.8]})
    found = napinn.predict(result, asked)["T"]
    assert float(found.sel(t=3.0, x=0.2)) == pytest.approx(float(result.field.at(x=0.2, t=3.0)["T"]))
    with pytest.raises(napinn.InputError, match="no coordinate 'x'"):
        napinn.predict(result, asked.drop_vars("x"))
    for times in (pd.to_datetime(["2024-03-01"]), pd.to_timedelta([1], unit="h")):
        with pytest.raises(napinn.InputError, match="the dataset, row 2, column 't': expected a finite number"):
            napinn.predict(result, xr.Dataset(coords={"t": times, "x": [0.2]}))


def _written(text):
    path = Path("written.yaml")
    path.write_text(text, encoding="utf-8")
    return path


def test_the_template_explains_every_entry_and_is_a_problem(folder):
    file = load_problem_file(_written(TEMPLATE))
    assert file.problem().show() == "∂T/∂t = D ∂²T/∂x²"
    for entry in type(file).model_fields:
        assert re.search(rf"^(# )?{entry}:", TEMPLATE, re.M), entry
    # What is commented out is right too: uncommented alone, each entry is a problem file's.
    for block in re.findall(r"^# (\w+:.*(?:\n# .*)*)", TEMPLATE, re.M):
        assert block.split(":")[0] in type(file).model_fields


def test_the_committed_schema_is_current(folder, monkeypatch, capfd):
    assert (ROOT / "docs" / "problem.schema.json").read_text(encoding="utf-8") == schema_text()
    code, out, _ = run(monkeypatch, capfd, "schema")
    assert code == 0
    properties = json.loads(out)["properties"]
    assert {"coordinates", "fields", "hidden", "equations", "unknowns", "conditions"} <= set(properties)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["fit", "readings.csv", "-e", "T_t = D*T_xx"], "add --unknown D"),
        (["fit", "readings.csv", "-p", "p.yaml", "-e", "T_t = 0*T"], "and not both"),
        (["fit", "readings.csv", "-p", "p.yaml", "-u", "D"], "and not both"),
        (["predict", "none", "--grid", "5"], "none does not exist"),
        (["predict", "none"], "give either --at POINTS or --grid NODES"),
        (["predict", "none", "--grid", "1"], "--grid"),
        (["check", "none.yaml", "readings.csv"], "none.yaml does not exist"),
        (["fit", "readings.docx", "-e", "T_t = T"], "the ending '.docx' is not one that napinn reads"),
    ],
)
def test_bad_input_is_one_sentence(folder, monkeypatch, capfd, arguments, said):
    (folder / "readings.docx").touch()
    code, out, err = run(monkeypatch, capfd, *arguments)
    assert code == 2
    assert said in err
    assert out == ""
