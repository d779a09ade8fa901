"""What a fit is asked for: everything that its numbers depend on, and the digest of it."""

import functools
import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from napinn.data.readings import Readings
from napinn.errors import InputError
from napinn.problem import Problem, Unknown
from napinn.problem.file.binding import check_in_box
from napinn.problem.precision import beyond_single
from napinn.problem.tables import Table
from napinn.results.intervals import FEWEST_READINGS
from napinn.results.recipe import Recipe
from napinn.storage.settings import encode


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
        known |= {"group": readings.group_index} if len(readings.groups) > 1 else {}
        for name, array in {**known, **table_arrays(self.problem.tables)}.items():
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
    residual_values = functools.partial(problem.residual_values, problem.system)
    noted = jax.make_jaxpr(residual_values)(points, dict.fromkeys(problem.wanted, fields), unknowns)
    return re.sub(r"0x[0-9a-f]+", "", str(noted))


def problem_settings(problem: Problem) -> dict[str, Any]:
    return {
        "name": problem.name,
        "coordinates": {name: list(span) for name, span in problem.coordinates.items()},
        "fields": list(problem.fields),
        "equations": [source if isinstance(source, str) else None for source in problem.equations],
        "shown": problem.show().splitlines(),
        "unknowns": {name: unknown_settings(unknown) for name, unknown in problem.unknowns.items()},
        "constants": dict(problem.constants),
        "units": dict(problem.units),
        **({"own_units": list(problem.own_units)} if problem.own_units else {}),
        "hidden": list(problem.hidden),
        "scales": dict(problem.scales),
        "tables": {name: list(table.coordinates) for name, table in problem.tables.items()},
        "conditions": list(problem.conditions),
        "periodic": list(problem.periodic),
        **({"varying": {name: encode(each) for name, each in problem.varying.items()}} if problem.varying else {}),
        **({"observables": dict(problem.observables)} if problem.observables else {}),
        **({"experiments": _experiment_settings(problem)} if problem.experiments else {}),
    }


def _experiment_settings(problem: Problem) -> dict[str, Any]:
    return {
        name: {"constants": dict(each.constants), "ranges": {axis: list(span) for axis, span in each.ranges.items()}}
        for name, each in problem.experiments.items()
    }


def unknown_settings(unknown: Unknown) -> dict[str, Any]:
    """An unknown in plain values; what is not given has no entry, so that digests of earlier runs still hold."""
    entries: dict[str, Any] = {"start": unknown.start, "low": unknown.low, "high": unknown.high}
    entries |= {} if unknown.prior is None else {"prior": str(unknown.prior)}
    return entries | ({"log": True} if unknown.log else {})


def table_arrays(tables: Mapping[str, Table]) -> dict[str, Any]:
    arrays = {f"{name}.values": table.values for name, table in tables.items()}
    axes = {f"{name}.axis{i}": axis for name, table in tables.items() for i, axis in enumerate(table.axes)}
    return arrays | axes


def check_enough_for_intervals(readings: Readings) -> None:
    """Refuse readings that are too few for intervals, before any training.

    :param readings: Those of the fit."""
    if len(readings) < FEWEST_READINGS:
        raise InputError(
            f"{readings.source} holds {len(readings)} reading(s), and intervals need {FEWEST_READINGS}: "
            "one has to be left out at a time."
        )


def check_readings(problem: Problem, readings: Readings, double: bool = False) -> None:
    """Whether these readings can be fitted, in this precision."""
    for kind, found, wanted in (
        ("coordinates", readings.coordinates, tuple(problem.coordinates)),
        ("fields", readings.fields, problem.fields),
    ):
        if found != wanted:
            raise InputError(
                f"the readings are of other {kind} than the problem's: {', '.join(found)} and not {', '.join(wanted)}."
                + (" A field that no reading has belongs to 'hidden'." if kind == "fields" else "")
            )
    check_in_box(readings, problem)
    if not double:
        check_single_precision(problem, readings)


def check_single_precision(problem: Problem, readings: Readings) -> None:
    """Raises `InputError` where single precision cannot hold the coordinates or values of these readings."""
    for sentence in beyond_single(problem, readings):
        raise InputError(f"{readings.source}: {sentence}")
