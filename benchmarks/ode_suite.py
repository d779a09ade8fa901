"""Coefficients of published systems of ordinary differential equations, beside a forward solver's.

    python benchmarks/ode_suite.py                                   # every row that is not in the result file yet
    python benchmarks/ode_suite.py --methods splines --noise 0.05 --outliers 0 --seeds 1
    python benchmarks/ode_suite.py --summary                         # the tables alone

Systems, readings and starts are those of `ode_systems.py`; noise 1, 5, 10, 20 %, gross errors 0, 5, 15 %, five seeds.
The rival (`ode_rival.py`) is `scipy.optimize.least_squares` on LSODA: `linear` and `cauchy` from the starts that napinn
is given, `linear_truth` and `cauchy_truth` from the true values, which no user has and which shows what the readings
allow. One row a fit is appended to `benchmarks/results/ode_suite.csv`; every number of the tables is computed from it.
"""

import argparse
import csv
import itertools
import json
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from engines import intervals_of, timed_fit
from ode_rival import forward_fit
from ode_systems import SYSTEMS, System

from napinn.studies.paper.provenance import commit

RESULT = Path(__file__).parent / "results" / "ode_suite.csv"
BOUNDS = RESULT.with_name("ode_bound.json")
"""The least median errors that Gaussian noise allows (Cramér–Rao), by system and noise: `ode_bound.py`."""
NOISE, OUTLIERS = (0.01, 0.05, 0.1, 0.2), (0.0, 0.05, 0.15)
RIVALS = {
    "linear_truth": ("linear", True),
    "cauchy_truth": ("cauchy", True),
    "cauchy": ("cauchy", False),
    "linear": ("linear", False),
}
KEYS = ["system", "noise", "outliers", "seed", "method"]
COLUMNS = [*KEYS, "status", "trusted", "seconds", "found", "low", "high", "error", "flagged", "gross_flagged", "commit"]
"""Lists of numbers, one a coefficient, are separated by spaces."""
RIGHT = 0.2
"""An answer is right if every coefficient is within this share of the truth."""
NEAR_RIVAL, NEAR_CLEAN = 1.3, 1.5
COVERAGE = (0.90, 0.99)
WRONG_ERRORS = 5.0
"""A coefficient is plainly wrong if it is more than this many standard errors and more than `RIGHT` off."""
Case = tuple[System, float, float, int]


def rival_row(case: Case, method: str) -> dict[str, Any]:
    system, noise, outliers, seed = case
    values, _ = system.read(noise, outliers, seed)
    begun = time.process_time()
    found = forward_fit(system, values, seed, *RIVALS[method])
    return {"seconds": time.process_time() - begun, "found": found}


def own_row(case: Case, method: str) -> dict[str, Any]:
    system, noise, outliers, seed = case
    values, gross = system.read(noise, outliers, seed)
    result, seconds = timed_fit(system.problem(seed), system.readings(values), method, seed)
    intervals = intervals_of(result)
    # A wide table is read row by row, so readings stand in the order of the array.
    hit = result.flagged & gross.reshape(-1)
    return {
        "status": result.status.name,
        "trusted": result.status.trusted,
        "seconds": seconds,
        "found": [result.unknowns[name] for name in system.names],
        "low": [intervals[name].low for name in system.names],
        "high": [intervals[name].high for name in system.names],
        "error": [intervals[name].error for name in system.names],
        "flagged": int(result.flagged.sum()),
        "gross_flagged": int(hit.sum()),
    }


