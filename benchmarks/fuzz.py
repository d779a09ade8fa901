"""Random and damaged input by the thousand: each is read, or refused in one sentence; none is a traceback.

    python benchmarks/fuzz.py                       # 100,000 equations, 2,000 of each other kind
    python benchmarks/fuzz.py --equations 1000 --others 50 --only .mat   # these kinds; the counts of others stay
    python benchmarks/fuzz.py --keep /tmp/bad       # keeps what was not answered as promised, to look at

Three promises are held: no exception but a sentence, no more than a second of processor time (ten where a problem or a
table that could still be read is fitted with splines), and nothing executed: an
audit hook sees every program that is run, every class that is unpickled, every connection and every piece of code
that comes from no file. Counts go to `benchmarks/results/fuzz.json`."""

import argparse
import faulthandler
import json
import random
import signal
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import CodeType
from typing import Any

import h5py
import jax
import numpy as np
import pandas as pd
import scipy.io

from napinn import InputError, Problem, Unknown, law_pinn, load, read_table
from napinn.data.formats import read_file
from napinn.data.readings import Readings
from napinn.diagnostics.findings import Check, CheckOutcome, Verification
from napinn.engines.fitting import fit
from napinn.engines.network.adaptation import adapted
from napinn.engines.network.model import frame_of, initial
from napinn.engines.network.training import Method
from napinn.engines.network.training import begin as first_state
from napinn.engines.network.training import prepare_data as load_data
from napinn.engines.network.training.checkpoints import read
from napinn.engines.request import Request
from napinn.engines.splines.journal import read_stages
from napinn.engines.splines.method import bsplines
from napinn.engines.splines.task import Task
from napinn.field.backbones import MLP
from napinn.problem.equations import Names, bind
from napinn.problem.file import bind_readings, load_problem_file, sheet_of
from napinn.problem.observables import bind_observable
from napinn.problem.units import UnitSystem
from napinn.runs.folder import begin, save
from napinn.runs.request import read_request
from napinn.runs.verification import read_verification, write_verification
from napinn.storage.checkpoints import Checkpoints, found
from napinn.studies.paper.provenance import provenance

RESULTS = Path(__file__).parent / "results" / "fuzz.json"
PROMISED = ("read", "refused")
LONGEST = 1.0
"""Seconds of processor time, all threads together, in which an input must be answered."""
LONGEST_FIT = 10.0
"""Of an input that is fitted with splines if it can be read. The fit of the whole file takes about half a second."""
HUNG = 30.0
NAMES = Names(("x", "t"), ("u", "v"), ("D", "k"), {"c": 1.0}, {})
WORDS = [
    "u", "v", "u_t", "u_x", "u_xx", "v_xt", "D", "k", "c", "x", "t", "+", "-", "*", "/", "**", "(", ")", "=", "==", ",",
    " ", "sin(", "exp(", "log(", "d(u, x)", "d(", "min(", "max(u,", "1", "2.5", "1e-3", "1e999", ".", "_", "u_", "^",
    "²", "'", '"', "\\", "[", "]", "{", "}", ";", ":", "lambda", "import", "__class__", "∂", "π", "pi", "\x00", "\n",
    "u.u", "0x10", "1_000", "1j", "True", "None", "if", "u(t)", "@", "#", "%", "//", "<", "!", "~", "&", "|",
    "é", "\ud800",
]  # fmt: skip
TRUE = ["u_t = D*u_xx - k*u", "u_t + u*u_x = D*(u_xx + v_xt)", "v = sin(pi*x)*exp(-k*t)/(1 + u**2)", "d(u, t) = c*v"]
PROBLEM_TEXT = """name: decay
coordinates: {t: [0, 3]}
fields: [u]
unknowns: {k: {start: 0.3, low: 0.0}}
constants: {c: 0.1}
equations: [u_t = -k*u + c]
conditions: [u = 1 at t = 0]
"""
OBSERVED = ["log10(u)", "k*u + c", "mean(u, x)", "2*integral(u*v, x, t) - D", "-k*u_x", "mean(u)/c"]
EXPERIMENTS_TEXT = """name: decay in two beakers
coordinates: {x: [0, 1], t: {ranges: {a: [0, 3], b: [0, 2]}}}
hidden: [u]
observables: {y: log10(u), m: "gain*mean(u, x)"}
unknowns:
  k: {start: 0.3, low: 0.0, prior: "normal(0.3, 0.1)"}
  gain: {per: experiment, scale: log, prior: "lognormal(1, 0.5)"}
  s: {of: [x], positive: true}
  w: {of: [t], steps: true, start: 0.1}
constants: {c: {a: 0.1, b: 0.2}, q: {column: dose}}
equations: [u_t = -k*u + c*q + w - s*u]
conditions: [u = 1 at t = 0]
noise: {by: lab}
columns: {experiment: beaker, units: {x: cm, q: ug/h}}
units: {x: m, t: h, u: cells/L, m: cells/L, k: 1/min, q: mg/h, gain: '1'}
own_units: [cells]
"""
UNIT_WORDS = [
    "m", "s", "h", "min", "kg", "K", "°C", "degF", "%", "‰", "mol", "L", "μm", "cells", "W", "J", "rad", "deg", "1",
    "-", "*", "·", "/", "**", "^", "(", ")", " ", "2", "-1", "²", "⁻¹", "99", "1/2", " per ", "9**9**9", "99999999",
    "e9", "_", "__class__", "lambda", "import", "[", "]", "'", '"', "\\", "\x00", "\n", "#", ".", ",", "+", "=", "@",
    "pi", "dB", "Δ", "é", "\ud800", "delta_degC", "cmH2O", "NaN", "inf", "1e999", "kilo", "m" * 70, "(" * 70,
]  # fmt: skip
"""What texts of units are made of."""


