"""Nothing is lost: what a command may write over, what it may not, and one fit at a time in a folder."""

import errno
import fcntl
import hashlib
import json
import os
import shutil
import stat
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from napinn import InputError, load
from napinn.cli import main, verifying
from napinn.diagnostics.findings import Check, CheckOutcome, Verification
from napinn.evaluation import finishing
from napinn.runs import pipeline
from napinn.runs.folder import CERTAINTY, RESULT, prepare
from napinn.runs.loggers import LIVE_FILES
from napinn.runs.verification import VERIFICATION
from napinn.storage.folders import BEGUN, COMPARISON, check_study_folder
from napinn.storage.lock import LOCK, held
from napinn.storage.outputs import RUN_FILES, output, read_by

PROBLEM = """coordinates: {t: [0, 3]}
fields: [u]
unknowns: {k: 0.3}
tables: {q: {file: q.csv, coordinates: [t]}}
equations: ['u_t = -k*u + 0*q']
"""
FIT = ["fit", "readings.csv", "-p", "problem.yaml", "-m", "splines", "--quiet"]


@pytest.fixture
def folder(tmp_path, decay_table, finished_run, monkeypatch):
    decay_table.head(20).to_csv(tmp_path / "readings.csv", index=False)
    (tmp_path / "q.csv").write_text("t,value\n0,1\n3,2\n")
    (tmp_path / "problem.yaml").write_text(PROBLEM)
    (tmp_path / "points.csv").write_text("t\n0.5\n")
    shutil.copytree(finished_run, tmp_path / "RUN")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def napinn(folder, monkeypatch, capfd):
    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["napinn", *arguments])
        with pytest.raises(SystemExit) as stop:
            main.run()
        return stop.value.code, *capfd.readouterr()

    return call


def contents(folder):
    return {
        str(path): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.is_symlink()
    }


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("export RUN --what readings -o readings.txt", "ends in .parquet"),
        ("export RUN --what readings -o readings.csv", "already exists"),
        ("export RUN --what model -o RUN/model.npz", "ends in .stablehlo"),
        ("export RUN --what readings -o RUN/readings.parquet", "belongs to the run"),
        ("export RUN --what readings -o RUN/readings.parquet --overwrite", "belongs to the run"),
        ("report RUN -o problem.yaml", "ends in .html"),
        ("report RUN -o problem.yaml --overwrite", "ends in .html"),
        ("report RUN -o page.html", "already exists"),
        ("plot RUN -o figure.png", "already exists"),
        ("bundle RUN -o RUN/readings.csv --overwrite", "ends in .zip"),
        ("predict RUN --grid 3 -o RUN/readings.csv --overwrite", "belongs to the run"),
        ("predict RUN --grid 3 -o RUN/sensors.csv --overwrite", "belongs to the run"),
        ("predict RUN --grid 3 -o RUN/../RUN/history.csv --overwrite", "belongs to the run"),
        ("predict RUN --grid 3 -o RUN/checkpoints/new.csv --overwrite", "belongs to the run"),
        ("predict RUN --at points.csv -o points.csv --overwrite", "is read by this command"),
        ("predict RUN --at points.csv -o hard.csv --overwrite", "is read by this command"),
        ("predict RUN --at points.csv -o link.csv --overwrite", "is read by this command"),
        ("predict RUN --at points.csv -o readings.csv", "already exists"),
        ("predict RUN --grid 3 -o RUN.csv --overwrite", "is a folder"),
        ("predict RUN --grid 3 -o ring.csv --overwrite", "cannot be written"),
        ("schema -o RUN/result.json --overwrite", "belongs to the run"),
        ("simulate burgers -o RUN/sensors.csv --overwrite", "belongs to the run"),
        ("new problem.yaml", "already exists"),
        ("new readings.csv --overwrite", "ends in .yaml"),
        ("schema -o problem.yaml --overwrite", "ends in .json"),
        ("simulate burgers -o problem.yaml --overwrite", "ends in .csv"),
        ("simulate burgers -o readings.csv", "already exists"),
        ("simulate burgers -o .", "ends in .csv"),
        ("discover readings.csv -o RUN", "already exists and is not empty"),
        ("discover readings.csv -o readings.csv", "is a file; name a folder"),
        ("demo -o RUN", "already exists and is not empty"),
        ("rerun RUN -o RUN --overwrite", "would be lost"),
        ("compare RUN RUN -o RUN --overwrite", "would be lost"),
        ("fit readings.csv -p problem.yaml -o RUN", "already exists and is not empty"),
        ("reproduce main -o RUN", "is the folder of a run"),
        ("reproduce main -o readings.csv", "is a file; name a folder"),
        ("reproduce main -o thesis", "holds no study of napinn"),
        ("reproduce discovery -o readings.csv", "is no table of this study"),
        ("init readings.csv -o problem.yaml", "already exists"),
    ],
)
def test_no_command_replaces_what_was_not_given_up(folder, napinn, command, said):
    (folder / "page.html").write_text("mine")
    (folder / "figure.png").write_text("mine")
    (folder / "thesis").mkdir()
    (folder / "thesis" / "thesis.tex").write_text("mine")
    (folder / "RUN.csv").mkdir()
    (folder / "link.csv").symlink_to("points.csv")
    (folder / "hard.csv").hardlink_to("points.csv")
    (folder / "ring.csv").symlink_to("ring.csv")
    before = contents(folder)
    code, out, err = napinn(*command.split())
    assert (code, out) == (2, "")
    assert said in err
    assert contents(folder) == before


