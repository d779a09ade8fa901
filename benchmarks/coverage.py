"""Do 95 % intervals hold the truth? Ten problems of five kinds, twelve cases each, fitted with the defaults.

    python benchmarks/coverage.py                       # all cases that are not in the result file yet
    python benchmarks/coverage.py rod plate --again     # these, again
    python benchmarks/coverage.py --first 12            # twelve fresh cases of each, numbered from 12
    python benchmarks/coverage.py --summary             # only the table

Every case draws its coefficients, noise law (of five), noise level (2 to 6 % of the field's variation) and share of
gross errors (0 to 8 %). The truth makes the readings and is compared with at the end; nothing else knows it. Between
90 and 99 % of the intervals should hold the truth, in each kind and in all. The rule that widens intervals where the
equations are not met was made on cases 0 to 11; cases from 12 on shaped nothing and are counted apart. Writes
`benchmarks/results/coverage.json`.
"""

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from coverage_cases import PROBLEMS
from engines import inside, intervals_of, timed_fit
from unseen_base import LINE

from napinn.data.readings import read_table
from napinn.studies.paper.provenance import provenance

RESULT = Path(__file__).parent / "results" / "coverage.json"
CASES = 12
"""Of each problem."""
SEEN = 12
"""Cases of lower numbers shaped a rule."""


def run(name: str, case: int) -> dict[str, Any]:
    """One case, drawn by its number and the name of its problem.

    Args:
        name: of the problem.
        case: the number of the case, which is also the seed of the fit."""
    made = PROBLEMS[name](np.random.default_rng([list(PROBLEMS).index(name), case]))
    readings = read_table(made.table(case)[0], tuple(made.problem.coordinates), made.problem.fields)
    result, seconds = timed_fit(made.problem, readings, "default", case)
    intervals = intervals_of(result)
    return {
        "kind": made.kind,
        "law": made.law,
        "readings": len(readings),
        "status": result.status.name,
        "trusted": result.status.trusted,
        "processor_seconds": round(seconds, 1),
        "commit": provenance()["commit"],
        "unknowns": {
            key: {
                "truth": float(f"{truth:.5g}"),
                "found": float(f"{result.unknowns[key]:.5g}"),
                "low": float(f"{intervals[key].low:.5g}"),
                "high": float(f"{intervals[key].high:.5g}"),
                "error": float(f"{intervals[key].error:.3g}"),
                "held": inside(intervals[key], truth),
            }
            for key, truth in made.truth.items()
        },
    }


def line(label: str, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """One row of the table."""
    unknowns = [one for row in rows for one in row["unknowns"].values()]
    sure = [one for row in rows if row["trusted"] for one in row["unknowns"].values()]
    held = [one["held"] for one in unknowns]
    errors = [(one["found"] - one["truth"]) / one["error"] for one in unknowns]
    widths = [(one["high"] - one["low"]) / abs(one["truth"]) for one in unknowns]
    return {
        "problems": label,
        "cases": len(rows),
        "intervals": len(unknowns),
        "held": sum(held),
        "held %": round(100.0 * float(np.mean(held)), 1),
        "trusted cases": sum(row["trusted"] for row in rows),
        "held % of trusted": round(100.0 * float(np.mean([one["held"] for one in sure])), 1) if sure else None,
        "median width %": round(100.0 * float(np.median(widths)), 1),
        "rms of error over standard error": round(float(np.sqrt(np.mean(np.square(errors)))), 2),
    }


def summary(rows: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """A row for each problem, for each kind, for each noise law in one dimension and time, and for all."""
    by_problem = {name: list(cases.values()) for name, cases in rows.items()}
    everything = [row for cases in by_problem.values() for row in cases]
    kinds = dict.fromkeys(row["kind"] for row in everything)
    lines = [line(name, cases) for name, cases in by_problem.items()]
    lines += [line(f"kind: {kind}", [row for row in everything if row["kind"] == kind]) for kind in kinds]
    in_line = [row for row in everything if row["kind"] == LINE]
    laws = dict.fromkeys(row["law"] for row in in_line)
    lines += [line(f"1D, noise: {law}", [row for row in in_line if row["law"] == law]) for law in laws]
    parts = {"in sample": [], "out of sample": []}
    for cases in rows.values():
        for case, row in cases.items():
            parts["in sample" if int(case) < SEEN else "out of sample"].append(row)
    lines += [line(part, those) for part, those in parts.items() if those]
    return [*lines, line("all", everything)]


def written(rows: dict[str, Any], made: dict[str, Any], out: Path) -> None:
    ordered = {each: rows[each] for each in PROBLEMS if each in rows}
    content = {"made_by": "python benchmarks/coverage.py", **made, "table": summary(ordered)}
    out.write_text(json.dumps({**content, "rows": ordered}, indent=1) + "\n", encoding="utf-8")


def main(names: list[str], first: int, cases: int, again: bool, only_summary: bool, out: Path) -> None:
    rows: dict[str, Any] = json.loads(out.read_text())["rows"] if out.exists() else {}
    for name in [] if only_summary else names or PROBLEMS:
        for case in range(first, first + cases):
            if str(case) in rows.get(name, {}) and not again:
                continue
            rows.setdefault(name, {})[str(case)] = row = run(name, case)
            told = {key: (one["held"], one["found"], one["truth"]) for key, one in row["unknowns"].items()}
            print(name, case, row["status"], told, flush=True)  # noqa: T201
            written(rows, provenance(), out)
    print(pd.DataFrame(summary(rows)).to_string(index=False))  # noqa: T201


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", choices=[[], *PROBLEMS], help="problems; default all")
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--cases", type=int, default=CASES, help="how many of each problem")
    parser.add_argument("--again", action="store_true", help="also those that are in the result file")
    parser.add_argument("--summary", action="store_true", help="only print the table")
    parser.add_argument("--out", type=Path, default=RESULT)
    given = parser.parse_args()
    main(list(given.names), given.first, given.cases, given.again, given.summary, given.out)