def equation(chance: random.Random) -> str:
    """Words in any order; or, so that some can be read, a true equation with a few words put in or characters lost."""
    if chance.random() < 0.5:
        text = chance.choice(TRUE)
        for _ in range(chance.randint(0, 3)):
            at = chance.randrange(len(text) + 1)
            text = text[:at] + chance.choice([*WORDS, ""]) + text[at + chance.randint(0, 1) :]
        return text
    return "".join(chance.choice(WORDS) for _ in range(chance.randint(1, chance.choice([6, 20, 200]))))


def damaged(content: bytes, chance: random.Random) -> bytes:
    """Bytes turned, cut out, put in, repeated or lost at the end."""
    found = bytearray(content)
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(len(found) + 1)
        match chance.randrange(5):
            case 0 if at < len(found):
                found[at] ^= 1 << chance.randrange(8)
            case 1:
                del found[at : at + chance.choice([1, 8, 200])]
            case 2:
                found[at:at] = chance.randbytes(chance.choice([1, 4, 50]))
            case 3:
                found[at:at] = found[at : at + 40]
            case _:
                del found[at:]
    return bytes(found)


class TooLong(BaseException):
    """No `except Exception` may swallow it."""


class Watch:
    """What happened while an input was read that must not: code of no file, a program, a class from a pickle, a
    traceback that a library prints by itself."""

    FORBIDDEN = ("pickle.find_class", "os.system", "os.exec", "os.posix_spawn", "os.fork", "subprocess.Popen",
                 "socket.connect", "ctypes.dlopen")  # fmt: skip

    def __init__(self) -> None:
        self.on = False
        self.seen: list[str] = []
        sys.addaudithook(self.hear)
        signal.signal(signal.SIGPROF, self.stop)
        # A library that hangs hears of no exception: then the whole process ends, and says where it was.
        faulthandler.register(signal.SIGVTALRM, chain=True)
        sys.unraisablehook = lambda told: self.seen.append(f"printed {told.exc_type.__name__}")

    def hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self.on and (event in self.FORBIDDEN or (event == "exec" and _of_no_file(arguments[0]))):
            self.seen.append(f"executed ({event})")

    def stop(self, number: int, frame: Any) -> None:
        raise TooLong

    def judged(self, attempt: Callable[[], Any], longest: float = LONGEST) -> str:
        """How it went: read, refused in a sentence, or what should not have happened."""
        self.seen, self.on = [], True
        signal.setitimer(signal.ITIMER_PROF, longest)
        signal.setitimer(signal.ITIMER_VIRTUAL, HUNG)
        try:
            told = _outcome(attempt)
        except TooLong:
            told = "took too long"
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0.0)
            signal.setitimer(signal.ITIMER_VIRTUAL, 0.0)
            self.on = False
        return self.seen[0] if self.seen else told


