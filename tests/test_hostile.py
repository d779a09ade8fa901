"""Hostile and silly input: names that look alike, escape sequences, formulas, endless files, streams that fail."""

import io
import json
import os
import subprocess
import sys
import unicodedata
from dataclasses import replace
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest

from napinn import InputError, Problem, Unknown, load, read_problem, save
from napinn.cli import console, main, running
from napinn.data.formats import csv_text, read_csv, sizes
from napinn.data.readings import Clock, Columns, read_table
from napinn.diagnostics.preflight import Weight, inspect_readings
from napinn.engines.request import check_readings
from napinn.errors import printable
from napinn.problem.checks import MOST
from napinn.problem.equations import Names, mathml, split_names
from napinn.problem.equations.parse import HIGHEST_ORDER
from napinn.problem.file import load_problem_file, loading
from napinn.report.plot import parameters

MICRO, MU = "\u00b5", "\u03bc"
E_ACUTE = "e\u0301"
PROBLEM = "coordinates: {t: [0, 3]}\nfields: [u]\nunknowns: {k: 0.3}\nequations: ['u_t = -k*u']\n"
TABLE = "t,u\n" + "".join(f"{0.1 * step:.1f},{np.exp(-0.08 * step):.4f}\n" for step in range(30))


@pytest.fixture
def napinn(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    Path("problem.yaml").write_text(PROBLEM)
    Path("readings.csv").write_text(TABLE)

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["napinn", *arguments])
        with pytest.raises(SystemExit) as stop:
            main.run()
        return stop.value.code, *capfd.readouterr()

    return call


# Names.


def test_nitric_oxide_is_a_name_and_no_truth_value(tmp_path):
    text = "coordinates: {on: [0, 1]}\nfields: [NO]\nequations: ['NO_on = -NO']\nflags: {leave_out_bad: yes}\n"
    (tmp_path / "p.yaml").write_text(text)
    file = load_problem_file(tmp_path / "p.yaml")
    assert (file.fields, list(file.coordinates), file.flags.leave_out_bad) == (["NO"], ["on"], True)


@pytest.mark.parametrize("text", [PROBLEM + "fields: [v]\n", PROBLEM.replace("k: 0.3", "k: 0.3, k: 0.4")])
def test_an_entry_that_is_written_twice_is_refused(tmp_path, text):
    (tmp_path / "p.yaml").write_text(text)
    with pytest.raises(InputError, match="is written twice, line"):
        load_problem_file(tmp_path / "p.yaml")


@pytest.mark.parametrize(("declared", "written"), [(MICRO, MU), (MU, MICRO), (E_ACUTE, "é"), ("é", E_ACUTE)])
def test_names_that_look_alike_are_one_name(tmp_path, declared, written):
    text = (
        f"coordinates: {{{declared}: [0, 1]}}\nfields: [u]\nunknowns: {{k_{declared}: 1}}\n"
        f"units: {{{written}: m}}\nconditions: [u = 1 at {written} = 0]\nequations: ['u_{written} = k_{written}*u']\n"
    )
    (tmp_path / "p.yaml").write_text(text, encoding="utf-8")
    (tmp_path / "r.csv").write_text(f"{written},u,{MICRO}²\n0,1,a\n1,2,b\n", encoding="utf-8")
    problem, readings = read_problem(tmp_path / "p.yaml", tmp_path / "r.csv")
    name = unicodedata.normalize("NFKC", declared)
    assert (tuple(problem.coordinates), tuple(problem.unknowns)) == ((name,), (f"k_{name}",))
    assert problem.units == {name: "m"}
    # A column that the problem does not name keeps its own.
    assert list(readings.table.columns) == [name, "u", f"{MICRO}²"]


def test_two_names_that_only_look_different_are_refused(tmp_path):
    with pytest.raises(InputError, match="declared twice under unknowns"):
        Problem({"t": (0, 1)}, ("u",), ("u_t = μ*u",), {MICRO: Unknown(1.0), MU: Unknown(1.0)})
    (tmp_path / "p.yaml").write_text(PROBLEM.replace("k: 0.3", f"{MICRO}: 1, {MU}: 2"), encoding="utf-8")
    with pytest.raises(InputError, match="two names under 'unknowns' only look different"):
        load_problem_file(tmp_path / "p.yaml")


