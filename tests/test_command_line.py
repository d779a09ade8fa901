"""The command line as people expect it: short help, a version, groups, examples, completion."""

import dataclasses
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import typer.main

from napinn.cli import discovering, simulating, verifying
from napinn.cli.commands import COMMANDS, EXTRAS, METHOD, PROBLEM, RUN, app
from napinn.cli.console import Console
from napinn.cli.main import run
from napinn.cli.running import next_commands
from napinn.diagnostics.findings import Verification
from napinn.discovery.found import Discovery
from napinn.results.result import FitStatus

GROUP = typer.main.get_command(app)


def said(monkeypatch, capfd, *words: str) -> tuple[int, str]:
    """The exit code of a command line, and its standard output."""
    monkeypatch.setattr(sys, "argv", ["napinn", *words])
    monkeypatch.setenv("COLUMNS", "120")
    with pytest.raises(SystemExit) as stop:
        run()
    return int(stop.value.code or 0), capfd.readouterr().out


def test_every_command_is_listed_once_in_the_order_of_the_groups():
    assert list(COMMANDS) == GROUP.list_commands(None)  # pyright: ignore[reportAttributeAccessIssue]
    assert set(COMMANDS) == set(GROUP.commands)  # pyright: ignore[reportAttributeAccessIssue]


def test_help_is_grouped_and_has_a_short_form(monkeypatch, capfd):
    code, short = said(monkeypatch, capfd, "-h")
    assert code == 0
    assert short == said(monkeypatch, capfd, "--help")[1]
    places = [short.index(group) for group in ("Start here", "Look", "Trust", "Studies")]
    assert places == sorted(places)
    assert places[0] < short.index(" fit ") < places[1] < short.index(" plot ") < places[2] < short.index(" verify ")


@pytest.mark.parametrize("name", COMMANDS)
def test_help_of_a_command_has_an_example_that_parses_and_flags_without_a_type(monkeypatch, capfd, name):
    code, shown = said(monkeypatch, capfd, name, "-h")
    assert code == 0
    assert "<bool>" not in shown
    example = COMMANDS[name].example
    assert re.sub(r"\s+", " ", example) in re.sub(r"\s+", " ", shown)
    program, command, *words = shlex.split(example)
    assert (program, command) == ("napinn", name)
    GROUP.commands[name].make_context(name, words)  # pyright: ignore[reportAttributeAccessIssue]


def test_many_options_stand_in_groups_with_the_problem_first(monkeypatch, capfd):
    _, shown = said(monkeypatch, capfd, "fit", "-h")
    places = [shown.index(f"─ {group} ") for group in (PROBLEM, METHOD, EXTRAS, RUN)]
    assert places == sorted(places)
    assert (
        places[1] < shown.index("--seed ") < places[2] < shown.index("--intervals") < places[3] < shown.index("--json")
    )
    # Few options are one list.
    assert f"─ {RUN} " not in said(monkeypatch, capfd, "demo", "-h")[1]


def test_version_is_that_of_the_package(monkeypatch, capfd):
    from napinn import __version__

    assert said(monkeypatch, capfd, "--version") == (0, f"napinn {__version__}\n")


def test_shell_completes_commands_without_loading_jax():
    """What the script that `napinn --install-completion` writes asks for."""
    code = """if True:
    import sys
    from napinn.cli.main import run
    sys.argv = ["napinn"]
    try:
        run()
    finally:
        print("jax" in sys.modules)
    """
    asked = {"_NAPINN_COMPLETE": "complete_bash", "COMP_WORDS": "napinn ver", "COMP_CWORD": "1"}
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, env={**os.environ, **asked}
    )
    assert found.stdout.split() == ["verify", "False"], found.stderr


@pytest.mark.parametrize(("status", "first"), [(FitStatus.CONVERGED, "verify"), (FitStatus.INTERRUPTED, "resume")])
def test_a_fit_ends_with_three_commands_that_parse(finished, status, first):
    lines = next_commands(dataclasses.replace(finished, status=status), Path("runs/my run")).splitlines()
    assert lines[0] == "next:"
    words = [shlex.split(line, comments=True) for line in lines[1:]]
    assert [line[1] for line in words] == [first, "plot", "predict"]
    for program, command, run_folder, *options in words:
        assert (program, run_folder) == ("napinn", "runs/my run")
        GROUP.commands[command].make_context(command, [run_folder, *options])  # pyright: ignore[reportAttributeAccessIssue]


def test_commands_to_go_on_with_hold_paths_with_spaces(finished, monkeypatch, tmp_path, capfd):
    def words(command: str) -> list[str]:
        return shlex.split(command.strip())

    found = Discovery((), finished.problem, finished, (), 1.0)
    lines = discovering.next_commands(found, Path("a run"), Path("my table.csv")).splitlines()
    options = ["--problem", "a run/problem.yaml", "--out", "a run-fit"]
    assert words(lines[1]) == ["napinn", "fit", "my table.csv", *options]
    assert words(lines[2]) == ["napinn", "verify", "a run"]
    files = {"readings": Path("my table.csv"), "labels": Path("my labels.csv"), "problem": Path("my problem.yaml")}
    simulating.show({"count": 4, "outliers": 0, "faulty": 0, "dropped_rows": 0}, files, Console())
    command = capfd.readouterr().out.rpartition("next: ")[2]
    assert words(command) == ["napinn", "fit", "my table.csv", "--problem", "my problem.yaml"]
    monkeypatch.chdir(tmp_path)
    command = said(monkeypatch, capfd, "new", "my problem.yaml")[1].rpartition("then run: ")[2]
    assert words(command) == ["napinn", "check", "my problem.yaml", "readings.csv"]
    Path("a run").mkdir()
    monkeypatch.setattr(verifying, "load", lambda run: finished)
    monkeypatch.setattr(verifying, "verify", lambda *given, **options: Verification(()))
    assert verifying.verify_command(Path("a run"), refit=False, as_json=False) == 0
    command = capfd.readouterr().out.rpartition("verify.json; ")[2]
    assert words(command.partition(" puts")[0]) == ["napinn", "report", "a run"]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["problem.yaml"], "problem.yaml is a problem file; name the table of readings behind it."),
        (["readings.csv"], "give either a problem file (--problem, or napinn fit problem.yaml readings.csv), or"),
        (["problem.yaml", "readings.csv", "-e", "u_t = -k*u"], "and not both"),
        (["problem.yaml", "gone.csv"], "gone.csv"),
    ],
)
def test_fit_takes_the_problem_file_first_as_check_does(monkeypatch, capfd, tmp_path, words, sentence):
    monkeypatch.chdir(tmp_path)
    Path("problem.yaml").write_text("coordinates: {t: }\nfields: [u]\nunknowns: {k: }\nequations: [u_t = -k*u]\n")
    Path("readings.csv").write_text("t,u\n0,1\n1,0.5\n2,0.25\n")
    monkeypatch.setattr(sys, "argv", ["napinn", "fit", *words])
    with pytest.raises(SystemExit) as stop:
        run()
    assert stop.value.code == 2
    assert sentence in re.sub(r"\s+", " ", capfd.readouterr().err)
