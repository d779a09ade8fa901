"""Hostile and silly commands by the hundred: each answers as promised, none is a traceback, and nothing is lost.

    python benchmarks/hostile.py                    # all of them
    python benchmarks/hostile.py --every 10         # every tenth
    python benchmarks/hostile.py --matching plot    # those that contain a word
    python benchmarks/hostile.py --fresh 20         # a new interpreter for every twentieth, forks for the others
    python benchmarks/hostile.py --again            # those of the result file that were not answered as promised
    python benchmarks/hostile.py --list             # only show them

Every command runs in a process of its own, in a folder with a problem, readings, a finished run and much that is
damaged. Four promises are held: no traceback, an exit code that the user guide lists, an answer in time, and every
file that was there before is there unchanged unless the command was told to replace it. In time is processor time of
the child, because other work may keep the machine busy: a refusal takes under a second, and anything that does not
train under five. With `--fresh`, most commands run in forks of this process, which has imported what they need; then
only the time of new interpreters is judged. Counts and what was not answered as promised go to
`benchmarks/results/hostile.json`."""

import argparse
import hashlib
import importlib
import itertools
import json
import math
import os
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from napinn.studies.paper.provenance import provenance

RESULTS = Path(__file__).parent / "results" / "hostile.json"
CODES = frozenset({0, 1, 2, 3, 130})
"""Those of the user guide."""
LONGEST = 120.0
"""Seconds in which a command must be answered, compilation of a tiny fit on a busy machine included."""
REFUSED_WITHIN, ANSWERED_WITHIN = 1.0, 5.0
"""Seconds of processor time of a refusal, and of any other answer that does not train."""
TRAINS = ("fit", "compare", "rerun", "resume", "sure", "demo", "reproduce")
PROGRAM = [sys.executable, "-c", "from napinn.cli.main import run; run()"]
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
    for text in ALONE:
        yield command(text)
    bad = os.fsdecode(b"bad\xff.csv")
    yield Command(("check", "problem.yaml", bad, "--no-time"))
    yield Command(("fit", bad, "-p", "problem.yaml", *shlex.split(TINY), "-o", "new"))
    shown = ("--help", "methods", "check problem.yaml readings.csv --no-time", "report none")
    fitted = f"fit readings.csv -p problem.yaml {TINY} -o new"
    for env, text in itertools.product(LOCALES, (*shown, "fit --help", fitted)):
        yield command(text, env=env)
    for text in (*shown, "methods --json", "schema", fitted.replace("--quiet", "")):
        yield command(text, out="/dev/full")


MAY_CHANGE = ("mine.", "run/field.nc", "run/report.html", "run/verify.json")
"""What `--overwrite` gives up, and what a run's own commands write again."""


def contents(folder: Path) -> dict[str, str]:
    """A digest of every plain file, and what every link points to."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_symlink():
            found[name] = os.readlink(path)
        elif path.is_file():
            there = path.stat()
            found[name] = digest(path, there.st_ino, there.st_size, there.st_mtime_ns, there.st_ctime_ns)
    return found


@cache
def digest(path: Path, *state: int) -> str:
    """Of a file, computed again only where its `state` on the disk has changed."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def lost(before: dict[str, str], after: dict[str, str], asked: Command) -> list[str]:
    """Files that are gone or changed although the command was not told to replace them."""
    gone = [name for name, digest in before.items() if after.get(name) != digest]
    outputs = [word for flag, word in itertools.pairwise(asked.words) if flag in ("-o", "--out")]
    outputs += list(asked.words[1:2]) if asked.words[:1] == ("new",) else []
    named = {*outputs, *(os.path.splitext(word)[0] for word in outputs)}
    given_up = "--overwrite" in asked.words
    allowed = [name for name in gone if name.startswith(MAY_CHANGE) and (given_up or name.startswith("run/"))]
    # Readings by the name of an old table are replaced where they were named, and were of no run or command.
    allowed += [
        name
        for name in gone
        if given_up and name in named and asked.words[0] in ("simulate", "new", "predict", "export")
    ]
    allowed += [name for name in gone if given_up and name == "mine.html" and "link.html" in named]
    if asked.words[:1] in (("resume",), ("sure",), ("verify",)):
        # These add to the run that they are given.
        allowed += [name for name in gone if name.startswith(f"{asked.words[1]}/")]
    return sorted(set(gone) - set(allowed))


@dataclass(frozen=True)
class Answer:
    """What a command did."""

    code: int
    said: bytes
    seconds: float
    processor: float


