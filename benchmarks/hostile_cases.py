"""The commands of `hostile.py`, and the folder of damaged, odd and precious files in which each of them runs."""

import itertools
import json
import math
import os
import shlex
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hostile_odd import ODD_ALONE, odd_texts, prepare_odd

PROBLEM = "coordinates: {t: [0, 3]}\nfields: [u]\nunknowns: {k: 0.3}\nequations: ['u_t = -k*u']\n"
TABLE = "t,u\n" + "".join(f"{0.1 * step:.1f},{math.exp(-0.08 * step):.4f}\n" for step in range(30))
RUN = ["fit", "readings.csv", "-p", "problem.yaml", "-m", "pinn", "--steps", "1", "-o", "run"]
TINY = "-m splines --quiet"


@dataclass(frozen=True)
class Command:
    words: tuple[str, ...]
    env: tuple[tuple[str, str], ...] = ()
    out: str | None = None
    """A file that standard output goes to."""

    @property
    def text(self) -> str:
        before = " ".join(f"{name}={value}" for name, value in self.env)
        return " ".join(filter(None, [before, shlex.join(self.words), f"> {self.out}" if self.out else ""]))


def command(text: str, **more: Any) -> Command:
    return Command(tuple(shlex.split(text)), **more)


PROBLEMS = {
    "empty": "",
    "list": "- a\n- b\n",
    "text": "hello",
    "deep": "[" * 200_000,
    "deep_block": "".join(f"{' ' * level}a:\n" for level in range(900)),
    "bomb": "a: &a [1, 2]\nb: &b [*a, *a]\nfields: *b\n",
    "tag": "!!python/object/apply:os.system ['touch hacked']\n",
    "binary": "\x00\x01\x02",
    "long_number": PROBLEM.replace("0.3", "1" + ":1" * 200_000),
    "many_digits": PROBLEM.replace("0.3", "9" * 5000),
    "infinite": PROBLEM.replace("0.3", ".inf"),
    "not_a_number": PROBLEM.replace("0.3", ".nan"),
    "backwards": PROBLEM.replace("[0, 3]", "[3, 0]"),
    "unknowns": PROBLEM.replace("k: 0.3", ", ".join(f"k{n}: 1" for n in range(1000))),
    "equations": PROBLEM.replace("['u_t = -k*u']", json.dumps(["u_t = -k*u"] * 5000)),
    "fields": PROBLEM.replace("[u]", json.dumps([f"u{n}" for n in range(1000)])),
    "order": PROBLEM.replace("u_t", "u_" + "t" * 60),
    "order_d": PROBLEM.replace("u_t", f"d(u{', t' * 60})"),
    "code": PROBLEM.replace("-k*u", "__import__(''os'').system(''touch hacked'')"),
    "attribute": PROBLEM.replace("-k*u", "u.__class__"),
    "tower": PROBLEM.replace("-k*u", "9**9**9**9*u"),
    "nested": PROBLEM.replace("-k*u", "(" * 500 + "u" + ")" * 500),
    "long": PROBLEM.replace("-k*u", "+".join(["k*u"] * 8000)),
    "no_equation": PROBLEM.replace("['u_t = -k*u']", "[]"),
    "two_signs": PROBLEM.replace("u_t = ", "u_t = = "),
    "lambda": PROBLEM.replace("k", "lambda"),
    "keyword": PROBLEM.replace("k:", "None:"),
    "escape": 'name: "\\e[31mred\\a"\n' + PROBLEM,
    "micro": PROBLEM.replace("k:", "\u00b5:").replace("-k", "-\u03bc"),
    "twins": PROBLEM.replace("k: 0.3", "\u00b5: 1, \u03bc: 2"),
    "outside": PROBLEM + "tables: {q: {file: ../../../etc/passwd, coordinates: [t]}}\n",
    "missing_table": PROBLEM + "tables: {q: {file: none.csv, coordinates: [t]}}\n",
    "device_table": PROBLEM + "tables: {q: {file: zero.csv, coordinates: [t]}}\n",
    "wrong_entry": PROBLEM + "coordinate: 1\n",
    "wrong_type": PROBLEM.replace("[u]", "5"),
    "date_unit": PROBLEM.replace("[0, 3]", "{unit: fortnights, origin: first reading}"),
    "date_format": PROBLEM.replace("[0, 3]", "{unit: h, format: '%Q'}"),
    "huge_box": PROBLEM.replace("[0, 3]", "[0, 1.0e300]"),
    "tiny_box": PROBLEM.replace("[0, 3]", "[0, 1.0e-300]"),
    "unit": PROBLEM + "units: {u: kelvn}\n",
    "unit_tower": PROBLEM + "units: {u: 9**9**9**9}\n",
    "unit_power": PROBLEM + "units: {u: m**99999999}\n",
    "unit_code": PROBLEM + "units: {u: \"__import__('os').system('touch hacked')\"}\n",
    "unit_nested": PROBLEM + f"units: {{u: '{'(' * 5000}m{')' * 5000}'}}\n",
    "unit_terms": PROBLEM.replace("-k*u", "-k*u + t") + "units: {u: K, t: h}\n",
    "unit_column": PROBLEM + "units: {u: K}\ncolumns: {units: {u: m}}\n",
    "unit_name": PROBLEM + "units: {w: K}\n",
    "own_units": PROBLEM + "own_units: [m]\nunits: {u: m}\n",
}
TABLES = {
    "empty.csv": "",
    "header.csv": "t,u\n",
    "blank.csv": "\n\n\n",
    "one.csv": "t,u\n0,1\n",
    "same.csv": "t,u\n" + "0,1\n" * 5,
    "words.csv": "t,u\na,b\nc,d\n",
    "infinite.csv": TABLE + "2.95,inf\n",
    "huge.csv": TABLE + "2.95,1e308\n",
    "sentinel.csv": TABLE + "2.95,-999\n",
    "beyond.csv": TABLE + "300,1\n",
    "ragged.csv": TABLE + "1,2,3,4\n",
    "quote.csv": TABLE + '"1,2\n',
    "twice.csv": "t,u,u\n0,1,2\n",
    "nameless.csv": ",t,u\n0,0,1\n1,1,2\n",
    "missing.csv": "t,u\n0,\n1,NA\n",
    "wide.csv": ",".join(f"c{n}" for n in range(100_000)) + "\n" + ",".join("1" * 100_000) + "\n",
    "wider.csv": ",".join("a" for _ in range(1_000_000)) + "\n",
    "line.csv": "x" * 12_000_000,
    "formula.csv": "sensor," + TABLE.replace("\n", "\n=cmd(),").removesuffix("=cmd(),"),
    "escape.csv": "sensor," + TABLE.replace("\n", "\n\x1b[31mred\x1b]0;x,").removesuffix("\x1b[31mred\x1b]0;x,"),
    "zero.txt": "\0" * 1000,
    "not.parquet": TABLE,
    "not.nc": TABLE,
    "not.npz": TABLE,
    "not.mat": TABLE,
    "readings.docx": TABLE,
    "semicolons.csv": TABLE.replace(",", ";").replace(".", ","),
    "zones.csv": "t,u\n2024-01-01T00:00Z,1\n2024-01-01T01:00,2\n",
    "few.csv": "t,u\n0,1\n3,0.1\n",
}


