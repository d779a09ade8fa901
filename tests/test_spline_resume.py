"""A spline fit that is stopped anywhere ends with the numbers of one that was left alone; a checkpoint that is damaged
or of another run is refused in one sentence."""
# A case is a problem and its readings, which the checker cannot count in `fit(*case, method)`.
# pyright: reportCallIssue=false

import json
import random
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import napinn
from napinn import FitStatus, InputError, fit, read_table
from napinn.cli import main, progress
from napinn.engines import choice
from napinn.engines.base import RunOptions
from napinn.engines.request import Request
from napinn.engines.splines import engine
from napinn.engines.splines.cost import Meter
from napinn.engines.splines.journal import level_of, read_stages
from napinn.engines.splines.method import automatic, bsplines
from napinn.engines.splines.task import Task
from napinn.runs.folder import begin
from napinn.storage.checkpoints import Checkpoints, found, packed, unpacked
from spline_cases import decaying, small_decay


class KilledError(Exception):
    """Stands for a process that is gone at once: nothing is cleaned up after it."""


def stop_at(number, error=KilledError):
    """A progress function that raises at the point of this number."""

    def progress(snapshot):
        if snapshot.done == number:
            raise error

    return progress


@pytest.fixture(scope="module")
def few():
    """40 readings: several starts, no learned law."""
    return small_decay(), read_table(decaying(40, 0.02), ("t",), ("u",))


@pytest.fixture(scope="module")
def many(decay_problem, decay_readings):
    """400 readings: the noise law is learned."""
    return decay_problem, decay_readings


@pytest.fixture(scope="module")
def whole(few, many):
    return {"few": fit(*few, bsplines()), "many": fit(*many, bsplines())}


def killed(case, folder, number):
    with pytest.raises(KilledError):
        fit(*case, bsplines(), checkpoints=Checkpoints(folder, every=0.0), progress=stop_at(number))


def same(first, second):
    for name, array in first.model.arrays().items():
        np.testing.assert_array_equal(array, second.model.arrays()[name], err_msg=name)
    assert first.unknowns == second.unknowns
    assert first.uncertainty.intervals == second.uncertainty.intervals
    assert (first.status, first.notes) == (second.status, second.notes)
    np.testing.assert_array_equal(first.reliability, second.reliability)
    assert all(result.history["seconds"].is_monotonic_increasing for result in (first, second))
    timeless = [result.history.drop(columns="seconds") for result in (first, second)]
    assert timeless[0].equals(timeless[1])


@pytest.mark.parametrize(
    ("which", "share"), [("few", share) for share in (0.1, 0.4, 0.7, 0.99)] + [("many", 0.5), ("many", 0.9)]
)
def test_a_fit_that_was_killed_ends_bit_for_bit_as_one_that_was_not(which, share, request, tmp_path, whole):
    case, undisturbed = request.getfixturevalue(which), whole[which]
    number = max(2, int(share * len(undisturbed.history)))
    killed(case, tmp_path, number)
    points = []
    again = fit(*case, bsplines(), checkpoints=tmp_path, resume=True, progress=points.append)
    same(undisturbed, again)
    # A fit that began from the start would tell of all points again.
    assert len(points) < len(undisturbed.history)
    assert len(found(tmp_path)) <= 2


def test_a_fit_may_be_killed_again_and_again(few, tmp_path, whole):
    for number in range(4, len(whole["few"].history), 9):
        with pytest.raises(KilledError):
            fit(
                *few, bsplines(), checkpoints=Checkpoints(tmp_path, every=0.0), resume=True, progress=stop_at(number)
            )  # fmt: skip
    same(whole["few"], fit(*few, bsplines(), checkpoints=tmp_path, resume=True))


def test_the_budget_of_the_first_start_counts_what_was_spent_before_the_kill(few, tmp_path):
    """Otherwise a fit that was too slow would not be so after a kill, and end with another method."""
    killed(few, tmp_path, 4)
    task, meter = Task(*few), Meter(limit=1e3)
    stages, newest, rows, seconds = read_stages(found(tmp_path)[0], Request(*few, bsplines()).digest(), task)
    level_of(task, meter, stages[newest])
    assert meter.spent > 0.0
    assert (len(rows) > 0, seconds > 0.0) == (True, True)


def test_an_interrupt_is_continued_to_the_same_numbers_and_history(few, tmp_path, whole):
    """Points after the newest stage are in the history once, not twice."""
    first = fit(*few, bsplines(), checkpoints=tmp_path, progress=stop_at(11, KeyboardInterrupt))
    assert first.status is FitStatus.INTERRUPTED
    assert len(found(tmp_path)) == 1
    again = fit(*few, bsplines(), checkpoints=tmp_path, resume=True)
    same(whole["few"], again)
    assert again.seconds > first.seconds


