"""`napinn reproduce`."""

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.table import Table

from napinn.cli.console import Console
from napinn.cli.exit_codes import EXIT_INTERRUPTED, EXIT_NOT_TRUSTED
from napinn.data.durations import duration
from napinn.studies.jobs.cores import own_cores
from napinn.studies.jobs.display import study_display
from napinn.studies.paper.catalogue import catalogue
from napinn.studies.paper.reproduce import Setting, preset_of, reproduce


def list_command(preset: str, seeds: int | None, out: Path | None, as_json: bool) -> int:
    """Every study with its place in the paper, its fits and the time that they take here."""
    size = preset_of(preset, seeds)
    listed = catalogue(size, _folder(preset, out))
    cores = len(own_cores())
    if as_json:
        print(json.dumps([dataclasses.asdict(line) for line in listed]))  # noqa: T201
        return 0
    table = Table(box=None, pad_edge=False)
    for title in ("study", "repeats", "what it shows", "fits", "time", "left out"):
        table.add_column(title, no_wrap=title in ("study", "time"), overflow="fold")
    for line in listed:
        time = duration(line.seconds / cores) if line.seconds else "–"
        fits = f"{line.fits}" if not line.done else f"{line.fits}, {line.done} done"
        table.add_row(line.study, line.repeats, line.title, fits, time, line.left_out)
    console = Console()
    console.print(f"Preset {preset}: {size.about}.", highlight=False)
    console.print(table, "")
    message = (
        f"The time is that of the fits that are not done, on {cores} core{'s' if cores > 1 else ''}, one fit a core. "
        "Studies share fits, and each is run once. 'napinn reproduce STUDY' runs one; docs/paper.md says what differs "
        "from the paper, and why."
    )
    console.print(message, highlight=False)
    return 0


def _folder(preset: str, out: Path | None, setting: Setting = Setting()) -> Path:
    """Another corruption than the usual one has fits, and by default a folder, of its own."""
    corruption = dataclasses.replace(setting, error="whole")
    options = [option.removeprefix("--").replace(" ", "-") for option in corruption.options]
    return out or Path("runs") / "studies" / "-".join([preset, *options])


def discovery_command(out: Path | None, matching: str, as_json: bool) -> int:
    """The study of discovery: rows are appended to a file, and a second run continues from there."""
    from napinn.studies.discovery.run import run_discovery

    path = out or Path("runs") / "studies" / "discovery.csv"
    console = Console(stderr=True)
    try:
        rows = run_discovery(path, matching.strip("*"), lambda line: console.print(line, markup=False, highlight=False))
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    if as_json:
        print(json.dumps({"rows": len(rows), "file": str(path)}))  # noqa: T201
    else:
        Console().print(f"discovery: {len(rows)} rows in {path}", highlight=False, markup=False)
    return 0


def reproduce_command(
    name: str, preset: str, out: Path | None, options: Mapping[str, Any], setting: Mapping[str, Any], as_json: bool
) -> int:
    chosen = Setting(**setting)
    folder = _folder(preset, out, chosen)
    try:
        with study_display(f"{name}, {preset}", Console(stderr=True)) as progress:
            written = reproduce(name, preset, folder, progress=progress, setting=chosen, **options)
    except KeyboardInterrupt:
        message = f"napinn: interrupted; finished fits are kept in {folder}, and the same command continues from there."
        Console(stderr=True).print(message, highlight=False, soft_wrap=True, markup=False)
        return EXIT_INTERRUPTED
    failed = [line for study in written for line in study.failed]
    if as_json:
        message = {
            s.study: {"fits": s.fits, "files": [str(f) for f in s.files], "failed": list(s.failed)} for s in written
        }
        print(json.dumps(message))  # noqa: T201
    else:
        console = Console()
        for study in written:
            names = ", ".join(str(path) for path in study.files)
            line = f"{study.study}: {study.fits} of {study.expected} fits, {names}"
            console.print(line, highlight=False, soft_wrap=True, markup=False)
        for line in failed:
            console.print(f"failed: {line}", highlight=False, soft_wrap=True, markup=False)
    return EXIT_NOT_TRUSTED if failed else 0
