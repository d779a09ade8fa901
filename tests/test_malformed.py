"""Hundreds of damaged problem files and tables: each is one clear sentence and exit code 2, or is read; none is a
traceback, and none runs anything."""

import contextlib
import copy
import io
import sys
from collections import Counter

import hypothesis
import numpy as np
import pytest
import xarray as xr
import yaml
from hypothesis import strategies as st

import test_bad_entries as entries
from napinn import InputError
from napinn.cli import main
from napinn.data.formats.hdf5 import check_heaps
from napinn.data.formats.netcdf import read_netcdf
from napinn.problem.equations import Names, bind

PROBLEM = {
    "name": "decay",
    "coordinates": {"t": {"range": [0, 3], "column": "when", "unit": "hours"}, "x": None},
    "fields": ["u"],
    "hidden": {"v": 2.0},
    "unknowns": {"k": {"start": 0.3, "low": 0.0}, "D": 1.0},
    "constants": {"c": 0.1},
    "tables": {"q": {"file": "q.csv", "coordinates": ["t"], "value": "power"}},
    "equations": ["u_t = D*v_x - k*u + c*q", "v = u_x"],
    "conditions": ["u = exp(-x) at t = 0"],
    "periodic": ["x"],
    "columns": {"sensor": "station", "rename": {"u": "reading"}},
    "missing": [-999],
    "arrays": {"u": {"name": "usol", "axes": ["x", "t"]}, "x": "x"},
}
TABLE = "station,when,x,reading,sigma\na,0,0,1.0,0.1\na,1,0.5,0.7,0.1\nb,2,1,-999,0.1\nb,3,0,,0.1\nb,2.5,1,0.4,0.2\n"
FORCING = "t,power\n0,1\n1.5,2\n3,0\n"
RUNS_CODE = "__import__('os').system('touch canary')"
STRANGE = [
    None, True, 0, -1, 10**400, 1e308, float("nan"), float("inf"), "", "u", "é\n", "x" * 3000, RUNS_CODE, [], {}, [1],
    [0, 1, 2], {"a": 1}, [["u"]], {"start": "much"}, "u_t = ", "= 0", "u_t = u_t = u", "u at x = 0", "../q.csv",
    "/etc/passwd", "u = 0 at x = 9", "(" * 200 + "u", "u" + "+u" * 3000, "lambda: 0", "u[0]", "u.real", "q_t = 0",
]  # fmt: skip
SCRAPS = [
    "!!python/object/apply:os.system ['touch canary']", "!!python/name:os.system", "&a [*a, *a]", "*a", "<<: *a", "\t",
    "\x00", "{", "]", ": :", "- - -", "'", '"', "|\n", "%TAG ! x", "---\n", "...\n", "!!binary x", "\ufeff", "1e999",
    "nan", ",,,", ";", "\r\n", "=cmd|' /C calc'!A0", RUNS_CODE, "999999999999999999999", "\x1b[31m", "∞",
]  # fmt: skip


def places(node, path=()):
    inner = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    return [path, *(deeper for key, child in inner for deeper in places(child, (*path, key)))]


@st.composite
def broken_structure(draw, problem=PROBLEM, strange=STRANGE):
    """A problem with an entry removed, renamed or replaced by something strange."""
    content = copy.deepcopy(problem)
    *way, last = draw(st.sampled_from([path for path in places(problem) if path]))
    owner = content
    for key in way:
        owner = owner[key]
    match draw(st.sampled_from(["delete", "rename", "replace", "replace"])):
        case "delete":
            del owner[last]
        case "rename" if isinstance(owner, dict):
            owner[draw(st.sampled_from(["zz", "u", "pi", "class", 3, "x y"]))] = owner.pop(last)
        case _:
            owner[last] = draw(st.sampled_from(strange))
    return yaml.safe_dump(content, allow_unicode=True, sort_keys=False).encode()


