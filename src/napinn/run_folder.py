"""A run on disk: written once, read back without pickle.

Arrays are stored by the path of their leaf in the tree that the settings rebuild, so a file can only fill in numbers:
it cannot choose a class, a shape or a path."""

import json
import platform
import shutil
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd

from napinn.errors import InputError
from napinn.fitting import blank_frame, initial, judged
from napinn.io import read_csv
from napinn.loggers import LIVE_FILES, PROGRESS
from napinn.methods import SETTINGS
from napinn.objective import Law, Learned
from napinn.problem import Problem, Unknown
from napinn.readings import Clock, Columns, Readings, read_table
from napinn.result import FitResult, FitStatus
from napinn.settings import decode, encode
from napinn.tables import Table
from napinn.training import Method

FORMAT = 2
PACKAGES = ("napinn", "jax", "jaxlib", "equinox", "optax", "numpy")


def prepare(folder: Path, overwrite: bool, whole: str = "result.json") -> None:
    """Make the folder before any training, so that a refusal costs nothing; the file `whole` marks it as ours."""
    if folder.exists():
        if not folder.is_dir():
            raise InputError(f"{folder} is a file; name a folder for the run.")
        if any(folder.iterdir()):
            if not overwrite:
                raise InputError(f"{folder} already exists and is not empty; choose another name or add --overwrite.")
            if not ((folder / whole).exists() or _only_begun(folder)):
                raise InputError(f"{folder} is not a run of napinn, so it is not overwritten; choose another name.")
            shutil.rmtree(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder} cannot be made: {error.strerror}.") from None


def _only_begun(folder: Path) -> bool:
    """Whether a folder holds the sign of a running fit and nothing but what such a fit writes: one that was killed."""
    found = {path.name for path in folder.iterdir()}
    return PROGRESS in found and found <= LIVE_FILES