def environment(asked: Command, folder: Path) -> dict[str, str]:
    env = {name: value for name, value in os.environ.items() if name not in ("PYTHONIOENCODING", "PYTHONUTF8")}
    return env | {"NAPINN_CACHE": str(folder.parent / "cache"), "COLUMNS": "100", **dict(asked.env)}


def answered(asked: Command, folder: Path) -> Answer | None:
    """By a new interpreter; None where there was no answer in time."""
    begun, used = time.monotonic(), processor_time()
    with open(asked.out or os.devnull, "wb") as full:
        try:
            ran = subprocess.run(
                [*PROGRAM, *asked.words], cwd=folder, env=environment(asked, folder), stdin=subprocess.DEVNULL,
                timeout=LONGEST, check=False, stdout=full if asked.out else subprocess.PIPE, stderr=subprocess.PIPE,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return None
    said = (ran.stdout or b"") + ran.stderr
    return Answer(ran.returncode, said, time.monotonic() - begun, processor_time() - used)


def answered_by_fork(asked: Command, folder: Path) -> Answer | None:
    """By a fork of this process, which has imported what most commands need; None where there was no answer in time."""
    begun = time.monotonic()
    with tempfile.TemporaryFile() as said:
        child = os.fork()
        if child == 0:
            signal.alarm(int(LONGEST))
            os.chdir(folder)
            os.environ.update(environment(asked, folder))
            for stream in (1, 2):
                os.dup2(said.fileno(), stream)
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            os._exit(code_of(asked.words))
        _, status, used = os.wait4(child, 0)
        if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGALRM:
            return None
        said.seek(0)
        processor = used.ru_utime + used.ru_stime
        return Answer(os.waitstatus_to_exitcode(status), said.read(), time.monotonic() - begun, processor)


def code_of(words: tuple[str, ...]) -> int:
    """The exit code of a command in this process, and on its streams what an interpreter would write at the end."""
    from napinn.cli.main import run

    sys.argv = ["napinn", *words]
    sys.stdout, sys.stderr = (os.fdopen(stream, "w", encoding="utf-8", closefd=False) for stream in (1, 2))
    try:
        run()
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else int(bool(stop.code))
    except BaseException:
        traceback.print_exc()
        return 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
    return 0


def import_commands() -> None:
    """What most commands import. JAX is left to the forks: it starts threads, which do not survive one."""
    for name in ("fitting", "checking", "showing", "comparing", "predicting", "verifying", "starting", "running"):
        importlib.import_module(f"napinn.cli.{name}")
    for name in (
        "scipy.interpolate",
        "scipy.stats",
        "h5py",
        "matplotlib.pyplot",
        "plotly",
        "napinn.engines.splines.backend",
    ):
        importlib.import_module(name)


def judged(asked: Command, folder: Path, before: dict[str, str], fresh: bool) -> dict[str, Any]:
    """Run a command and say what was wrong with its answer; an empty list is a promise kept."""
    told: dict[str, Any] = {"command": shown(asked), "fresh": fresh}
    answer = (answered if fresh else answered_by_fork)(asked, folder)
    if answer is None:
        return {**told, "seconds": LONGEST, "processor": None, "code": None, "wrong": ["no answer in time"]}
    said, wrong = answer.said, []
    if b"Traceback" in said or b"Exception ignored" in said:
        wrong.append("a traceback: " + said.decode(errors="replace").strip().splitlines()[-1][:200])
    if answer.code not in CODES:
        wrong.append(f"exit code {answer.code}")
    if answer.code == 2 and not said.strip():
        wrong.append("refused without a word")
    wrong += too_slow(asked, answer.code, answer.processor) if fresh else []
    if b"\x1b[31m" in said or b"\x1b]0" in said:
        wrong.append("an escape sequence of a name was printed")
    after = contents(folder)
    wrong += [f"lost: {name}" for name in lost(before, after, asked)]
    wrong += ["ran code of a file"] if "hacked" in after else []
    timed = {"seconds": round(answer.seconds, 2), "processor": round(answer.processor, 2)}
    return {**told, **timed, "code": answer.code, "wrong": wrong}


def processor_time() -> float:
    """Of all child processes that have ended, in seconds."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def too_slow(asked: Command, code: int, used: float) -> list[str]:
    """Whether an answer that needs no training took too much processor time."""
    if code == 2 and used > REFUSED_WITHIN:
        return [f"refused only after {used:.1f} s"]
    if code != 2 and asked.words[:1] not in {(name,) for name in TRAINS} and used > ANSWERED_WITHIN:
        return [f"answered only after {used:.1f} s"]
    return []


def copied(template: Path, place: Path) -> Path:
    """A copy of the folder; pipes and links are copied as such."""
    subprocess.run(["cp", "-a", str(template), str(place)], check=True)
    return place


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--every", type=int, default=1, help="run only every so manieth command")
    parser.add_argument("--matching", default="", help="run only commands that contain this text")
    parser.add_argument("--fresh", type=int, default=1, help="a new interpreter for every so manieth command")
    parser.add_argument("--again", action="store_true", help="only those that the result file calls broken")
    parser.add_argument("--list", action="store_true", help="show the commands and run none")
    parser.add_argument("--out", type=Path, default=RESULTS, help="where the counts go")
    chosen = parser.parse_args()
    everything = list(commands())
    asked = [each for each in everything if chosen.matching in each.text][:: chosen.every]
    if chosen.again:
        asked = [each for each in everything if shown(each) in broken_in(chosen.out)]
    if chosen.list:
        print("\n".join(ascii(each.text)[1:-1][:200] for each in asked))  # noqa: T201
        return
    with tempfile.TemporaryDirectory(prefix="napinn-hostile-") as name:
        found = run_all(asked, Path(name), chosen.fresh)
    if chosen.again:
        mend(chosen.out, found)
        return
    codes = Counter(str(each["code"]) for each in found)
    broken = [each for each in found if each["wrong"]]
    timed = sorted(
        (each for each in found if each["fresh"] and each["processor"] is not None), key=lambda each: -each["processor"]
    )
    quiet = [each for each in timed if each["command"].split(" ")[0] not in TRAINS]
    refused = [each["processor"] for each in timed if each["code"] == 2]
    content = {
        **provenance(),
        "commands": len(found),
        "of": len(everything),
        "by_a_new_interpreter": sum(each["fresh"] for each in found),
        "codes": dict(sorted(codes.items())),
        "broken_promises": broken,
        "kinds_of_broken_promises": dict(Counter(why.split(" ")[0] for each in broken for why in each["wrong"])),
        "processor_seconds_of_refusals": {"median": float(np.median(refused)), "largest": max(refused)},
        "slowest_without_training": [
            {key: each[key] for key in ("command", "code", "processor")} for each in quiet[:5]
        ],
    }
    chosen.out.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"{len(found)} commands, {len(broken)} not answered as promised: {chosen.out}")  # noqa: T201


def shown(asked: Command) -> str:
    """A command as the result file has it."""
    return asked.text.encode("utf-8", "backslashreplace").decode()[:300]


def broken_in(out: Path) -> set[str]:
    """The commands that a result file says were not answered as promised."""
    return {each["command"] for each in json.loads(out.read_text(encoding="utf-8"))["broken_promises"]}


def mend(out: Path, found: list[dict[str, Any]]) -> None:
    """Put what was found of commands that ran again in the place of what was found before."""
    content = json.loads(out.read_text(encoding="utf-8"))
    names = {each["command"] for each in found}
    kept = [each for each in content["broken_promises"] if each["command"] not in names]
    content["broken_promises"] = kept + [each for each in found if each["wrong"]]
    content["again"] = {**provenance(), "commands": [each["command"] for each in found]}
    out.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"{len(found)} commands again, {len(content['broken_promises'])} not answered as promised: {out}")  # noqa: T201


def run_all(asked: list[Command], place: Path, every: int) -> list[dict[str, Any]]:
    """What was found of each command; `every` so manieth has an interpreter of its own."""
    template = place / "template"
    template.mkdir()
    for name, text in (("problem.yaml", PROBLEM), ("readings.csv", TABLE)):
        (template / name).write_text(text)
    # One step of training is doubted, with exit code 3, and its run folder is whole all the same.
    subprocess.run([*PROGRAM, *RUN], cwd=template, check=False, capture_output=True)
    if not (template / "run" / "result.json").exists():
        raise SystemExit("The run that the commands are tried on could not be made.")
    prepared(template)
    before = contents(template)
    found = []
    if every > 1:
        import_commands()
    folder = copied(template, place / "folder")
    for number, each in enumerate(asked, start=1):
        # What an interpreter does at its start depends on the locale, and what it does at its end on its output.
        fresh = bool(each.env or each.out) or number % every == 0
        found.append(judged(each, folder, before, fresh))
        if contents(folder) != before:
            shutil.rmtree(folder)
            folder = copied(template, place / "folder")
        told = [str(found[-1][key]) for key in ("code", "processor", "command")]
        print(f"{number}/{len(asked)}", *told[:2], ascii(told[2])[:90], *found[-1]["wrong"], flush=True)  # noqa: T201
    return found


if __name__ == "__main__":
    main()
