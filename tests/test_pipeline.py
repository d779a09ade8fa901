"""One way from a request to a run folder, from Python and from the command line; inputs are read and checked once."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import napinn
from napinn.cli import main
from napinn.engines import request as requests
from napinn.problem.file import binding, inputs, problem_file

PROBLEM = """
coordinates: {x: [0, 1], t: [0, 3]}
fields: [u]
equations: ["u_t = -k*u*f"]
unknowns: {k: 0.5}
tables: {f: {file: f.csv, coordinates: [t]}}
sensors: places.csv
"""


@pytest.fixture
def files(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    t = np.linspace(0.0, 3.0, 25)
    noise = 0.01 * np.random.default_rng(0).standard_normal((3, 25))
    Path("problem.yaml").write_text(PROBLEM)
    pd.DataFrame({"t": [0.0, 3.0], "value": [1.0, 1.0]}).to_csv("f.csv", index=False)
    pd.DataFrame({"sensor": ["a", "b", "c"], "x": [0.2, 0.5, 0.8]}).to_csv("places.csv", index=False)
    columns = {name: np.exp(-0.8 * t) + noise[row] for row, name in enumerate("abc")}
    pd.DataFrame({"t": t, **columns}).to_csv("readings.csv", index=False)
    return tmp_path


@pytest.fixture
def counted(monkeypatch):
    """How often each of some functions is called."""
    calls: dict[str, int] = {}

    def count(module, name):
        original = getattr(module, name)

        def call(*arguments, **named):
            path = f" {Path(arguments[0]).name}" if arguments and isinstance(arguments[0], Path) else ""
            calls[name + path] = calls.get(name + path, 0) + 1
            return original(*arguments, **named)

        monkeypatch.setattr(module, name, call)

    count(inputs, "load_problem_file")
    count(problem_file, "read_file")
    for module in (requests, binding):
        count(module, "check_in_box")
    return calls


def command(monkeypatch, *arguments: str) -> int:
    monkeypatch.setattr("sys.argv", ["napinn", *arguments])
    with pytest.raises(SystemExit) as stop:
        main.run()
    return int(stop.value.code or 0)


def test_the_command_reads_every_file_once_and_checks_the_box_once(files, counted, monkeypatch):
    code = command(monkeypatch, "fit", "readings.csv", "-p", "problem.yaml", "-m", "splines", "-o", "run", "--quiet")
    assert code in (0, 3)
    assert counted == {
        "load_problem_file problem.yaml": 1, "read_file f.csv": 1, "read_file places.csv": 1, "check_in_box": 1,
    }  # fmt: skip
    extras = json.loads(Path("run/request.json").read_text())["wishes"]
    assert {Path(name).name for name in extras["inputs"]} == {"readings.csv", "problem.yaml", "f.csv", "places.csv"}


def test_python_and_the_command_leave_the_same_folder(files, monkeypatch):
    command(monkeypatch, "fit", "readings.csv", "-p", "problem.yaml", "-m", "splines", "-o", "told", "--quiet")
    result = napinn.run("problem.yaml", "readings.csv", "called", napinn.bsplines())
    assert {path.name for path in Path("told").iterdir()} == {path.name for path in Path("called").iterdir()}
    for name in ("readings.csv", "sensors.csv", "model.npz"):
        assert (files / "told" / name).read_bytes() == (files / "called" / name).read_bytes()
    assert napinn.load("told").unknowns == result.unknowns
    assert "report.html" in {path.name for path in Path("called").iterdir()}
    with pytest.raises(napinn.InputError, match="already exists"):
        napinn.run("problem.yaml", "readings.csv", "called", napinn.bsplines())
    again = napinn.run("problem.yaml", "readings.csv", "called", napinn.bsplines(), overwrite=True, flags="qartod")
    assert again.unknowns == result.unknowns
    assert "a_quality_flag" in pd.read_csv("called/readings.csv")


def test_what_cannot_be_run_is_refused_before_the_folder_is_made(files):
    problem, readings = napinn.read_problem("problem.yaml", "readings.csv")
    outside = napinn.Problem({"x": (0, 1), "t": (0, 1)}, ("u",), ("u_t = -k*u",), {"k": napinn.Unknown(1.0)})
    for refused in (
        lambda: napinn.run(outside, readings, "run", napinn.bsplines()),
        lambda: napinn.run(problem, readings, "run", napinn.bsplines(), flags="traffic lights"),
        lambda: napinn.run(problem, readings, "run", napinn.bsplines(), logs=("paper",)),
    ):
        with pytest.raises(napinn.InputError):
            refused()
    assert not Path("run").exists()
