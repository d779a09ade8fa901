"""A run on disk: written once, read back without pickle.

Arrays are stored by the path of their leaf in the tree that the settings rebuild, so a file can only fill in numbers:
it cannot choose a class, a shape or a path."""

import platform
import shutil
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from napinn.backend import Progress, backend_of
from napinn.checkpoints import EVERY, Checkpoints
from napinn.checkpoints import FOLDER as CHECKPOINTS
from napinn.diagnosis import judge as judge_sensors
from napinn.errors import InputError, storing
from napinn.fitting import fit
from napinn.intervals import Certainty, Interval
from napinn.io import csv_text
from napinn.io.lock import LOCK, held
from napinn.io.outputs import RUN_FILES
from napinn.io.saved import saved_arrays, write_arrays
from napinn.io.whole import UNFINISHED, whole, write_whole
from napinn.loggers import LIVE_FILES, LOG, PROGRESS
from napinn.model import FittedModel
from napinn.problem import Problem
from napinn.readings import Readings
from napinn.recipe import Recipe
from napinn.request import (
    FORMAT,
    MANY_READINGS,
    READINGS,
    REQUEST,
    TABLES,
    Request,
    Wishes,
    as_json,
    problem_settings,
    read_readings,
    read_request,
    read_settings,
    read_wishes,
    request_of,
    write_readings,
    write_request,
    write_tables,
)
from napinn.result import FitResult, FitStatus
from napinn.settings import encode

RESULT, MODEL, CERTAINTY, VERIFICATION = "result.json", "model.npz", "certainty.npz", "verify.json"
PACKAGES = ("napinn", "jax", "jaxlib", "equinox", "optax", "numpy")
BEGUN = LIVE_FILES | {LOCK, LOG, REQUEST, READINGS, MANY_READINGS, TABLES, CHECKPOINTS}
"""All that the folder of a fit may hold before it has a result."""


def read_by(run: Path) -> list[Path]:
    """What no command may replace: the files of a run, whether they are there or not, and those it was fitted to."""
    try:
        named = read_wishes(run).inputs
    except InputError:
        named = ()
    return [*(run / name for name in sorted(RUN_FILES)), *(run / name for name in named)]


def prepare(folder: Path, overwrite: bool, whole: str = RESULT, inputs: Sequence[Path] = ()) -> None:
    """Make the folder before any training, so that a refusal costs nothing; the file `whole` marks it as ours.

    What was there is removed, so none of the `inputs` may lie in it."""
    try:
        if folder.exists():
            _clear(folder, overwrite, whole, inputs)
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder} cannot be made: {error.strerror}.") from None


def _clear(folder: Path, overwrite: bool, whole: str, inputs: Sequence[Path]) -> None:
    if not folder.is_dir():
        raise InputError(f"{folder} is a file; name a folder for the run.")
    if any(folder.iterdir()):
        _check_outside(folder, inputs)
        if not overwrite:
            raise InputError(f"{folder} already exists and is not empty; choose another name or add --overwrite.")
        if not ((folder / whole).exists() or _only_begun(folder)):
            raise InputError(f"{folder} is not a run of napinn, so it is not overwritten; choose another name.")
        with held(folder):
            _empty(folder)


def _check_outside(folder: Path, inputs: Sequence[Path]) -> None:
    for path in inputs:
        if path.resolve().is_relative_to(folder.resolve()):
            raise InputError(f"{path} would be lost if {folder} were written anew; name another folder with --out.")


def _only_begun(folder: Path) -> bool:
    """Whether a folder holds the sign of a running fit and nothing but what such a fit writes: one that was killed."""
    found = {path.name for path in folder.iterdir() if not path.name.startswith(UNFINISHED)}
    # The lock is the first that a fit writes, while its method is made; other files beside it need a better sign.
    return found == {LOCK} or (bool({PROGRESS, REQUEST} & found) and found <= BEGUN)


