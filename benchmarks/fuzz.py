"""Random and damaged input by the thousand: each is read, or refused in one sentence; none is a traceback.

    python benchmarks/fuzz.py                       # 100,000 equations, 2,000 of each other kind
    python benchmarks/fuzz.py --equations 1000 --others 50

Counts go to `benchmarks/results/fuzz.json`."""

import argparse
import json
import random
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pandas as pd

from napinn import InputError, Problem, Unknown, law_pinn, load, read_table
from napinn.equations import Names, bind
from napinn.fitting import fit, frame_of, initial
from napinn.io import read_file
from napinn.networks import MLP
from napinn.problem_file import load_problem_file
from napinn.request import Request, read_request
from napinn.run_folder import begin, save
from napinn.training import Checkpoints, Method
from napinn.training import begin as first_state
from napinn.training import load as load_data
from napinn.training.checkpoints import found, read

RESULTS = Path(__file__).parent / "results" / "fuzz.json"
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


def judged(attempt: Callable[[], Any]) -> str:
    """How it went: read, refused in a sentence, or what should not have happened."""
    try:
        attempt()
    except InputError as error:
        told = str(error)
        return "refused" if len(told.splitlines()) == 1 and told.rstrip().endswith((".", "?", ")")) else "no sentence"
    except Exception as error:
        return f"raised {type(error).__name__}"
    return "read"


def fuzz_equations(count: int) -> Counter[str]:
    chance = random.Random(0)
    return Counter(judged(lambda: bind(equation(chance), NAMES)) for _ in range(count))


def fuzz_file(path: Path, content: bytes, attempt: Callable[[], Any], count: int) -> Counter[str]:
    """Damage one file again and again; it is whole again afterwards."""
    chance, seen = random.Random(1), Counter[str]()
    for _ in range(count):
        path.write_bytes(damaged(content, chance))
        seen[judged(attempt)] += 1
    path.write_bytes(content)
    return seen


def small_method() -> Method:
    return law_pinn(12, warm_up=4, law_steps=4, backbone=MLP(4, 1), collocation_batch=8, reading_batch=8, log_every=2)


def small_run(folder: Path) -> tuple[Request, bytes]:
    """A finished run in a folder, and one of its checkpoints."""
    times = np.linspace(0.0, 3.0, 20)
    table = pd.DataFrame({"t": times, "u": np.exp(-times)})
    problem = Problem({"t": (0.0, 3.0)}, ("u",), ("u_t = -k*u",), {"k": Unknown(0.3)})
    request = Request(problem, read_table(table, ("t",), ("u",)), small_method())
    folder.mkdir()
    begin(request, folder)
    kept = Checkpoints(folder, every=0.0)
    result = fit(problem, request.readings, request.method, checkpoints=kept)
    content = found(folder)[-1].read_bytes()
    save(result, folder)
    return request, content


def fuzz_files(where: Path, count: int) -> dict[str, Counter[str]]:
    run = where / "run"
    request, checkpoint = small_run(run)
    csv = (run / "readings.csv").read_bytes()
    npz, parquet = where / "r.npz", where / "r.parquet"
    np.savez(npz, t=np.arange(5.0), u=np.arange(5.0))
    pd.DataFrame({"t": np.arange(5.0), "u": np.arange(5.0)}).to_parquet(parquet)
    problem, table, moment = where / "p.yaml", where / "r.csv", where / "1.checkpoint"
    with jax.enable_x64(False):
        data, _ = load_data(request.problem, request.readings, np.dtype(np.float32))
        frame = frame_of(request.problem, request.readings, request.method, np.dtype(np.float32))
        key = jax.random.key(0)
        first, digest = first_state(request.method, initial(request.problem, request.method, frame, key), key), ""
        digest = request.digest()
        seen = {
            "checkpoint": fuzz_file(
                moment, checkpoint, lambda: read(moment, digest, request.method, first, data), count
            )
        }
    seen["problem file"] = fuzz_file(problem, PROBLEM_TEXT.encode(), lambda: load_problem_file(problem), count)
    for path, content in ((table, csv), (npz, npz.read_bytes()), (parquet, parquet.read_bytes())):
        seen[path.suffix] = fuzz_file(path, content, lambda path=path: read_file(path), count)
    for name in ("result.json", "model.npz", "readings.csv"):
        content = (run / name).read_bytes()
        seen[f"run folder, {name}"] = fuzz_file(run / name, content, lambda: load(run), count)
    (run / "result.json").unlink()
    content = (run / "request.json").read_bytes()
    seen["request.json"] = fuzz_file(run / "request.json", content, lambda: read_request(run), count)
    return seen


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--equations", type=int, default=100_000)
    parser.add_argument("--others", type=int, default=2_000)
    parser.add_argument("--out", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as where:
        seen = {"equation": fuzz_equations(arguments.equations), **fuzz_files(Path(where), arguments.others)}
    bad = {kind: sorted(set(counts) - {"read", "refused"}) for kind, counts in seen.items()}
    told = {
        "all_as_promised": not any(bad.values()),
        "seconds": round(time.monotonic() - began, 1),
        "counts": {kind: dict(counts) for kind, counts in seen.items()},
    }
    arguments.out.write_text(json.dumps(told, indent=2) + "\n")
    print(json.dumps(told, indent=2))  # noqa: T201
    sys.exit(any(bad.values()))


if __name__ == "__main__":
    main()