@st.composite
def broken_text(draw, text, rounds=3):
    """A text with pieces cut out and scraps or bytes put in."""
    found = text.encode()
    for _ in range(draw(st.integers(1, rounds))):
        at = draw(st.integers(0, len(found)))
        cut = draw(st.sampled_from([0, 0, 1, 5, 40]))
        put = draw(st.one_of(st.sampled_from(SCRAPS).map(str.encode), st.binary(max_size=6)))
        found = found[:at] + put + found[at + cut :]
    return found


def run(*arguments):
    """The command in this process: exit code, what it printed, what it complained of."""
    out, err, before = io.StringIO(), io.StringIO(), sys.argv
    sys.argv = ["napinn", *map(str, arguments)]
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), pytest.raises(SystemExit) as stop:
            main.run()
    finally:
        sys.argv = before
    return stop.value.code, out.getvalue(), err.getvalue()


def judge(folder, problem, table, seen):
    """Read, or refused in one sentence that ends as a sentence does."""
    code, out, err = run("check", problem, table, "--no-time")
    seen[code] += 1
    assert not (folder / "canary").exists()
    if code == 0:
        assert err == ""
        return
    assert code == 2
    if err:
        assert err.startswith("napinn: ")
        assert len(err.splitlines()) == 1
        assert err.rstrip().endswith((".", "?"))
        assert out == ""
    else:
        assert "obstacle:" in out


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "q.csv").write_text(FORCING)
    (tmp_path / "p.yaml").write_text(yaml.safe_dump(PROBLEM, sort_keys=False))
    (tmp_path / "r.csv").write_text(TABLE)
    return tmp_path


QUICK = hypothesis.settings(
    max_examples=50,  # `benchmarks/fuzz.py` tries thousands.
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(hypothesis.HealthCheck),
)


def test_the_whole_files_are_fine(folder):
    assert run("check", "p.yaml", "r.csv", "--no-time")[0] == 0


def test_sixty_damaged_problem_files(folder):
    seen = Counter()
    path = folder / "damaged.yaml"

    def one(content):
        path.write_bytes(content)
        judge(folder, "damaged.yaml", "r.csv", seen)

    whole = yaml.safe_dump(PROBLEM, sort_keys=False)
    QUICK(hypothesis.given(broken_structure())(one))()
    QUICK(hypothesis.given(broken_text(whole))(one))()
    assert seen[2] > 60


STRANGE_LATER = [
    *STRANGE, "normal(0, 0)", "normal(1e999, 1)", "lognormal(-1, 1)", "normal(0.3, 0.1", "log", "experiment",
    ["t", "t"], ["x", "t", "x"], "mean(u", "mean(u, q)", "log10(", "log10(mean(u, x))", "integral(u, x, x)", "gain*y",
    "m**99999999", "K", "degF", "cells", {"column": "beaker"}, {"a": 1.0, "c": 2.0}, {"by": "u"},
]  # fmt: skip
"""Wrong values that only entries on experiments, observables, priors, unknown functions and units can have."""


def test_problem_files_with_experiments_observables_priors_functions_and_units(folder):
    seen = Counter()
    path = folder / "damaged.yaml"
    (folder / "w.csv").write_text(entries.TABLE)

    def one(content):
        path.write_bytes(content)
        judge(folder, "damaged.yaml", "w.csv", seen)

    QUICK(hypothesis.given(broken_structure(entries.WHOLE, STRANGE_LATER))(one))()
    QUICK(hypothesis.given(broken_text(yaml.safe_dump(entries.WHOLE, sort_keys=False)))(one))()
    path.write_text(yaml.safe_dump(entries.WHOLE))

    def table(content):
        (folder / "w.csv").write_bytes(content)
        judge(folder, "damaged.yaml", "w.csv", seen)

    QUICK(hypothesis.given(broken_text(entries.TABLE))(table))()
    assert seen[2] > 60