def _empty(folder: Path) -> None:
    """Remove all but the lock, which keeps another fit from beginning here in the meantime."""
    try:
        for path in folder.iterdir():
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            elif path.name != LOCK:
                path.unlink()
    except OSError as error:
        raise InputError(f"{folder} cannot be replaced: {error.strerror or error}.") from None


def begin(request: Request, folder: Path, wishes: Wishes | None = None) -> None:
    """Put down what is asked for, before any training."""
    try:
        write_request(request, folder, wishes)
    except OSError as error:
        raise InputError(f"{folder} cannot be written to: {error.strerror}.") from None


def resume(
    folder: Path | str,
    *,
    problem: Problem | None = None,
    progress: Progress | None = None,
    every: float = EVERY,
) -> FitResult:
    """Take up a fit that was killed or interrupted where its newest checkpoint left it, as if nothing had happened.

    `problem` is needed only where an equation was a Python function, which no file can hold."""
    folder = Path(folder)
    asked = read_request(folder, problem)
    kept = Checkpoints(folder, every)
    with held(folder):
        return fit(
            asked.problem, asked.readings, asked.method, seed=asked.seed, progress=progress, checkpoints=kept,
            resume=True,
        )  # fmt: skip


def save(result: FitResult, folder: Path | str, *, same_fit: bool = False) -> None:
    """Everything that `load` needs, and the tables and field that people want; each file is whole or not there.

    What a trust check found of an earlier result does not hold of a new one and is removed, unless it is the
    `same_fit` with more known of it."""
    folder = Path(folder)
    with storing(f"the run could not be saved to {folder}"):
        folder.mkdir(parents=True, exist_ok=True)
        if not same_fit:
            (folder / VERIFICATION).unlink(missing_ok=True)
        _write(result, folder)


def _write(result: FitResult, folder: Path) -> None:
    write_arrays(folder / MODEL, result.model.arrays())
    if result.certainty is not None:
        write_arrays(folder / CERTAINTY, result.certainty.spread.arrays())
    write_tables(result.problem, folder)
    write_readings(result.readings_table(), folder)
    write_whole(folder / "sensors.csv", csv_text(result.sensors_table(), index=True))
    write_whole(folder / "history.csv", result.history.to_csv(index=False))
    with whole(folder / "field.nc") as beside:
        field_grid(result).to_netcdf(beside, engine="h5netcdf")
    # Last, so that a folder with a result.json is whole.
    write_whole(folder / RESULT, as_json(describe(result)))
    (folder / PROGRESS).unlink(missing_ok=True)
    if result.status is not FitStatus.INTERRUPTED:
        shutil.rmtree(folder / CHECKPOINTS, ignore_errors=True)


def load(folder: Path | str, problem: Problem | None = None) -> FitResult:
    """A saved run. `problem` is needed only where an equation was a Python function, which no file can hold."""
    folder = Path(folder)
    description = read_settings(folder / RESULT)
    table = read_readings(folder)
    asked = request_of(description, folder, table, problem)
    annotated = _annotations(table, asked.readings)
    try:
        with saved_arrays(folder / MODEL) as arrays:
            model = backend_of(asked.method).restore(asked, arrays, bool(description["has_law"]))
        return FitResult(
            problem=asked.problem,
            method=asked.method,
            readings=asked.readings,
            seed=asked.seed,
            model=model,
            unknowns={name: float(description["unknowns"][name]) for name in asked.problem.unknowns},
            predicted=annotated["predicted"],
            reliability=annotated["reliability"],
            history=pd.read_csv(folder / "history.csv"),
            status=FitStatus[description["status"]],
            seconds=float(description["seconds"]),
            verdicts=judge_sensors(asked.problem, asked.readings, annotated["predicted"], asked.method.false_alarms),
            notes=tuple(map(str, description.get("notes", ()))),
            certainty=_certainty(folder / CERTAINTY, description, asked.method, model),
        )
    except (OSError, KeyError, TypeError, ValueError, AttributeError):
        raise InputError(f"{folder} is not a whole run: its files do not fit together.") from None


