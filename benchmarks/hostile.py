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
train under five; what took longer is measured twice more, and the least counts. With `--fresh`, most commands run in
forks of this process, which has imported what they need; then only the time of new interpreters is judged. The commands
are in `hostile_cases.py` and `hostile_odd.py`. Counts and what was not answered as promised go to
`benchmarks/results/hostile.json`."""

import argparse
import hashlib
import importlib
import itertools
import json
import math
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from hostile_cases import PROBLEM, RUN, TABLE, Command, commands, prepared

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
    if set(asked.words[:1]) & {"resume", "sure", "verify", "intervals", "profile"}:
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
    sys.argv = ["napinn", *words]
    sys.stdout, sys.stderr = (os.fdopen(stream, "w", encoding="utf-8", closefd=False) for stream in (1, 2))
    try:
        from napinn.cli.main import run

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
    after = contents(folder)
    used = answer.processor
    if fresh and after == before:
        used = least_of_three(asked, folder, answer)
    wrong += too_slow(asked, answer.code, used) if fresh else []
    if b"\x1b[31m" in said or b"\x1b]0" in said:
        wrong.append("an escape sequence of a name was printed")
    wrong += [f"lost: {name}" for name in lost(before, after, asked)]
    wrong += ["ran code of a file"] if "hacked" in after else []
    timed = {"seconds": round(answer.seconds, 2), "processor": round(used, 2)}
    return {**told, **timed, "code": answer.code, "wrong": wrong}


def least_of_three(asked: Command, folder: Path, first: Answer) -> float:
    """Processor time of a command that changed nothing; where it took too long, the least of three.

    The same work takes up to twice the processor time on a machine whose caches are shared with other work."""
    used = [first.processor]
    while len(used) < 3 and too_slow(asked, first.code, min(used)):
        again = answered(asked, folder)
        used.append(math.inf if again is None else again.processor)
    return min(used)


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
