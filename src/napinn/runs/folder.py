"""A run on disk: written once, read back without pickle.

Arrays are stored by the path of their leaf in the tree that the settings rebuild, so a file can only fill in numbers:
it cannot choose a class, a shape or a path."""

import contextlib
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from napinn.data.flags import scheme_named
from napinn.data.formats import csv_text
from napinn.data.readings import Conversion, Readings
from napinn.diagnostics.sensors import judge_sensors
from napinn.engines.base import Progress, backend_of
from napinn.engines.description import describe
from napinn.engines.fitting import fit
from napinn.engines.request import Request
from napinn.errors import InputError, storing
from napinn.problem import Problem
from napinn.results.discrepancy import restored as restored_discrepancy
from napinn.results.intervals import Interval, Uncertainty
from napinn.results.model import FittedModel
from napinn.results.profiles import restored as restored_profiles
from napinn.results.recipe import Recipe
from napinn.results.result import FitResult, FitStatus
from napinn.runs.column_units import METADATA, SENSORS, table_metadata
from napinn.runs.loggers import PROGRESS
from napinn.runs.readings_file import FLAGGED, readings_dataset
from napinn.runs.request import (
    READINGS,
    RunExtras,
    read_extras,
    read_request,
    read_saved_readings,
    request_of,
    write_readings,
    write_request,
    write_tables,
)
from napinn.runs.verification import VERIFICATION
from napinn.storage.arrays import saved_arrays, write_arrays
from napinn.storage.atomic import atomic_path, write_atomic
from napinn.storage.checkpoints import EVERY, Checkpoints
from napinn.storage.checkpoints import FOLDER as CHECKPOINTS
from napinn.storage.folders import check_folder, remove_own_files
from napinn.storage.json_files import MODEL, RESULT, as_json, read_settings
from napinn.storage.lock import held

CERTAINTY = "certainty.npz"


def prepare(folder: Path, overwrite: bool, whole: str = RESULT, inputs: Sequence[Path] = ()) -> None:
    """Make the folder before any training, so that a refusal costs nothing; the file `whole` marks it as ours.

    What napinn wrote there is removed, so none of the `inputs` may lie in it; other files stay."""
    check_folder(folder, overwrite, whole, inputs)
    try:
        if folder.exists() and any(folder.iterdir()):
            with held(folder):
                remove_own_files(folder)
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder} cannot be made: {error.strerror}.") from None


def begin(request: Request, folder: Path, extras: RunExtras | None = None) -> None:
    """Put down what is asked for, before any training."""
    try:
        write_request(request, folder, extras)
    except OSError as error:
        raise InputError(f"{folder} cannot be written to: {error.strerror}.") from None


def resume(
    folder: Path | str,
    *,
    problem: Problem | None = None,
    progress: Progress | None = None,
    every: float = EVERY,
) -> FitResult:
    """Continue a fit that was killed or interrupted from its newest checkpoint; the numbers are those of a fit that was
    never stopped.

    :param folder: Of the run.
    :param problem: Needed only where an equation was a Python function, which no file can hold.
    :param progress: A function that is called regularly with a snapshot; default none.
    :param every: Seconds between two checkpoints. Default 60.
    :return: The finished fit; `napinn.save` writes it.
    :raises InputError: if the folder has no request, or its checkpoint is damaged or of another run.

    >>> napinn.resume("no-such-run")
    Traceback (most recent call last):
    napinn.errors.InputError: no-such-run does not exist; check the path of the run folder.
    """
    folder = Path(folder)
    request = read_request(folder, problem)
    kept = Checkpoints(folder, every)
    with held(folder):
        return fit(
            request.problem, request.readings, request.method, seed=request.seed, progress=progress, checkpoints=kept,
            resume=True,
        )  # fmt: skip


def save(result: FitResult, folder: Path | str, *, same_fit: bool = False, flags: str | None = None) -> None:
    """Write a result to a folder: what `load` needs, and the tables and field that people want. Each file is complete
    or not there.

    :param result: A finished fit.
    :param folder: Where to; it is made if need be.
    :param same_fit: Whether the folder holds the same fit with less known of it, so that its trust check still holds.
    :param flags: `qartod`, `argo` or `saqc` adds quality flags to the tables and writes `readings.nc`; the default is
        what the folder's request asks for, which is none unless it was fitted with `--flags`.
    :raises StorageError: if the disk is full or the folder cannot be written to.

    >>> napinn.save(result, "runs/first", flags="qartod")
    >>> sorted(path.name for path in Path("runs/first").glob("*.nc"))
    ['field.nc', 'readings.nc']
    """
    folder = Path(folder)
    if flags is None:
        flags = _flags_of(folder, same_fit)
    else:
        scheme_named(flags)
    with storing(f"the run could not be saved to {folder}"):
        folder.mkdir(parents=True, exist_ok=True)
        if not same_fit:
            (folder / VERIFICATION).unlink(missing_ok=True)
        _write(result, folder, flags)


def _flags_of(folder: Path, same_fit: bool) -> str | None:
    """The scheme of quality flags that the same fit was saved with, or else that the folder's request asks for."""
    with contextlib.suppress(InputError):
        flags = read_settings(folder / RESULT).get("flags") if same_fit else None
        if isinstance(flags, str):
            return scheme_named(flags).name
    with contextlib.suppress(InputError):
        return read_extras(folder).flags
    return None


