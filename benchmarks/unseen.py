"""Problems that had no part in shaping any rule of napinn: errors, coverage, status and seconds.

    python benchmarks/unseen.py --method splines                 # six seeds of all problems, those not in the file yet
    python benchmarks/unseen.py pendulum cable --seeds 1 --again  # these, again

Nineteen problems of six kinds (`unseen_odes.py`, `unseen_fields.py`): stiff and other ODEs, one and two dimensions,
hidden fields, faulty sensors; 24 to 2500 readings, six laws of the noise, up to 15 % gross errors. Truths are closed
forms, or solutions with tolerances far below the noise; they make the readings and are compared with at the end. If a
rule is changed because of these numbers, the problems are no longer unseen. Writes `benchmarks/results/unseen.json`.
"""

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import unseen_fields
import unseen_odes
from engines import inside, intervals_of, timed_fit
from unseen_base import Unseen

from napinn.data.readings import read_table
from napinn.results.result import FitResult
from napinn.studies.paper.provenance import provenance

RESULT = Path(__file__).parent / "results" / "unseen.json"
CASES = {**unseen_odes.CASES, **unseen_fields.CASES}
RIGHT, WRONG_ERRORS = 0.2, 5.0
"""A coefficient is plainly wrong if it is more than 20 % and more than five standard errors off."""


def run(case: Unseen, method: str, seed: int) -> dict[str, Any]:
    table, gross, faulty = case.table(seed)
    readings = read_table(table, tuple(case.problem.coordinates), case.problem.fields)
    result, seconds = timed_fit(case.problem, readings, method, seed)
    intervals, unknowns = intervals_of(result), {}
    for name, truth in case.truth.items():
        found, interval = result.unknowns[name], intervals[name]
        unknowns[name] = {
            "found": float(f"{found:.5g}"),
            "off_percent": float(f"{100.0 * (found / truth - 1.0):.3g}"),
            "low": float(f"{interval.low:.5g}"),
            "high": float(f"{interval.high:.5g}"),
            "held": inside(interval, truth),
            "plainly_wrong": bool(abs(found - truth) > max(WRONG_ERRORS * interval.error, RIGHT * truth)),
        }
    bad = gross.reshape(-1), faulty.reshape(-1)
    return {
        "kind": case.kind,
        "unknowns": unknowns,
        "field_percent": field_errors(case, result),
        "readings": len(readings),
        **flags(result, *bad),
        "status": result.status.name,
        "trusted": result.status.trusted,
        "seconds": round(seconds, 2),
        "notes": list(result.notes),
        "commit": provenance()["commit"],
    }


def field_errors(case: Unseen, result: FitResult) -> dict[str, float]:
    """Root mean square error of each field over its standard deviation, at a thousand points drawn from the box."""
    problem = case.problem
    points = np.random.default_rng(0).uniform(problem.lows, problem.highs, (1000, len(problem.lows)))
    found = result.field.at(**dict(zip(problem.coordinates, points.T, strict=True)))
    true = case.solution(points)
    return {
        name: float(f"{100.0 * np.sqrt(np.mean((found[name] - column) ** 2)) / np.std(column):.3g}")
        for name, column in zip(problem.outputs, true.T, strict=True)
    }


def flags(result: FitResult, gross: np.ndarray, faulty: np.ndarray) -> dict[str, Any]:
    """Shares of gross and of good readings that were flagged, and which faulty sensors were named; in percent."""
    flagged, good = result.flagged, ~gross & ~faulty
    told: dict[str, Any] = {"good_flagged": round(100.0 * float(flagged[good].mean()), 1)}
    if gross.any():
        told["gross_flagged"] = round(100.0 * float(flagged[gross].mean()), 1)
    if faulty.any():
        failed, named = set(result.readings.sensors[faulty]), set(result.faulty_sensors().index)
        told |= {"faulty": len(failed), "faulty_named": len(failed & named), "fine_named": len(named - failed)}
    return told


def shown(rows: dict[str, Any]) -> str:
    """One line a problem, over its seeds, and one a kind."""
    fits = [(CASES[name], row) for name, seeds in rows.items() for row in seeds.values()]
    cases = [
        line(name, [row for case, row in fits if case.problem.name == name]) for name in CASES if name in rows
    ]  # fmt: skip
    kinds = list(dict.fromkeys(case.kind for case, _ in fits))
    totals = [line(kind, [row for case, row in fits if case.kind == kind]) for kind in kinds]
    totals.append(line("all", [row for _, row in fits]))
    return "\n\n".join(pd.DataFrame(lines).to_string(index=False) for lines in (cases, totals))


def line(name: str, rows: list[dict[str, Any]]) -> dict[str, Any]:
    unknowns = [one for row in rows for one in row["unknowns"].values()]
    off = np.abs([one["off_percent"] for one in unknowns])
    held = [one["held"] for one in unknowns]
    sure = [one["held"] for row in rows if row["trusted"] for one in row["unknowns"].values()]
    wrong = [row["trusted"] and any(one["plainly_wrong"] for one in row["unknowns"].values()) for row in rows]
    return {
        "problem": name,
        "fits": len(rows),
        "median off %": round(float(np.median(off)), 2),
        "worst off %": round(float(off.max()), 1),
        "worst field %": round(max(max(row["field_percent"].values()) for row in rows), 1),
        "held": f"{sum(held)}/{len(held)}",
        "held, trusted": f"{sum(sure)}/{len(sure)}",
        "trusted": sum(row["trusted"] for row in rows),
        "trusted and wrong": sum(wrong),
        "seconds": round(float(np.median([row["seconds"] for row in rows])), 1),
    }


def main(names: list[str], method: str, seeds: int, again: bool, out: Path) -> None:
    content: dict[str, Any] = json.loads(out.read_text())["rows"] if out.exists() else {}
    rows: dict[str, Any] = content.setdefault(method, {})
    for name in names or CASES:
        for seed in range(seeds):
            if str(seed) in rows.get(name, {}) and not again:
                continue
            rows.setdefault(name, {})[str(seed)] = row = run(CASES[name], method, seed)
            found = {key: one["off_percent"] for key, one in row["unknowns"].items()}
            print(name, seed, found, row["status"], row["seconds"], "s", flush=True)  # noqa: T201
            made = {"made_by": "python benchmarks/unseen.py", **provenance(), "rows": content}
            out.write_text(json.dumps(made, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(shown(rows))  # noqa: T201


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", choices=[[], *CASES], help="problems; default all")
    parser.add_argument("--method", default="splines", help="a method by its name, or 'default'")
    parser.add_argument("--seeds", type=int, default=6, help="how many, from 0")
    parser.add_argument("--again", action="store_true", help="also those that are in the result file")
    parser.add_argument("--out", type=Path, default=RESULT)
    given = parser.parse_args()
    main(list(given.names), given.method, given.seeds, given.again, given.out)
