"""Promises of the engine: nothing is done twice, nothing is lost, and a failure costs only its own row.

Workers are real processes. They import this file for the functions of the first part, hence `allowed`.
"""

import contextlib
import dataclasses
import errno
import io
import itertools
import json
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
from rich.console import Console

from napinn.errors import InputError, StorageError
from napinn.studies.jobs import Job, JobOutcome, Status, StudySnapshot, run_jobs, store
from napinn.studies.jobs.cores import own_cores, places
from napinn.studies.jobs.display import detail, study_display
from napinn.studies.jobs.tally import Tally

HERE = Path(__file__).stem
Progress = Callable[[float], None]

# --- Work ---------------------------------------------------------------------------------------------------------


def square(payload: dict[str, Any], progress: Progress) -> dict[str, Any]:
    """Leaves a mark with its process, so that a test can count how often it ran, and where."""
    mark = Path(payload["marks"]) / f"{payload['x']}-{os.getpid()}-{uuid.uuid4().hex}"
    mark.touch()
    progress(0.5)
    time.sleep(payload.get("sleep", 0.0))
    return {"x": payload["x"], "square": payload["x"] ** 2, "third": payload["x"] / 3, "name": "λ"}


def fails(payload: dict[str, Any], progress: Progress) -> dict[str, Any]:
    if "mended" in payload and Path(payload["mended"]).exists():
        return {"mended": True}
    raise ValueError("the sensor\n  is on fire")


def leaves(payload: dict[str, Any], progress: Progress) -> dict[str, Any]:
    sys.exit(3)


def dies(payload: dict[str, Any], progress: Progress) -> dict[str, Any]:
    """Is killed, as by the system, in as many attempts as there are deaths to die."""
    deaths = Path(payload["marks"]) / "deaths"
    with deaths.open("a") as file:
        file.write("x")
    if len(deaths.read_text()) <= payload["deaths"]:
        sys.stderr.write("last words\n")
        sys.stderr.flush()
        os.kill(os.getpid(), signal.SIGKILL)
    return {"survived": len(deaths.read_text())}


def talks(payload: dict[str, Any], progress: Progress) -> dict[str, Any]:
    """Prints, and starts a program that reads and prints: neither may reach the engine's pipes."""
    sys.stdout.write("not a reply\n")
    subprocess.run([sys.executable, "-c", "import sys; print('nor this', sys.stdin.read())"], check=True)
    return {"loud": True}


def place(payload: dict[str, Any], progress: Progress) -> dict[str, Any]:
    return {"cores": len(own_cores()), "threads": os.environ.get("NPROC")}


def not_a_row(payload: dict[str, Any], progress: Progress) -> Any:
    return [1, 2]


def nan_row(payload: dict[str, Any], progress: Progress) -> dict[str, Any]:
    return {"rmse": float("nan"), "pair": (1, 2)}


# --- Helpers ------------------------------------------------------------------------------------------------------


def job(work: str, name: str | None = None, **payload: Any) -> Job:
    return Job(name or work, f"{HERE}:{work}", payload)


def run(jobs: list[Job], folder: Path, **options: Any) -> list[JobOutcome]:
    return run_jobs(jobs, folder, allowed=(HERE,), **{"workers": 2, **options})


def squares(marks: Path, count: int = 4, **payload: Any) -> list[Job]:
    marks.mkdir(exist_ok=True)
    return [job("square", f"x={x}", x=x, marks=str(marks), **payload) for x in range(count)]


def executions(marks: Path) -> list[int]:
    return sorted(int(mark.name.split("-")[0]) for mark in marks.iterdir())


def table(outcomes: list[JobOutcome]) -> list[Any]:
    return [(outcome.job.name, outcome.status, outcome.row) for outcome in outcomes]


def wait_for(condition: Callable[[], bool], seconds: float = 15.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)