def test_one_line_takes_names_that_look_alike(napinn):
    Path("readings.csv").write_text(TABLE.replace("u", MICRO, 1), encoding="utf-8")
    code, out, _ = napinn("check", "readings.csv", "-e", f"{MU}_t = -{E_ACUTE}*{MU}", "-u", "é", "--no-time", "--json")
    told = json.loads(out)
    assert (code, list(told["fields"]), list(told["unknowns"])) == (0, [MU], ["é"])


def test_a_reserved_word_of_python_may_be_a_name():
    problem = Problem({"t": (0, 1)}, ("u",), ("u_t = -lambda*u", "d(u, t) = 0*lambda"), {"lambda": Unknown(1.0)})
    assert problem.show().splitlines()[0] == "∂u/∂t = −λ u"
    with pytest.raises(InputError, match="'lambda' is not known"):
        Problem({"t": (0, 1)}, ("u",), ("u_t = -lambda*u",))
    with pytest.raises(InputError, match="'True' is not a usable name"):
        Problem({"t": (0, 1)}, ("u",), ("u_t = u",), {"True": Unknown(1.0)})
    with pytest.raises(InputError, match="'u if u else 1' is not part of an equation"):
        Problem({"t": (0, 1)}, ("u",), ("u_t = u if u else 1",))


def test_escape_sequences_of_names_do_not_reach_the_terminal(napinn, finished, capfd):
    nasty = "\x1b[31mred\x1b]0;title\x07"
    pd.DataFrame({"t": [0.0, 1.0], "u": [1.0, 2.0], "sensor": [nasty, "b"]}).to_csv("nasty.csv", index=False)
    for more in ([], ["--json"]):
        code, out, err = napinn("check", "problem.yaml", "nasty.csv", "--no-time", *more)
        assert (code, "red" in out) == (0, True)
        assert "\x1b" not in out + err
    napinn("check", "problem.yaml", f"{nasty}.csv")
    shown = running._Printable("%(message)s").format(running.logging.makeLogRecord({"msg": nasty}))
    assert "\x1b" not in shown
    assert printable("a\tb\nc\x1b\u202e") == "a\tb\nc��"


def test_cells_that_a_spreadsheet_would_run_are_escaped_and_read_back(tmp_path, finished):
    cells = ["=cmd()", "+1+1", "-2", "-x", "@a", "'=b", "''-c", "'fine", "plain", "1e5"]
    table = pd.DataFrame({"=name": cells, "number": np.arange(-5.0, 5.0)})
    (tmp_path / "t.csv").write_text(csv_text(table))
    written = pd.read_csv(tmp_path / "t.csv", dtype=str)
    assert list(written.columns) == ["'=name", "number"]
    assert list(written.iloc[:, 0]) == [
        "'=cmd()", "'+1+1", "-2", "'-x", "'@a", "''=b", "'''-c", "'fine", "plain", "1e5",
    ]  # fmt: skip
    assert written["number"].iloc[0] == "-5.0"
    back = read_csv(tmp_path / "t.csv")
    assert list(back["=name"]) == cells
    readings = finished.readings
    names = np.where(readings.sensors == "fine", "=HYPERLINK(1)", readings.sensors)
    result = replace(finished, readings=replace(readings, sensors=names, table=readings.table.assign(sensor=names)))
    save(result, tmp_path / "run")
    text = (tmp_path / "run" / "readings.csv").read_text() + (tmp_path / "run" / "sensors.csv").read_text()
    assert "'=HYPERLINK" in text
    assert ",=" not in text
    assert "\n=" not in text
    assert "=HYPERLINK(1)" in set(load(tmp_path / "run").readings.sensors)


# Files without end, and problems without bound.


