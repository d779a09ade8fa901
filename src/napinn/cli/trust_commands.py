"""The commands of the group "Trust": intervals, checks and repetitions of a finished run.

Each function holds the arguments of a command, and imports what runs it when it is first needed: `--help` is quick, and
wrong words, missing files and bad tables are refused before anything that fits is loaded.
"""

from pathlib import Path
from typing import Annotated

import typer

from napinn.cli.commands import command
from napinn.cli.console import Console
from napinn.cli.options import Json, Overwrite, Quiet, Replace, Run, Seed, Steps
from napinn.data.paths import check_exist
from napinn.storage.folders import COMPARISON, check_folder
from napinn.storage.json_files import check_finished, check_run
from napinn.storage.outputs import output, read_by


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
    check_finished(run)
    from napinn.cli.verifying import verify_command

    raise typer.Exit(verify_command(run, refit, json))


@command
def intervals(run: Run, json: Json = False) -> None:
    """Add 95 % intervals of the coefficients and the spread of the field to a finished run."""
    check_finished(run)
    from napinn.cli.intervals import intervals_command

    intervals_command(run, json)


@command
def profile(run: Run, json: Json = False) -> None:
    """Add the profile likelihood of every coefficient to a finished run: which are identifiable, and which are not."""
    check_finished(run)
    from napinn.cli.profiling import profile_command

    profile_command(run, json)


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
    from napinn.cli.choice import chosen_methods

    choices = chosen_methods(methods, steps)
    check_exist(*paths)
    check_folder(out, overwrite, COMPARISON, paths)
    from napinn.cli.inputs import inputs_to_compare

    found = inputs_to_compare(paths, Console(stderr=True))
    from napinn.cli.comparing import compare_command

    raise typer.Exit(compare_command(paths, found, choices, seed, out, overwrite, json))


@command
def rerun(
    run: Run,
    out: Annotated[Path, typer.Option("--out", "-o", help="Folder for the repeated run.")],
    overwrite: Overwrite = False,
    quiet: Quiet = False,
    json: Json = False,
) -> None:
    """Repeat a finished run from its folder, and say whether the numbers agree."""
    check_finished(run)
    check_folder(out, overwrite, inputs=[run])
    from napinn.cli.repeating import rerun_command
    from napinn.cli.running import OutputOptions

    raise typer.Exit(rerun_command(run, out, overwrite, OutputOptions(json, quiet=quiet)))


@command
def bundle(
    run: Annotated[Path, typer.Argument(help="Run folder, finished or not.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="Zip file to write.")] = Path("bundle.zip"),
    with_data: Annotated[bool, typer.Option("--with-data", help="Include the readings.")] = False,
    overwrite: Replace = False,
) -> None:
    """Settings, versions, history and the end of the log in one file, to send when something went wrong."""
    check_run(run)
    file = output(out, (".zip",), overwrite=overwrite, reads=read_by(run))
    from napinn.cli.repeating import bundle_command

    bundle_command(run, file, with_data)
