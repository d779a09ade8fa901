"""Drafts of the app become problem files that the command line reads, and fits outlive their server."""

import os
import time

import pytest

from napinn.app import fits, trials
from napinn.app.draft import NameRole, Role, read_draft
from napinn.app.examples import EXAMPLES
from napinn.app.feedback import bind_columns, feedback, with_names
from napinn.app.pages import Pages
from napinn.app.proposal import first_draft
from napinn.app.workspace import ChangedElsewhereError, Workspace, open_workspace
from napinn.cli.exit_codes import EXIT_NOT_TRUSTED
from napinn.cli.launching import RUNNING, _write
from napinn.errors import InputError
from napinn.problem.file import bind_readings, load_problem_file
from napinn.report.watching import status


def draft_of(table, **given):
    return with_names(first_draft(table, "test").model_copy(update=given), table)


def test_names_in_equations_get_an_entry_and_keep_what_was_filled_in():
    table = EXAMPLES["influenza"].readings()
    draft = draft_of(table, equations=EXAMPLES["influenza"].equations)
    assert {name.name: name.kind for name in draft.names} == {
        "S": NameRole.HIDDEN,
        **dict.fromkeys("bNgR", NameRole.UNKNOWN),
    }
    filled = with_names(EXAMPLES["influenza"].filled(draft), table)
    assert {name.name: name.value for name in filled.names if name.kind is NameRole.CONSTANT} == {"N": "763"}
    fewer = with_names(filled.model_copy(update={"equations": ("I_t = b*I",), "conditions": ()}), table)
    assert [(name.name, name.low) for name in fewer.names] == [("b", "0")]


@pytest.mark.parametrize(
    ("low", "start", "high", "said"),
    [
        ("0", "1", "2", None),
        ("1,5", "", "", "is not a number"),
        ("2", "1", "", "not below its start"),
        ("", "3", "2", "not below its highest"),
        ("inf", "", "", "not finite"),
    ],
)
def test_bounds_are_numbers_in_order(low, start, high, said):
    table = EXAMPLES["growth"].readings()
    draft = draft_of(table, equations=("u_t = -k*u",))
    (name,) = draft.names
    draft = draft.model_copy(update={"names": (name.model_copy(update={"low": low, "start": start, "high": high}),)})
    found = feedback(draft, table, _columns(draft, table))["numbers"]["k"]
    assert (found is None) if said is None else (said in found)


def _columns(draft, table):
    return bind_columns(draft, table, "growth.csv")


def test_a_name_like_a_derivative_is_pointed_out():
    table = EXAMPLES["rod"].readings()
    draft = draft_of(table, equations=("T_t = D*T_xy",))
    said = feedback(draft, table, _columns(draft, table))
    assert said["equations"][0]["notes"] == ["T_xy is a coefficient, not a derivative of T: the coordinates are x, t."]
    draft = draft_of(table, equations=("T_t = D*T_xx",))
    assert feedback(draft, table, _columns(draft, table))["equations"][0]["notes"] == []


def test_columns_without_a_role_that_is_needed_are_one_sentence():
    table = EXAMPLES["growth"].readings()
    draft = first_draft(table, "test")
    for role, said in ((Role.UNUSED, "no column is measured"), (Role.COORDINATE, None)):
        columns = (draft.columns[0], draft.columns[1].model_copy(update={"role": role}))
        found = _columns(draft.model_copy(update={"columns": columns}), table).problem
        assert said is None or said in (found or "")
    alike = tuple(column.model_copy(update={"name": "u"}) for column in draft.columns)
    assert "two columns have the name 'u'" in str(_columns(draft.model_copy(update={"columns": alike}), table).problem)


@pytest.mark.parametrize("key", sorted(EXAMPLES))
def test_an_example_is_a_whole_problem_that_the_command_line_reads(tmp_path, key):
    analysis = open_workspace(tmp_path).example(key)
    said = analysis.page_state(analysis.draft(), analysis.record())["feedback"]
    assert said["ready"]
    problem, readings = bind_readings(load_problem_file(analysis.problem), analysis.table(), "readings.csv")
    assert len(readings) == len(analysis.table())
    assert set(problem.unknowns) <= {name.name for name in analysis.draft().names}
    assert said["templates"]