@pytest.mark.parametrize("columns", [sizes.MOST_COLUMNS, sizes.MOST_COLUMNS + 1])
def test_a_table_has_so_many_columns_and_no_more(tmp_path, columns):
    path = tmp_path / "wide.csv"
    path.write_text(",".join(f"c{number}" for number in range(columns)) + "\n" + ",".join("1" * columns) + "\n")
    if columns <= sizes.MOST_COLUMNS:
        assert read_csv(path).shape == (1, columns)
    else:
        with pytest.raises(InputError, match="has 10001 columns, and napinn reads at most 10000"):
            read_csv(path)


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("check problem.yaml /dev/zero", "/dev/zero is a device or a pipe"),
        ("check /dev/zero readings.csv", "/dev/zero is a device or a pipe"),
        ("fit pipe.csv -p problem.yaml", "pipe.csv is a device or a pipe"),
        ("report torn", "torn/result.json is not a plain file"),
        ("report nowhere", "nowhere does not exist"),
        ("resume nowhere", "nowhere does not exist"),
        ("bundle nowhere -o a.zip", "nowhere does not exist"),
        ("report readings.csv", "readings.csv is a file; give the run folder"),
        ("simulate burgers --seed 99999999999999999999999 -o new.csv", "--seed"),
        ("check readings.csv", "give either a problem file and readings"),
        ("check problem.yaml readings.csv -e u_t=u", "give either a problem file and readings"),
        ("check readings.csv -u k", "give either a problem file and readings"),
    ],
)
def test_silly_commands_are_one_sentence(napinn, command, said):
    os.mkfifo("pipe.csv")
    Path("torn").mkdir()
    os.mkfifo("torn/result.json")
    code, out, err = napinn(*command.split())
    assert (code, out) == (2, "")
    assert said in err


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[" * 300_000, "nests entries more than 12 levels deep"),
        ("".join(f"{' ' * level}a:\n" for level in range(1000)), "nests entries more than 12 levels deep"),
        ("a: &a [1]\nb: *a\n", "uses a YAML alias"),
        (f"{PROBLEM}name: !!timestamp foo\n", r"line \d+ has a tag \(!name\); write the value alone"),
        (f"{PROBLEM}name: !!int ''\n", "has a tag"),
        (PROBLEM.replace("0.3", "1" + ":1" * 200_000), "an entry of more than 20000 characters"),
        (PROBLEM.replace("0.3", "9" * 5000), "problem.yaml"),
    ],
)
def test_a_problem_file_that_would_take_for_ever_is_refused(napinn, text, said):
    Path("problem.yaml").write_text(text)
    with pytest.raises(InputError, match=said):
        load_problem_file(Path("problem.yaml"))


@pytest.mark.parametrize("loader", ["CSafeLoader", "SafeLoader"])
def test_both_readers_of_yaml_take_the_deepest_problem(tmp_path, monkeypatch, loader):
    safe = getattr(loading.yaml, loader)
    monkeypatch.setattr(loading, "SAFE", safe)
    monkeypatch.setattr(loading, "Loader", type("Loader", (loading.Checked, safe), {}))
    (tmp_path / "p.yaml").write_text(PROBLEM + "arrays: {u: {name: usol, axes: [t]}}\n")
    assert load_problem_file(tmp_path / "p.yaml").arrays


def test_the_number_of_names_is_bounded():
    def problem(count):
        names = [f"k{number}" for number in range(count)]
        return Problem({"t": (0, 1)}, ("u",), (f"u_t = {'+'.join(names)}",), {name: Unknown(1.0) for name in names})

    assert len(problem(MOST["unknown"]).unknowns) == MOST["unknown"]
    with pytest.raises(InputError, match="has 101 unknowns, and napinn takes at most 100"):
        problem(MOST["unknown"] + 1)
    with pytest.raises(InputError, match="has 201 equations"):
        Problem({"t": (0, 1)}, ("u",), ("u_t = u",) * 201)


def test_the_order_of_derivatives_is_bounded():
    names = Names(("x", "t"), ("u",), (), {}, {})
    found = names.partial("u_" + "x" * HIGHEST_ORDER)
    assert found is not None
    assert len(found.terms[0]) == HIGHEST_ORDER
    with pytest.raises(InputError, match="has order 7, and the highest that can be computed is 6"):
        names.partial("u_" + "x" * (HIGHEST_ORDER + 1))
    with pytest.raises(InputError, match="has order 60"):
        Problem({"x": (0, 1)}, ("u",), (f"d(u{', x' * 60}) = u",))


def test_names_run_together_are_split_at_once():
    assert split_names("xxt", ("t", "x")) == ("x", "x", "t")
    assert split_names("xxt", ("t", "x", "xx")) == ("xx", "t")
    assert split_names("xxx", ("xx", "x")) == ("xx", "x")
    assert split_names("", ("x",)) == ()
    # Tried one way after the other, this would take longer than anyone lives.
    assert split_names("x" * 2000 + "!", ("x", "xx", "xxx")) is None


# Streams.


def _process(arguments, **more):
    env = {name: value for name, value in os.environ.items() if name not in ("PYTHONIOENCODING", "PYTHONUTF8")}
    code = "from napinn.cli.main import run; run()"
    return subprocess.run(
        [sys.executable, "-c", code, *arguments], env={**env, **more.pop("env", {})}, check=False, timeout=120, **more
    )


