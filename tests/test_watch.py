"""A fit can be followed while it runs: the history grows, the server shows one folder to one machine, loggers log."""

import contextlib
import http.client
import json
import socket
import sys
import threading
import types

import pandas as pd
import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

from browser import chromium, needs_chromium
from napinn import InputError
from napinn.engines.snapshot import Snapshot
from napinn.report.watching import server, status
from napinn.runs.folder import prepare, save
from napinn.runs.loggers import HistoryFile, MLflow, TensorBoard, check_loggers, opened, together


def snapshot(done: int, total: int = 100) -> Snapshot:
    losses = {"total": 1.0 / done, "equation": 0.5 / done, "data": 0.5 / done, "rejected": 0.1, "surprise": 1.0}
    gate = {"steepness": 5.0, "cutoff": 2.0, "scale": 1.0}
    found = {"k": 0.8, "big": 8e6}
    return Snapshot("joint", done, total, done, total, losses, found, gate, 0.1, 100.0, seconds_left=200.0)


@contextlib.contextmanager
def running(folder):
    with server(folder) as found:
        thread = threading.Thread(target=found.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield found
        finally:
            found.shutdown()
            thread.join()


def ask(found, path: str, host: str | None = None) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", found.server_port, timeout=10)
    connection.request("GET", path, headers={"Host": host or f"127.0.0.1:{found.server_port}"})
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer.status, body


def test_a_history_grows_in_whole_files(tmp_path):
    assert status(tmp_path)["state"] == "waiting"
    record = HistoryFile(tmp_path, seconds_between=0.0)
    for done in (10, 20, 30):
        record(snapshot(done))
        assert pd.read_csv(tmp_path / "history.csv")["step"].tolist()[-1] == done
    told = status(tmp_path)
    assert (told["state"], told["progress"]["done"], told["unknowns"]) == ("running", 30, ["k", "big"])
    assert {path.name for path in tmp_path.iterdir()} == {"history.csv", "progress.json"}


def test_what_a_killed_fit_leaves_may_be_replaced_and_nothing_else(tmp_path):
    HistoryFile(tmp_path, seconds_between=0.0)(snapshot(10))
    prepare(tmp_path, overwrite=True)
    assert not any(tmp_path.iterdir())
    (tmp_path / "history.csv").write_text("year,event\n1066,Hastings\n")
    with pytest.raises(InputError, match="not a run of napinn"):
        prepare(tmp_path, overwrite=True)
    assert (tmp_path / "history.csv").exists()


def test_a_saved_result_ends_the_running(finished, tmp_path):
    HistoryFile(tmp_path, seconds_between=0.0)(snapshot(10))
    save(finished, tmp_path)
    assert status(tmp_path)["state"] == "finished"
    assert status(tmp_path)["colour"] == finished.status.colour
    assert status(tmp_path)["history"]["step"] == finished.history["step"].tolist()


def test_the_server_shows_one_folder_to_one_machine(tmp_path):
    folder = tmp_path / "run"
    (folder / "inner").mkdir(parents=True)
    (folder / "result.json").write_text('{"message": "done", "unknowns": {"k": 1}}')
    (folder / ".hidden").write_text("secret")
    (folder / "inner" / "deep.txt").write_text("secret")
    (tmp_path / "secret.txt").write_text("secret")
    (folder / "link.txt").symlink_to(tmp_path / "secret.txt")
    with running(folder) as found:
        assert found.server_address[0] == "127.0.0.1"
        assert ask(found, "/result.json") == (200, (folder / "result.json").read_bytes())
        assert json.loads(ask(found, "/status.json")[1])["state"] == "finished"
        assert b"<h1>run</h1>" in ask(found, "/")[1]
        for path in (
            "/../secret.txt", "/%2e%2e/secret.txt", "/..%2fsecret.txt", "//etc/passwd", "/link.txt", "/.hidden",
            "/inner/deep.txt", "/inner", f"/{tmp_path}/secret.txt",
        ):  # fmt: skip
            code, body = ask(found, path)
            assert (code, b"secret" in body) == (404, False), path
        assert ask(found, "/result.json", "evil.example")[0] == 403
        assert ask(found, "/result.json", f"evil.example:{found.server_port}")[0] == 403


def test_a_server_that_cannot_be_says_why(tmp_path):
    with pytest.raises(InputError, match="start a fit with --out"):
        server(tmp_path / "none")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(InputError, match="name another with --port"):
            server(tmp_path, taken.getsockname()[1])


@needs_chromium
def test_the_page_follows_the_fit(tmp_path):
    record = HistoryFile(tmp_path, seconds_between=0.0)
    for done in (10, 20):
        record(snapshot(done))
    with running(tmp_path) as found, chromium() as driver:
        driver.get(f"http://127.0.0.1:{found.server_port}/")
        wait = WebDriverWait(driver, 30)
        wait.until(lambda d: "step 20 of 100" in d.find_element(By.ID, "state").text)
        record(snapshot(30))
        wait.until(lambda d: "step 30 of 100" in d.find_element(By.ID, "state").text)
        drawn = "return Array.from(document.getElementById('unknowns').data[0].x)"
        wait.until(lambda d: d.execute_script(drawn) == [10, 20, 30])
        assert "3 min left" in driver.find_element(By.ID, "state").text
        axes = "const l = document.getElementById('unknowns').layout; return [l.yaxis, l.yaxis2].map(a => a.title.text)"
        assert driver.execute_script(axes) == ["k", "big"]
        assert driver.get_log("browser") == []


def test_tensorboard_gets_every_number(tmp_path, monkeypatch):
    written = []

    class Writer:
        def __init__(self, folder):
            written.append(folder)

        def add_scalar(self, name, value, step):
            written.append((name, value, step))

        def close(self):
            written.append("closed")

    monkeypatch.setitem(sys.modules, "tensorboardX", types.SimpleNamespace(SummaryWriter=Writer))
    with together([TensorBoard(tmp_path)]) as log:
        log(snapshot(50))
    assert written[0] == str(tmp_path)
    assert {("loss/total", 0.02, 50), ("unknown/k", 0.8, 50), ("gate/cutoff", 2.0, 50)} <= set(written[1:-1])
    assert written[-1] == "closed"


def test_mlflow_gets_every_number_and_is_ended_after_a_failure(monkeypatch):
    calls = []
    fake = types.SimpleNamespace(
        start_run=lambda run_name: calls.append(run_name),
        log_metrics=lambda metrics, step: calls.append((metrics["unknown/k"], step)),
        end_run=lambda: calls.append("ended"),
    )
    monkeypatch.setitem(sys.modules, "mlflow", fake)

    def fails(_: Snapshot) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), together([MLflow("first")], fails) as log:
        log(snapshot(10))
    assert calls == ["first", (0.8, 10), "ended"]


