"""The commands of the group "Look": a finished run as report, figure, table or page.

Each function holds the arguments of a command, and imports what runs it when it is first needed: `--help` is quick, and
wrong words, missing files and bad tables are refused before anything that fits is loaded.
"""

from pathlib import Path
from typing import Annotated

import typer

from napinn.cli.commands import command
from napinn.cli.options import FieldName, Flags, Json, NoOpen, Port, Replace, Run
from napinn.data.paths import TABLE_FILES
from napinn.errors import InputError
from napinn.storage.json_files import check_finished
from napinn.storage.outputs import output, read_by


@command
def watch(
    run: Annotated[Path, typer.Argument(help="Run folder of a fit that runs or is finished.")],
    port: Port = 0,
    no_open: NoOpen = False,
) -> None:
    """Follow a fit in the browser while it runs; only this machine can see the page. Ctrl-C ends it."""
    from napinn.cli.watching import watch_command

    watch_command(run, port, no_open)


@command
def report(
    run: Run,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="HTML file; default RUN/report.html.")] = None,
    overwrite: Replace = False,
    json: Json = False,
) -> None:
    """Write the report of a finished run again: one HTML file, to be opened from disk or sent by mail."""
    check_finished(run)
    from napinn.cli.showing import report_command

    report_command(run, out, overwrite, json)


@command
def plot(
    run: Run,
    out: Annotated[Path, typer.Option("--out", "-o", help="File to write: .png, .pdf or .svg.")],
    what: Annotated[
        str,
        typer.Option(
            help="field, noise, gate, sensors, history, parameters, unknowns, profile, correlation or discrepancy."
        ),
    ] = "field",
    field: FieldName = None,
    overwrite: Replace = False,
    json: Json = False,
) -> None:
    """Draw one figure of a finished run, for a paper: it survives greyscale printing."""
    check_finished(run)
    from napinn.cli.showing import plot_command

    plot_command(run, what, field, out, overwrite, json)


@command
def animate(
    run: Run,
    out: Annotated[Path, typer.Option("--out", "-o", help="File to write: .gif, or .mp4 where ffmpeg is installed.")],
    field: FieldName = None,
    overwrite: Replace = False,
    json: Json = False,
) -> None:
    """The field of a finished run through time, with its readings."""
    check_finished(run)
    from napinn.cli.showing import animate_command

    animate_command(run, field, out, overwrite, json)


@command
def predict(
    run: Annotated[Path, typer.Argument(help="Folder of a finished run.")],
    at: Annotated[Path | None, typer.Option("--at", help="Points: a table with a column per coordinate.")] = None,
    grid: Annotated[int | None, typer.Option("--grid", help="Nodes of a grid along every coordinate.", min=2)] = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="A .csv, .tsv, .parquet or .nc file.")] = Path(
        "predicted.csv"
    ),
    overwrite: Replace = False,
    json: Json = False,
) -> None:
    """Write the fitted field, hidden fields included, at any points or on a grid."""
    if (at is None) == (grid is None):
        raise InputError("give either --at POINTS or --grid NODES, and not both.")
    check_finished(run)
    file = output(out, TABLE_FILES, overwrite=overwrite, reads=[*read_by(run), *([at] if at is not None else [])])
    from napinn.cli.predicting import predict_command

    predict_command(run, at, grid, file, json)


@command
def export(
    run: Run,
    what: Annotated[str, typer.Option(help="field, model or readings.")],
    out: Annotated[
        Path,
        typer.Option(
            "--out",
            "-o",
            help="A field takes .nc, a model .stablehlo, readings .parquet, .csv or .nc.",
        ),
    ],
    flags: Flags = None,
    overwrite: Replace = False,
    json: Json = False,
) -> None:
    """Field, network or readings of a finished run in a form that other tools open."""
    check_finished(run)
    from napinn.cli.showing import export_command

    export_command(run, what, flags, out, overwrite, json)