def test_an_interrupt_right_after_a_resume_keeps_what_was_found_before(few, tmp_path, monkeypatch):
    from napinn.engines.splines import engine

    before = fit(*few, bsplines(), checkpoints=tmp_path, progress=stop_at(30, KeyboardInterrupt))
    real, calls = engine.choose_start, []

    def interrupted(*arguments):
        calls.append(arguments)
        if len(calls) == 1:
            raise KeyboardInterrupt
        return real(*arguments)

    monkeypatch.setattr(engine, "choose_start", interrupted)
    again = fit(*few, bsplines(), checkpoints=tmp_path, resume=True)
    assert again.status is FitStatus.INTERRUPTED
    assert again.unknowns["k"] == pytest.approx(before.unknowns["k"], rel=0.05)


# ---- files -----------------------------------------------------------------------------------------------------------
def damaged(path, how):
    content = bytearray(path.read_bytes())
    match how:
        case "truncated":
            content = content[: len(content) // 2]
        case "flipped":
            content[-100] ^= 1
        case "empty":
            content = bytearray()
        case "another file":
            content = bytearray(b"PK\x03\x04" + bytes(300))
    path.write_bytes(bytes(content))


@pytest.mark.parametrize("how", ["truncated", "flipped", "empty", "another file"])
def test_a_damaged_checkpoint_is_refused_and_the_one_before_is_used(few, tmp_path, whole, how, caplog):
    killed(few, tmp_path, 12)
    newest, older = found(tmp_path)
    damaged(newest, how)
    shutil.copytree(tmp_path, tmp_path / "both")
    same(whole["few"], fit(*few, bsplines(), checkpoints=tmp_path, resume=True))
    assert "The one before it is tried" in caplog.text
    damaged(tmp_path / "both" / "checkpoints" / older.name, how)
    with pytest.raises(InputError, match="no other is left, so start again with --overwrite") as refused:
        fit(*few, bsplines(), checkpoints=tmp_path / "both", resume=True)
    assert len(str(refused.value).splitlines()) == 1


def test_a_checkpoint_of_another_run_is_refused(few, tmp_path):
    killed(few, tmp_path, 5)
    with pytest.raises(InputError, match="checkpoint of another run"):
        fit(*few, bsplines(), seed=1, checkpoints=tmp_path, resume=True)


STRANGE = (0.0, -1.0, 0.5, 1e300, np.nan, np.inf)


def test_a_whole_file_with_other_numbers_is_read_or_refused_in_one_sentence(few, tmp_path):
    """The checksum is right, so the arrays are judged by what they hold."""
    killed(few, tmp_path, 12)
    path, run, task, chance = found(tmp_path)[0], Request(*few, bsplines()).digest(), Task(*few), random.Random(0)
    header, arrays = unpacked(path, run)
    told = {name: entry for name, entry in header.items() if name not in ("arrays", "digest")}
    refused = []
    for _ in range(150):
        name = chance.choice(list(arrays))
        array = np.array(arrays[name], float if chance.random() < 0.7 else chance.choice([bool, np.int64, np.float32]))
        if array.size and chance.random() < 0.6:
            array.reshape(-1)[chance.randrange(array.size)] = chance.choice(
                STRANGE if array.dtype.kind == "f" else [0, 1]
            )
        elif chance.random() < 0.5:
            array = array.reshape(-1)[: chance.randrange(array.size + 1)]
        path.write_bytes(packed(told, {**arrays, name: array}))
        try:
            stages = read_stages(path, run, task)[0]
            for kept in stages.values():
                level_of(task, Meter(), kept)
        except InputError as error:
            refused.append(str(error))
    assert set(refused) == {f"{path} is not a checkpoint that can be read."}
    assert len(refused) > 50


# ---- commands --------------------------------------------------------------------------------------------------------
FIT = ["fit", "r.csv", "-e", "u_t = -k*u", "-u", "k=0.3", "-m", "splines", "--checkpoint-every", "0"]
KILLED = """
import os, signal, sys
from napinn.cli import main, progress
seen = []
def stop(self, snapshot):
    seen.append(snapshot)
    if len(seen) == 12:
        os.kill(os.getpid(), signal.SIGKILL)
progress._Lines.__call__ = stop
main.run()
"""


@pytest.fixture
def command(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    decaying(40, 0.02).to_csv("r.csv", index=False)

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["napinn", *arguments])
        with pytest.raises(SystemExit) as stop:
            main.run()
        said = capfd.readouterr()
        return stop.value.code, said.out, said.err

    return call


def numbers(folder):
    told = json.loads((Path(folder) / "result.json").read_text())
    return told["unknowns"], told["intervals"], told["status"], (Path(folder) / "model.npz").read_bytes()


def test_a_command_that_is_killed_is_resumed_to_the_same_numbers(command):
    assert command(*FIT, "-o", "calm", "--quiet")[0] in (0, 3)
    told = subprocess.run([sys.executable, "-c", KILLED, *FIT, "-o", "torn"], capture_output=True, check=False)
    assert told.returncode == -9
    assert (Path("torn/result.json").exists(), len(list(Path("torn/checkpoints").iterdir()))) == (False, 2)
    code, _, err = command("resume", "torn", "--verbose")
    assert code in (0, 3)
    assert "resumed after" in err
    assert numbers("torn") == numbers("calm")
    assert not Path("torn/checkpoints").exists()


def test_an_interrupted_command_keeps_a_result_and_is_continued(command, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(progress._Lines, "__call__", lambda self, snapshot: stop_at(12, KeyboardInterrupt)(snapshot))
        code, out, _ = command(*FIT, "-o", "run")
    assert code == 130
    assert "`napinn resume` continues it" in out
    assert napinn.load("run").status is FitStatus.INTERRUPTED
    assert command("resume", "run", "--quiet")[0] in (0, 3)
    assert napinn.load("run").status is not FitStatus.INTERRUPTED


def test_a_command_with_damaged_files_says_one_sentence(command):
    subprocess.run([sys.executable, "-c", KILLED, *FIT, "-o", "torn"], capture_output=True, check=False)
    for path in found(Path("torn")):
        damaged(path, "truncated")
    code, out, err = command("resume", "torn", "--quiet")
    assert (code, out) == (2, "")
    assert "no other is left, so start again with --overwrite." in err
    assert len(err.splitlines()) == 1
    assert command(*FIT, "-o", "whole", "--quiet")[0] in (0, 3)
    damaged(Path("whole/model.npz"), "truncated")
    code, _, err = command("predict", "whole", "--grid", "3", "-o", "field.csv")
    assert (code, len(err.splitlines())) == (2, 1)
    assert "model.npz cannot be read as the arrays of a model." in err


# ---- with the network ------------------------------------------------------------------------------------------------
class FakeNetwork:
    """Keeps one checkpoint of its own, as a network does, and says what it was called with."""

    def __init__(self, result):
        self.result, self.calls = result, []

    def fit(self, request, options):
        self.calls.append((request, options))
        options.checkpoints.keep(lambda: packed({"run": "the network's"}, {}))
        return self.result


def test_a_fit_that_was_handed_over_is_resumed_by_the_network(few, tmp_path, whole, monkeypatch):
    network = FakeNetwork(whole["few"])
    monkeypatch.setattr(choice, "backend_of", lambda method: network)
    monkeypatch.setattr(choice, "failure", lambda fit: "a test says so")
    kept, request = Checkpoints(tmp_path, every=0.0), Request(*few, automatic())
    result = choice.BACKEND.fit(request, RunOptions(checkpoints=kept))
    assert result.notes[0] == "A network was fitted, because a test says so."
    assert result.notes[1] == choice.STARTED
    # Splines left checkpoints, which the network could not have continued from.
    assert len(found(tmp_path)) == 1
    choice.BACKEND.fit(request, RunOptions(checkpoints=kept, resume=True))
    (first, begun), (second, resumed) = network.calls
    assert (begun.resume, resumed.resume) == (False, True)
    assert first.digest() == second.digest()
    places = few[1].points
    np.testing.assert_allclose(begun.begin_with.values(places), whole["few"].model.values(places), rtol=1e-12)
    assert len(found(tmp_path)) == 2


def test_what_splines_found_until_their_budget_was_spent_is_handed_over(few, whole, monkeypatch):
    network, told = FakeNetwork(whole["few"]), []
    monkeypatch.setattr(choice, "backend_of", lambda method: network)
    monkeypatch.setattr(FakeNetwork, "fit", lambda self, *called: told.append(called) or self.result)
    monkeypatch.setattr(engine, "FIRST_BUDGET", 0.008)
    result = choice.BACKEND.fit(Request(*few, automatic()), RunOptions())
    ((request, options),) = told
    assert result.notes[1] == choice.STARTED
    assert options.begin_with is not None
    assert request.problem.unknowns["k"].start != few[0].unknowns["k"].start
    monkeypatch.setattr(engine, "FIRST_BUDGET", 1e-6)
    result = choice.BACKEND.fit(Request(*few, automatic()), RunOptions())
    assert told[1][1].begin_with is None
    assert choice.STARTED not in result.notes


def test_a_fit_that_was_not_handed_over_yet_is_resumed_by_splines(few, tmp_path, whole):
    with pytest.raises(KilledError):
        fit(*few, automatic(), checkpoints=Checkpoints(tmp_path, every=0.0), progress=stop_at(12))
    request = Request(*few, automatic())
    begin(request, tmp_path)
    points = []
    again = napinn.resume(tmp_path, progress=points.append)
    same(whole["few"], replace(again, method=whole["few"].method))
    assert points[0].done > 2