def _of_no_file(code: object) -> bool:
    return isinstance(code, CodeType) and code.co_filename.startswith("<") and "frozen" not in code.co_filename


def _outcome(attempt: Callable[[], Any]) -> str:
    try:
        attempt()
    except InputError as error:
        told = str(error)
        return "refused" if len(told.splitlines()) == 1 and told.rstrip().endswith((".", "?", ")")) else "no sentence"
    except Exception as error:
        return f"raised {type(error).__name__}"
    return "read"


@dataclass(frozen=True)
class Trial:
    """Which kinds of input are tried how often, and where those are kept that were not answered as promised."""

    watch: Watch
    count: int
    only: str | None = None
    keep: Path | None = None

    def equations(self, count: int) -> dict[str, Counter[str]]:
        if not self.wants("equation"):
            return {}
        chance, seen = random.Random(0), Counter[str]()
        for _ in range(count):
            text = equation(chance)
            seen[told := self.watch.judged(lambda text=text: bind(text, NAMES))] += 1
            self.kept("equation.txt", told, text.encode("utf-8", "surrogatepass"))
        return {"equation": seen}

    def observables(self) -> dict[str, Counter[str]]:
        if not self.wants("observable"):
            return {}
        chance, seen = random.Random(2), Counter[str]()
        box = {"x": (0.0, 1.0), "t": (0.0, 3.0)}
        for _ in range(self.count):
            text = chance.choice(OBSERVED)
            for _ in range(chance.randint(0, 3)):
                at = chance.randrange(len(text) + 1)
                text = text[:at] + chance.choice([*WORDS, "mean(", "integral(", ""]) + text[at + chance.randint(0, 2) :]
            seen[told := self.watch.judged(lambda text=text: bind_observable("y", text, NAMES, box))] += 1
            self.kept("observable.txt", told, text.encode("utf-8", "surrogatepass"))
        return {"observable": seen}

    def units(self) -> dict[str, Counter[str]]:
        """Texts of units, read and converted."""
        if not self.wants("unit"):
            return {}
        chance, seen = random.Random(3), Counter[str]()
        UnitSystem(("cells",)).conversion("degF", "°C", "units")
        for _ in range(self.count):
            text = "".join(chance.choice(UNIT_WORDS) for _ in range(chance.randint(1, chance.choice([3, 6, 40]))))
            attempt = lambda text=text: UnitSystem(("cells",)).conversion(text, text, "units")  # noqa: E731
            seen[told := self.watch.judged(attempt)] += 1
            self.kept("unit.txt", told, text.encode("utf-8", "surrogatepass"))
        return {"unit": seen}

    def file(
        self, name: str, path: Path, content: bytes, attempt: Callable[[], Any], longest: float = LONGEST
    ) -> dict[str, Counter[str]]:
        """Damage one file again and again; it is whole again afterwards."""
        if not self.wants(name):
            return {}
        path.write_bytes(content)
        # Once whole, so that it is known to be readable and everything has been imported and compiled.
        attempt()
        chance, seen = random.Random(1), Counter[str]()
        for _ in range(self.count):
            spoilt = damaged(content, chance)
            path.write_bytes(spoilt)
            seen[told := self.watch.judged(attempt, longest)] += 1
            self.kept(path.name, told, spoilt)
        path.write_bytes(content)
        return {name: seen}

    def wants(self, name: str) -> bool:
        return self.only is None or name.startswith(self.only)

    def kept(self, name: str, told: str, content: bytes) -> None:
        if self.keep is not None and told not in PROMISED:
            self.keep.mkdir(parents=True, exist_ok=True)
            number = len(list(self.keep.iterdir()))
            (self.keep / f"{number:03d} {told} {name}").write_bytes(content)


def small_method() -> Method:
    return law_pinn(12, warm_up=4, law_steps=4, backbone=MLP(4, 1), collocation_batch=8, reading_batch=8, log_every=2)


def small_problem() -> tuple[Problem, Readings]:
    times = np.linspace(0.0, 3.0, 20)
    table = pd.DataFrame({"t": times, "u": np.exp(-times)})
    problem = Problem({"t": (0.0, 3.0)}, ("u",), ("u_t = -k*u",), {"k": Unknown(0.3)})
    return problem, read_table(table, ("t",), ("u",))


