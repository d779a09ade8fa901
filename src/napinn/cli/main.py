"""`napinn`: the commands. Anything heavy is imported by the command that needs it, so that `--help` is quick."""

import sys
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from napinn.cli.commands import app, command
from napinn.cli.console import Console, flushed, safe_streams
from napinn.cli.options import (
    Conditions,
    Constants,
    Equations,
    Every,
    FieldName,
    Flags,
    Json,
    NoOpen,
    Overwrite,
    Periodic,
    Port,
    ProblemFile,
    Quiet,
    Replace,
    Run,
    Seed,
    Steps,
    Unknowns,
    Verbose,
)
from napinn.errors import InputError, StorageError
from napinn.storage.cache import keep_compiled
from napinn.storage.json_files import check_run

EXIT_NOT_WRITTEN = 1
EXIT_BAD_INPUT = 2
EXIT_NOT_TRUSTED = 3
EXIT_INTERRUPTED = 130


def _show_version(wanted: bool) -> bool:
    if wanted:
        from napinn import __version__

        print(f"napinn {__version__}")  # noqa: T201
        raise typer.Exit
    return wanted


@app.callback()
def napinn(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version and exit.", callback=_show_version, is_eager=True)
    ] = False,
) -> None:
    """Field, coefficients, noise law and a reliability for every reading, from bad sensors and an equation."""


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
    from napinn.cli.starting import init_command

    init_command(readings, out, overwrite)


@command
def new(
    path: Annotated[Path, typer.Argument(help="Problem file to write.")] = Path("problem.yaml"),
    overwrite: Replace = False,
) -> None:
    """Write a problem file to fill in, with every entry explained."""
    from napinn.cli.starting import new_command

    new_command(path, overwrite)


@command
def schema(
    out: Annotated[Path | None, typer.Option("--out", "-o", help="File to write; default standard output.")] = None,
    overwrite: Replace = False,
) -> None:
    """The JSON schema of problem files, by which an editor checks and completes them."""
    from napinn.cli.starting import schema_command

    schema_command(out, overwrite)


@command
def fit(
    readings: Annotated[
        list[Path],
        typer.Argument(help="Readings: .csv, .tsv, .parquet, .nc, .npz or .mat; of several, each is an experiment."),
    ],
    problem: ProblemFile = None,
    equation: Equations = None,
    unknown: Unknowns = None,
    constant: Constants = None,
    condition: Conditions = None,
    periodic: Periodic = None,
    method: Annotated[
        str | None, typer.Option("--method", "-m", help="Default: splines or a network; see `napinn methods`.")
    ] = None,
    backbone: Annotated[str | None, typer.Option("--backbone", help="Network; see `napinn backbones`.")] = None,
    density: Annotated[
        str | None,
        typer.Option(
            "--density", help="Noise law: mixture, kde, cauchy or gaussian of splines; ebm, gmm or kde of a network."
        ),
    ] = None,
    loss: Annotated[
        str | None, typer.Option("--loss", help="Data loss: likelihood, squared, absolute, q_gaussian or huber.")
    ] = None,
    steps: Steps = None,
    minutes: Annotated[float | None, typer.Option(help="Budget of time; the training fits into it.", min=0.05)] = None,
    seed: Seed = 0,
    seeds: Annotated[int, typer.Option(help="Fit from this many seeds and keep the best.", min=1)] = 1,
    intervals: Annotated[bool, typer.Option("--intervals", help="Add 95 % intervals and the field's spread.")] = False,
    profile: Annotated[
        bool, typer.Option("--profile", help="Add the profile likelihood of every coefficient.")
    ] = False,
    discrepancy: Annotated[
        bool, typer.Option("--discrepancy", help="Try a source term in each equation: is the equation wrong?")
    ] = False,
    double: Annotated[bool, typer.Option("--double", help="Compute in float64.")] = False,
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
    from napinn.cli.fitting import Choice, fit_command
    from napinn.cli.running import Manner
    from napinn.pipeline import PipelineOptions
    from napinn.problem.file import Words

    lists = [tuple(given or ()) for given in (equation, unknown, constant, condition, periodic)]
    if bool(lists[0]) == (problem is not None) or (problem is not None and any(lists)):
        raise InputError("give either --problem FILE, or --equation with --unknown and its like, and not both.")
    choice = Choice(method, backbone, density, loss, steps, double, minutes)
    manner = Manner(json, verbose, quiet)
    options = PipelineOptions(
        seeds, intervals, profile, discrepancy, flags, tuple(log or ()), overwrite=overwrite, every=checkpoint_every
    )
    given = problem or Words(*lists)
    raise typer.Exit(fit_command(readings, given, choice, seed, out, options, manner, leave_out_bad))


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
        float, typer.Option(help="What the joint refit may take by estimate; 0 leaves it out.", min=0.0)
    ] = 15.0,
    seed: Seed = 0,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Run folder; default runs/NAME.")] = None,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Find which equation the readings obey, with rivals and inclusion probabilities; write a report."""
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
    check_run(run)
    from napinn.cli.repeating import resume_command
    from napinn.cli.running import Manner

    raise typer.Exit(resume_command(run, checkpoint_every, Manner(json, verbose, quiet)))


