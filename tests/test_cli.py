"""The command line as a new user meets it: exit codes, one sentence for bad input, files, and pure JSON when asked."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr

from napinn.cli import main
from napinn.cli.console import Console
from napinn.cli.demonstration import HOW_TO_READ, method_of, show
from napinn.problem import Problem, Unknown
from napinn.problem.file import load_problem_file
from napinn.studies.benchmarks.allen_cahn import allen_cahn
from napinn.studies.benchmarks.base import Benchmark

PROBLEM = "coordinates: {t: [0, 3]}\nfields: [u]\nunknowns: {k: 0.3}\nequations: ['u_t = -k*u']\n"


@pytest.fixture
def folder(tmp_path, decay_table, monkeypatch, small_networks):
    decay_table.assign(note="<b>kept</b>").to_csv(tmp_path / "readings.csv", index=False)
    (tmp_path / "problem.yaml").write_text(PROBLEM)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def napinn(monkeypatch, capfd, *arguments):
    """Run the command in this process; exit code, standard output, standard error."""
    monkeypatch.setattr(sys, "argv", ["napinn", *arguments])
    with pytest.raises(SystemExit) as stop:
        main.run()
    out, err = capfd.readouterr()
    return stop.value.code, out, err


def test_a_fit_writes_a_whole_run_folder(folder, monkeypatch, capfd):
    code, out, err = napinn(
        monkeypatch, capfd, "fit", "readings.csv", "--problem", "problem.yaml", "--steps", "60", "--json"
    )
    assert code == 3  # 60 steps settle nothing, and the exit code says so
    told = json.loads(out)
    assert told["folder"] == "runs/readings"
    assert set(told["unknowns"]) == {"k"}
    assert "warm-up" in err
    run = folder / "runs" / "readings"
    assert {p.name for p in run.iterdir()} == {
        "result.json", "request.json", "readings.csv", "sensors.csv", "field.nc", "history.csv", "model.npz",
        "report.html", "log.txt",
    }  # fmt: skip
    saved = json.loads((run / "result.json").read_text())
    assert {"versions", "seed", "method", "problem", "status", "message", "unknowns", "precision"} <= set(saved)
    given, marked = pd.read_csv("readings.csv"), pd.read_csv(run / "readings.csv")
    pd.testing.assert_frame_equal(marked[given.columns], given)
    assert set(marked["verdict"]) <= {"good", "unreliable"}
    with xr.open_dataset(run / "field.nc", engine="h5netcdf") as field:
        assert field["u"].dims == ("t",)
        assert np.isfinite(field["u"]).all()
    report = (run / "report.html").read_text()
    assert "∂u/∂t = −k u" in report
    assert 'src="' not in report.split("<script>")[0]

    code, _, err = napinn(monkeypatch, capfd, "fit", "readings.csv", "--problem", "problem.yaml", "--steps", "60")
    assert code == 2
    assert "already exists" in err
    code, out, _ = napinn(
        monkeypatch, capfd, "fit", "readings.csv", "-p", "problem.yaml", "--steps", "60", "-m", "pinn", "--overwrite"
    )
    assert code == 3
    assert "readings flagged" in out


def test_a_folder_that_is_no_run_is_never_removed(folder, monkeypatch, capfd):
    (folder / "mine").mkdir()
    (folder / "mine" / "thesis.tex").write_text("x")
    code, _, err = napinn(monkeypatch, capfd, "fit", "readings.csv", "-p", "problem.yaml", "-o", "mine", "--overwrite")
    assert code == 2
    assert "not a run of napinn" in err
    assert (folder / "mine" / "thesis.tex").exists()


LONG = 300 * "a"
"""A name that no file can have, so that even to ask whether it exists fails."""


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["fit", f"{LONG}.csv", "-p", "problem.yaml"], ".csv cannot be read: File name too long."),
        (["fit", "readings.csv", "-p", f"{LONG}.yaml"], ".yaml cannot be read: File name too long."),
        (["fit", "readings.csv", "-p", "problem.yaml", "-o", LONG], "a cannot be made: File name too long."),
        (["compare", f"{LONG}.yaml", "readings.csv"], ".yaml cannot be read: File name too long."),
        (["fit", "readings.csv", "-p", "."], "is a folder; give the problem file itself."),
    ],
)
def test_a_path_that_cannot_be_looked_at_is_one_sentence(folder, monkeypatch, capfd, arguments, said):
    code, out, err = napinn(monkeypatch, capfd, *arguments)
    assert (code, out) == (2, "")
    assert err.endswith(f"{said}\n")


@pytest.mark.parametrize(
    ("arguments", "lost"),
    [
        (["compare", "all/one", "all/two", "-o", "all"], "all/one"),
        (["compare", "all/problem.yaml", "readings.csv", "-o", "all"], "all/problem.yaml"),
        (["fit", "readings.csv", "-p", "all/problem.yaml", "-o", "all"], "all/problem.yaml"),
        (["fit", "all/one/readings.csv", "-p", "problem.yaml", "-o", "../all"], "all/one/readings.csv"),
        (["rerun", "all/one", "-o", "all"], "all/one"),
        (["rerun", "all/one", "-o", "all/one"], "all/one"),
    ],
)
def test_what_a_command_reads_is_never_overwritten(folder, finished_run, monkeypatch, capfd, arguments, lost):
    for name in ("one", "two"):
        shutil.copytree(finished_run, folder / "all" / name)
    for name in ("result.json", "comparison.csv"):
        (folder / "all" / name).touch()
    shutil.copy("problem.yaml", "all/problem.yaml")
    # The same folder by another name.
    (folder / "runs").mkdir()
    monkeypatch.chdir(folder / "runs")
    for name in ("all", "readings.csv", "problem.yaml"):
        (folder / "runs" / name).symlink_to(folder / name)
    before = sorted(folder.rglob("*"))
    code, _, err = napinn(monkeypatch, capfd, *arguments, "--overwrite")
    assert code == 2
    assert f"napinn: {lost} would be lost" in err
    assert err.count("\n") == 1
    assert sorted(folder.rglob("*")) == before


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["fit", "none.csv", "-p", "problem.yaml"], "none.csv does not exist"),
        (["fit", "readings.csv", "-p", "none.yaml"], "none.yaml does not exist"),
        (["fit", "readings.csv", "-p", "readings.csv"], "readings.csv"),
        (
            ["fit", "readings.csv", "-p", "problem.yaml", "-m", "napin"],
            "there is no method 'napin'; did you mean 'na_pinn'?",
        ),
        (["fit", "readings.csv"], "--problem"),
        (["fit", "readings.csv", "-p", "problem.yaml", "--steps", "0"], "--steps"),
        (["simulate", "alen_cahn", "-o", "new.csv"], "did you mean 'allen_cahn'?"),
        (["simulate", "allen_cahn", "--outliers", "1.5", "-o", "new.csv"], "share of outliers"),
        (["fit", "readings.csv", "-p", "problem.yaml", "--log", "tensorbord"], "did you mean 'tensorboard'?"),
        (["watch", "nowhere"], "nowhere is not there"),
        (["frobnicate"], "frobnicate"),
        (["reproduce", "mian"], "there is no study 'mian'; did you mean 'main'?"),
        (["reproduce", "main", "--preset", "quik"], "did you mean 'quick'?"),
        (["fit", "readings.csv", "-p", "problem.yaml", "--backbone", "mpl"], "there is no backbone 'mpl'"),
        (["fit", "readings.csv", "-p", "problem.yaml", "-m", "pinn", "--density", "ebm"], "has no choice of density"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_two(folder, monkeypatch, capfd, arguments, said):
    code, out, err = napinn(monkeypatch, capfd, *arguments)
    assert code == 2
    assert said in err
    assert "Traceback" not in err
    assert out == ""


def test_an_interrupted_fit_leaves_a_usable_run(folder, monkeypatch, capfd):
    from napinn import load
    from napinn.cli import progress

    def stop(self, snapshot):
        raise KeyboardInterrupt

    monkeypatch.setattr(progress._Lines, "__call__", stop)
    code, out, _ = napinn(monkeypatch, capfd, "fit", "readings.csv", "-p", "problem.yaml", "--steps", "300")
    assert code == 130
    assert "interrupted" in out
    assert load("runs/readings").status.name == "INTERRUPTED"


def test_a_study_that_is_interrupted_says_what_is_kept(folder, monkeypatch, capfd):
    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("napinn.cli.reproducing.reproduce", stop)
    code, out, err = napinn(monkeypatch, capfd, "reproduce", "main", "-o", "[mine]")
    assert (code, out) == (130, "")
    assert err == "napinn: interrupted; finished fits are kept in [mine], and the same command continues from there.\n"


def test_reproduce_alone_lists_the_studies(monkeypatch, capfd, tmp_path):
    code, out, _ = napinn(monkeypatch, capfd, "reproduce", "--preset", "paper", "-o", str(tmp_path), "--json")
    listed = {line["study"]: line for line in json.loads(out)}
    assert code == 0
    assert (listed["main"]["repeats"], listed["main"]["fits"], listed["main"]["left_out"]) == ("Table 1", 780, "")
    code, out, _ = napinn(monkeypatch, capfd, "reproduce", "-o", str(tmp_path))
    assert code == 0
    assert "Preset quick: for a desktop" in out
    assert all(name in out for name in listed)


def test_paths_and_units_of_a_simulation_stay_as_they_are(folder, monkeypatch, capfd):
    code, out, _ = napinn(monkeypatch, capfd, "simulate", "allen_cahn_si", "-o", "[m]/ac.csv")
    assert (code, "napinn fit '[m]/ac.csv' --problem '[m]/ac.problem.yaml'" in out) == (0, True)
    assert load_problem_file(folder / "[m]" / "ac.problem.yaml").units == {"x": "m", "y": "m", "t": "s", "p": "Pa"}


def test_simulate_writes_readings_labels_and_a_problem_that_fit(folder, monkeypatch, capfd):
    code, out, _ = napinn(monkeypatch, capfd, "simulate", "allen_cahn", "--outliers", "0.1", "-o", "ac.csv", "--json")
    assert code == 0
    told = json.loads(out)
    assert (told["count"], told["outliers"]) == (22_500, 2_250)
    labels = pd.read_csv(told["labels"])
    readings = pd.read_csv(told["readings"])
    assert "u_outlier" not in readings.columns
    noise = (readings["u"] - labels["u_true"])[~labels["u_outlier"]] / np.abs(labels["u_true"]).mean()
    assert noise.std() == pytest.approx(0.673, rel=0.02)
    assert noise.mean() == pytest.approx(0.0475, abs=0.02)
    gross = (readings["u"] - labels["u_true"])[labels["u_outlier"]] / np.abs(labels["u_true"]).mean()
    assert gross.min() >= 3 * 0.67
    assert gross.max() <= 10 * 0.68
    from napinn.data.formats import read_csv
    from napinn.problem.file import bind_readings, load_problem_file

    problem, table = bind_readings(load_problem_file(folder / "ac.problem.yaml"), read_csv(folder / "ac.csv"), "ac.csv")
    assert len(table) == 22_500
    assert problem.unknowns["eps"].start == 1.0


def heated_rod() -> Benchmark:
    """300 readings of the slowest mode of the heat equation."""
    box = {"x": (0.0, 1.0), "t": (0.0, 1.0)}
    problem = Problem(box, ("u",), ("u_t = D*u_xx",), {"D": Unknown(0.3, low=0.0)})

    def truth(points: np.ndarray) -> np.ndarray:
        x, t = points.T
        return (np.sin(np.pi * x) * np.exp(-0.1 * np.pi**2 * t))[:, None]

    return Benchmark(problem, truth, {"D": 0.1}, times=20, paper_rejection=0.5)


def test_the_demo_prints_rows_as_they_come_then_the_promised_keys(folder, monkeypatch, capfd):
    # What is printed does not depend on the benchmark, and splines fit a rod in a second.
    monkeypatch.setattr("napinn.cli.demonstration.allen_cahn", heated_rod)
    code, out, err = napinn(monkeypatch, capfd, "demo", "--steps", "12", "--json")
    assert code in (0, 3)
    told = json.loads(out)
    keys = {
        "rmae",
        "rmse",
        "unknowns",
        "outliers",
        "outliers_flagged",
        "good_readings",
        "good_flagged",
        "seconds",
        "processor_seconds",
        "steps",
    }
    assert list(told) == ["default", "na_pinn", "pinn"]
    assert all(keys <= set(row) for row in told.values())
    assert told["na_pinn"]["outliers"] + told["na_pinn"]["good_readings"] == 300
    announced, *rows = (err.index(text) for text in ("Three methods", "default: rMSE", "na_pinn: rMSE", "pinn: rMSE"))
    assert announced < rows[0] < rows[1]
    assert err.rindex("pinn: rMSE") > rows[1]
    assert (folder / "demo-run" / "report.html").exists()


def test_the_demo_ends_with_its_table_how_to_read_it_and_the_report(finished, capfd):
    row = {"rmse": 0.01, "unknowns": {"eps": 0.3}, "outliers_flagged": 1, "outliers": 2, "good_flagged": 3}
    show({"default": {**row, "good_readings": 4, "seconds": 5.0}}, allen_cahn(), finished, Path("my run"), Console())
    out = capfd.readouterr().out
    assert "1 of 2" in out
    assert out.index("rMSE") < min(out.index(sentence) for sentence in HOW_TO_READ)
    assert str(Path("my run") / "report.html") in out
    assert out.rstrip().endswith("napinn verify 'my run'")


@pytest.mark.parametrize(("full", "steps", "width"), [(False, 6000, 40), (True, 10_000, 80)])
def test_the_short_demo_trains_smaller_networks_for_fewer_steps(full, steps, width):
    for word in ("na_pinn", "pinn"):
        method = method_of(word, None, full)
        assert (method.steps, method.backbone.width) == (steps, width)  # pyright: ignore[reportAttributeAccessIssue]


def test_what_there_is_comes_as_a_table_or_as_json(monkeypatch, capfd):
    code, out, _ = napinn(monkeypatch, capfd, "backbones", "--json")
    assert code == 0
    counts = {name: row["parameters"] for name, row in json.loads(out).items()}
    assert {
        "mlp": 26_402,
        "fls": 26_402,
        "qres": 52_242,
        "piratenet": 110_327,
        "kan": 260_000,
    }.items() <= counts.items()
    code, out, _ = napinn(monkeypatch, capfd, "methods", "--json")
    assert set(json.loads(out)["methods"]) == {
        "auto",
        "splines",
        "law_pinn",
        "na_pinn",
        "pinn",
        "lad_pinn",
        "mad_pinn",
        "or_pinn",
        "b_pinn",
    }
    assert "Peng et al. 2022" in napinn(monkeypatch, capfd, "methods")[1]


REFUSALS = """
import sys
import zipfile
from pathlib import Path
from napinn.cli.main import run