def told(value: Any) -> str:
    if isinstance(value, np.ndarray | list):
        return " ".join(f"{number:.6g}" for number in value)
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def append(row: dict[str, Any], out: Path) -> None:
    new = not out.exists()
    with out.open("a", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        if new:
            writer.writeheader()
        writer.writerow({key: told(value) for key, value in row.items()})


def table(out: Path) -> pd.DataFrame:
    """The result file with one array of numbers a cell where there are several."""
    rows = pd.read_csv(out) if out.exists() else pd.DataFrame(columns=COLUMNS)
    for column in ("found", "low", "high", "error"):
        rows[column] = pd.Series([np.array(str(text).split(), float) for text in rows[column]], dtype=object)
    return rows


def done(rows: pd.DataFrame) -> set[tuple[str, float, float, int, str]]:
    return set(rows[KEYS].itertuples(index=False, name=None))


def run(cases: Iterator[tuple[float, float, int, str, str]], out: Path) -> None:
    finished = done(table(out))
    for noise, outliers, seed, name, method in cases:
        key = (name, noise, outliers, seed, method)
        if key in finished:
            continue
        case = (SYSTEMS[name], noise, outliers, seed)
        row = rival_row(case, method) if method in RIVALS else own_row(case, method)
        append({**dict(zip(KEYS, key, strict=True)), **row, "commit": commit()}, out)
        print(*key, told(row["found"]), f"{row['seconds']:.2f} s", flush=True)  # noqa: T201


def relative(rows: pd.DataFrame) -> pd.Series:
    """For every row, the relative error of each coefficient."""
    pairs = zip(rows["system"], rows["found"], strict=True)
    return pd.Series([np.abs(found / np.array(SYSTEMS[name].truth) - 1.0) for name, found in pairs], dtype=object)


def middle(rows: pd.DataFrame) -> float:
    """The median error over all coefficients of these fits."""
    return float(np.median(np.concatenate(rows["off"].tolist()))) if len(rows) else np.nan


def accuracy(rows: pd.DataFrame, method: str) -> pd.DataFrame:
    """By system: errors over noise levels beside the rival's from the truth and beside the Cramér–Rao bound, and with
    15 % gross errors beside without.

    Ratios are geometric means over noise levels of ratios of medians, so that every level counts alike."""
    lines, bounds = [], json.loads(BOUNDS.read_text(encoding="utf-8"))["bounds"]
    mine = rows[rows["method"] == method]
    for name in [name for name in SYSTEMS if name in set(mine["system"])]:
        line: dict[str, Any] = {"system": name}
        beside_rival, beside_clean, beside_bound = [], [], []
        for noise in NOISE:
            at = rows[(rows["system"] == name) & (rows["noise"] == noise)]
            clean = at[(at["method"] == method) & (at["outliers"] == 0.0)]
            rival = at[(at["method"] == "linear_truth") & (at["outliers"] == 0.0)]
            gross = at[(at["method"] == method) & (at["outliers"] == OUTLIERS[-1])]
            # Seeds that are not in all three would compare different readings.
            clean, rival, gross = (middle(fits) for fits in (clean, _seeds_of(rival, clean), _seeds_of(gross, clean)))
            line[f"{100 * noise:.0f} %"] = f"{100 * clean:.3g} ({100 * rival:.3g})"
            beside_rival.append(clean / rival)
            beside_clean.append(gross / clean)
            beside_bound.append(clean / bounds[name][str(noise)])
        ratios = zip(("/ rival", "/ bound", "15 % / 0 %"), (beside_rival, beside_bound, beside_clean), strict=True)
        line |= {title: _geometric(each) for title, each in ratios}
        lines.append(line)
    return pd.DataFrame(lines)


def _seeds_of(rows: pd.DataFrame, other: pd.DataFrame) -> pd.DataFrame:
    return rows[rows["seed"].isin(other["seed"])]


def _geometric(ratios: Sequence[float]) -> float:
    known = np.array(ratios)[np.isfinite(ratios)]
    return float(np.exp(np.mean(np.log(known)))) if known.size else np.nan


def answers(rows: pd.DataFrame) -> pd.DataFrame:
    """By system and method: how many answers are right at each share of gross errors, and the median seconds."""
    lines = []
    for (name, method), fits in rows.groupby(["system", "method"], sort=False):
        line: dict[str, Any] = {"system": name, "method": method}
        for outliers in OUTLIERS:
            at = fits[fits["outliers"] == outliers]
            line[f"right, {100 * outliers:.0f} % gross"] = f"{at['right'].sum()}/{len(at)}"
        line["seconds"] = f"{fits['seconds'].median():.2f}"
        lines.append(line)
    return pd.DataFrame(lines)


def criteria(rows: pd.DataFrame, method: str) -> list[tuple[str, bool, str]]:
    """What is demanded, whether it holds, and the numbers."""
    errors, mine = accuracy(rows, method), rows[rows["method"] == method]
    worst_rival, worst_bound, worst_clean = (errors[title].max() for title in ("/ rival", "/ bound", "15 % / 0 %"))
    both = mine.merge(rows[rows["method"] == "cauchy"], on=KEYS[:-1], suffixes=("", "_rival"))
    held, asked, wrong = _intervals(mine)
    share, trusted = held / asked if asked else np.nan, int((mine["trusted"].astype(str) == "True").sum())
    return [
        (f"no gross errors: error at most {NEAR_RIVAL} × the forward solver's from the truth",
         bool(worst_rival <= NEAR_RIVAL), f"worst system {worst_rival:.2f}"),
        (f"no gross errors: error at most {NEAR_RIVAL} × the Cramér–Rao bound",
         bool(worst_bound <= NEAR_RIVAL), f"worst system {worst_bound:.2f}"),
        (f"15 % gross errors: error at most {NEAR_CLEAN} × that without",
         bool(worst_clean <= NEAR_CLEAN), f"worst system {worst_clean:.2f}"),
        ("right from the given starts at least as often as the Cauchy forward solver",
         bool(both["right"].sum() >= both["right_rival"].sum()),
         f"{both['right'].sum()} and {both['right_rival'].sum()} of {len(both)} that both have fitted"),
        ("95 % intervals of trusted fits hold the truth in 90 to 99 %",
         bool(COVERAGE[0] <= share <= COVERAGE[1]),
         f"{held} of {asked}, {100 * share:.1f} %; {trusted} of {len(mine)} fits are trusted"),
        ("no trusted answer is plainly wrong", wrong == 0, f"{wrong} of {len(mine)}"),
    ]  # fmt: skip


def _intervals(mine: pd.DataFrame) -> tuple[int, int, int]:
    """Intervals of trusted fits that hold the truth, all of them, and trusted fits with a plainly wrong coefficient."""
    held = asked = wrong = 0
    row: dict[Any, Any]
    for row in mine[mine["trusted"].astype(str) == "True"].to_dict("records"):
        truth = np.array(SYSTEMS[row["system"]].truth)
        inside = (row["low"] <= truth) & (truth <= row["high"])
        held, asked = held + int(inside.sum()), asked + inside.size
        far = np.abs(row["found"] - truth) > WRONG_ERRORS * row["error"]
        wrong += bool(np.any(far & (row["off"] > RIGHT)))
    return held, asked, wrong


def summary(method: str, out: Path) -> str:
    rows = table(out)
    rows["off"] = relative(rows)
    rows["right"] = [bool(np.all(off <= RIGHT)) for off in rows["off"]]
    parts = [answers(rows).to_string(index=False)]
    if method in set(rows["method"]):
        parts += [
            f"\nMedian error of a coefficient in %, no gross errors: {method} (forward solver from the truth)",
            accuracy(rows, method).to_string(index=False, float_format="%.2f"),
            "",
            *(f"{'holds' if held else 'FAILS'}: {what} ({numbers})" for what, held, numbers in criteria(rows, method)),
        ]
    return "\n".join(parts)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--systems", nargs="+", choices=list(SYSTEMS), default=list(SYSTEMS))
    parser.add_argument("--noise", nargs="+", type=float, default=NOISE, help="shares of each state's RMS")
    parser.add_argument("--outliers", nargs="+", type=float, default=OUTLIERS, help="shares of the readings")
    parser.add_argument("--seeds", type=int, default=5, help="how many, from 0")
    parser.add_argument(
        "--methods", nargs="+", default=["splines", *RIVALS], help="napinn's methods by name, or rivals"
    )
    parser.add_argument("--judge", default="splines", help="the method that the criteria are about")
    parser.add_argument("--summary", action="store_true", help="run nothing")
    parser.add_argument("--out", type=Path, default=RESULT)
    given = parser.parse_args()
    if not given.summary:
        asked = itertools.product(given.noise, given.outliers, range(given.seeds), given.systems, given.methods)
        run(asked, given.out)
    print(summary(given.judge, given.out))  # noqa: T201