def _write(result: FitResult, folder: Path, flags: str | None) -> None:
    write_arrays(folder / MODEL, result.model.arrays())
    if result.uncertainty is not None:
        write_arrays(folder / CERTAINTY, result.uncertainty.spread.arrays())
    write_tables(result.problem, folder)
    readings, sensors = result.readings_table(flags), result.sensors_table(flags)
    write_readings(readings, folder)
    write_atomic(folder / SENSORS, csv_text(sensors, index=True))
    for earlier in (METADATA, FLAGGED):
        (folder / earlier).unlink(missing_ok=True)
    if result.problem.units:
        tables = {READINGS: list(map(str, readings)), SENSORS: [str(sensors.index.name), *map(str, sensors)]}
        write_atomic(folder / METADATA, as_json(table_metadata(result, tables)))
    if flags is not None:
        with atomic_path(folder / FLAGGED) as beside:
            readings_dataset(result, scheme_named(flags)).to_netcdf(beside, engine="h5netcdf")
    write_atomic(folder / "history.csv", result.history.to_csv(index=False))
    with atomic_path(folder / "field.nc") as beside:
        field_grid(result).to_netcdf(beside, engine="h5netcdf")
    # Last, so that a folder with a result.json is whole.
    write_atomic(folder / RESULT, as_json(describe(result) | ({} if flags is None else {"flags": flags})))
    (folder / PROGRESS).unlink(missing_ok=True)
    if result.status is not FitStatus.INTERRUPTED:
        shutil.rmtree(folder / CHECKPOINTS, ignore_errors=True)


def load(folder: Path | str, problem: Problem | None = None) -> FitResult:
    """A saved run.

    :param folder: A folder that `napinn.save` or `napinn fit` has written.
    :param problem: Needed only where an equation was a Python function, which no file can hold.
    :return: The result as it was saved; sensors are judged again from the saved predictions.
    :raises InputError: if the folder holds no finished run, or its files do not belong together.

    >>> napinn.save(result, "runs/saved")
    >>> napinn.load("runs/saved").unknowns == result.unknowns
    True
    """
    folder = Path(folder)
    description = read_settings(folder / RESULT)
    table = read_saved_readings(folder)
    _check_model(folder)
    request = request_of(description, folder, table, problem)
    annotated = _annotations(table, request.readings)
    try:
        with saved_arrays(folder / MODEL) as arrays:
            model = backend_of(request.method).restore(request, arrays, bool(description["has_law"]))
        return FitResult(
            problem=request.problem,
            method=request.method,
            readings=request.readings,
            seed=request.seed,
            model=model,
            unknowns={name: float(description["unknowns"][name]) for name in request.problem.unknowns},
            predicted=annotated["predicted"],
            reliability=annotated["reliability"],
            history=pd.read_csv(folder / "history.csv"),
            status=FitStatus[description["status"]],
            seconds=float(description["seconds"]),
            verdicts=judge_sensors(
                request.problem, request.readings, annotated["predicted"], request.method.false_alarms
            ),
            notes=tuple(map(str, description.get("notes", ()))),
            uncertainty=_uncertainty(folder / CERTAINTY, description, request.method, model),
            profiles=restored_profiles(description.get("profiles", {})),
            lacks_a_term=description.get("lacks_a_term") is True,
            discrepancy=restored_discrepancy(description.get("discrepancy")),
            held_out=_held_out(description.get("held_out"), len(request.readings)),
        )
    except (OSError, KeyError, TypeError, ValueError, AttributeError):
        raise InputError(f"{folder} is not a complete run: its files do not belong together.") from None


def _check_model(folder: Path) -> None:
    """Refuse a model file that is missing or torn before the settings of a network import JAX."""
    try:
        with saved_arrays(folder / MODEL):
            pass
    except (OSError, KeyError, TypeError, ValueError, AttributeError):
        raise InputError(f"{folder} is not a complete run: its files do not belong together.") from None


def _held_out(numbers: Any, count: int) -> np.ndarray | None:
    """Which of so many readings were held out, from their numbers as `describe` writes them."""
    if numbers is None:
        return None
    found, chosen = np.zeros(count, bool), [int(number) for number in str(numbers).split()]
    if not all(0 <= number < count for number in chosen):
        raise ValueError("no such reading")
    found[chosen] = True
    return found


def _uncertainty(path: Path, description: dict[str, Any], method: Recipe, model: FittedModel) -> Uncertainty | None:
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
    return Uncertainty(
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


def _annotations(table: pd.DataFrame, readings: Readings) -> dict[str, np.ndarray]:
    found = {}
    for name in ("predicted", "reliability"):
        wanted = readings.added_columns(name)
        if not set(wanted) <= set(table.columns):
            raise InputError(
                f"{readings.source}: the run's {READINGS} has no column '{wanted[0]}', so the run is incomplete."
            )
        columns = table[wanted].apply(pd.to_numeric, errors="coerce")
        found[name] = columns.to_numpy(dtype=float)[readings.rows, readings.label_index]
    found["predicted"] = readings.converted(found["predicted"], Conversion.inward)
    return found


def field_grid(result: FitResult) -> Any:
    """A grid fine enough to look at: about 200,000 nodes whatever the number of coordinates."""
    dimensions = len(result.problem.coordinates)
    return result.grid({1: 1001, 2: 301, 3: 61}.get(dimensions, 17))