def describe(result: FitResult) -> dict[str, Any]:
    """The run as one JSON object: what was asked, what came out, and on what it ran."""
    return {
        "format": FORMAT,
        "status": result.status.name,
        "message": result.status.value,
        "notes": list(result.notes),
        "unknowns": dict(result.unknowns),
        **({} if result.certainty is None else _told(result.certainty)),
        "readings": {
            "source": result.readings.source,
            "count": len(result.readings),
            "flagged": int(result.flagged.sum()),
            "sensors": len(set(result.readings.sensors)),
            "faulty_sensors": {sensor: row.verdict for sensor, row in result.faulty_sensors().iterrows()},
            "wide": result.readings.wide,
            "missing_rows": result.readings.missing_rows,
            "columns": encode(result.readings.columns),
        },
        "noise": {name: {"centre": noise.centre, "scale": noise.scale} for name, noise in result.noise.items()},
        "seed": result.seed,
        "seconds": round(result.seconds, 3),
        "steps": result.method.steps,
        "precision": "float64" if result.method.double else "float32",
        "device": backend_of(result.method).device(),
        "versions": versions(),
        "problem": problem_settings(result.problem),
        "method": encode(result.method),
        "has_law": bool(result.noise),
    }


def _told(certainty: Certainty) -> dict[str, Any]:
    """Intervals in plain values; an open end, which JSON has no number for, is null."""
    entries = {name: vars(interval) for name, interval in certainty.intervals.items()}
    told: dict[str, Any] = {
        "intervals": {name: {key: _plain(x) for key, x in each.items()} for name, each in entries.items()},
        "intervals_from": certainty.source,
    }
    if certainty.correlation is not None:
        told["correlation"] = [[_plain(x) for x in row] for row in certainty.correlation]
    if certainty.undetermined:
        told["undetermined"] = list(certainty.undetermined)
    return told


def _plain(number: float) -> float | None:
    return float(number) if np.isfinite(number) else None


def _certainty(path: Path, description: dict[str, Any], method: Recipe, model: FittedModel) -> Certainty | None:
    if "intervals" not in description:
        return None
    if not isinstance(description["intervals"], dict):
        raise InputError(f"{path.parent}: its intervals are not given by name.")
    opened = {"low": -np.inf, "high": np.inf, "error": np.inf, "drift": 0.0}
    intervals = {
        str(name): Interval(**{key: none if entry[key] is None else float(entry[key]) for key, none in opened.items()})
        for name, entry in description["intervals"].items()
    }
    with saved_arrays(path) as arrays:
        spread = backend_of(method).restore_spread(model, arrays)
    return Certainty(
        intervals,
        str(description["intervals_from"]),
        spread,
        _correlation(description.get("correlation"), len(description["unknowns"])),
        tuple(map(str, description.get("undetermined", ()))),
    )


def _correlation(rows: list[list[float | None]] | None, count: int) -> np.ndarray | None:
    if rows is None:
        return None
    return np.array([[np.nan if x is None else float(x) for x in row] for row in rows]).reshape(count, count)


def versions() -> dict[str, str]:
    return {"python": platform.python_version(), **{name: metadata.version(name) for name in PACKAGES}}


def _annotations(table: pd.DataFrame, readings: Readings) -> dict[str, np.ndarray]:
    found = {}
    for name in ("predicted", "reliability"):
        wanted = readings.added_columns(name)
        if not set(wanted) <= set(table.columns):
            raise InputError(
                f"{readings.source}: the run's {READINGS} has no column '{wanted[0]}', so it is not whole."
            )
        columns = table[wanted].apply(pd.to_numeric, errors="coerce")
        found[name] = columns.to_numpy(dtype=float)[readings.rows, readings.label_index]
    return found


def field_grid(result: FitResult) -> Any:
    """A grid fine enough to look at: about 200,000 nodes whatever the number of coordinates."""
    dimensions = len(result.problem.coordinates)
    return result.grid({1: 1001, 2: 301, 3: 61}.get(dimensions, 17))
