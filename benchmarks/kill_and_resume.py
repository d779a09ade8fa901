"""A fit that is killed without warning, again and again, ends with the numbers of one that was left alone.

    python benchmarks/kill_and_resume.py --kills 50
    python benchmarks/kill_and_resume.py --kills 20 --method splines

Each process is killed (SIGKILL) after a random time and taken up by `napinn resume`, until the wanted number of kills
is reached and the fit may finish. Result and readings are then compared with those of an undisturbed run, and the
counts are written to `benchmarks/results/kill_and_resume.json`, or to a file beside it that names the method."""

import argparse
import csv
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from napinn.engines.catalogue import METHODS
from napinn.studies.paper.provenance import provenance

RESULTS = Path(__file__).parent / "results" / "kill_and_resume.json"
COMMAND = [sys.executable, "-c", "from napinn.cli.main import run; run()"]
UNTIMED = ("unknowns", "status", "notes", "noise", "seed", "readings", "method", "problem", "versions")
"""What of result.json has to be the same; seconds are not."""


@dataclass(frozen=True)
class Outcome:
    kills: int
    resumed_from_a_checkpoint: int
    """How many of the kills came after the first checkpoint."""
    same_result: bool
    same_readings: bool
    same_arrays: bool
    seconds: float


def write_readings(path: Path, count: int = 60) -> None:
    chance = random.Random(0)
    rows = [["t", "u"]]
    for number in range(count):
        moment = 3.0 * number / (count - 1)
        rows.append([str(moment), str(2.0 ** (-moment) + chance.gauss(0.0, 0.02) + (number % 10 == 0))])
    with path.open("w", newline="") as stream:
        csv.writer(stream).writerows(rows)


def first_command(folder: Path, readings: Path, steps: int, method: str) -> list[str]:
    what = ["-e", "u_t = -k*u", "-u", "k=0.3", "-m", method]
    what += ["--steps", str(steps)] if METHODS[method].steps else []
    return [*COMMAND, "fit", str(readings), *what, "-o", str(folder), *HOW]


HOW = ["--checkpoint-every", "0", "--quiet"]


def kill_and_resume(
    where: Path, kills: int, steps: int, method: str, seed: int = 0, longest: float | None = None
) -> Outcome:
    """Compare a fit that is killed `kills` times with one that is not; each time after `longest` seconds at most, or
    half of what the undisturbed one took."""
    chance, began = random.Random(seed), time.monotonic()
    readings, calm, torn = where / "readings.csv", where / "calm", where / "torn"
    write_readings(readings)
    subprocess.run(first_command(calm, readings, steps, method), check=False)
    longest = longest or 0.5 * (time.monotonic() - began)
    done, after_one = 0, 0
    command = first_command(torn, readings, steps, method)
    while not (torn / "result.json").exists():
        begun = any((torn / "checkpoints").glob("*.checkpoint"))
        process = subprocess.Popen(command)
        try:
            # A moment that may fall anywhere: in the start of Python, in a compilation, in a step or in a write.
            process.wait(None if done >= kills else chance.uniform(0.05, longest))
            if not (torn / "result.json").exists():
                raise RuntimeError(f"the fit ended by itself with code {process.returncode} and without a result")
        except subprocess.TimeoutExpired:
            os.kill(process.pid, signal.SIGKILL)
            process.wait()
            done, after_one = done + 1, after_one + begun
        # A fit that died before its request was written has to be asked for again.
        if (torn / "request.json").exists():
            command = [*COMMAND, "resume", str(torn), *HOW]
        else:
            command = [*first_command(torn, readings, steps, method), "--overwrite"]
    results = [json.loads((folder / "result.json").read_text()) for folder in (calm, torn)]
    return Outcome(
        done, after_one, _told(results[0]) == _told(results[1]),
        (calm / "readings.csv").read_bytes() == (torn / "readings.csv").read_bytes(),
        (calm / "model.npz").read_bytes() == (torn / "model.npz").read_bytes(),
        round(time.monotonic() - began, 1),
    )  # fmt: skip


def _told(result: dict[str, Any]) -> dict[str, Any]:
    return {name: result[name] for name in UNTIMED}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--method", default="law_pinn")
    parser.add_argument("--longest", type=float, help="Most seconds before a kill.")
    arguments = parser.parse_args()
    kills, fits, made = 0, [], provenance()
    while kills < arguments.kills:
        with tempfile.TemporaryDirectory() as where:
            left = arguments.kills - kills
            outcome = kill_and_resume(
                Path(where), min(left, 10), arguments.steps, arguments.method, len(fits), arguments.longest
            )
        fits.append(vars(outcome))
        kills += outcome.kills
        print(json.dumps(vars(outcome)), flush=True)  # noqa: T201
    same = all(each[name] for each in fits for name in ("same_result", "same_readings", "same_arrays"))
    settings = {"method": arguments.method, "steps": arguments.steps, "longest": arguments.longest}
    told = {"kills": kills, "all_the_same": same, "made": made, **settings, "fits": fits}
    network = arguments.method == parser.get_default("method")
    out = RESULTS if network else RESULTS.with_stem(f"{RESULTS.stem}_{arguments.method}")
    out.write_text(json.dumps(told, indent=2) + "\n")
    sys.exit(not same)


if __name__ == "__main__":
    main()