def refused(words, *unneeded):
    sys.argv = ["napinn", *words]
    try:
        run()
    except SystemExit as stop:
        assert stop.code == 2, words
    loaded = [name for name in unneeded if name in sys.modules]
    assert not loaded, f"{words} loads {loaded}"

Path("r.csv").write_text("t,u\\n0,1\\n1,x\\n")
Path("p.yaml").write_text("coordinates: {t: [0, 3]")
Path("torn").mkdir()
Path("torn/result.json").write_text('{"format": 2}')
Path("torn/model.npz").write_text("PK")
Path("run").mkdir()
Path("run/result.json").write_text('{"format": 2}')
zipfile.ZipFile("run/model.npz", "w").close()
Path("run/request.json").write_text('{"format": 2, "wishes": {"inputs": ["../r.csv"]}}')
equation = ["-e", "u_t = -k*u", "--unknown", "k"]
for words in (
    ["fit", "r.csv"], ["fit", "nowhere.csv", *equation], ["fit", "r.csv", *equation, "--method", "nothing"],
    ["check", "p.yaml"], ["check", "nowhere.yaml", "r.csv"], ["discover", "nowhere.csv"], ["init", "nowhere.csv"],
    ["report", "run", "-o", "run/readings.csv"], ["report", "run", "-o", "r.csv"], ["new", "p.yaml"],
    ["export", "run", "--what", "readings", "-o", "r.csv", "--overwrite"], ["simulate", "burgers", "-o", "r.csv"],
    ["predict", "run", "--grid", "3", "-o", "r.csv", "--overwrite"], ["bundle", "run", "-o", "run/result.json"],
    ["schema", "-o", "p.yaml"], ["verify", "torn"], ["discover", "r.csv", "-o", "run"], ["demo", "-o", "run"],
    ["rerun", "run", "-o", "run"], ["compare", "run", "run", "-o", "run"], ["fit", "r.csv", *equation, "-o", "run"],
    ["reproduce", "main", "-o", "run"],
    ["compare", "p.yaml", "nowhere.csv"], ["verify", "."], ["plot", ".", "-o", "x.png"], ["reproduce", "nothing"],
):
    refused(words, "numpy", "pandas", "scipy", "jax")
for words in (["fit", "r.csv", *equation], ["fit", "r.csv", "-p", "p.yaml"], ["check", "p.yaml", "r.csv"]):
    refused(words, "scipy", "xarray", "jinja2", "napinn.runs.pipeline", "jax")
"""


def test_what_is_refused_does_not_wait_for_what_is_not_needed(tmp_path):
    done = subprocess.run([sys.executable, "-c", REFUSALS], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_user_text_is_shown_as_text_in_the_report(decay_problem, decay_table, small_method):
    from napinn import fit, read_table
    from napinn.report.html import report_html

    named = decay_table.assign(sensor="<script>alert(1)</script>")
    named.loc[0, "sensor"] = "fine"
    result = fit(decay_problem, read_table(named, ("t",), ("u",)), small_method(60))
    page = report_html(result)
    assert "<script>alert" not in page
