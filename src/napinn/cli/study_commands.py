"""The commands of the group "Studies": benchmarks, the paper's tables, and lists of what there is.

Each function holds the arguments of a command, and imports what runs it when it is first needed: `--help` is quick, and
wrong words, missing files and bad tables are refused before anything that fits is loaded.
"""

from pathlib import Path
from typing import Annotated

import typer

from napinn.cli.commands import command
from napinn.cli.options import Json, Replace, Seed
from napinn.storage.folders import check_study_folder
from napinn.storage.outputs import output
from napinn.studies.paper.names import check_preset, check_study


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
    files = {
        "readings": output(out, (".csv", ".txt", ".dat"), overwrite=overwrite),
        "labels": output(out.with_suffix(".labels.csv"), (".csv",), overwrite=overwrite),
        "problem": output(out.with_suffix(".problem.yaml"), (".yaml",), overwrite=overwrite),
    }
    from napinn.cli.simulating import WantedCorruption, simulate_command

    wanted = WantedCorruption(noise, outliers, outlier_style, tuple(fault or ()), seed)
    simulate_command(benchmark, wanted, files, json)


@command
def reproduce(
    study: Annotated[str | None, typer.Argument(help="A study, or all; without one, the list of studies.")] = None,
    preset: Annotated[
        str,
        typer.Option(help="smoke (seconds), quick (fewer steps and rejection costs) or paper (as printed)."),
    ] = "quick",
    seeds: Annotated[int | None, typer.Option(help="Seeds; the default is the preset's own.", min=1)] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Folder; default runs/studies/PRESET.")] = None,
    workers: Annotated[int | None, typer.Option(help="Processes; the default is one a core.", min=1)] = None,
    cluster: Annotated[str | None, typer.Option(help="Address of a Dask scheduler, tcp://….")] = None,
    matching: Annotated[
        str,
        typer.Option(
            help="Run only fits whose name matches, as 'allen_cahn/fls/*' (benchmark/label) or 'allen_cahn/*/15' "
            "(with the percentage of outliers)."
        ),
    ] = "*",
    only_finished: Annotated[
        bool, typer.Option("--only-finished", help="Run nothing; write tables and figures of the fits that exist.")
    ] = False,
    pack: Annotated[bool, typer.Option("--pack", help="Then move finished fits into fits/finished.parquet.")] = False,
    outliers: Annotated[
        str, typer.Option(help="one_sided replaces the noise, as printed; additive adds to it; as in simulate.")
    ] = "one_sided",
    law_scale: Annotated[
        float, typer.Option(help="Standard deviation of Gaussian and Laplace noise, in parts of the mixture's.")
    ] = 1.0,
    posterior_start: Annotated[
        float | None, typer.Option(help="Standard deviation with which B-PINN's posteriors begin; default 0.049.")
    ] = None,
    error: Annotated[
        str,
        typer.Option(
            help="whole (over the whole record), or instants (mean of the relative errors at three instants)."
        ),
    ] = "whole",
    json: Json = False,
) -> None:
    """Repeat a table or figure of the paper; fits that are finished are never run again."""
    check_preset(preset)
    if study is not None:
        check_study(study)
        if out is not None and study != "discovery":
            check_study_folder(out)
    from napinn.cli.reproducing import list_command, reproduce_command

    if study is None:
        raise typer.Exit(list_command(preset, seeds, out, json))
    if study == "discovery":
        from napinn.cli.reproducing import discovery_command

        raise typer.Exit(discovery_command(out, matching, json))
    options = {"seeds": seeds, "workers": workers, "cluster": cluster, "matching": matching}
    setting = {"outliers": outliers, "law_scale": law_scale, "posterior_start": posterior_start, "error": error}
    options |= {"only_finished": only_finished, "pack": pack}
    raise typer.Exit(reproduce_command(study, preset, out, options, setting, json))


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
def schema(
    out: Annotated[Path | None, typer.Option("--out", "-o", help="File to write; default standard output.")] = None,
    overwrite: Replace = False,
) -> None:
    """The JSON schema of problem files, by which an editor checks and completes them."""
    file = None if out is None else output(out, (".json",), overwrite=overwrite)
    from napinn.cli.starting import schema_command

    schema_command(file)