def spline_run(folder: Path) -> bytes:
    """A finished run with splines, which has intervals from the beginning, and its last checkpoint."""
    request = Request(*small_problem(), bsplines())
    folder.mkdir()
    begin(request, folder)
    result = fit(request.problem, request.readings, request.method, checkpoints=Checkpoints(folder, every=0.0))
    content = found(folder)[0].read_bytes()
    save(result, folder)
    return content


def fitted(problem: Path, readings: Path) -> Any:
    """As `napinn fit --method splines` does it: both files are read, and what they say is fitted."""
    file = load_problem_file(problem)
    table = sheet_of(file, readings, str(problem)).table
    bound, tidy = bind_readings(file, table, str(readings), str(problem))
    return fit(bound, tidy, bsplines())


def fuzz_splines(where: Path, trial: Trial) -> dict[str, Counter[str]]:
    """The files of runs with splines, and files that are fitted with splines if they can be read."""
    run, seen = where / "splined", {}
    checkpoint, moment = spline_run(run), where / "2.checkpoint"
    request = read_request(run)
    task, digest = Task(request.problem, request.readings), request.digest()
    kind = "run with splines"
    seen |= trial.file(f"{kind}, checkpoint", moment, checkpoint, lambda: read_stages(moment, digest, task))
    for name in ("result.json", "model.npz", "certainty.npz"):
        seen |= trial.file(f"{kind}, {name}", run / name, (run / name).read_bytes(), lambda: looked_at(run))
    path = run / "request.json"
    seen |= trial.file(f"{kind}, request.json", path, path.read_bytes(), lambda: read_request(run))
    problem, readings = where / "fitted.yaml", where / "fitted.csv"
    problem.write_text(PROBLEM_TEXT)
    request.readings.table[["t", "u"]].to_csv(readings, index=False)
    for path in (problem, readings):
        name = f"fit with splines, {path.suffix}"
        seen |= trial.file(name, path, path.read_bytes(), lambda: fitted(problem, readings), LONGEST_FIT)
    return seen


def fuzz_experiments(where: Path, trial: Trial) -> dict[str, Counter[str]]:
    """A problem file with every entry on experiments, observables, noise groups, priors and unknown functions, and its
    table."""
    problem, readings, seen = where / "beakers.yaml", where / "beakers.csv", {}
    problem.write_text(EXPERIMENTS_TEXT)
    rows = [
        # Different values of the mean, because the same one twice would be the same reading.
        f"{beaker},{lab},{dose},{x},{t},{-t - x},{1 - t / 4 + offset + x / 100}"
        for beaker, dose in (("a", 1.0), ("b", 2.0))
        for lab, offset in (("one", 0.0), ("two", 0.001))
        for x in (0.25, 0.75)
        for t in (0.5, 1.0, 1.5)
    ]
    readings.write_text("\n".join(["beaker,lab,dose,x,t,y,m", *rows]) + "\n")

    def bound() -> Any:
        file = load_problem_file(problem)
        table = sheet_of(file, readings, str(problem)).table
        return bind_readings(file, table, str(readings), str(problem))

    for path in (problem, readings):
        seen |= trial.file(f"experiments, {path.suffix}", path, path.read_bytes(), bound)
    return seen


def small_run(folder: Path) -> tuple[Request, bytes]:
    """A finished run in a folder, and one of its checkpoints."""
    problem, readings = small_problem()
    request = Request(problem, readings, small_method())
    folder.mkdir()
    begin(request, folder)
    kept = Checkpoints(folder, every=0.0)
    result = fit(problem, readings, request.method, checkpoints=kept)
    content = found(folder)[-1].read_bytes()
    save(result, folder)
    return request, content


def reader_files(where: Path) -> dict[Path, bytes]:
    """The same small table in every format that is read."""
    frame = pd.DataFrame({"t": np.arange(5.0), "u": np.arange(5.0) ** 2})
    arrays: dict[str, Any] = {str(name): frame[name].to_numpy() for name in frame}
    files = {ending: where / f"r.{ending}" for ending in ("csv", "tsv", "npz", "mat", "v73.mat", "parquet", "nc")}
    frame.to_csv(files["csv"], index=False)
    frame.to_csv(files["tsv"], index=False, sep="\t")
    np.savez(files["npz"], allow_pickle=False, **arrays)
    scipy.io.savemat(files["mat"], arrays)
    with h5py.File(files["v73.mat"], "w") as file:
        for name, array in arrays.items():
            file[name] = array
    frame.to_parquet(files["parquet"])
    frame.set_index("t").to_xarray().to_netcdf(files["nc"], engine="h5netcdf")
    return {path: path.read_bytes() for path in files.values()}