def prepared(folder: Path) -> None:
    """The folder that every command finds: what it could lose, and what could harm it."""
    (folder / "problem.yaml").write_text(PROBLEM)
    (folder / "readings.csv").write_text(TABLE)
    (folder / "points.csv").write_text("t\n0.5\n1.5\n")
    for name, text in PROBLEMS.items():
        (folder / f"{name}.yaml").write_text(text, encoding="utf-8")
    for name, text in TABLES.items():
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "latin.csv").write_bytes("t,é\n0,1\n".encode("latin-1"))
    (folder / os.fsdecode(b"bad\xff.csv")).write_text(TABLE)
    (folder / "thesis").mkdir()
    (folder / "thesis" / "thesis.tex").write_text("years of work")
    for ending in ("html", "png", "gif", "zip", "nc", "parquet", "stablehlo", "json"):
        (folder / f"mine.{ending}").write_text("mine")
    (folder / "zero.csv").symlink_to("/dev/zero")
    (folder / "link.html").symlink_to("mine.html")
    (folder / "ring.html").symlink_to("ring.html")
    (folder / "device.html").symlink_to("/dev/null")
    (folder / "hard.csv").hardlink_to(folder / "points.csv")
    os.mkfifo(folder / "pipe.csv")
    os.mkfifo(folder / "pipe.html")
    prepare_odd(folder)
    damaged_runs(folder)


