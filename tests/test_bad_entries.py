"""Every entry of a problem file that is misspelt, of a wrong type or without its column is told in one sentence, with
the file, the entry and a remedy, and the command ends with exit code 2."""

import re
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from napinn.cli import main as commands

WHOLE: dict[str, Any] = {
    "coordinates": {"x": [0, 1], "t": {"ranges": {"a": [0, 3], "b": [0, 2]}}},
    "fields": ["u"],
    "observables": {"y": "gain*u"},
    "unknowns": {
        "k": {"start": 0.3, "prior": "normal(0.3, 0.1)"},
        "gain": {"per": "experiment", "scale": "log"},
        "q": {"of": ["x"], "positive": True},
        "s": {"of": ["t"], "steps": True},
    },
    "constants": {"c": {"a": 0.1, "b": 0.2}, "w": {"column": "dose"}},
    "equations": ["u_t = -k*u + c*w + q + s"],
    "noise": {"by": "lab"},
    "columns": {"experiment": "beaker", "units": {"t": "min", "u": "g/L", "w": "g"}},
    "units": {"t": "h", "u": "mg/L", "y": "V", "w": "mg"},
    "own_units": ["cells"],
    "flags": {"leave_out_bad": False},
}
ROWS = [
    f"{beaker},{lab},1.0,{x},{60 * t},{1 - t / 4 + x / 9},{2 - t / 3 + x / 7}"
    for beaker in ("a", "b") for lab in ("one", "two") for x in (0.2, 0.8) for t in (0.5, 1.0, 1.5)
]  # fmt: skip
TABLE = "\n".join(["beaker,lab,dose,x,t,u,y", *ROWS]) + "\n"


def refusal(folder: Path, monkeypatch, capfd, problem: str, table: str = TABLE) -> str:
    """What `napinn check` says on standard error; its exit code must be 2."""
    (folder / "problem.yaml").write_text(problem, encoding="utf-8")
    (folder / "readings.csv").write_text(table, encoding="utf-8")
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "argv", ["napinn", "check", "problem.yaml", "readings.csv", "--no-time"])
    with pytest.raises(SystemExit) as ended:
        commands.run()
    told = capfd.readouterr().err
    assert ended.value.code == 2, told
    return told


def changed(path: str, value: Any) -> str:
    """The problem file with one entry replaced; a value `...` renames the last part of its path by a typo."""
    content = yaml.safe_load(yaml.safe_dump(WHOLE))
    place, *rest = [content], *path.split(".")
    owner = place[0]
    for part in rest[:-1]:
        owner = owner[part]
    if value is ...:
        owner[f"{rest[-1]}z"] = owner.pop(rest[-1])
    else:
        owner[rest[-1]] = value
    return yaml.safe_dump(content, allow_unicode=True)


TYPOS = [
    "observables", "noise", "own_units", "units", "columns", "constants", "unknowns.k.prior", "unknowns.gain.per",
    "unknowns.q.of", "columns.experiment", "columns.units", "noise.by", "flags.leave_out_bad", "coordinates.t.ranges",
    "constants.w.column", "unknowns.gain.scale", "unknowns.q.positive", "unknowns.s.steps",
]  # fmt: skip
TYPES = [
    ("observables", "y"), ("observables.y", 3), ("noise", "lab"), ("noise.by", 3), ("own_units", "cells"), ("units", 3),
    ("units.u", 3), ("columns.units", "g/L"), ("unknowns.k.prior", 3), ("unknowns.gain.per", "beaker"),
    ("unknowns.q.of", "x"), ("constants.w.column", 3), ("coordinates.t.ranges", [0, 3]), ("constants.c", {"a": "much"}),
    ("unknowns.gain.scale", 3), ("unknowns.q.positive", "perhaps"), ("unknowns.s.steps", 3), ("unknowns.s.of", 3),
    ("unknowns.s.of", [3]), ("columns.experiment", 3), ("unknowns", ["k"]), ("constants", "c"), ("unknowns.q", "x"),
]  # fmt: skip
WRONG = [
    ("observables.y", "gain*v", "v"), ("observables.y", "mean(u", "y"), ("noise.by", "laboratory", "laboratory"),
    ("columns.experiment", "vessel", "vessel"), ("constants.w.column", "doses", "doses"),
    ("unknowns.k.prior", "normal(0.3)", "k"), ("unknowns.k.prior", "uniform(0, 1)", "k"), ("unknowns.q.of", ["z"], "z"),
    ("constants.c", {"a": 0.1}, "b"), ("constants.c", {"a": 0.1, "b": 0.2, "d": 0.3}, "d"),
    ("coordinates.t.ranges", {"a": [0, 3], "e": [0, 3]}, "e"), ("units.u", "kelvn", "kelvn"),
    ("units.u", "9**9**9", "9**9**9"), ("units.v", "K", "v"), ("columns.units", {"u": "m"}, "u"),
    ("columns.units", {"u": "mgg/L"}, "mgg"), ("columns.units", {"v": "m"}, "v"), ("own_units", ["m"], "m"),
    ("equations", ["u_t = -k*u + c*w + q + s + u"], "∂u/∂t"), ("unknowns.k", {"scale": "logarithmic"}, "scale"),
]  # fmt: skip