def save(result: FitResult, folder: Path | str) -> None:
    """Everything that `load` needs, and the tables and field that people want."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    arrays: dict[str, Any] = _leaves((result.learned, result.law))
    np.savez(folder / "model.npz", **arrays)
    if result.problem.tables:
        np.savez(folder / "tables.npz", **_table_arrays(result.problem.tables))
    table = result.readings_table()
    table.to_csv(folder / "readings.csv", index=False)
    result.sensors_table().to_csv(folder / "sensors.csv")
    result.history.to_csv(folder / "history.csv", index=False)
    field_grid(result).to_netcdf(folder / "field.nc", engine="h5netcdf")
    # Last, so that a folder with a result.json is whole.
    text = json.dumps(describe(result), indent=2, ensure_ascii=False)
    (folder / "result.json").write_text(text + "\n", encoding="utf-8")
    (folder / PROGRESS).unlink(missing_ok=True)


def load(folder: Path | str, problem: Problem | None = None) -> FitResult:
    """A saved run. `problem` is needed only where an equation was a Python function, which no file can hold."""
    folder = Path(folder)
    description = _read_json(folder / "result.json")
    if description.get("format") != FORMAT:
        raise InputError(
            f"{folder} was written in format {description.get('format')}; this napinn reads format {FORMAT}."
        )
    problem = problem or _problem(description["problem"], folder)
    method: Method = decode(description["method"], SETTINGS)
    table = read_csv(folder / "readings.csv")
    readings = _readings(description["readings"], problem, table)
    annotated = _annotations(table, readings)
    with jax.enable_x64(method.double):
        learned, law = _restore(folder / "model.npz", problem, method, description["has_law"])
    return FitResult(
        problem=problem,
        method=method,
        readings=readings,
        seed=description["seed"],
        learned=learned,
        law=law,
        unknowns=description["unknowns"],
        predicted=annotated["predicted"],
        reliability=annotated["reliability"],
        history=pd.read_csv(folder / "history.csv"),
        status=FitStatus[description["status"]],
        seconds=description["seconds"],
        verdicts=judged(problem, readings, method, annotated["predicted"]),
    )


def describe(result: FitResult) -> dict[str, Any]:
    """The run as one JSON object: what was asked, what came out, and on what it ran."""
    return {
        "format": FORMAT,
        "status": result.status.name,
        "message": result.status.value,
        "unknowns": dict(result.unknowns),
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
        "device": jax.devices()[0].platform,
        "versions": {
            "python": platform.python_version(),
            **{name: metadata.version(name) for name in PACKAGES},
        },
        "problem": _problem_settings(result.problem),
        "method": encode(result.method),
        "has_law": result.law is not None,
    }


def _problem_settings(problem: Problem) -> dict[str, Any]:
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
        tables=_tables(settings["tables"], folder / "tables.npz"),
        conditions=tuple(settings["conditions"]),
        periodic=tuple(settings["periodic"]),
    )


def _table_arrays(tables: Mapping[str, Table]) -> dict[str, Any]:
    arrays = {f"{name}.values": table.values for name, table in tables.items()}
    axes = {f"{name}.axis{i}": axis for name, table in tables.items() for i, axis in enumerate(table.axes)}
    return arrays | axes


def _tables(entries: Mapping[str, list[str]], path: Path) -> dict[str, Table]:
    if not entries:
        return {}
    with np.load(path, allow_pickle=False) as archive:
        return {
            name: Table(
                tuple(names), tuple(archive[f"{name}.axis{i}"] for i in range(len(names))), archive[f"{name}.values"]
            )
            for name, names in entries.items()
        }


def _readings(settings: dict[str, Any], problem: Problem, table: pd.DataFrame) -> Readings:
    columns: Columns = decode(settings["columns"], {"Columns": Columns, "Clock": Clock})
    return read_table(table, tuple(problem.coordinates), problem.fields, columns, settings["source"])


def _annotations(table: pd.DataFrame, readings: Readings) -> dict[str, np.ndarray]:
    found = {}
    for name in ("predicted", "reliability"):
        columns = table[readings.added_columns(name)].apply(pd.to_numeric, errors="coerce")
        found[name] = columns.to_numpy(dtype=float)[readings.rows, readings.label_index]
    return found


def _restore(path: Path, problem: Problem, method: Method, has_law: bool) -> tuple[Learned, Law | None]:
    dtype = jnp.dtype(jnp.float64 if method.double else jnp.float32)
    key = jax.random.key(0)
    frame = blank_frame(problem, dtype)

    def blank() -> tuple[Learned, Law | None]:
        law = None
        if has_law and method.gating is not None:
            ends, fields = jnp.asarray([-1.0, 1.0], dtype), len(problem.fields)
            standard = method.gating.scale.measure(ends, jnp.zeros((2,), jnp.int32), fields)
            law = Law(method.gating.density.init(key, ends), standard, jnp.zeros((), dtype))
        return initial(problem, method, frame, key), law

    # Only shapes are needed: every number comes from the file.
    skeleton = eqx.filter_eval_shape(blank)
    with np.load(path, allow_pickle=False) as archive:
        return _fill(skeleton, {name: archive[name] for name in archive.files}, path)


def _leaves(tree: Any) -> dict[str, np.ndarray]:
    flat, _ = jax.tree_util.tree_flatten_with_path(eqx.filter(tree, eqx.is_array))
    return {jax.tree_util.keystr(path): np.asarray(leaf) for path, leaf in flat}


def _fill(tree: Any, arrays: dict[str, np.ndarray], source: Path) -> Any:
    def replace(path: Any, leaf: Any) -> Any:
        if not isinstance(leaf, jax.ShapeDtypeStruct):
            return leaf
        name = jax.tree_util.keystr(path)
        if name not in arrays or arrays[name].shape != leaf.shape:
            raise InputError(f"{source} does not match the settings in result.json (array '{name}').")
        return jnp.asarray(arrays[name], leaf.dtype)

    return jax.tree_util.tree_map_with_path(replace, tree)


def field_grid(result: FitResult) -> Any:
    """A grid fine enough to look at: about 200,000 nodes whatever the number of coordinates."""
    dimensions = len(result.problem.coordinates)
    return result.grid({1: 1001, 2: 301, 3: 61}.get(dimensions, 17))


def _read_json(path: Path) -> dict[str, Any]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"{path.parent} holds no finished run: {path.name} is missing.") from None
    except (OSError, ValueError):
        raise InputError(f"{path} cannot be read as JSON.") from None
    if not isinstance(content, dict):
        raise InputError(f"{path} does not describe a run.")
    return content
