"""A fit as one JSON object: what was asked for, what came out, and on what it ran."""

import platform
from importlib import metadata
from typing import Any

import numpy as np

from napinn.engines.base import backend_of
from napinn.engines.request import problem_settings
from napinn.results.discrepancy import described as described_discrepancy
from napinn.results.intervals import Uncertainty
from napinn.results.profiles import described
from napinn.results.result import FitResult
from napinn.storage.json_files import FORMAT
from napinn.storage.settings import encode

PACKAGES = ("napinn", "jax", "jaxlib", "equinox", "optax", "numpy")


def describe(result: FitResult) -> dict[str, Any]:
    """The run as one JSON object: what was asked, what came out, and on what it ran."""
    return {
        "format": FORMAT,
        "status": result.status.name,
        "message": result.status.value,
        "notes": list(result.notes),
        **({"lacks_a_term": True} if result.lacks_a_term else {}),
        "unknowns": dict(result.unknowns),
        **({"units": _units(result)} if result.problem.units else {}),
        **({} if result.uncertainty is None else _described_uncertainty(result.uncertainty)),
        **({"profiles": described(result.profiles)} if result.profiles else {}),
        **({} if result.discrepancy is None else {"discrepancy": described_discrepancy(result.discrepancy)}),
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
        **({} if result.held_out is None else {"held_out": " ".join(map(str, np.flatnonzero(result.held_out)))}),
    }


def _units(result: FitResult) -> dict[str, str]:
    """The unit of every name that has one, given or derived."""
    problem = result.problem
    names = (*problem.coordinates, *problem.outputs, *problem.unknowns, *problem.varying, *problem.constants)
    return {name: unit for name in names if (unit := problem.unit_of(name))}


def _described_uncertainty(uncertainty: Uncertainty) -> dict[str, Any]:
    """Intervals in plain values; an open end, which JSON has no number for, is null."""
    bounds = {name: vars(interval) for name, interval in uncertainty.intervals.items()}
    entries: dict[str, Any] = {
        "intervals": {name: {key: _plain(x) for key, x in each.items()} for name, each in bounds.items()},
        "intervals_from": uncertainty.source,
    }
    if uncertainty.correlation is not None:
        entries["correlation"] = [[_plain(x) for x in row] for row in uncertainty.correlation]
    if uncertainty.undetermined:
        entries["undetermined"] = list(uncertainty.undetermined)
    return entries


def _plain(number: float) -> float | None:
    return float(number) if np.isfinite(number) else None


def versions() -> dict[str, str]:
    return {"python": platform.python_version(), **{name: metadata.version(name) for name in PACKAGES}}
