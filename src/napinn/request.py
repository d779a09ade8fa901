"""What a fit is asked for: everything that its numbers depend on, on disk and as one digest.

Written to the run folder before the first step (`request.json`, `readings.csv`, `tables.npz`), so that a fit that was
killed can be taken up, and a finished one repeated, from its folder alone. Of more than a million rows a table is kept
as `readings.parquet`: text of that size is slow to write and takes gigabytes to read."""

import contextlib
import functools
import hashlib
import io
import json
import math
import os
import re
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from napinn.errors import InputError
from napinn.io import csv_text, npz_shapes, read_csv, read_parquet
from napinn.io.sizes import check_count
from napinn.io.whole import whole, write_whole
from napinn.problem import Problem, Unknown
from napinn.readings import Clock, Columns, Readings, read_table
from napinn.recipe import Recipe, decode_method
from napinn.settings import decode, encode
from napinn.tables import Table

REQUEST, READINGS, TABLES = "request.json", "readings.csv", "tables.npz"
MANY_READINGS = "readings.parquet"
MOST_IN_TEXT = 1_000_000
"""Rows of a table beyond which it is not kept as text."""
FORMAT = 2
LARGEST_JSON = 64 * 2**20


@dataclass(frozen=True, eq=False)
class Request:
    problem: Problem
    readings: Readings
    method: Recipe
    seed: int = 0

    def settings(self) -> dict[str, Any]:
        """The request in plain values, but for the tables."""
        return {
            "readings": {"source": self.readings.source, "columns": encode(self.readings.columns)},
            "seed": self.seed,
            "problem": problem_settings(self.problem),
            "method": encode(self.method),
        }

    def digest(self) -> str:
        """The same for two requests whose fits give the same numbers, and different for any others."""
        readings = self.readings
        settings = {**self.settings(), "readings": [*readings.coordinates, *readings.fields]}
        found = hashlib.sha256(json.dumps(settings, sort_keys=True).encode())
        if not all(isinstance(source, str) for source in self.problem.equations):
            found.update(_traced(self.problem).encode())
        known = {"points": readings.points, "field": readings.field_index, "values": readings.values}
        known |= {} if readings.spread is None else {"spread": readings.spread}
        known["sensor"] = readings.numbered_sensors[0]
        for name, array in {**known, **_table_arrays(self.problem.tables)}.items():
            found.update(f"{name}{array.shape}".encode())
            found.update(np.ascontiguousarray(array, float).data)
        return found.hexdigest()


def _traced(problem: Problem) -> str:
    """What the equations compute, as JAX notes it down: of a function the name alone would say too little."""
    # Only Python functions are traced, and these need JAX in any case.
    import jax

    points = jax.ShapeDtypeStruct((1, len(problem.coordinates)), np.float32)
    fields = jax.ShapeDtypeStruct((1, len(problem.outputs)), np.float32)
    unknowns = {name: jax.ShapeDtypeStruct((), np.float32) for name in problem.unknowns}
    left_over = functools.partial(problem.left_over, problem.system)
    noted = jax.make_jaxpr(left_over)(points, dict.fromkeys(problem.wanted, fields), unknowns)
    return re.sub(r"0x[0-9a-f]+", "", str(noted))


@dataclass(frozen=True)
class Wishes:
    """What is asked for beside the fit itself; it changes none of its numbers, so no digest holds it."""

    seeds: int = 1
    intervals: bool = False
    logs: tuple[str, ...] = ()
    inputs: tuple[str, ...] = ()
    """The files that were read, as seen from the run folder; no command of this run replaces them."""


def write_request(request: Request, folder: Path, wishes: Wishes | None = None) -> None:
    write_tables(request.problem, folder)
    write_readings(request.readings.table, folder)
    asked = {"format": FORMAT, **request.settings(), "wishes": encode(wishes or Wishes())}
    # Last, so that a folder with a request.json can be resumed.
    write_whole(folder / REQUEST, as_json(asked))


def read_wishes(folder: Path) -> Wishes:
    """What was asked for beside the fit; a folder that does not say so asks for nothing."""
    settings = read_settings(folder / REQUEST) if (folder / REQUEST).exists() else {}
    if "wishes" not in settings:
        return Wishes()
    try:
        found: Wishes = decode(settings["wishes"], {"Wishes": Wishes})
        return Wishes(
            int(found.seeds), bool(found.intervals), *(tuple(map(str, each)) for each in (found.logs, found.inputs))
        )
    except (KeyError, TypeError, AttributeError, ValueError):
        raise InputError(f"{folder / REQUEST}: its wishes are not those of a fit.") from None


def write_readings(table: pd.DataFrame, folder: Path) -> None:
    text, many = folder / READINGS, folder / MANY_READINGS
    if len(table) > MOST_IN_TEXT and _written_as_parquet(table, many):
        text.unlink(missing_ok=True)
        return
    write_whole(text, csv_text(table))
    # Of an earlier run in the same folder, and it would be read in place of the text.
    many.unlink(missing_ok=True)