def test_special_columns_under_other_names_reach_the_problem_file(tmp_path):
    def write(path):
        path.write_text("when,probe,err,value\n2024-01-01,a,0.1,1\n2024-01-02,b,0.1,2\n2024-01-03,a,0.2,3\n")

    analysis = open_workspace(tmp_path).upload("log.csv", write)
    draft = analysis.draft()
    roles = {column.column: column.role for column in draft.columns}
    assert (roles["when"], roles["probe"], roles["value"]) == (Role.COORDINATE, Role.SENSOR, Role.VALUE)
    changed = {"err": {"role": Role.DEVIATION}, "value": {"role": Role.FIELD, "name": "u"}}
    columns = tuple(column.model_copy(update=changed.get(column.column, {})) for column in draft.columns)
    told = analysis.save(draft.model_copy(update={"columns": columns, "equations": ("u_t = -k*u",)}), 1)
    assert told["feedback"]["ready"], told["feedback"]
    problem, readings = bind_readings(load_problem_file(analysis.problem), analysis.table(), "log.csv")
    assert readings.sensors.tolist() == ["a", "b", "a"]
    assert readings.sigma is not None
    assert readings.sigma.tolist() == [0.1, 0.1, 0.2]
    assert problem.coordinates["t"][1] > 0.0
    with pytest.raises(ChangedElsewhereError):
        analysis.save(draft, 1)


def test_an_equation_with_a_quotation_mark_is_answered_whole():
    table = EXAMPLES["growth"].readings()
    draft = draft_of(table, equations=("u' = -k*u",))
    said = feedback(draft, table, _columns(draft, table))["equations"][0]["problem"]
    assert said == "this equation cannot be read: write the derivative u' as u_t."


def uploaded(folder, text):
    return open_workspace(folder).upload("log.csv", lambda path: path.write_text(text))


def test_dates_gaps_and_columns_that_name_their_places_are_understood(tmp_path):
    rows = [f"05.03.2024 {hour:02}:00,{12 + hour / 10:.1f},{12.5 + hour / 10:.1f},12.1" for hour in range(9)]
    empty = [f"05.03.2024 {hour:02}:00,-9999,-9999,12.0" for hour in range(9, 12)]
    analysis = uploaded(tmp_path, "\n".join(["when,h_4m (m),h_12m (m),volt", *rows, *empty]) + "\n")
    draft = analysis.draft()
    assert [column.place for column in draft.columns_as(Role.STATION)] == ["x = 4 m", "x = 12 m"]
    assert draft.missing == "-9999"
    told = analysis.save(draft.model_copy(update={"equations": ("h_t = D*h_xx",)}), 1)
    assert told["feedback"]["ready"], told["feedback"]
    problem, readings = bind_readings(load_problem_file(analysis.problem), analysis.table(), "log.csv")
    assert (len(readings), problem.coordinates["t"], problem.coordinates["x"]) == (18, (0.0, 8.0), (4.0, 12.0))
    assert problem.units["x"] == "m"


def test_replicates_need_no_places_and_words_for_no_reading_are_left_out(tmp_path):
    analysis = uploaded(tmp_path, "t,A1,A2\n0,1,OVER\n1,0.9,1.5\n2,0.8,1\n")
    draft = analysis.draft()
    assert draft.missing == "OVER"
    stations = {"role": Role.STATION, "name": "N"}
    columns = tuple(c.model_copy(update=stations if c.column[0] == "A" else {}) for c in draft.columns)
    written = draft.model_copy(update={"columns": columns, "equations": ("N_t = -k*N",)})
    told = analysis.save(written, 1)
    assert told["feedback"]["ready"], told["feedback"]
    _, readings = bind_readings(load_problem_file(analysis.problem), analysis.table(), "log.csv")
    assert (len(readings), set(readings.sensors), readings.coordinates) == (5, {"A1", "A2"}, ("t",))
    told = analysis.save(written.model_copy(update={"missing": ""}), 2)
    assert "list what means 'no reading' under 'missing'" in told["feedback"]["columns"]


def test_places_in_two_units_are_refused(tmp_path):
    analysis = uploaded(tmp_path, "t,T1,T2\n0,1,2\n1,0.9,1.5\n2,0.8,1\n")
    draft, places = analysis.draft(), {"T1": "x = 10 cm", "T2": "x = 0.2 m"}
    columns = tuple(
        c.model_copy(
            update={"role": Role.STATION, "name": "T", "place": places[c.column]} if c.column in places else {}
        )
        for c in draft.columns
    )
    told = analysis.save(draft.model_copy(update={"columns": columns}), 1)
    assert "places along x are in 'cm' and 'm'; give all of them in one unit" in told["feedback"]["columns"]


def test_a_column_per_sensor_needs_the_places(tmp_path):
    analysis = uploaded(tmp_path, "t,T1,T2\n0,1,2\n1,0.9,1.5\n2,0.8,1\n")
    draft = analysis.draft()
    for place, said in (
        ("", "give its place"),
        ("0.2", "is not a place"),
        ("x = far", "is not a number"),
        ("x = 0.5", None),
    ):
        changed = {"T1": {"place": "x=0.1"}, "T2": {"place": place}}
        columns = tuple(
            column.model_copy(update={"role": Role.STATION, "name": "T", **changed[column.column]})
            if column.column in changed else column
            for column in draft.columns
        )  # fmt: skip
        record = analysis.record()
        told = analysis.save(
            draft.model_copy(update={"columns": columns, "equations": ("T_t = D*T_xx",)}), record["revision"]
        )
        assert (told["feedback"]["columns"] is None) if said is None else (said in told["feedback"]["columns"])
    _, readings = bind_readings(load_problem_file(analysis.problem), analysis.table(), "log.csv")
    assert (len(readings), readings.coordinates, set(readings.sensors)) == (6, ("t", "x"), {"T1", "T2"})