def fuzz_files(where: Path, trial: Trial) -> dict[str, Counter[str]]:
    run = where / "run"
    request, checkpoint = small_run(run)
    problem, moment = where / "p.yaml", where / "1.checkpoint"
    assert isinstance(request.method, Method)
    method = adapted(request.method, request.readings, request.problem)
    with jax.enable_x64(False):
        data, _ = load_data(request.problem, request.readings, np.dtype(np.float32))
        frame = frame_of(request.problem, request.readings, method, np.dtype(np.float32))
        key, digest = jax.random.key(0), request.digest()
        first = first_state(method, initial(request.problem, method, frame, key), key)
        seen = trial.file("checkpoint", moment, checkpoint, lambda: read(moment, digest, method, first, data))
    seen |= trial.file("problem file", problem, PROBLEM_TEXT.encode(), lambda: load_problem_file(problem))
    for path, content in reader_files(where).items():
        seen |= trial.file(path.name.removeprefix("r"), path, content, lambda path=path: tidied(path))
    for name in ("result.json", "model.npz", "readings.csv", "history.csv"):
        seen |= trial.file(f"run folder, {name}", run / name, (run / name).read_bytes(), lambda: load(run))
    write_verification(Verification((Check("forward solution", CheckOutcome.PASS, "It agrees.", {"x": 0.01}),)), run)
    told = run / "verify.json"
    seen |= trial.file(f"run folder, {told.name}", told, told.read_bytes(), lambda: read_verification(run))
    (run / "result.json").unlink()
    asked = run / "request.json"
    return seen | trial.file("request.json", asked, asked.read_bytes(), lambda: read_request(run))


def looked_at(folder: Path) -> None:
    """A run, and what is computed from its arrays: the field, its spread, the noise law."""
    result, places = load(folder), np.linspace(0.0, 3.0, 7)[:, None]
    result.field(places)
    if result.uncertainty is not None:
        result.uncertainty.spread(places)
    for noise in result.noise.values():
        noise.log_prob(places[:, 0])


def tidied(path: Path) -> Any:
    """As the commands read a file: the table, and then its readings."""
    return read_table(read_file(path, {"t", "u"}).table, ("t",), ("u",), source=path.name)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--equations", type=int, default=100_000)
    parser.add_argument("--others", type=int, default=2_000)
    parser.add_argument("--only", help="One kind of input, for example '.csv'.")
    parser.add_argument("--keep", type=Path, help="Folder for inputs that were not answered as promised.")
    parser.add_argument("--out", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    began, made = time.monotonic(), provenance()
    trial = Trial(Watch(), arguments.others, arguments.only, arguments.keep)
    with tempfile.TemporaryDirectory() as where:
        seen = trial.equations(arguments.equations) | trial.observables() | trial.units()
        seen |= fuzz_experiments(Path(where), trial)
        if not seen or arguments.only is None:
            seen |= fuzz_splines(Path(where), trial)
        if not seen or arguments.only is None:
            # Made with a network, which takes a compiler some seconds.
            seen |= fuzz_files(Path(where), trial)
    before = json.loads(arguments.out.read_text()) if arguments.only and arguments.out.exists() else {}
    counts = {**before.get("counts", {}), **{kind: dict(each) for kind, each in seen.items()}}
    commits = {**before.get("commits", {}), **dict.fromkeys(seen, made["commit"])}
    kept = all(told in PROMISED for each in counts.values() for told in each)
    told = {
        "all_as_promised": kept,
        "made": made,
        "seconds": round(time.monotonic() - began, 1),
        "counts": counts,
        "commits": commits,
    }
    arguments.out.write_text(json.dumps(told, indent=2) + "\n")
    print(json.dumps(told, indent=2))  # noqa: T201
    sys.exit(not kept)


if __name__ == "__main__":
    main()
