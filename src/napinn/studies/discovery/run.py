"""`napinn reproduce discovery`: one row a case, appended when it is done, so that a stopped study can be continued."""

import csv
import itertools
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pandas as pd

from napinn.discovery.discover import REFIT_SECONDS, discover
from napinn.discovery.found import Discovery
from napinn.discovery.polynomial import factor_between
from napinn.discovery.terms import read_term
from napinn.errors import InputError
from napinn.problem.equations import Names
from napinn.studies.discovery.truths import RECORDS, Record, noise_readings
from napinn.studies.discovery.unseen import UNSEEN
from napinn.studies.paper.provenance import commit

NOISE, OUTLIERS = (0.01, 0.1, 0.2, 0.5), (0.0, 0.05, 0.15)
FIELDS = ("kdv", "kuramoto_sivashinsky", "porous_medium")
SERIES = ("van_der_pol", "lorenz", "lotka_volterra", "fitzhugh_nagumo")
SEEDS, NOISE_SEEDS, UNSEEN_SEEDS, PAIR_SEEDS = 10, 20, 3, 5
KEYS = ["equation", "layout", "noise", "outliers", "seed", "method"]
COLUMNS = [*KEYS, "right", "true_positivity", "error", "seconds", "found", "commit"]
METHOD = "napinn"


@dataclass(frozen=True)
class Case:
    """One discovery: the equation, where it is read, how it is corrupted."""

    equation: str
    layout: str
    noise: float
    outliers: float
    seed: int

    @property
    def key(self) -> tuple[str, ...]:
        return (self.equation, self.layout, f"{self.noise:g}", f"{self.outliers:g}", str(self.seed), METHOD)


def cases() -> Iterator[Case]:
    """What must hold comes first."""
    yield from (Case("pure_noise", "series", 1.0, 0.0, seed) for seed in range(NOISE_SEEDS))
    for outliers, noise, name in itertools.product((0.0, 0.15), (0.1, 0.01, 0.2, 0.5), FIELDS):
        yield Case(name, "grid", noise, outliers, 0)
    for name in ("kdv", "lambda_omega"):
        yield Case(name, "225 sensors", 0.1, 0.05, 0)
    for seed, name in itertools.product(range(SEEDS), SERIES):
        yield Case(name, "series", 0.1, 0.1, seed)
    for seed, name in itertools.product(range(UNSEEN_SEEDS), UNSEEN):
        yield Case(name, "unseen", 0.1, 0.1, seed)
    # The error with gross errors over that without is compared over several seeds: one may be small by chance.
    for seed, outliers, name in itertools.product(range(1, PAIR_SEEDS), (0.0, 0.15), FIELDS):
        yield Case(name, "grid", 0.1, outliers, seed)
    for noise, name in itertools.product(NOISE, FIELDS):
        yield Case(name, "grid", noise, 0.05, 0)
    for outliers, noise, name in itertools.product(OUTLIERS, NOISE, FIELDS):
        if (name, noise, outliers) != ("kdv", 0.1, 0.05):
            yield Case(name, "225 sensors", noise, outliers, 0)
    for outliers, noise in itertools.product(OUTLIERS, NOISE):
        yield Case("lambda_omega", "grid", noise, outliers, 0)
        if (noise, outliers) != (0.1, 0.05):
            yield Case("lambda_omega", "225 sensors", noise, outliers, 0)


def run_discovery(path: Path, matching: str = "", report: Callable[[str], None] = print) -> pd.DataFrame:
    """Run every case that the file does not hold yet.

    :param path: CSV file, one row a case; made where it is missing.
    :param matching: Only cases whose equation or layout holds this text.
    :param report: Gets one line a case."""
    if path.suffix != ".csv":
        raise InputError(f"{path} is not a .csv file; name one for the rows of the study.")
    path.parent.mkdir(parents=True, exist_ok=True)
    known = known_rows(path)
    for case in cases():
        if case.key in known or (matching and matching not in case.equation and matching not in case.layout):
            continue
        row = run_case(case)
        append(path, row)
        report(f"{case.equation} {case.layout} noise {case.noise:g} outliers {case.outliers:g}: "
             f"{'right' if row['right'] else 'wrong'}, {row['seconds']} s")  # fmt: skip
    return pd.read_csv(path) if path.exists() else pd.DataFrame(columns=COLUMNS)


@cache
def record(name: str) -> Record:
    """The solution of a name, computed once."""
    return {**RECORDS, **UNSEEN}[name]()


def run_case(case: Case) -> dict[str, Any]:
    """One discovery and its score; seconds are processor time."""
    if case.equation == "pure_noise":
        readings = noise_readings(case.seed)
    else:
        readings = record(case.equation).readings(case.noise, case.outliers, case.seed, case.layout == "225 sensors")
    truth = record(case.equation).truth
    begun = time.process_time()
    # A joint refit of so many readings would not end in seconds, and its estimate alone takes some.
    refit_seconds = REFIT_SECONDS if case.layout in ("series", "unseen") else 0.0
    found = discover(readings, list(truth), seed=case.seed, refit_seconds=refit_seconds)
    seconds = time.process_time() - begun
    scores = score(found, truth, tuple(readings.coordinates), tuple(readings.fields))
    return {
        **dict(zip(KEYS, case.key, strict=True)), **scores, "seconds": f"{seconds:.1f}",
        "found": found.show().replace("\n", "; "), "commit": commit(),
    }  # fmt: skip


def score(
    found: Discovery, truth: dict[str, Any] | Any, coordinates: tuple[str, ...], fields: tuple[str, ...]
) -> dict[str, Any]:
    """Right terms or not, TP / (TP + FN + FP), and the largest relative error of a coefficient."""
    if not any(truth.values()):
        return {"right": not any(e.claimed for e in found.equations), "true_positivity": "", "error": ""}
    names = Names(coordinates, fields, (), {})
    hits = misses = extra = 0
    error = 0.0
    for equation, (_, terms) in zip(found.equations, truth.items(), strict=True):
        wanted = {text: read_term(text, names).normal for text in terms}
        left = dict(wanted)
        for term in equation.terms:
            normal = read_term(term.text, names).normal
            match = [text for text, other in left.items() if factor_between(normal, other) is not None]
            if not match:
                extra += 1
                continue
            factor = factor_between(normal, left.pop(match[0]))
            assert factor is not None
            hits += 1
            error = max(error, abs(term.coefficient * factor / terms[match[0]] - 1.0))
        misses += len(left)
    right = misses == extra == 0
    return {
        "right": right,
        "true_positivity": f"{hits / (hits + misses + extra):.3f}",
        "error": f"{error:.5f}" if hits else "",
    }


def known_rows(path: Path) -> set[tuple[str, ...]]:
    """The cases that a file has already. A file of anything else is refused, because rows would be added to it."""
    if not path.exists():
        return set()
    if not path.is_file():
        raise InputError(f"{path} is not a plain file; name another file for the rows of the study.")
    with path.open(newline="", encoding="utf-8", errors="replace") as file:
        rows = csv.DictReader(file)
        if not set(KEYS) <= set(rows.fieldnames or ()):
            raise InputError(f"{path} is no table of this study; name another file.")
        return {tuple(row[name] for name in KEYS) for row in rows}


def append(path: Path, row: dict[str, Any]) -> None:
    new = not path.exists()
    with path.open("a", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS)
        if new:
            writer.writeheader()
        writer.writerow(row)