@pytest.mark.parametrize("locale", ["C", "POSIX"])
def test_help_and_refusals_are_shown_in_any_locale(tmp_path, locale):
    env = {"LC_ALL": locale, "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    for arguments, code in ((["--help"], 0), (["check", "∂.yaml", os.fsencode(tmp_path) + b"/\xff.csv"], 2)):
        found = _process(arguments, env=env, capture_output=True)
        assert found.returncode == code
        assert b"Traceback" not in found.stderr
        found.stdout.decode("ascii")
        found.stderr.decode("ascii")


def test_characters_that_cannot_be_encoded_are_told_in_others(monkeypatch):
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii")
    monkeypatch.setattr(sys, "stdout", stream)
    with console.safe_streams():
        console.Console().print("∂²u/∂x² = −λ … é \udcff")
    stream.flush()
    assert raw.getvalue() == b"d^2u/dx^2 = -lambda ... e ?\n".replace(b"?", raw.getvalue()[-2:-1])


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_behind_standard_output_is_one_sentence():
    with open("/dev/full", "wb") as full:
        found = _process(["schema"], stdout=full, stderr=subprocess.PIPE)
        assert found.returncode == 1
        assert found.stderr.decode() == "napinn: standard output could not be written: No space left on device.\n"
        assert _process(["new", "/none/new.csv"], stdout=subprocess.PIPE, stderr=full).returncode == 2


def test_a_file_name_that_is_not_utf8_is_fitted(napinn, tmp_path):
    name = os.fsdecode(b"r\xff.csv")
    Path(name).write_text(TABLE)
    code, out, err = napinn("fit", name, "-p", "problem.yaml", "-m", "splines", "-o", "run")
    assert code in (0, 3)
    assert "Traceback" not in err
    assert load("run").readings.source == r"r\udcff.csv"
    code, out, _ = napinn("report", "run", "--json")
    assert (code, json.loads(out)["report"]) == (0, "run/report.html")


def test_tables_are_not_cut_where_there_is_no_terminal(monkeypatch):
    monkeypatch.setenv("COLUMNS", "20")
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stdout", stream)
    console.Console().print("x" * 500)
    assert stream.getvalue() == "x" * 500 + "\n"


# What `check` says.


def readings_of(table, fields=("u",)):
    return read_table(table, ("x", "t"), fields)


def said(table, equation="u_t = k*u", unknowns=("k",)):
    problem = Problem({"x": (0, 1), "t": (0, 9)}, ("u",), (equation,), {name: Unknown(1.0) for name in unknowns})
    return [(finding.weight, finding.text) for finding in inspect_readings(problem, readings_of(table))]


@pytest.fixture
def table():
    x, t = np.repeat([0.0, 0.5, 1.0], 10), np.tile(np.arange(10.0), 3)
    return pd.DataFrame({"x": x, "t": t, "u": np.sin(t + 3 * x), "sensor": [f"s{int(2 * place)}" for place in x]})


def test_check_says_nothing_of_sound_readings(table):
    assert said(table) == []
    assert said(table.assign(u=table["u"] + 2.0), "u_t = k*log(u)") == []


@pytest.mark.parametrize(
    ("change", "equation", "weight", "text"),
    [
        ({3: -999.0}, "u_t = k*u", Weight.DOUBT, "the value -999 of 'u' occurs once, far from all others"),
        ({3: -999.0, 4: -999.0}, "u_t = k*u", Weight.DOUBT, "occurs 2 times"),
        ({3: 1e308}, "u_t = k*u", Weight.OBSTACLE, "a reading has the size 1e+308, beyond single precision"),
        ({3: 1e308}, "u_t = k*u", Weight.DOUBT, "1 reading(s) of 'u' are more than 1e+06 deviations from the median"),
        ({}, "u_t = k*log(u)", Weight.DOUBT, "are not above zero, and an equation holds log(u)"),
        ({}, "u_t = k*log10(u)", Weight.DOUBT, "log10(u), which has no value there"),
        ({}, "u_t = k*sqrt(u)", Weight.DOUBT, "are below zero, and an equation holds sqrt(u)"),
        (
            dict.fromkeys(range(10), 0.25),
            "u_t = k*u",
            Weight.DOUBT,
            "sensor 's0' gives u = 0.25 in all of its 10 readings",
        ),
    ],
)
def test_check_says_what_looks_wrong(table, change, equation, weight, text):
    values = table["u"].copy()
    values[list(change)] = list(change.values())
    found = [told for heavy, told in said(table.assign(u=values), equation) if heavy is weight]
    assert any(text in told for told in found), found


def test_a_box_beyond_single_precision_is_refused(table):
    readings = readings_of(table)
    for high, refused in ((1e38, False), (1e39, True)):
        problem = Problem({"x": (0, 1), "t": (0, high)}, ("u",), ("u_t = u",))
        obstacles = [finding for finding in inspect_readings(problem, readings) if finding.weight is Weight.OBSTACLE]
        assert bool(obstacles) == refused
    with pytest.raises(InputError, match="'t' runs from 0 to 1e\\+39, beyond single precision"):
        check_readings(problem, readings)


def test_check_says_that_readings_are_fewer_than_unknowns(table):
    text = "u_t = a*u + b*u**2 + c*u**3"
    assert any("2 reading(s) and 3 unknowns" in told for _, told in said(table.iloc[[0, 12]], text, ("a", "b", "c")))
    assert not any("unknowns" in told for _, told in said(table.iloc[[0, 12, 24]], text, ("a", "b", "c")))


def test_check_takes_an_equation_in_place_of_a_problem_file(napinn):
    code, out, _ = napinn("check", "readings.csv", "-e", "u_t = -k*u", "-u", "k=0.3", "--no-time")
    assert code == 0
    assert out.startswith("∂u/∂t = −k u\n")


# Dates, functions, figures.


def test_dates_with_a_format_are_counted_from_the_first_reading(tmp_path):
    (tmp_path / "p.yaml").write_text(
        "coordinates: {t: {column: when, unit: h, format: '%d/%m/%Y %H:%M'}}\nfields: [u]\nequations: [u_t = u]\n"
    )
    table = pd.DataFrame({"when": ["01/03/2024 12:00", "01/03/2024 14:30"], "u": [1.0, 2.0]})
    problem, readings = read_problem(tmp_path / "p.yaml", table)
    np.testing.assert_allclose(readings.points[:, 0], [0.0, 2.5])
    assert (problem.units["t"], readings.columns.clocks["t"].unit) == ("h", "hours")


@pytest.mark.parametrize("second", ["2024-03-01 13:00", "2024-03-01T13:00:00"])
@pytest.mark.parametrize("first", ["2024-03-01T12:00Z", "2024-03-01 12:00+01:00", "2024-03-01T12:00:00.5-0330"])
def test_dates_with_and_without_a_zone_are_not_mixed(first, second):
    columns = Columns(clocks={"t": Clock("hours")})
    table = pd.DataFrame({"t": [first, second], "u": [1.0, 2.0]})
    with pytest.raises(InputError, match=r"row 2 has a time zone .* and row 3 has none"):
        read_table(table, ("t",), ("u",), columns)
    for pair in ([first, "2024-03-02T00:00Z"], [second, "2024-03-02"]):
        read_table(table.assign(t=pair), ("t",), ("u",), columns)


def test_the_decimal_logarithm_is_a_function():
    problem = Problem({"t": (0, 1)}, ("u",), ("u_t = log10(u)",))
    assert problem.show() == "∂u/∂t = log10(u)"
    assert "<msub><mi>log</mi><mn>10</mn></msub>" in mathml(problem.written[0])
    ones = jnp.full((1, 1), 100.0)
    (left,) = problem.residuals(jnp.zeros((1, 1)), {((),): ones, (("t",),): 0.0 * ones}, {})
    assert float(left[0]) == pytest.approx(-2.0)


def test_every_coefficient_has_an_axis(finished):
    names = ("k", "small", "third", "fourth")
    problem = replace(
        finished.problem, equations=("u_t = -k*u*small*third*fourth",), unknowns={name: Unknown(0.3) for name in names}
    )
    history = finished.history.assign(small=1e-6 * finished.history["k"], third=1.0, fourth=2.0)
    result = replace(finished, problem=problem, history=history, unknowns=dict.fromkeys(names, 1.0))
    panels = parameters(result)
    assert [panel.get_ylabel() for panel in panels] == list(names)
    assert len(panels[0].figure.axes) == 4
    (drawn,) = panels[1].lines[:1]
    np.testing.assert_allclose(drawn.get_ydata(), history["small"])  # pyright: ignore[reportCallIssue]