def test_forty_damaged_tables(folder):
    seen = Counter()

    def table(content):
        (folder / "damaged.csv").write_bytes(content)
        judge(folder, "p.yaml", "damaged.csv", seen)

    def forcing(content):
        (folder / "q.csv").write_bytes(content)
        judge(folder, "p.yaml", "r.csv", seen)

    QUICK(hypothesis.given(broken_text(TABLE))(table))()
    hypothesis.settings(QUICK, max_examples=30)(hypothesis.given(broken_text(FORCING))(forcing))()
    assert seen[2] > 40


def test_sixty_damaged_binary_files(folder):
    seen = Counter()
    rng = np.random.default_rng(0)
    np.savez(folder / "whole.npz", when=np.arange(4.0), x=np.arange(4.0), reading=np.arange(4.0))
    whole = (folder / "whole.npz").read_bytes()
    for number in range(60):
        content = bytearray(whole[: rng.integers(0, len(whole))])
        for place in rng.integers(0, max(len(content), 1), 5 if content else 0):
            content[place] = rng.integers(0, 256)
        path = folder / f"damaged{number}{['.npz', '.mat', '.nc', '.parquet'][number % 4]}"
        path.write_bytes(bytes(content))
        judge(folder, "p.yaml", path.name, seen)
    assert seen[2] == 60


def test_a_netcdf_file_that_is_damaged_inside_prints_no_traceback(tmp_path):
    path = tmp_path / "r.nc"
    rows = xr.Dataset({"u": ("t", np.arange(4.0))}, {"t": np.arange(4.0)})
    rows.to_netcdf(path, engine="h5netcdf")
    whole = path.read_bytes()
    refused = 0
    # Headers of objects begin so; a header that was changed no longer matches its checksum.
    for place in [at for at in range(len(whole)) if whole.startswith(b"OHDR", at)]:
        path.write_bytes(whole[: place + 6] + bytes([whole[place + 6] ^ 1]) + whole[place + 7 :])
        try:
            read_netcdf(path)
        except InputError as error:
            refused += "is not a NetCDF file that can be read" in str(error)
    assert refused > 0


def test_an_hdf5_heap_without_end_is_refused_and_does_not_hang(tmp_path):
    path = tmp_path / "r.nc"
    xr.Dataset({"u": ("t", np.arange(4.0))}, {"t": np.arange(4.0)}).to_netcdf(path, engine="h5netcdf")
    check_heaps(path)
    whole = bytearray(path.read_bytes())
    first = whole.index(b"GCOL") + 16
    # Where the first object is, a free one of no length.
    whole[first : first + 16] = bytes(16)
    path.write_bytes(whole)
    with pytest.raises(InputError, match="a heap in it has no end"):
        read_netcdf(path)


def test_a_bomb_of_aliases_is_refused_at_once(folder):
    bomb = "a0: &a0 [x, x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]\n" for n in range(1, 60))
    (folder / "bomb.yaml").write_text(bomb + yaml.safe_dump(PROBLEM))
    code, _, err = run("check", "bomb.yaml", "r.csv", "--no-time")
    assert code == 2
    assert "uses a YAML alias" in err


WORDS = [
    "u", "v", "u_t", "u_xx", "v_xt", "D", "c", "x", "+", "-", "*", "/", "**", "(", ")", "=", ",", " ", "sin(", "max(u,",
    "d(u, x)", "1", "2.5", "1e999", ".", "_", "^", "'", "\\", "[", "]", "{", ";", ":", "lambda", "__class__", "π",
    "\x00", "u.u", "0x10", "1j", "u(t)", "@", "#", "//", "<", "!", "é", "\ud800",
]  # fmt: skip


@hypothesis.settings(QUICK, max_examples=250)
@hypothesis.given(st.one_of(st.lists(st.sampled_from(WORDS), max_size=40).map("".join), st.text(max_size=60)))
def test_any_text_as_an_equation_is_read_or_refused_in_a_sentence(text):
    names = Names(("x", "t"), ("u", "v"), ("D",), {"c": 1.0}, {})
    try:
        told = bind(text, names).shown
    except InputError as error:
        told = str(error)
    assert len(told.splitlines()) == 1
