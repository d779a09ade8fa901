"""The commands around a run: resume, rerun, bundle, the log, and a disk that fails. A fit survives SIGKILL."""

import errno
import importlib.util
import json
import os
import sys
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from napinn import FitStatus, load, save
from napinn.cli import main, progress
from napinn.engines.request import Request
from napinn.runs import pipeline
from napinn.runs.folder import begin
from napinn.runs.request import RunExtras

ROOT = Path(__file__).parent.parent
FIT = ["fit", "r.csv", "-e", "u_t = -k*u", "-u", "k=0.3", "-m", "pinn", "--steps", "200", "--checkpoint-every", "0"]


pytestmark = pytest.mark.usefixtures("compiled_once")


@pytest.fixture
def napinn(tmp_path, monkeypatch, capfd, small_networks):
    monkeypatch.chdir(tmp_path)
    times = np.linspace(0.0, 3.0, 40)
    rows = "\n".join(f"{time},{np.exp(-0.8 * time) + 0.01 * np.cos(50 * time)}" for time in times)
    Path("r.csv").write_text(f"t,u\n{rows}\n")

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["napinn", *arguments])
        with pytest.raises(SystemExit) as stop:
            main.run()
        said = capfd.readouterr()
        return stop.value.code, said.out, said.err

    return call


def numbers(folder):
    told = json.loads((Path(folder) / "result.json").read_text())
    return told["unknowns"], (Path(folder) / "model.npz").read_bytes(), (Path(folder) / "readings.csv").read_bytes()


def test_a_run_is_interrupted_resumed_repeated_and_bundled(napinn, monkeypatch):
    assert napinn(*FIT, "-o", "calm", "--quiet") == (3, "", "")
    code, _, err = napinn("resume", "calm")
    assert (code, "is finished, there is nothing to resume" in err) == (2, True)

    def stop(self, snapshot):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(progress._Lines, "__call__", stop)
        code, out, _ = napinn(*FIT, "-o", "torn")
    assert code == 130
    assert "`napinn resume` continues it" in out
    code, out, err = napinn("resume", "torn", "--verbose")
    assert code == 3
    assert "resumed after 100 steps" in err
    assert numbers("torn") == numbers("calm")
    assert not Path("torn/checkpoints").exists()
    assert "phase 'training': 100 of 200 steps done" in Path("torn/log.txt").read_text()

    code, out, _ = napinn("rerun", "torn", "-o", "again")
    assert code == 3
    assert "The numbers agree" in out
    asked = json.loads(Path("torn/request.json").read_text())
    assert asked["seed"] == 0
    Path("torn/request.json").write_text(json.dumps({**asked, "seed": 5}))
    code, out, _ = napinn("rerun", "torn", "-o", "other", "--json")
    assert (code, json.loads(out)["identical"]) == (3, False)
    check_bundle(napinn)


def check_bundle(napinn):
    code, out, _ = napinn("bundle", "torn", "-o", "b.zip")
    assert (code, "without your readings" in out) == (0, True)
    with zipfile.ZipFile("b.zip") as archive:
        assert set(archive.namelist()) == {"result.json", "request.json", "history.csv", "versions.json", "log.txt"}
        assert "jax" in json.loads(archive.read("versions.json"))
    assert napinn("bundle", "torn", "-o", "b.zip")[0] == 2
    assert napinn("bundle", "torn", "-o", "b.zip", "--with-data", "--overwrite")[0] == 0
    with zipfile.ZipFile("b.zip") as archive:
        assert "readings.csv" in archive.namelist()
    Path("empty").mkdir()
    code, _, err = napinn("bundle", "empty", "-o", "c.zip")
    assert (code, "not the folder of a run" in err) == (2, True)


def test_what_was_asked_beside_the_fit_is_asked_again_when_it_is_resumed(napinn, finished, monkeypatch):
    logged = []
    monkeypatch.setattr(pipeline, "fit_request", lambda *_, **__: finished)
    monkeypatch.setattr(pipeline, "with_intervals", lambda result: replace(result, notes=("with intervals",)))
    monkeypatch.setattr(pipeline, "opened", lambda folder, names: logged.extend(names) or [])
    request, run = Request(finished.problem, finished.readings, finished.method), Path("run")
    run.mkdir()
    begin(request, run, RunExtras(intervals=True, logs=("mlflow",)))
    assert napinn("resume", "run", "--quiet")[0] == 3
    assert (load(run).notes, logged) == (("with intervals",), ["mlflow"])

    Path("run/result.json").unlink()
    asked = json.loads(Path("run/request.json").read_text())
    Path("run/request.json").write_text(json.dumps({name: asked[name] for name in asked if name != "wishes"}))
    assert napinn("resume", "run", "--quiet")[0] == 3
    assert load(run).notes == finished.notes
    Path("run/result.json").unlink()
    Path("run/request.json").write_text(json.dumps({**asked, "wishes": "many"}))
    assert "is not that of a fit" in napinn("resume", "run")[2]


def test_what_cannot_be_resumed_is_not_begun_anew(napinn, finished):
    request, run = Request(finished.problem, finished.readings, finished.method), Path("run")
    save(replace(finished, status=FitStatus.INTERRUPTED), run)
    code, _, err = napinn("resume", "run")
    assert (code, "run has no checkpoint to continue from" in err) == (2, True)
    begin(request, run, RunExtras(seeds=8))
    code, _, err = napinn("resume", "run")
    assert (code, "run was to fit 8 seeds, of which no checkpoints are kept" in err) == (2, True)


def test_a_disk_that_is_full_is_one_sentence_and_the_fit_is_not_lost(napinn, monkeypatch):
    original, full = os.replace, []

    def replace(source, target):
        if full and "checkpoint" not in str(target):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        original(source, target)

    def fill(self, snapshot):
        full.append(snapshot.done)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", replace)
        patch.setattr(progress._Lines, "__call__", fill)
        code, out, err = napinn(*FIT, "-o", "my run")
    assert (code, out) == (1, "")
    remedy = "Free some space there and run: napinn resume 'my run'"
    assert err.splitlines()[-1].endswith(f"No space left on device. {remedy}")
    assert "Traceback" not in err
    assert not Path("my run/result.json").exists()
    assert napinn("resume", "my run", "--quiet") == (3, "", "")
    assert json.loads(Path("my run/result.json").read_text())["status"] in ("CONVERGED", "BUDGET_SPENT", "DOUBTFUL")


def test_a_folder_that_cannot_be_written_is_refused_before_training(napinn, monkeypatch):
    def refuse(source, target):
        raise OSError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(os, "replace", refuse)
    code, _, err = napinn(*FIT, "-o", "run")
    assert code == 2
    assert "run cannot be written to: Permission denied." in err


def test_a_fit_that_is_killed_ends_as_one_that_was_left_alone(tmp_path):
    spec = importlib.util.spec_from_file_location("kill", ROOT / "benchmarks" / "kill_and_resume.py")
    assert spec is not None
    assert spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    sys.modules["kill"] = script
    spec.loader.exec_module(script)
    outcome = script.kill_and_resume(tmp_path, kills=1, steps=200, method="pinn", longest=4.0)
    assert outcome.kills > 0
    assert (outcome.same_result, outcome.same_readings, outcome.same_arrays) == (True, True, True)