def damaged_runs(folder: Path) -> None:
    """Runs that are not whole, each in its own way; made of the finished one, if it is there."""
    run = folder / "run"
    if not run.exists():
        return
    for name in ("result.json", "readings.csv", "model.npz", "history.csv", "request.json"):
        for kind, content in (("no", None), ("torn", b"{"), ("empty", b"")):
            place = folder / f"{kind}_{name.split('.')[0]}"
            shutil.copytree(run, place)
            if content is None:
                (place / name).unlink()
            else:
                (place / name).write_bytes(content)
    shutil.copytree(run, folder / "piped")
    for name in ("result.json", "history.csv"):
        (folder / "piped" / name).unlink()
        os.mkfifo(folder / "piped" / name)


READERS = (
    "check {problem} {table} --no-time",
    f"fit {{table}} -p {{problem}} {TINY} -o new",
    "compare {problem} {table} -m pinn --steps 1 -o new",
)
SHOWERS = (
    "report {run} -o new.html", "plot {run} -o new.png", "export {run} --what field -o new.nc", "verify {run}",
    "export {run} --what readings -o new.parquet", "predict {run} --grid 3 -o new.csv", "bundle {run} -o new.zip",
    "resume {run}", "animate {run} -o new.gif", "compare {run} {run} -o new",
)  # fmt: skip
WRITERS = (
    "report run -o {out}", "plot run -o {out}", "animate run -o {out}", "export run --what field -o {out}",
    "export run --what model -o {out}", "export run --what readings -o {out}", "predict run --grid 3 -o {out}",
    "predict run --at points.csv -o {out}", "bundle run -o {out}", "new {out}", "schema -o {out}",
    "simulate burgers -o {out}",
)  # fmt: skip
OUTPUTS = (
    "readings.csv", "problem.yaml", "points.csv", "hard.csv", "run/readings.csv", "run/model.npz", "run/result.json",
    "run/readings.parquet", "run/history.csv", "run/checkpoints/a.csv", "mine.html", "mine.png", "mine.zip", "mine.nc",
    "mine.parquet", "link.html", "ring.html", "device.html", "pipe.html", "/dev/null", "thesis", "thesis/thesis.tex",
    "readings.csv/below.html", "''", "x" * 300 + ".html",
)  # fmt: skip
OPTIONS = (
    "--seed 99999999999999999999999", "--seed -1", "--seed x", "--steps 0", "--steps -5", "--steps 1e9", "--minutes 0",
    "--minutes nan", "--seeds 0", "--method none", "--backbone none", "--density none", "--loss none", "--log none",
    "--out readings.csv", "--out thesis --overwrite", "--out /dev/null", "--out /proc/none", "--checkpoint-every -1",
    "--json --quiet --bad", "-e 'u_t = u'", "--method pinn --density ebm", "--method pinn --loss likelihood",
)  # fmt: skip
LINES = (
    "", "=", "u", "u_t =", "u_t = = u", "u_t = v", "u_t = k*u", "u_t = __import__('os').system('touch hacked')",
    "u_t = u²", "d(u, t, t, t, t, t, t, t, t) = u", "u_" + "t" * 400 + " = u", "u_t = " + "-" * 3000 + "u",
    "\u00b5_t = u", "u_t = u; import os", "u_t = 1/0", "u_t = 1e999*u", "u_t = lambda: 1", "t_t = t", "u_t = sin",
    "u_t = sin(u, u)",
    "\x1b[31mu_t = u", "u_t = u if u else 1", "u_t = [u]", "u_t = 'u'", "u_t = u(t)",
)  # fmt: skip
ALONE = (
    "", "--help", "--version", "frobnicate", "fit", "check", "check problem.yaml", "report", "report none", "report .",
    "plot run --what none -o new.png", "plot run --field none -o new.png", "export run --what none -o new.nc",
    "predict run -o new.csv", "predict run --grid 1 -o new.csv", "predict run --grid 1000000000 -o new.csv",
    "predict run --at none.csv -o new.csv", "predict run --at /dev/zero -o new.csv",
    "predict run --at pipe.csv -o new.csv",
    "predict run --at readings.csv --grid 3 -o new.csv", "predict run --at words.csv -o new.csv",
    "compare run", "compare run none -o new", "compare run run -o run --overwrite", "compare problem.yaml -o new",
    "compare problem.yaml readings.csv -m none -o new", "compare problem.yaml readings.csv -m '' -o new",
    "rerun run -o run", "rerun run -o run --overwrite", "rerun none -o new", "rerun run -o thesis --overwrite",
    "resume run", "resume none", "resume thesis", "sure none", "sure thesis", "verify none", "verify thesis",
    "watch none", "watch run --port 99999", "watch readings.csv", "simulate none", "simulate burgers --noise none",
    "simulate burgers --outliers 2 -o new.csv", "simulate burgers --outliers nan -o new.csv",
    "simulate burgers --fault drift:x -o new.csv", "simulate burgers --fault drift:-3 -o new.csv",
    "simulate burgers --fault drift:999999 -o new.csv", "reproduce none", "reproduce main --preset none",
    "methods --json", "backbones --bad", "schema", "fit few.csv -p problem.yaml --intervals -o new",
    "fit readings.csv -e 'u_t = -k*u' -u k=x", "fit readings.csv -e 'u_t = -k*u' -u 'k,low=3,high=1'",
    "fit readings.csv -e 'u_t = -k*u' -u k --constant k=1", "fit readings.csv -e 'u_t = u' --condition 'u = 1'",
    f"fit readings.csv -e 'u_t = u' --condition 'u = 1 at t = 99' {TINY} -o new",
    "fit readings.csv -e 'u_t = u' --periodic z",
)  # fmt: skip
LOCALES = tuple((("LC_ALL", name), ("PYTHONUTF8", "0"), ("PYTHONCOERCECLOCALE", "0")) for name in ("C", "POSIX"))