def test_a_device_is_never_renamed_over_and_a_link_stays_a_link(folder, napinn):
    os.mkfifo("pipe.html")
    (folder / "device.html").symlink_to("/dev/null")
    for name in ("pipe.html", "device.html"):
        code, _, err = napinn("report", "RUN", "-o", name, "--overwrite")
        assert (code, "device or a pipe" in err) == (2, True)
    assert stat.S_ISFIFO(os.stat("pipe.html").st_mode)
    (folder / "page.html").write_text("earlier")
    (folder / "link.html").symlink_to("page.html")
    assert napinn("report", "RUN", "-o", "link.html")[0] == 2
    assert napinn("report", "RUN", "-o", "link.html", "--overwrite")[0] == 0
    assert (folder / "link.html").is_symlink()
    assert (folder / "page.html").read_text().startswith("<!doctype html>")


def test_the_own_files_of_a_run_are_written_again_without_asking(folder, napinn):
    for command in (["report", "RUN"], ["export", "RUN", "--what", "field", "-o", "RUN/field.nc"]):
        assert [napinn(*command)[0] for _ in range(2)] == [0, 0]
    load(folder / "RUN")


def test_a_table_without_an_ending_is_text(folder, napinn):
    assert napinn("predict", "RUN", "--grid", "3", "-o", "bare")[0] == 0
    assert (folder / "bare").read_text().startswith("t,u")


def test_what_a_run_was_fitted_to_is_kept(folder, napinn):
    assert napinn(*FIT, "-o", "fresh")[0] in (0, 3)
    before = contents(folder)
    for name in ("readings.csv", "q.csv"):
        code, _, err = napinn("predict", "fresh", "--grid", "3", "-o", name, "--overwrite")
        assert (code, "is read by this command or belongs to the run" in err) == (2, True)
    assert contents(folder) == before
    (folder / "moved").mkdir()
    for name in ("problem.yaml", "q.csv", "readings.csv"):
        shutil.move(name, "moved")
    (folder / "moved" / "result.json").touch()
    code, _, err = napinn(
        "fit", "moved/readings.csv", "-p", "moved/problem.yaml", "-m", "pinn", "-o", "moved", "--overwrite"
    )
    assert (code, "would be lost" in err) == (2, True)


