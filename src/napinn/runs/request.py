"""The request of a fit on disk.

Written to the run folder before the first step (`request.json`, `readings.csv`, `tables.npz`), so that a fit that was
killed can be resumed, and a finished one repeated, from its folder alone. Of more than a million rows a table is kept
as `readings.parquet`: text of that size is slow to write and takes gigabytes to read."""

import contextlib
import io
import math
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from napinn.data.flags import scheme_named
from napinn.data.formats import csv_text, npz_shapes, read_csv, read_parquet
from napinn.data.formats.sizes import check_count
from napinn.data.readings import Clock, Columns, Conversion
from napinn.engines.request import Request, table_arrays
from napinn.errors import InputError
from napinn.problem import Problem, Unknown
from napinn.problem.experiment import Experiment
from napinn.problem.file.binding import readings_for
from napinn.problem.prior import read_prior
from napinn.problem.tables import Table
from napinn.problem.varying import VaryingUnknown
from napinn.results.recipe import decode_method
from napinn.storage.atomic import atomic_path, write_atomic
from napinn.storage.json_files import FORMAT, REQUEST, as_json, check_run, read_settings
from napinn.storage.settings import decode, encode

READINGS, TABLES = "readings.csv", "tables.npz"
MANY_READINGS = "readings.parquet"
MOST_IN_TEXT = 1_000_000
"""Rows of a table beyond which it is not kept as text."""


@dataclass(frozen=True)
class RunExtras:
    """Options of a run beside the fit itself. They change none of its numbers, so no digest contains them.

    In files the class and the entry are called `Wishes` and `wishes`."""

    seeds: int = 1
    intervals: bool = False
    logs: tuple[str, ...] = ()
    inputs: tuple[str, ...] = ()
    """The files that were read, as seen from the run folder; no command of this run replaces them."""
    flags: str | None = None
    """The scheme of the quality flags in the tables of the run."""
    profile: bool = False
    """Whether to add the profile likelihood of the unknowns."""
    discrepancy: bool = False
    """Whether to try a source term in each equation."""


def write_request(request: Request, folder: Path, extras: RunExtras | None = None) -> None:
    write_tables(request.problem, folder)
    write_readings(request.readings.table, folder)
    content = {"format": FORMAT, **request.settings(), "wishes": encode(extras or RunExtras())}
    # Last, so that a folder with a request.json can be resumed.
    write_atomic(folder / REQUEST, as_json(content))


def read_extras(folder: Path) -> RunExtras:
    """The options of a run beside the fit; the defaults where the folder has none."""
    settings = read_settings(folder / REQUEST) if (folder / REQUEST).exists() else {}
    if "wishes" not in settings:
        return RunExtras()
    try:
        found: RunExtras = decode(settings["wishes"], {"Wishes": RunExtras})
        flags = None if found.flags is None else scheme_named(str(found.flags)).name
        logs, inputs = (tuple(map(str, each)) for each in (found.logs, found.inputs))
        content = bool(found.profile), bool(found.discrepancy)
        return RunExtras(int(found.seeds), bool(found.intervals), logs, inputs, flags, *content)
    except (KeyError, TypeError, AttributeError, ValueError):
        raise InputError(f"{folder / REQUEST}: its entry 'wishes' is not that of a fit.") from None


def write_readings(table: pd.DataFrame, folder: Path) -> None:
    text, many = folder / READINGS, folder / MANY_READINGS
    if len(table) > MOST_IN_TEXT and _written_as_parquet(table, many):
        text.unlink(missing_ok=True)
        return
    write_atomic(text, csv_text(table))
    # Of an earlier run in the same folder, and it would be read in place of the text.
    many.unlink(missing_ok=True)


def _written_as_parquet(table: pd.DataFrame, path: Path) -> bool:
    """Write the table, and say so, unless a column holds numbers and words, which only text can."""
    with contextlib.suppress(pa.ArrowException), atomic_path(path) as beside:
        table.to_parquet(beside, index=False)
        return True
    return False


def read_saved_readings(folder: Path) -> pd.DataFrame:
    """The table of a run, as text or as Parquet."""
    many = folder / MANY_READINGS
    return read_parquet(many) if many.exists() else read_csv(folder / READINGS)


