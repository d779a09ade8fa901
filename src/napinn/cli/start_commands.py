"""The commands of the group "Start here": from a table of readings to a fit.

Each function holds the arguments of a command, and imports what runs it when it is first needed: `--help` is quick, and
wrong words, missing files and bad tables are refused before anything that fits is loaded.
"""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from napinn.cli.commands import EXTRAS, METHOD, command
from napinn.cli.console import Console
from napinn.cli.options import (
    Conditions,
    Constants,
    Equations,
    Every,
    Flags,
    Json,
    NoOpen,
    Overwrite,
    Periodic,
    ProblemFile,
    Quiet,
    Replace,
    Seed,
    Steps,
    Unknowns,
    Verbose,
)
from napinn.data.paths import PROBLEM_FILES, check_exist
from napinn.errors import InputError
from napinn.storage.folders import check_folder
from napinn.storage.json_files import check_resumable
from napinn.storage.outputs import output


@command
def demo(
    steps: Steps = None,
    full: Annotated[
        bool, typer.Option("--full", help="Train the networks of the paper for 10,000 steps: about four minutes.")
    ] = False,
    seed: Seed = 0,
    out: Annotated[Path, typer.Option("--out", "-o", help="Run folder of the demonstration.")] = Path("demo-run"),
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """Allen–Cahn with 225 sensors, strange noise and 10 % outliers: the default, naPINN and a plain PINN."""
    check_folder(out, overwrite)
    from napinn.cli.demonstration import demo_command

    raise typer.Exit(demo_command(steps, full, seed, out, overwrite, json))


@partial(command, name="app")
def app_page(
    folder: Annotated[
        Path | None, typer.Option("--folder", help="Where analyses are kept; default napinn-app in your home folder.")
    ] = None,
    port: Annotated[
        int | None, typer.Option(help="Port on this machine; default 8877, or any free one.", min=0, max=65_535)
    ] = None,
    no_open: NoOpen = False,
) -> None:
    """Open a page in the browser: from a file of readings to a report, without a command line. Ctrl-C ends it."""
    from napinn.cli.launching import app_command

    app_command(folder, port, no_open)


@command
def init(
    readings: Annotated[
        Path | None, typer.Argument(help="Table of readings; default the only table in this folder.")
    ] = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="Problem file to write.")] = Path("problem.yaml"),
    overwrite: Replace = False,
) -> None:
    """Propose a problem file from the columns of a table; the equation is yours to correct."""
    check_exist(*([readings] if readings else []))
    from napinn.cli.starting import init_command

    init_command(readings, out, overwrite)


@command
def check(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE",
            help="A problem file, unless -p or -e is given, and readings; each file of readings is an experiment.",
        ),
    ],
    problem: ProblemFile = None,
    equation: Equations = None,
    unknown: Unknowns = None,
    constant: Constants = None,
    condition: Conditions = None,
    periodic: Periodic = None,
    method: Annotated[str | None, typer.Option("--method", "-m", help="Whose time to estimate.")] = None,
    steps: Steps = None,
    time: Annotated[bool, typer.Option("--time/--no-time", help="Try a few steps to estimate the time.")] = True,
    json: Json = False,
) -> None:
    """Say what was understood of a problem and its readings, and what looks wrong, before any training."""
    lists = [tuple(given or ()) for given in (equation, unknown, constant, condition, periodic)]
    named = bool(lists[0]) or problem is not None
    doubled = bool(lists[0]) and any(file.suffix in (".yaml", ".yml") for file in files)
    if doubled or len(files) < (1 if named else 2) or (any(lists) and (not lists[0] or problem is not None)):
        raise InputError("give either a problem file and readings, or readings with --equation and its like.")
    from napinn.cli.choice import Choice

    choice = Choice(method, steps=steps).check()
    check_exist(*files, *([problem] if problem else []))
    from napinn.problem.file import ProblemTexts, read_inputs

    given = ProblemTexts(*lists) if lists[0] else problem or files[0]
    inputs = read_inputs(given, files if named else files[1:], allow_repeats=True)
    from napinn.cli.checking import check_command

    raise typer.Exit(check_command(inputs, choice, time, json))


