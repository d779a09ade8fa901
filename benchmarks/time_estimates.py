"""How near `napinn check` comes to the time of a fit with splines.

    python benchmarks/time_estimates.py                        # gallery and unseen problems
    python benchmarks/time_estimates.py --only gallery

For every case of the gallery `napinn check` and `napinn fit` run as commands, and the processor time of the fit, from
the command to the report, is compared with the estimate. The constants of `splines/engine.py` were chosen by these
cases. The unseen problems (`unseen.py`) had no part in that; they are fitted in this process, and the time of imports,
files and report that the gallery measured is added. Writes `benchmarks/results/time_estimates.json`."""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import gallery
import numpy as np
import pulse
import unseen

import napinn
from napinn.data.readings import Readings, read_table
from napinn.engines.base import estimate
from napinn.engines.splines.cost import Meter, TooSlowError
from napinn.engines.splines.engine import AROUND_FIT, MOST
from napinn.engines.splines.method import bsplines
from napinn.engines.splines.smoothing import choose_start, first_space
from napinn.engines.splines.system import System
from napinn.engines.splines.task import Task
from napinn.errors import InputError
from napinn.problem import Problem
from napinn.studies.paper.provenance import provenance

RESULT = Path(__file__).parent / "results" / "time_estimates.json"
FACTOR = 2.0
"""Within which an estimate should be."""
CALLED = [sys.executable, "-c", "from napinn.cli.main import run; run()"]


def gallery_row(case: gallery.Case) -> dict[str, Any]:
    """Estimate and processor time of the two commands, in a folder that is removed."""
    example = gallery.ROOT / "examples" / case.folder
    table = gallery._readings(gallery.maker(example), case, gallery.SEED, None)
    check, fit = ["check", "problem.yaml", "readings.csv"], ["fit", "readings.csv", "--problem", "problem.yaml"]
    how = ["--method", "splines", "--json"]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shutil.copy(example / "problem.yaml", folder)
        table.to_csv(folder / "readings.csv", index=False)
        checked = subprocess.run([*CALLED, *check, *how], cwd=folder, capture_output=True, text=True)
        begun = gallery._children_seconds()
        subprocess.run([*CALLED, *fit, *how], cwd=folder, capture_output=True)
        spent = gallery._children_seconds() - begun
    return row(json.loads(checked.stdout)["seconds"], spent)


def unseen_row(problem: Problem, readings: Readings) -> dict[str, Any]:
    """Estimate and processor time of a fit in this process."""
    begun = time.process_time()
    try:
        napinn.fit(problem, readings, bsplines())
        spent = time.process_time() - begun
        expected = estimate(problem, readings, bsplines()).seconds
    except (TooSlowError, InputError) as error:
        return {"estimate": None, "said": str(error) or "too large for splines"}
    return row(expected, spent + AROUND_FIT) | {"steps": round(effective_steps(problem, readings, spent))}


def effective_steps(problem: Problem, readings: Readings, seconds: float) -> float:
    """The seconds of a fit after its smoothing, in steps at the first mesh: what `USUAL_STEPS` stands for."""
    task, meter = Task(problem, readings), Meter()
    start = choose_start(task, 0, MOST[task.dimensions] // task.fields, meter)
    system = System(task, first_space(task, start.cells, task.fields), 3, np.ones(len(readings), bool), meter)
    return (seconds - meter.spent) / system.step_seconds


def row(expected: float, spent: float) -> dict[str, Any]:
    return {
        "estimate": round(expected, 1),
        "processor_seconds": round(spent, 1),
        "ratio": round(expected / spent, 2),
        "within": bool(1.0 / FACTOR <= expected / spent <= FACTOR),
    }


def unseen_problems() -> dict[str, tuple[Problem, Readings]]:
    tables = {name: (case.problem, case.table(0)[0]) for name, case in unseen.CASES.items()}
    tables |= {f"pulse, {name}": (case.problem, case.make(0)) for name, case in pulse.CASES.items()}
    return {
        name: (problem, read_table(table, tuple(problem.coordinates), problem.fields))
        for name, (problem, table) in tables.items()
    }


def main(only: str | None) -> None:
    kept = json.loads(RESULT.read_text()) if RESULT.exists() else {}
    rows: dict[str, dict[str, Any]] = {kind: dict(kept.get(kind, {})) for kind in ("gallery", "unseen")}
    if only in (None, "gallery"):
        for name, case in gallery.CASES.items():
            rows["gallery"][name] = gallery_row(case)
            print(name, rows["gallery"][name], flush=True)  # noqa: T201
    if only in (None, "unseen"):
        for name, given in unseen_problems().items():
            rows["unseen"][name] = unseen_row(*given)
            print(name, rows["unseen"][name], flush=True)  # noqa: T201
    counts = {
        kind: {"within": sum(each.get("within", False) for each in found.values()), "of": len(found)}
        for kind, found in rows.items()
    }
    made = {"made_by": "python benchmarks/time_estimates.py", **provenance(), "counts": counts, **rows}
    RESULT.write_text(json.dumps(made, indent=2) + "\n")
    print(json.dumps(counts))  # noqa: T201


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=["gallery", "unseen"], help="default both")
    main(parser.parse_args().only)