def read_request(folder: Path, problem: Problem | None = None) -> Request:
    """The request of a run that is finished or was only begun. `problem` is needed only where an equation was a Python
    function, which no file can hold."""
    # What was asked first: a result also holds what the readings made of the method.
    names = [name for name in (REQUEST, "result.json") if (folder / name).exists()]
    if not names:
        check_run(folder)
        raise InputError(f"{folder} is not the folder of a run: it has neither result.json nor {REQUEST}.")
    return request_of(read_settings(folder / names[0]), folder, read_saved_readings(folder), problem)


def request_of(settings: Mapping[str, Any], folder: Path, table: pd.DataFrame, problem: Problem | None) -> Request:
    try:
        converted = "conversions" in settings["readings"]["columns"]
        problem = problem or _problem(settings["problem"], folder, converted)
        columns = decode(
            settings["readings"]["columns"], {"Columns": Columns, "Clock": Clock, "Conversion": Conversion}
        )
        if not isinstance(columns, Columns):
            raise TypeError("not the columns of a table")
        source, seed = str(settings["readings"]["source"]), int(settings["seed"])
        method = decode_method(settings["method"])
    except (KeyError, TypeError, AttributeError, ValueError, IndexError):
        raise InputError(f"{folder}: its settings do not describe a run.") from None
    readings = readings_for(problem, table, columns, source)
    return Request(problem, readings, method, seed)


def _unknown(entry: Mapping[str, Any]) -> Unknown:
    prior = entry.get("prior")
    known = {key: value for key, value in entry.items() if key != "prior"}
    return Unknown(**known, prior=None if prior is None else read_prior(prior))


def _varying(entry: Mapping[str, Any]) -> VaryingUnknown:
    found = decode(entry, {"VaryingUnknown": VaryingUnknown})
    if not isinstance(found, VaryingUnknown):
        raise TypeError("not an unknown that varies")
    return found


def _problem(settings: dict[str, Any], folder: Path, converted: bool) -> Problem:
    """The problem of a run. To runs of versions that converted nothing, units were labels: these have none today if
    their units are not known, or would convert anything."""
    if converted or not settings["units"]:
        return _described(settings, folder)
    try:
        found = _described(settings, folder)
    except InputError:
        found = None
    return (
        found
        if found is not None and not found.dimensions.conversions
        else _described({**settings, "units": {}}, folder)
    )


def _described(settings: dict[str, Any], folder: Path) -> Problem:
    if any(source is None for source in settings["equations"]):
        raise InputError(
            f"{folder} was fitted with an equation given as a Python function; pass it again as load(…, problem=…)."
        )
    return Problem(
        coordinates={name: (span[0], span[1]) for name, span in settings["coordinates"].items()},
        fields=tuple(settings["fields"]),
        equations=tuple(settings["equations"]),
        unknowns={name: _unknown(entry) for name, entry in settings["unknowns"].items()},
        constants=settings["constants"],
        units=settings["units"],
        name=settings["name"],
        hidden=tuple(settings["hidden"]),
        scales=settings["scales"],
        tables=_tables(settings["tables"], folder / TABLES),
        conditions=tuple(settings["conditions"]),
        periodic=tuple(settings["periodic"]),
        observables=settings.get("observables", {}),
        experiments={
            name: Experiment(
                {constant: float(value) for constant, value in each["constants"].items()},
                {axis: (float(low), float(high)) for axis, (low, high) in each["ranges"].items()},
            )
            for name, each in settings.get("experiments", {}).items()
        },
        varying={name: _varying(entry) for name, entry in settings.get("varying", {}).items()},
        own_units=tuple(map(str, settings.get("own_units", ()))),
    )


def write_tables(problem: Problem, folder: Path) -> None:
    if problem.tables:
        content = io.BytesIO()
        arrays: dict[str, Any] = table_arrays(problem.tables)
        np.savez(content, **arrays)
        write_atomic(folder / TABLES, content.getvalue())


def _tables(entries: Mapping[str, list[str]], path: Path) -> dict[str, Table]:
    if not entries:
        return {}
    try:
        check_count(path, sum(math.prod(shape) for shape in npz_shapes(path).values()))
        with np.load(path, allow_pickle=False) as archive:
            return {
                name: Table(
                    tuple(names),
                    tuple(archive[f"{name}.axis{i}"] for i in range(len(names))),
                    archive[f"{name}.values"],
                )
                for name, names in entries.items()
            }
    except (OSError, ValueError, KeyError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error):
        raise InputError(f"{path} does not hold the tables of the problem.") from None