def check_sentence(told: str, *parts: str) -> None:
    assert told.count("\n") == 1, told
    assert "Traceback" not in told
    assert re.match(r"^napinn: .*(problem\.yaml|readings\.csv)", told), told
    assert re.search(r"[;:?] ?.*[.?]\n$", told), told
    assert all(part in told for part in parts), told


@pytest.mark.parametrize("path", TYPOS)
def test_a_misspelt_entry_is_named(path, tmp_path, monkeypatch, capfd):
    told = refusal(tmp_path, monkeypatch, capfd, changed(path, ...))
    check_sentence(told, f"{path.rpartition('.')[2]}z")


@pytest.mark.parametrize(("path", "value"), TYPES)
def test_an_entry_of_a_wrong_type_is_named(path, value, tmp_path, monkeypatch, capfd):
    check_sentence(refusal(tmp_path, monkeypatch, capfd, changed(path, value)), path.split(".")[0].rstrip("s"))


@pytest.mark.parametrize(("path", "value", "named"), WRONG)
def test_a_wrong_value_is_named(path, value, named, tmp_path, monkeypatch, capfd):
    check_sentence(refusal(tmp_path, monkeypatch, capfd, changed(path, value)), named)


@pytest.mark.parametrize("column", ["x", "t", "y", "lab", "beaker", "dose"])
def test_a_missing_column_is_named(column, tmp_path, monkeypatch, capfd):
    table = TABLE.replace(f"{column},", f"other_{column},", 1) if column != "y" else TABLE.replace(",y\n", ",other_y\n")
    check_sentence(refusal(tmp_path, monkeypatch, capfd, yaml.safe_dump(WHOLE), table), f"'{column}'")


def test_an_experiment_with_a_single_reading_is_named_with_its_row(tmp_path, monkeypatch, capfd):
    problem = changed("constants.c", {"a": 0.1, "b": 0.2, "c": 0.3})
    told = refusal(tmp_path, monkeypatch, capfd, problem, TABLE + "c,one,1.0,0.5,60,,1.0\n")
    check_sentence(told, "row 26", "'c' has 1 reading")


def test_the_whole_file_is_said_back_in_words(tmp_path, monkeypatch, capfd):
    (tmp_path / "problem.yaml").write_text(yaml.safe_dump(WHOLE), encoding="utf-8")
    (tmp_path / "readings.csv").write_text(TABLE, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.setattr(sys, "argv", ["napinn", "check", "problem.yaml", "readings.csv", "--no-time"])
    with pytest.raises(SystemExit) as ended:
        commands.run()
    told = capfd.readouterr().out
    assert ended.value.code == 0, told
    for words in (
        "y = gain u", "prior normal(0.3, 0.1)", "unknown function q", "one noise law for each of: one (24 readings)",
        "experiment", "gain has a value for each", "u in milligram/liter", "y in volt", "k in 1/h",
        "the column of t from min to h", "the column of u from g/L to mg/L", "the column of w from g to mg",
        "logarithmic scale", "unknown function s: constant but for jumps along t",
    ):  # fmt: skip
        assert words in told, (words, told)