def commands() -> Iterator[Command]:
    """Nasty inputs times the commands that read them, outputs times those that write, and some by themselves."""
    for name, reader in itertools.product(PROBLEMS, READERS):
        yield command(reader.format(problem=f"{name}.yaml", table="readings.csv"))
    tables = [*TABLES, "latin.csv", "zero.csv", "pipe.csv", "none.csv", "thesis", "/dev/zero", "/dev/null"]
    for name, reader in itertools.product(tables, READERS):
        yield command(reader.format(problem="problem.yaml", table=name))
    runs = ["none", "thesis", "readings.csv", "/dev/null", "piped"]
    runs += [
        f"{kind}_{name}" for kind in ("no", "torn", "empty") for name in ("result", "readings", "model", "request")
    ]
    for name, shower in itertools.product(runs, SHOWERS):
        yield command(shower.format(run=name))
    for name, writer, more in itertools.product(OUTPUTS, WRITERS, ("", " --overwrite")):
        yield command(writer.format(out=name) + more)
    for option in OPTIONS:
        yield command(f"fit readings.csv -p problem.yaml {option}")
    for line in LINES:
        yield Command(("check", "readings.csv", "-e", line, "--no-time"))
    for text in (*ALONE, *ODD_ALONE):
        yield command(text)
    for words in odd_texts():
        yield Command(words)
    bad = os.fsdecode(b"bad\xff.csv")
    yield Command(("check", "problem.yaml", bad, "--no-time"))
    yield Command(("fit", bad, "-p", "problem.yaml", *shlex.split(TINY), "-o", "new"))
    shown = ("--help", "methods", "check problem.yaml readings.csv --no-time", "report none")
    fitted = f"fit readings.csv -p problem.yaml {TINY} -o new"
    for env, text in itertools.product(LOCALES, (*shown, "fit --help", fitted)):
        yield command(text, env=env)
    for text in (*shown, "methods --json", "schema", fitted.replace("--quiet", "")):
        yield command(text, out="/dev/full")