@command
def intervals(run: Run, json: Json = False) -> None:
    """Add 95 % intervals of the coefficients and the spread of the field to a finished run."""
    check_run(run)
    from napinn.cli.intervals import intervals_command

    intervals_command(run, json)


@command
def profile(run: Run, json: Json = False) -> None:
    """Add the profile likelihood of every coefficient to a finished run: which are identifiable, and which are not."""
    from napinn.cli.profiling import profile_command

    profile_command(run, json)


@command
def rerun(
    run: Run,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the repeated run.")],
    overwrite: Overwrite = False,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Repeat a finished run from its folder, and say whether the numbers agree."""
    check_run(run)
    from napinn.cli.repeating import rerun_command
    from napinn.cli.running import Manner

    raise typer.Exit(rerun_command(run, out, overwrite, Manner(json, quiet=quiet)))


@command
def verify(
    run: Run,
    refit: Annotated[
        bool,
        typer.Option("--refit", help="Also fit three times without some of the sensors; costs about one more fit."),
    ] = False,
    json: Json = False,
) -> None:
    """Say whether a finished fit can be trusted: unseen readings, and the equation solved forward."""
    check_run(run)
    from napinn.cli.verifying import verify_command

    raise typer.Exit(verify_command(run, refit, json))


@command
def bundle(
    run: Annotated[Path, typer.Argument(help="Folder of a run, finished or not.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Zip file to write.")] = Path("bundle.zip"),
    with_data: Annotated[bool, typer.Option("--with-data", help="Put the readings in too.")] = False,
    overwrite: Replace = False,
) -> None:
    """Settings, versions, history and the end of the log in one file, to send when something went wrong."""
    check_run(run)
    from napinn.cli.repeating import bundle_command

    bundle_command(run, out, with_data, overwrite)


@command
def check(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="[PROBLEM] READINGS…",
            help="A problem file and readings, several files of which each is an experiment; with -p or -e only these.",
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
    from napinn.cli.checking import check_command
    from napinn.cli.fitting import Choice
    from napinn.problem.file import Words

    lists = [tuple(given or ()) for given in (equation, unknown, constant, condition, periodic)]
    named = bool(lists[0]) or problem is not None
    doubled = bool(lists[0]) and any(file.suffix in (".yaml", ".yml") for file in files)
    if doubled or len(files) < (1 if named else 2) or (any(lists) and (not lists[0] or problem is not None)):
        raise InputError("give either a problem file and readings, or readings with --equation and its like.")
    given = Words(*lists) if lists[0] else problem or files[0]
    tables = files if named else files[1:]
    raise typer.Exit(check_command(given, tables, Choice(method, steps=steps).check(), time, json))


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
    check_run(run)
    from napinn.cli.predicting import predict_command

    predict_command(run, at, grid, out, overwrite, json)


@command
def simulate(
    benchmark: Annotated[str, typer.Argument(help="allen_cahn, burgers or reaction_diffusion.")],
    noise: Annotated[
        str, typer.Option(help="Law of the noise: mixture, gaussian, laplace, student_t, skewed or uniform.")
    ] = "mixture",
    outliers: Annotated[float, typer.Option(help="Share of readings turned into gross outliers.")] = 0.1,
    outlier_style: Annotated[
        str,
        typer.Option(
            help="one_sided or signed replaces the noise, additive or additive_signed comes on top of it, "
            "replacing or replacing_signed replaces the whole reading."
        ),
    ] = "one_sided",
    fault: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Failing sensors as NAME or NAME:SENSORS, for example drift:3: stuck, bias, drift, gain, burst, "
            "dropout, clipped or neighbours. Give it again for more.",
        ),
    ] = None,
    seed: Seed = 0,
    out: Annotated[Path, typer.Option("--out", "-o", help="CSV file to write.")] = Path("readings.csv"),
    overwrite: Replace = False,
    json: Json = False,
) -> None:
    """Write the readings of a benchmark, its problem file and, apart, the labels that only a simulation has."""
    from napinn.cli.simulating import Wanted, simulate_command

    wanted = Wanted(noise, outliers, outlier_style, tuple(fault or ()), seed)
    simulate_command(benchmark, wanted, out, overwrite, json)


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
    from napinn.cli.demonstration import demo_command

    raise typer.Exit(demo_command(steps, full, seed, out, overwrite, json))


@command
def report(
    run: Run,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="HTML file; default RUN/report.html.")] = None,
    overwrite: Replace = False,
    json: Json = False,
) -> None:
    """Write the report of a finished run again: one HTML file, to be opened from disk or sent by mail."""
    check_run(run)
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
    check_run(run)
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
    check_run(run)
    from napinn.cli.showing import animate_command

    animate_command(run, field, out, overwrite, json)


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
    check_run(run)
    from napinn.cli.showing import export_command

    export_command(run, what, flags, out, overwrite, json)


@command
def compare(
    paths: Annotated[list[Path], typer.Argument(help="A problem file and a file of readings, or run folders.")],
    methods: Annotated[
        str, typer.Option("--methods", "-m", help="Names with commas between.")
    ] = "pinn,na_pinn,law_pinn",
    steps: Steps = None,
    seed: Seed = 0,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder to write to.")] = Path("runs/comparison"),
    overwrite: Overwrite = False,
    json: Json = False,
) -> None:
    """Several methods on your readings, judged on readings held out from all; or finished runs side by side."""
    from napinn.cli.comparing import compare_command

    raise typer.Exit(compare_command(paths, methods, steps, seed, out, overwrite, json))


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
def methods(json: Json = False) -> None:
    """What there is to fit with: methods, noise laws and losses, one line each."""
    from napinn.cli.tables import methods_command

    methods_command(json)


@command
def backbones(json: Json = False) -> None:
    """The networks there are, one line each, with the number of parameters for three coordinates and two fields."""
    from napinn.cli.tables import backbones_command

    backbones_command(json)


@command
def reproduce(
    study: Annotated[str | None, typer.Argument(help="A study, or all; without one, the list of studies.")] = None,
    preset: Annotated[
        str,
        typer.Option(help="smoke (seconds), quick (fewer steps, benchmarks and costs) or paper (as printed)."),
    ] = "quick",
    seeds: Annotated[int | None, typer.Option(help="Seeds; the default is the preset's own.", min=1)] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Folder; default runs/studies/PRESET.")] = None,
    workers: Annotated[int | None, typer.Option(help="Processes; the default is one a core.", min=1)] = None,
    cluster: Annotated[str | None, typer.Option(help="Address of a Dask scheduler, tcp://….")] = None,
    matching: Annotated[str, typer.Option(help="Run only such fits, as 'allen_cahn/fls/*': benchmark/label.")] = "*",
    only_finished: Annotated[bool, typer.Option("--only-finished", help="Run nothing; write what there is.")] = False,
    pack: Annotated[bool, typer.Option("--pack", help="Then move finished fits into fits/finished.parquet.")] = False,
    outliers: Annotated[
        str, typer.Option(help="one_sided replaces the noise, as printed; additive adds to it; as in simulate.")
    ] = "one_sided",
    law_scale: Annotated[
        float, typer.Option(help="Standard deviation of Gaussian and Laplace noise, in parts of the mixture's.")
    ] = 1.0,
    error: Annotated[
        str, typer.Option(help="whole (of the record), or instants (mean of the relative errors at three instants).")
    ] = "whole",
    json: Json = False,
) -> None:
    """Repeat a table or figure of the paper; fits that are finished are never run again."""
    from napinn.cli.reproducing import list_command, reproduce_command

    if study is None:
        raise typer.Exit(list_command(preset, seeds, out, json))
    if study == "discovery":
        from napinn.cli.reproducing import discovery_command

        raise typer.Exit(discovery_command(out, matching, json))
    options = {"seeds": seeds, "workers": workers, "cluster": cluster, "matching": matching}
    setting = {"outliers": outliers, "law_scale": law_scale, "error": error}
    options |= {"only_finished": only_finished, "pack": pack}
    raise typer.Exit(reproduce_command(study, preset, out, options, setting, json))


def run() -> None:
    """The entry point: bad input is one sentence and exit code 2, a disk that fails one and exit code 1; neither is a
    traceback."""
    keep_compiled()
    with safe_streams():
        code = _answered()
        failure = flushed()
        if failure is not None:
            Console(stderr=True).print(f"napinn: standard output could not be written: {failure}.", markup=False)
    sys.exit(code if failure is None else EXIT_NOT_WRITTEN)


def _answered() -> int:
    """The exit code of the command, once it has run or was refused."""
    try:
        code = app(standalone_mode=False)
    except typer.Exit as stop:
        code = stop.exit_code
    except InputError as error:
        Console(stderr=True).print(f"[red]napinn:[/red] {_plain(str(error))}", soft_wrap=True, highlight=False)
        code = EXIT_BAD_INPUT
    except StorageError as error:
        Console(stderr=True).print(f"[red]napinn:[/red] {_plain(str(error))}", soft_wrap=True, highlight=False)
        code = EXIT_NOT_WRITTEN
    except (KeyboardInterrupt, typer.Abort):
        Console(stderr=True).print("napinn: interrupted before there was anything to keep.")
        code = EXIT_INTERRUPTED
    except MemoryError:
        Console(stderr=True).print(
            "[red]napinn:[/red] there is not enough memory for this; use fewer readings or nodes."
        )
        code = EXIT_NOT_WRITTEN
    except OSError as error:
        # Whatever a command expects of its files it has answered itself: this is the output, or a failing disk.
        done = "standard output could not be" if error.filename is None else f"{error.filename} could not be read or"
        told = f"{done} written: {error.strerror or error}."
        Console(stderr=True).print(f"[red]napinn:[/red] {_plain(told)}", soft_wrap=True, highlight=False)
        code = EXIT_NOT_WRITTEN
    except Exception as error:
        code = _usage(error)
    return int(code or 0)


def _usage(error: Exception) -> int:
    """Typer's own complaints about options are shown as it words them; anything else is a defect and is raised."""
    show = getattr(error, "show", None)
    if show is None:
        raise error
    show()
    return int(getattr(error, "exit_code", EXIT_BAD_INPUT))


def _plain(text: str) -> str:
    from rich.markup import escape

    return escape(text)