def alive(pid: int) -> bool:
    """A zombie that nobody has asked after is dead too."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


@contextlib.contextmanager
def study_in_a_process(marks: Path, folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """The study of `squares`, 0.4 s a job, in a session of its own, once it is well under way."""
    code = dedent(f"""
        import signal, sys
        from pathlib import Path
        # Tests may run in the background, where a shell has interrupts ignored.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        sys.path.insert(0, {str(Path(__file__).parent)!r})
        import {HERE} as tests
        tests.run(tests.squares(Path({str(marks)!r}), 6, sleep=0.4), Path({str(folder)!r}))
    """)
    process = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE, start_new_session=True)
    with process:
        wait_for(lambda: any(folder.glob("*/outcome.json")) and len(list(marks.iterdir())) > 2)
        yield process
        process.kill()


# --- Promises -----------------------------------------------------------------------------------------------------


def test_rows_come_back_in_order_and_finished_jobs_never_run_again(tmp_path: Path):
    jobs = squares(tmp_path / "marks")
    first = run(jobs, tmp_path / "study")
    assert [outcome.row for outcome in first] == [
        {"x": x, "square": x**2, "third": x / 3, "name": "λ"} for x in range(4)
    ]
    assert all(outcome.attempts == 1 and outcome.seconds > 0 for outcome in first)
    more = squares(tmp_path / "marks", 5)
    again = run(more, tmp_path / "study")
    assert executions(tmp_path / "marks") == [0, 1, 2, 3, 4]
    assert table(again[:4]) == table(first)


def test_a_damaged_table_of_outcomes_counts_as_absent_and_is_not_written_over(tmp_path: Path):
    jobs, study = squares(tmp_path, 2), tmp_path / "study"
    run_jobs(jobs[:1], study, workers=1, allowed=[HERE])
    (study / "finished.parquet").write_bytes(b"PAR1 torn")
    assert store.finished(jobs[1], study) is None
    with pytest.raises(InputError, match=r"finished\.parquet is damaged; restore it, or remove it"):
        store.pack_finished(study)
    assert (study / "finished.parquet").read_bytes() == b"PAR1 torn"
    assert store.finished(jobs[0], study) is not None


def test_packed_outcomes_are_found_and_a_changed_job_is_not_one_of_them(tmp_path: Path):
    jobs, study = squares(tmp_path / "marks", 2), tmp_path / "study"
    ran = run(jobs, study)
    assert store.pack_finished(study) == 2
    assert [path.name for path in study.iterdir()] == ["finished.parquet"]
    found = [store.finished(job, study) for job in jobs]
    assert [each.row for each in found if each] == [each.row for each in ran]
    assert store.finished(dataclasses.replace(jobs[0], payload={"x": 4}), study) is None
    # A third one joins the table, and the earlier ones stay and are not run again.
    more = squares(tmp_path / "marks", 3)
    run(more, study)
    assert store.pack_finished(study) == 1
    assert all(store.finished(job, study) for job in more)
    assert executions(tmp_path / "marks") == [0, 1, 2]


def test_a_changed_payload_runs_again(tmp_path: Path):
    marks = tmp_path / "marks"
    run(squares(marks, 2), tmp_path / "study")
    changed = [squares(marks, 1)[0], job("square", "x=1", x=5, marks=str(marks))]
    outcomes = run(changed, tmp_path / "study")
    assert executions(marks) == [0, 1, 5]
    assert outcomes[1].row is not None
    assert outcomes[1].row["square"] == 25


def test_a_failure_is_recorded_with_its_reason_and_the_others_go_on(tmp_path: Path):
    mended = tmp_path / "mended"
    jobs = [job("fails", mended=str(mended)), job("leaves"), job("not_a_row"), *squares(tmp_path / "marks", 2)]
    outcomes = run(jobs, tmp_path)
    assert [outcome.status for outcome in outcomes] == [Status.FAILED] * 3 + [Status.DONE] * 2
    assert outcomes[0].reason == "ValueError: the sensor is on fire"
    assert outcomes[1].reason == "SystemExit: 3"
    assert outcomes[2].reason == "TypeError: the work gave list, not a row (a dict of JSON values)"
    assert [outcome.attempts for outcome in outcomes] == [1] * 5
    stored = json.loads((tmp_path / "fails" / "outcome.json").read_text())
    assert (stored["status"], stored["reason"]) == ("failed", outcomes[0].reason)
    assert "in fails" in (tmp_path / "fails" / "traceback.txt").read_text()
    mended.touch()
    again = run(jobs, tmp_path)
    assert again[0].row == {"mended": True}
    assert again[0].reason is None
    assert not (tmp_path / "fails" / "traceback.txt").exists()
    assert executions(tmp_path / "marks") == [0, 1]


def test_a_killed_worker_has_its_job_done_by_another(tmp_path: Path):
    (tmp_path / "marks").mkdir()
    dying = job("dies", marks=str(tmp_path / "marks"), deaths=2)
    outcomes = run([dying, *squares(tmp_path / "squares", 2)], tmp_path / "study")
    assert [outcome.status for outcome in outcomes] == [Status.DONE] * 3
    assert (outcomes[0].row, outcomes[0].attempts) == ({"survived": 3}, 3)


def test_too_many_deaths_are_a_failure(tmp_path: Path):
    marks = tmp_path / "marks"
    jobs = [*squares(marks, 1), job("dies", marks=str(marks), deaths=9)]
    outcomes = run(jobs, tmp_path / "study", retries=1, workers=1)
    assert outcomes[0].status is Status.DONE
    assert (outcomes[1].status, outcomes[1].attempts) == (Status.FAILED, 2)
    assert outcomes[1].reason is not None
    assert outcomes[1].reason.startswith(
        "WorkerDied: the process that ran it died 2 times; the last one was ended by SIG"
    )
    assert (tmp_path / "study" / "dies" / "traceback.txt").read_text() == "last words\n"


def test_a_study_killed_in_the_middle_goes_on_as_if_nothing_had_been(tmp_path: Path):
    marks, folder = tmp_path / "marks", tmp_path / "study"
    marks.mkdir()
    with study_in_a_process(marks, folder) as process:
        process.send_signal(signal.SIGKILL)
        process.wait()
        pids = {int(mark.name.split("-")[1]) for mark in marks.iterdir()}
        wait_for(lambda: not any(alive(pid) for pid in pids), 3.0)
    finished = len(list(folder.glob("*/outcome.json")))
    assert 0 < finished < 6
    begun = len(executions(marks))
    resumed = run(squares(marks, 6, sleep=0.4), folder)
    # What has an outcome does not run again, and everything else runs once.
    assert len(executions(marks)) == begun + 6 - finished
    undisturbed = run(squares(tmp_path / "other marks", 6), tmp_path / "other")
    assert table(resumed) == table(undisturbed)


def test_an_interrupt_stops_the_workers_and_keeps_what_is_finished(tmp_path: Path):
    marks, folder = tmp_path / "marks", tmp_path / "study"
    marks.mkdir()
    with study_in_a_process(marks, folder) as process:
        # To the whole group, as a terminal does.
        os.killpg(process.pid, signal.SIGINT)
        assert process.wait(10) != 0
        assert process.stderr is not None
        assert process.stderr.read().decode().rstrip().endswith("KeyboardInterrupt")
        pids = {int(mark.name.split("-")[1]) for mark in marks.iterdir()}
        assert not any(alive(pid) for pid in pids)
    stored = [json.loads(path.read_text()) for path in folder.glob("*/outcome.json")]
    assert 0 < len(stored) < 6
    assert {outcome["status"] for outcome in stored} == {"done"}


@pytest.mark.parametrize("damage", ["torn", "foreign", "format", "list", "other"])
def test_a_file_that_is_not_this_jobs_outcome_counts_as_absent(tmp_path: Path, damage: str):
    marks, folder = tmp_path / "marks", tmp_path / "study"
    jobs = squares(marks, 1)
    run(jobs, folder)
    path = folder / "x=0" / "outcome.json"
    text = path.read_text()
    content = json.loads(text)
    path.write_bytes(
        {
            "torn": text[: len(text) // 2].encode(),
            "foreign": b"\xff\x00not text",
            "format": json.dumps({**content, "format": 0}).encode(),
            "list": b"[]",
            "other": json.dumps({**content, "row": 7}).encode(),
        }[damage]
    )
    outcomes = run(jobs, folder)
    assert executions(marks) == [0, 0]
    assert outcomes[0].status is Status.DONE
    assert json.loads(path.read_text())["row"] == outcomes[0].row


@pytest.mark.parametrize(
    "name", ["../x", "a/b", "a\\b", "", ".", "..", ".hidden", "a\n", "C:x", "/etc", "a" * 121, "ü"]
)
def test_names_that_would_leave_the_folder_are_refused(tmp_path: Path, name: str):
    with pytest.raises(InputError, match="cannot name a job's folder"):
        run([Job(name, f"{HERE}:square", {})], tmp_path / "study")
    assert not (tmp_path / "study").exists()


@pytest.mark.parametrize(
    ("work", "complaint"),
    [
        ("shutil:rmtree", "is outside napinn"),
        ("napinnish:run", "is outside napinn"),
        (f"{HERE}.sub:square", "is outside napinn"),
        ("__main__:square", "in the script itself"),
        ("square", "does not name work"),
        ("napinn.errors:a.b", "does not name work"),
        ("../napinn:a", "does not name work"),
    ],
)
def test_only_napinn_and_what_the_caller_allows_is_run(tmp_path: Path, work: str, complaint: str):
    with pytest.raises(InputError, match=complaint):
        run([Job("a", work, {})], tmp_path)


def test_a_name_that_a_module_merely_imported_is_not_its_work(tmp_path: Path):
    jobs = [
        Job("a", "napinn.studies.jobs.store:json", {}),
        Job("b", f"{HERE}:dedent", {}),
        Job("c", "napinn.absent:x", {}),
    ]
    outcomes = run(jobs, tmp_path)
    assert [outcome.reason for outcome in outcomes] == [
        "InputError: 'napinn.studies.jobs.store:json' is not a function of a module that may be run.",
        f"InputError: '{HERE}:dedent' is not a function of a module that may be run.",
        "ModuleNotFoundError: No module named 'napinn.absent'",
    ]


@pytest.mark.parametrize("payload", [{"x": {1, 2}}, {"x": float("nan")}, {"x": Path("a")}])
def test_a_payload_that_is_not_json_is_refused(tmp_path: Path, payload: dict[str, Any]):
    with pytest.raises(InputError, match="payload of job 'a' is not plain JSON"):
        run([Job("a", f"{HERE}:square", payload)], tmp_path)


def test_other_refusals(tmp_path: Path):
    twins = [job("square", "a"), job("square", "A")]
    with pytest.raises(InputError, match="two jobs are named 'A'"):
        run(twins, tmp_path)
    with pytest.raises(InputError, match="at least 1"):
        run(twins[:1], tmp_path, workers=0)
    with pytest.raises(InputError, match="0 or more"):
        run(twins[:1], tmp_path, retries=-1)
    with pytest.raises(InputError, match="either"):
        run(twins[:1], tmp_path, cluster="tcp://127.0.0.1:1")
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="cannot be made"):
        run(twins[:1], tmp_path / "file")


def test_a_disk_that_fills_up_during_a_study_is_not_the_users_mistake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "replace", full)
    outcome = JobOutcome(job("nan_row"), Status.DONE, {"rmse": 1.0}, None, 1.0, 1)
    with pytest.raises(StorageError, match=r"outcome of 'nan_row' could not be written to .*: No space left on device"):
        store.keep(outcome, "", tmp_path)


def test_a_row_is_the_same_fresh_and_stored(tmp_path: Path):
    fresh, stored = (run([job("nan_row")], tmp_path)[0].row for _ in range(2))
    assert repr(fresh) == repr(stored) == "{'rmse': nan, 'pair': [1, 2]}"


def test_what_the_work_prints_does_not_reach_the_pipes(tmp_path: Path):
    assert run([job("talks")], tmp_path)[0].row == {"loud": True}


def test_workers_share_the_machine_and_a_lone_one_has_it_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("NPROC", raising=False)
    (two,), (one,) = (run([job("place")], tmp_path / str(n), workers=n) for n in (2, 1))
    each = max(1, len(own_cores()) // 2)
    assert two.row == {"cores": each, "threads": str(each)}
    assert one.row == {"cores": len(own_cores()), "threads": None}
    monkeypatch.setattr("napinn.studies.jobs.cores.own_cores", lambda: (0, 2, 4, 6, 8, 10, 12))
    assert [place.cores for place in places(3)] == [(0, 2), (4, 6), (8, 10)]
    assert [place.cores for place in places(9)][6:] == [(12,), (0,), (2,)]


def test_the_engine_itself_needs_neither_jax_nor_dask():
    heavy = "any(m in sys.modules for m in ('jax', 'dask'))"
    code = f"import sys, napinn.studies.jobs, napinn.studies.jobs.worker; sys.exit({heavy})"
    subprocess.run([sys.executable, "-c", code], check=True)


# --- Progress -----------------------------------------------------------------------------------------------------


def test_progress_tells_of_every_job_and_estimates_the_rest(tmp_path: Path):
    seen: list[StudySnapshot] = []
    jobs = [*squares(tmp_path / "marks", 3), job("fails")]
    run(jobs[:1], tmp_path / "study")
    run(jobs, tmp_path / "study", progress=seen.append)
    assert (seen[0].done, seen[0].total, seen[0].latest) == (1, 4, "1 of 4 jobs were done before")
    assert (seen[-1].done, seen[-1].failed, seen[-1].running, seen[-1].seconds_left) == (3, 1, 0, 0.0)
    assert all(earlier.completed <= later.completed for earlier, later in itertools.pairwise(seen))
    assert any(snapshot.latest == "fails failed: ValueError: the sensor is on fire" for snapshot in seen)


def test_time_left_is_the_pace_so_far_over_the_jobs_left(monkeypatch: pytest.MonkeyPatch):
    now = 0.0
    monkeypatch.setattr("napinn.studies.jobs.tally.time.monotonic", lambda: now)
    tally = Tally(10, 2)
    tally.started("a")
    tally.started("b")
    assert tally.snapshot().seconds_left is None
    now = 30.0
    tally.moved("b", 0.25)
    # b alone tells: 120 s a job, 8 - 0.25 jobs for two.
    assert tally.snapshot().seconds_left == pytest.approx(120 * 7.75 / 2)
    tally.ended(JobOutcome(job("square", "a"), Status.DONE, {}, None, 30.0, 1))
    assert tally.snapshot().seconds_left == pytest.approx((30 + 30) / 1.25 * 6.75 / 2)
    tally.moved("late", 0.5)
    assert tally.snapshot().running == 1


def test_lines_elsewhere_than_on_a_terminal(tmp_path: Path):
    text = io.StringIO()
    with study_display("squares", Console(file=text, width=40)) as show:
        run([job("fails"), *squares(tmp_path / "marks", 2)], tmp_path / "study", progress=show)
    lines = text.getvalue().splitlines()
    assert lines[0] == "squares: 0 of 3 done, 0 running"
    assert any("fails failed: ValueError: the sensor is on fire" in line for line in lines)
    assert lines[-1].startswith("squares: 2 of 3 done, 1 failed, in ")
    assert len(lines) <= 3


def test_a_bar_on_a_terminal():
    text = io.StringIO()
    with study_display("squares", Console(file=text, force_terminal=True, width=100)) as show:
        show(StudySnapshot(1, 1, 2, 8, 2.5, 60.0, 7200.0, "b failed: [odd] reason"))
    assert "b failed: [odd] reason" in text.getvalue()
    assert "1 of 8 done, 1 failed, 2 running, 2.0 h left" in text.getvalue()


def test_a_finished_study_says_how_long_it_took():
    assert detail(StudySnapshot(2, 0, 0, 2, 2.0, 3.0, 0.0, "")) == "2 of 2 done, in 3.0 s"


# --- Dask ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def dask_client() -> Iterator[Any]:
    distributed = pytest.importorskip("distributed", reason="Dask is not installed: pip install napinn[cluster]")
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


def test_killing_a_dask_worker_loses_nothing(tmp_path: Path, dask_client: Any):
    marks = tmp_path / "marks"
    seen: list[StudySnapshot] = []
    jobs = [*squares(marks, 4), job("dies", marks=str(marks), deaths=1), job("fails")]
    outcomes = run(jobs, tmp_path / "study", workers=None, cluster=dask_client, progress=seen.append)
    assert table(outcomes)[:4] == table(run(squares(marks, 4), tmp_path / "local"))
    assert (outcomes[4].row, outcomes[4].attempts) == ({"survived": 2}, 2)
    assert outcomes[5].reason == "ValueError: the sensor is on fire"
    assert "in fails" in (tmp_path / "study" / "fails" / "traceback.txt").read_text()
    assert (seen[-1].done, seen[-1].failed, seen[-1].running) == (5, 1, 0)
    assert any(snapshot.running for snapshot in seen)


def test_too_many_deaths_on_a_cluster_are_a_failure(tmp_path: Path, dask_client: Any, monkeypatch: pytest.MonkeyPatch):
    marks = tmp_path / "marks"
    # Dask itself then retries nothing, and the engine's own count is what matters.
    monkeypatch.setattr(dask_client.cluster.scheduler, "allowed_failures", 0)
    # The squares wait on the same workers, and Dask would count those deaths against them too.
    jobs = [job("dies", marks=str(marks), deaths=9), *squares(marks, 3)]
    outcomes = run(jobs, tmp_path / "study", workers=None, cluster=dask_client, retries=1)
    assert [outcome.status for outcome in outcomes] == [Status.FAILED] + [Status.DONE] * 3
    assert (outcomes[0].attempts, (marks / "deaths").read_text()) == (2, "xx")
    assert outcomes[0].reason == "WorkerDied: the Dask worker that ran it died 2 times; the workers' logs may say why."


def test_leaving_early_cancels_what_waits_on_the_cluster(tmp_path: Path, dask_client: Any):
    marks = tmp_path / "marks"

    def stop(snapshot: StudySnapshot) -> None:
        if snapshot.done:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(squares(marks, 8, sleep=0.2), tmp_path / "study", workers=None, cluster=dask_client, progress=stop)
    wait_for(lambda: not any(dask_client.processing().values()))
    assert len(executions(marks)) < 8
    assert dask_client.status == "running"
    assert len(list((tmp_path / "study").glob("*/outcome.json"))) == 1


def test_a_scheduler_is_found_by_its_address(tmp_path: Path, dask_client: Any):
    address = dask_client.scheduler.address
    outcomes = run(squares(tmp_path / "marks", 2), tmp_path / "study", workers=None, cluster=address)
    assert [outcome.status for outcome in outcomes] == [Status.DONE] * 2


def test_no_scheduler_at_an_address(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    pytest.importorskip("distributed", reason="Dask is not installed: pip install napinn[cluster]")
    monkeypatch.setattr("napinn.studies.jobs.cluster.SECONDS_TO_CONNECT", 0.3)
    for address in ("tcp://127.0.0.1:1", "nowhere://x"):
        with pytest.raises(InputError, match="no Dask scheduler answers at"):
            run([job("square")], tmp_path, workers=None, cluster=address)


def test_without_dask_one_sentence_says_how_to_add_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(InputError, match=r"pip install napinn\[cluster\]"):
        run([job("square")], tmp_path, workers=None, cluster="tcp://127.0.0.1:1")