def test_a_draft_holds_nothing_else():
    for content in (
        {"folder": "/etc"},
        {"equations": ["x" * 5000]},
        {"columns": [{"column": "t", "role": "path"}]},
        [],
    ):
        with pytest.raises(InputError):
            read_draft(content)


STANDS_IN = """
import json, pathlib, sys, time
from napinn.storage.lock import held
run = pathlib.Path(sys.argv[-1])
run.mkdir(exist_ok=True)
with held(run):
    try:
        (run / "request.json").write_text("{}")
        for _ in range(600 if sys.argv[1] == "fit" else 1):
            time.sleep(0.1)
        found = {"status": "CONVERGED", "message": "The fit has settled."}
    except KeyboardInterrupt:
        (run / "checkpoints").mkdir()
        found = {"status": "INTERRUPTED", "message": "Stopped."}
    (run / "result.json").write_text(json.dumps(found))
"""


def until(condition, seconds: float = 30.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_a_fit_outlives_its_server_and_can_be_stopped_and_continued(tmp_path, monkeypatch):
    """The process that stands in for a fit holds the lock of its run folder as a fit does."""
    monkeypatch.setattr(
        fits, "PROGRAM", f"import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n{STANDS_IN}"
    )
    analysis = open_workspace(tmp_path).example("growth")
    first = fits.Fits()
    assert first.state(analysis)["state"] == "none"
    first.start(analysis)
    assert first.state(analysis)["state"] == "running"
    with pytest.raises(InputError, match="running already"):
        first.start(analysis)
    until(lambda: (analysis.folder / "run-1" / "request.json").exists())
    # Another server finds the fit by the lock of its folder.
    second = fits.Fits()
    assert second.state(analysis)["state"] == "running"
    with pytest.raises(InputError, match="running already"):
        second.resume(analysis)
    second.stop(analysis)
    until(lambda: not first.running(analysis) and not second.running(analysis))
    told = second.state(analysis)
    assert (told["state"], told["can_resume"], told["stale"]) == ("interrupted", True, False)
    second.resume(analysis)
    until(lambda: not second.running(analysis))
    assert (second.state(analysis)["state"], second.state(analysis)["run"]) == ("finished", "run-1")
    assert status(analysis.folder / "run-1")["state"] == "finished"
    analysis.problem.write_text("changed")
    assert second.state(analysis)["stale"]


def test_the_page_and_the_command_line_mean_the_same_by_an_exit_code():
    assert trials.NOT_TRUSTED == EXIT_NOT_TRUSTED


def test_what_a_fit_will_be_is_one_sentence_or_nothing(tmp_path, monkeypatch):
    analysis = open_workspace(tmp_path).example("growth")
    for printed, sentence in (
        ('{"seconds": 200, "method": "splines", "reason": ""}', "A fit by splines will take roughly 3 min here."),
        ('{"seconds": 0.2, "method": "law_pinn", "reason": "x"}',
         "A fit by law_pinn will take roughly 1 s here, because x."),
        ("no JSON", ""), ('{"seconds": null}', ""),
    ):  # fmt: skip
        monkeypatch.setattr(fits, "PROGRAM", f"print({printed!r})")
        assert trials.expected(analysis) == sentence


def test_a_damaged_analysis_does_not_hide_the_others(tmp_path):
    workspace = open_workspace(tmp_path)
    workspace.example("growth")
    workspace.example("rod")
    (workspace.listed()[0].folder / "analysis.json").write_text("{")
    (listed,) = Pages(workspace, fits.Fits(), str).home()["analyses"]
    assert listed["title"] == "Growth of a culture"


def test_a_fit_that_cannot_begin_says_why(tmp_path, monkeypatch):
    monkeypatch.setattr(fits, "PROGRAM", "print('napinn: there is no such thing.')")
    analysis = open_workspace(tmp_path).example("growth")
    started = fits.Fits()
    started.start(analysis)
    until(lambda: not started.running(analysis))
    assert started.state(analysis)["state"] == "failed"
    assert started.state(analysis)["why"] == "there is no such thing."
    with pytest.raises(InputError, match="start a new one"):
        started.resume(analysis)


def test_the_folder_that_holds_the_key_is_the_owners(tmp_path):
    _write(tmp_path / RUNNING, "http://127.0.0.1:1/#token=secret")
    assert os.stat(tmp_path / RUNNING).st_mode & 0o077 == 0
    assert Workspace(tmp_path).analyses.parent == tmp_path
