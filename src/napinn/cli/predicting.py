"""`napinn predict`: the field of a finished run at given points or on a grid."""

import json
from pathlib import Path

from rich.markup import escape

from napinn.cli.console import Console
from napinn.data.formats import read_file, write_table
from napinn.data.formats.sizes import LARGEST_TABLE, check_file
from napinn.data.readings import with_numbers
from napinn.errors import InputError
from napinn.results.prediction import coordinates_of, outside_box, predict
from napinn.runs.folder import load
from napinn.storage.outputs import Output


def predict_command(run: Path, at: Path | None, grid: int | None, file: Output, as_json: bool) -> None:
    if at is not None:
        # Before the run is loaded, because its network may have to import JAX.
        check_file(at, "table")
    result = load(run)
    beyond = 0
    if at is not None:
        problem, columns = result.problem, result.readings.columns
        wanted = {columns.of(name) for name in problem.coordinates}
        points = with_numbers(read_file(at, wanted).table, columns, (*problem.coordinates, *problem.outputs))
        beyond = outside_box(result, coordinates_of(result, points, str(at)))
        found = predict(result, points, str(at))
        count = len(found)
    else:
        count = (grid or 0) ** len(result.problem.coordinates)
        if count * len(result.problem.outputs) > LARGEST_TABLE:
            raise InputError(f"a grid of {grid} nodes along every coordinate has {count:.3g} points; use fewer.")
        found = result.grid(grid or 0)
    file.write(lambda beside: write_table(found, beside))
    units = {name: unit for name in result.problem.outputs if (unit := result.problem.unit_of(name))}
    summary = {"file": str(file.path), "points": count, "fields": list(result.problem.outputs), "outside": beyond}
    summary |= {"units": units} if units else {}
    if as_json:
        print(json.dumps(summary))  # noqa: T201
        return
    console = Console()
    named = ", ".join(f"{name} [{units[name]}]" if name in units else name for name in result.problem.outputs)
    console.print(escape(f"{count} points of {named}: {file.path}"), highlight=False, soft_wrap=True)
    if beyond:
        console.print(
            f"{beyond} of them lie outside the problem's box, where nothing was learned.",
            style="yellow",
            soft_wrap=True,
        )