def test_side_files_count_as_input(folder, napinn):
    (folder / "old").mkdir()
    (folder / "old" / "result.json").touch()
    shutil.move("q.csv", "old/q.csv")
    Path("problem.yaml").write_text(PROBLEM.replace("q.csv", "old/q.csv"))
    code, _, err = napinn(*FIT, "-o", "old", "--overwrite")
    assert (code, "old/q.csv would be lost" in err) == (2, True)
    assert (folder / "old" / "q.csv").exists()


def test_every_file_that_a_run_is_loaded_from_is_guarded(folder):
    """What `load` opens in the run folder is in the list of what no command replaces."""
    opened, listening = set(), [True]
    # A hook cannot be removed, so it is told when to stop.
    sys.addaudithook(lambda event, arguments: listening and event == "open" and opened.add(str(arguments[0])))
    load(folder / "RUN")
    listening.clear()
    names = {Path(path).name for path in opened if Path(path).parent == folder / "RUN"}
    assert {"result.json", "readings.csv", "model.npz"} <= names
    assert names <= RUN_FILES
    assert {*BEGUN, RESULT, CERTAINTY, VERIFICATION} <= RUN_FILES
    assert LIVE_FILES <= BEGUN
    assert {path.name for path in read_by(folder / "RUN")} >= names


def test_a_link_to_nothing_is_refused_as_a_folder(tmp_path):
    (tmp_path / "link").symlink_to("gone")
    with pytest.raises(InputError, match="is a link to a folder that does not exist"):
        prepare(tmp_path / "link", overwrite=True)


def test_a_run_that_is_replaced_leaves_files_of_the_user(tmp_path):
    run, compared = tmp_path / "run", tmp_path / "compared"
    for place in (run, compared / "pinn", compared / "own"):
        (place / "checkpoints").mkdir(parents=True)
        for name in ("result.json", "report.html", ".part-field.nc", "checkpoints/1.npz"):
            (place / name).write_text("{}")
    (compared / COMPARISON).write_text("")
    kept = [run / "notes.txt", run / "inner" / "result.json", compared / "own" / "thesis.tex"]
    for path in kept:
        path.parent.mkdir(exist_ok=True)
        path.write_text("mine")
    prepare(run, overwrite=True)
    prepare(compared, overwrite=True, whole=COMPARISON)
    assert {path for path in tmp_path.rglob("*") if path.is_file() and path.name != LOCK} == set(kept)
    assert not (compared / "pinn").exists()


def test_a_discovery_is_replaced_with_its_problem_file(tmp_path):
    for name in ("discovery.json", "problem.yaml", "report.html", "profile.png", "notes.txt"):
        (tmp_path / name).write_text("{}")
    with pytest.raises(InputError, match="add --overwrite"):
        prepare(tmp_path, overwrite=False)
    prepare(tmp_path, overwrite=True)
    assert {path.name for path in tmp_path.iterdir()} - {LOCK} == {"notes.txt"}


def test_a_problem_file_beside_a_run_is_the_users(tmp_path):
    for name in ("result.json", "problem.yaml"):
        (tmp_path / name).write_text("{}")
    prepare(tmp_path, overwrite=True)
    assert (tmp_path / "problem.yaml").exists()


def test_a_study_may_add_to_its_own_folder(tmp_path):
    check_study_folder(tmp_path / "new")
    check_study_folder(tmp_path)
    (tmp_path / "fits").mkdir()
    (tmp_path / "main.csv").write_text("label")
    check_study_folder(tmp_path)


def test_a_mistyped_run_is_told_which_one_stands_beside_it(folder, napinn):
    for word, said in (("RUM", "RUM does not exist; did you mean 'RUN'?"), ("other", "check the path")):
        code, _, err = napinn("report", word)
        assert code == 2
        assert said in err