def _written_as_parquet(table: pd.DataFrame, path: Path) -> bool:
    """Write the table, and say so, unless a column holds numbers and words, which only text can."""
    with contextlib.suppress(pa.ArrowException), whole(path) as beside:
        table.to_parquet(beside, index=False)
        return True
    return False


def read_readings(folder: Path) -> pd.DataFrame:
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
    return request_of(read_settings(folder / names[0]), folder, read_readings(folder), problem)


def request_of(settings: Mapping[str, Any], folder: Path, table: pd.DataFrame, problem: Problem | None) -> Request:
    try:
        problem = problem or _problem(settings["problem"], folder)
        columns = decode(settings["readings"]["columns"], {"Columns": Columns, "Clock": Clock})
        if not isinstance(columns, Columns):
            raise TypeError("not the columns of a table")
        source, seed = str(settings["readings"]["source"]), int(settings["seed"])
        method = decode_method(settings["method"])
    except (KeyError, TypeError, AttributeError, ValueError, IndexError):
        raise InputError(f"{folder}: its settings do not describe a run.") from None
    readings = read_table(table, tuple(problem.coordinates), problem.fields, columns, source)
    return Request(problem, readings, method, seed)


def read_settings(path: Path) -> dict[str, Any]:
    """A settings file of a run, checked for its size and format."""
    try:
        if path.exists() and not path.is_file():
            raise InputError(f"{path} is not a plain file.")
        if path.stat().st_size > LARGEST_JSON:
            raise InputError(f"{path} is larger than any run of napinn writes it.")
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        check_run(path.parent)
        raise InputError(f"{path.parent} holds no finished run: {path.name} is missing.") from None
    except NotADirectoryError:
        raise InputError(f"{path.parent} is a file; give the run folder.") from None
    except (OSError, ValueError, RecursionError):
        raise InputError(f"{path} cannot be read as JSON.") from None
    if not isinstance(content, dict):
        raise InputError(f"{path} does not describe a run.")
    if content.get("format") != FORMAT:
        raise InputError(
            f"{path.parent} was written in format {content.get('format')}; this napinn reads format {FORMAT}."
        )
    return content


def check_run(folder: Path) -> None:
    """Tell a mistyped name from a folder that holds no run."""
    if not os.path.lexists(folder):
        raise InputError(f"{folder} does not exist; check the path of the run folder.")
    if not folder.is_dir():
        raise InputError(f"{folder} is a file; give the run folder.")


def as_json(content: Mapping[str, Any]) -> str:
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def problem_settings(problem: Problem) -> dict[str, Any]:
    return {
        "name": problem.name,
        "coordinates": {name: list(span) for name, span in problem.coordinates.items()},
        "fields": list(problem.fields),
        "equations": [source if isinstance(source, str) else None for source in problem.equations],
        "shown": problem.show().splitlines(),
        "unknowns": {
            name: {"start": unknown.start, "low": unknown.low, "high": unknown.high}
            for name, unknown in problem.unknowns.items()
        },
        "constants": dict(problem.constants),
        "units": dict(problem.units),
        "hidden": list(problem.hidden),
        "scales": dict(problem.scales),
        "tables": {name: list(table.coordinates) for name, table in problem.tables.items()},
        "conditions": list(problem.conditions),
        "periodic": list(problem.periodic),
    }


def _problem(settings: dict[str, Any], folder: Path) -> Problem:
    if any(source is None for source in settings["equations"]):
        raise InputError(
            f"{folder} was fitted with an equation given as a Python function; pass it again as load(…, problem=…)."
        )
    return Problem(
        coordinates={name: (span[0], span[1]) for name, span in settings["coordinates"].items()},
        fields=tuple(settings["fields"]),
        equations=tuple(settings["equations"]),
        unknowns={name: Unknown(**entry) for name, entry in settings["unknowns"].items()},
        constants=settings["constants"],
        units=settings["units"],
        name=settings["name"],
        hidden=tuple(settings["hidden"]),
        scales=settings["scales"],
        tables=_tables(settings["tables"], folder / TABLES),
        conditions=tuple(settings["conditions"]),
        periodic=tuple(settings["periodic"]),
    )


def _table_arrays(tables: Mapping[str, Table]) -> dict[str, Any]:
    arrays = {f"{name}.values": table.values for name, table in tables.items()}
    axes = {f"{name}.axis{i}": axis for name, table in tables.items() for i, axis in enumerate(table.axes)}
    return arrays | axes


def write_tables(problem: Problem, folder: Path) -> None:
    if problem.tables:
        content = io.BytesIO()
        arrays: dict[str, Any] = _table_arrays(problem.tables)
        np.savez(content, **arrays)
        write_whole(folder / TABLES, content.getvalue())


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