@command
def fit(
    readings: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE",
            help="A problem file, unless -p or -e is given, and readings (.csv, .tsv, .parquet, .nc, .npz or .mat); "
            "each file of readings is an experiment.",
        ),
    ],
    problem: ProblemFile = None,
    equation: Equations = None,
    unknown: Unknowns = None,
    constant: Constants = None,
    condition: Conditions = None,
    periodic: Periodic = None,
    method: Annotated[
        str | None,
        typer.Option(
            "--method", "-m", help="Default: splines or a network; see `napinn methods`.", rich_help_panel=METHOD
        ),
    ] = None,
    backbone: Annotated[
        str | None, typer.Option("--backbone", help="Network; see `napinn backbones`.", rich_help_panel=METHOD)
    ] = None,
    density: Annotated[
        str | None,
        typer.Option(
            "--density",
            help="Noise law: mixture, kde, cauchy or gaussian of splines; ebm, gmm or kde of a network.",
            rich_help_panel=METHOD,
        ),
    ] = None,
    loss: Annotated[
        str | None,
        typer.Option(
            "--loss", help="Data loss: likelihood, squared, absolute, q_gaussian or huber.", rich_help_panel=METHOD
        ),
    ] = None,
    steps: Steps = None,
    minutes: Annotated[
        float | None, typer.Option(help="Budget of time; the training fits into it.", rich_help_panel=METHOD, min=0.05)
    ] = None,
    seed: Seed = 0,
    seeds: Annotated[
        int, typer.Option(help="Fit from this many seeds and keep the best.", rich_help_panel=EXTRAS, min=1)
    ] = 1,
    intervals: Annotated[
        bool, typer.Option("--intervals", help="Add 95 % intervals and the field's spread.", rich_help_panel=EXTRAS)
    ] = False,
    profile: Annotated[
        bool, typer.Option("--profile", help="Add the profile likelihood of every coefficient.", rich_help_panel=EXTRAS)
    ] = False,
    discrepancy: Annotated[
        bool,
        typer.Option(
            "--discrepancy",
            help="Add a source term to each equation to test whether the equation is wrong.",
            rich_help_panel=EXTRAS,
        ),
    ] = False,
    double: Annotated[bool, typer.Option("--double", help="Compute in float64.", rich_help_panel=METHOD)] = False,
    flags: Flags = None,
    leave_out_bad: Annotated[
        bool, typer.Option("--leave-out-bad", help="Leave out readings that the table's own quality flags call bad.")
    ] = False,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Run folder; default runs/NAME.")] = None,
    overwrite: Overwrite = False,
    log: Annotated[
        list[str] | None,
        typer.Option(metavar="LOGGER", help="Also log to tensorboard or mlflow. Give it again for both."),
    ] = None,
    checkpoint_every: Every = 60.0,
    verbose: Verbose = False,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Fit field, coefficients and noise law to a table of readings; mark unreliable readings; write a report."""
    lists = [tuple(given or ()) for given in (equation, unknown, constant, condition, periodic)]
    if problem is None and readings[0].suffix.lower() in PROBLEM_FILES:
        problem, *readings = readings
    if bool(lists[0]) == (problem is not None) or (problem is not None and any(lists)):
        raise InputError(
            "give either a problem file (--problem, or napinn fit problem.yaml readings.csv), or --equation with "
            "--unknown and its like, and not both."
        )
    if not readings:
        raise InputError(f"{problem} is a problem file; name the table of readings behind it.")
    from napinn.cli.choice import Choice

    choice = Choice(method, backbone, density, loss, steps, double, minutes).check()
    inputs = [*readings, *([problem] if problem else [])]
    check_exist(*inputs)
    if out is not None:
        check_folder(out, overwrite, inputs=inputs)
    from napinn.cli.inputs import read_and_print_notes
    from napinn.problem.file import ProblemTexts

    found = read_and_print_notes(
        problem or ProblemTexts(*lists), readings, Console(stderr=True, quiet=quiet), leave_out_bad
    )
    from napinn.engines.request import check_enough_for_intervals, check_readings
    from napinn.engines.spline_limits import check_splines

    check_readings(found.problem, found.readings, choice.in_double)
    if choice.name == "splines":
        check_splines(found.problem, found.readings)
    if intervals:
        check_enough_for_intervals(found.readings)
    from napinn.cli.fitting import fit_command
    from napinn.cli.running import OutputOptions
    from napinn.runs.pipeline import PipelineOptions

    options = PipelineOptions(
        seeds, intervals, profile, discrepancy, flags, tuple(log or ()), overwrite=overwrite, every=checkpoint_every
    )
    raise typer.Exit(fit_command(found, readings, choice, seed, out, options, OutputOptions(json, verbose, quiet)))


@command
def discover(
    readings: Annotated[Path, typer.Argument(help="Readings: .csv, .tsv, .parquet, .nc, .npz or .mat.")],
    problem: ProblemFile = None,
    left: Annotated[
        list[str] | None,
        typer.Option("--left", help="Derivative that an equation is solved for, as u_t. Give it again for a system."),
    ] = None,
    terms: Annotated[
        list[str] | None,
        typer.Option("--terms", help="Candidates with commas between, for all equations or as 'u_t: u, u*u_x'."),
    ] = None,
    known: Annotated[
        list[str] | None,
        typer.Option("--known", help="Certain part of the right-hand side, as '-u*u_x' or 'u_t: -u*u_x'."),
    ] = None,
    refit_seconds: Annotated[
        float, typer.Option(help="Estimated time that the joint refit may take; 0 leaves it out.", min=0.0)
    ] = 15.0,
    seed: Seed = 0,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Run folder; default runs/NAME.")] = None,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Find which equation the readings obey, with rivals and inclusion probabilities; write a report."""
    inputs = [readings, *([problem] if problem else [])]
    check_exist(*inputs)
    check_folder(out or Path("runs") / readings.stem, overwrite, inputs=inputs)
    from napinn.cli.discovering import discover_command

    lefts, candidates, certain = (tuple(given or ()) for given in (left, terms, known))
    raise typer.Exit(
        discover_command(
            readings, problem, lefts, candidates, certain, out, overwrite, refit_seconds, seed, quiet, json
        )
    )


@command
def resume(
    run: Annotated[Path, typer.Argument(help="Folder of a fit that was killed or interrupted.")],
    checkpoint_every: Every = 60.0,
    verbose: Verbose = False,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Continue a fit from its newest checkpoint; the numbers are those of a fit that was never stopped."""
    check_resumable(run)
    from napinn.cli.repeating import resume_command
    from napinn.cli.running import OutputOptions

    raise typer.Exit(resume_command(run, checkpoint_every, OutputOptions(json, verbose, quiet)))


@command
def new(
    path: Annotated[Path, typer.Argument(help="Problem file to write.")] = Path("problem.yaml"),
    overwrite: Replace = False,
) -> None:
    """Write a problem file to fill in, with every entry explained."""
    file = output(path, PROBLEM_FILES, overwrite=overwrite)
    from napinn.cli.starting import new_command

    new_command(file)