def test_a_failing_writer_leaves_what_was_there(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("earlier")

    def fail(beside):
        beside.write_text("half")
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(InputError, match="No space left on device"):
        output(path, (".csv",), overwrite=True).write(fail)
    assert path.read_text() == "earlier"
    assert [each.name for each in tmp_path.iterdir()] == ["a.csv"]


def test_a_second_fit_in_one_folder_is_refused(folder, napinn):
    assert napinn(*FIT, "-o", "run")[0] in (0, 3)
    assert not (folder / "run" / LOCK).exists()
    shutil.copytree("run", "begun")
    Path("begun/result.json").unlink()
    with held(folder / "run"), held(folder / "begun"):
        before = contents(folder)
        for command in ([*FIT, "-o", "run", "--overwrite"], ["resume", "begun"]):
            code, _, err = napinn(*command)
            assert code == 2
            assert (
                f"a fit is running in {command[-1] if command[0] == 'resume' else 'run'} (process {os.getpid()}" in err
            )
        assert contents(folder) == before
    assert napinn("resume", "begun", "--quiet")[0] in (0, 3)


@pytest.mark.parametrize("works", [True, False])
def test_the_lock_of_a_dead_process_holds_nobody_up(tmp_path, monkeypatch, works):
    """Also where the file system has no locks and the process named in the file decides."""
    if not works:

        def refuse(*_):
            raise OSError(errno.ENOLCK, "No locks available")

        monkeypatch.setattr(fcntl, "flock", refuse)
    with held(tmp_path):
        mine = json.loads((tmp_path / LOCK).read_text())
        with pytest.raises(InputError, match=f"process {os.getpid()} on"), held(tmp_path):
            pass
    assert not (tmp_path / LOCK).exists()
    dead = subprocess.Popen(["true"])
    dead.wait()
    (tmp_path / LOCK).write_text(json.dumps({**mine, "pid": dead.pid}))
    with held(tmp_path):
        assert json.loads((tmp_path / LOCK).read_text()) == mine
    (tmp_path / LOCK).write_text("torn")
    prepare(tmp_path / "new", overwrite=False)
    with held(tmp_path):
        pass


def test_intervals_of_two_readings_are_refused_before_training(folder, napinn):
    Path("two.csv").write_text("t,u\n0,1\n3,0.5\n")
    one_line = ["fit", "two.csv", "-e", "u_t = -k*u", "-u", "k", "--intervals", "-o", "two"]
    code, _, err = napinn(*one_line)
    assert (code, "2 reading(s), and intervals need 3" in err) == (2, True)
    assert not Path("two").exists()


def test_a_fit_that_used_too_few_readings_is_kept_without_intervals(finished):
    doubted = replace(finished, reliability=0.0 * finished.reliability)
    kept = finishing.with_intervals(doubted)
    assert kept.uncertainty is None
    assert "There are no intervals: the fit has used 0 readings" in kept.notes[-1]


@pytest.mark.parametrize("as_json", [[], ["--json"]])
def test_findings_are_shown_where_the_run_is_read_only(folder, napinn, monkeypatch, as_json):
    def refuse(*_, **__):
        raise OSError(errno.EROFS, "Read-only file system")

    found = Verification((Check("status of the fit", CheckOutcome.PASS, "The fit has settled."),))
    monkeypatch.setattr(verifying, "verify", lambda *_, **__: found)
    monkeypatch.setattr(verifying, "write_verification", refuse)
    code, out, err = napinn("verify", "RUN", *as_json)
    assert (code, "The fit has settled." in out, "Read-only file system" in err) == (1, True, True)
    monkeypatch.setattr("napinn.runs.folder._write", refuse)
    monkeypatch.setattr(pipeline, "write_report", refuse)
    code, out, err = napinn("intervals", "RUN", *as_json)
    assert (code, "Read-only file system" in err) == (1, True)
    assert ("intervals" in json.loads(out)) if as_json else ("95 % intervals" in out)