def test_a_logger_that_fails_is_told_once_and_does_not_cost_the_fit(monkeypatch, caplog, tmp_path):
    def fails(*_, **__):
        raise ConnectionError("no answer")

    fake = types.SimpleNamespace(start_run=lambda run_name: None, log_metrics=fails, end_run=fails)
    monkeypatch.setitem(sys.modules, "mlflow", fake)
    seen = []
    with together(opened(tmp_path, ["mlflow"]), lambda snapshot: seen.append(snapshot.done)) as log:
        log(snapshot(10))
        log(snapshot(20))
    assert seen == [10, 20]
    assert pd.read_csv(tmp_path / "history.csv")["step"].tolist() == [10]
    assert [record.getMessage() for record in caplog.records] == ["MLflow could not log: no answer; the fit continues."]
    monkeypatch.setitem(sys.modules, "mlflow", types.SimpleNamespace(start_run=fails))
    assert len(opened(tmp_path, ["mlflow"])) == 1
    assert caplog.records[-1].getMessage() == "mlflow could not be opened: no answer; the fit continues without it."


@pytest.mark.parametrize(("module", "extra"), [("tensorboardX", "tensorboard"), ("mlflow", "mlflow")])
def test_a_missing_library_is_one_sentence(monkeypatch, module, extra):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(InputError, match=rf"pip install 'napinn\[{extra}\]'"):
        check_loggers([extra])
