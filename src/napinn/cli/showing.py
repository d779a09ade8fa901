"""`napinn report`, `plot`, `animate` and `export`: what can be made of a finished run. What reads a run or draws it is
imported once the names have been checked."""

import json
from pathlib import Path
from typing import Any

from rich.markup import escape

from napinn.cli.console import Console
from napinn.errors import InputError, named
from napinn.storage.outputs import output, read_by

REPORT_FILES = (".html", ".htm")
FIGURE_FILES = (".png", ".pdf", ".svg")
ANIMATION_FILES = (".gif", ".mp4")
EXPORT_FILES = {
    "field": (".nc", ".nc4", ".cdf"),
    "model": (".stablehlo", ".bin"),
    "readings": (".parquet", ".pq", ".csv", ".nc", ".nc4", ".cdf"),
}


def report_command(run: Path, out: Path | None, overwrite: bool, as_json: bool) -> None:
    own = run / "report.html"
    path = out or own
    file = output(path, REPORT_FILES, overwrite=overwrite, reads=read_by(run), own=own)
    from napinn.discovery.files import read_discovery
    from napinn.report.html import write_report
    from napinn.runs.folder import load
    from napinn.runs.verification import read_verification

    result = load(run)
    verification = read_verification(run)
    found = read_discovery(run)
    file.write(lambda beside: write_report(result, beside, verification=verification, discovery=found))
    tell({"report": str(path)}, f"report {path}", as_json)


def plot_command(run: Path, what: str, field: str | None, out: Path, overwrite: bool, as_json: bool) -> None:
    file = output(out, FIGURE_FILES, overwrite=overwrite, reads=read_by(run))
    from napinn.report.figures import save
    from napinn.report.plot import FIGURES
    from napinn.runs.folder import load

    draw = named(what, FIGURES, "figure")
    drawn = draw(load(run), field)
    file.write(lambda beside: save(drawn, beside))
    tell({"what": what, "file": str(out)}, f"{what}: {out}", as_json)


def animate_command(run: Path, field: str | None, out: Path, overwrite: bool, as_json: bool) -> None:
    file = output(out, ANIMATION_FILES, overwrite=overwrite, reads=read_by(run))
    from napinn.runs.folder import load

    result = load(run)
    from napinn.report.animation import animate

    outputs = result.problem.outputs
    name = outputs[0] if field is None else named(field, {each: each for each in outputs}, "field")
    frames = file.write(lambda beside: animate(result, beside, name))
    tell({"frames": frames, "file": str(out)}, f"{frames} frames: {out}", as_json)


def export_command(run: Path, what: str, flags: str | None, out: Path, overwrite: bool, as_json: bool) -> None:
    endings = named(what, EXPORT_FILES, "export")
    own = {"field": run / "field.nc", "readings": run / "readings.nc"}.get(what)
    file = output(out, endings, overwrite=overwrite, reads=read_by(run), own=own)
    from napinn.data.flags import scheme_named
    from napinn.runs.folder import load

    if flags is not None:
        if what != "readings":
            raise InputError("--flags are written to readings only; use --what readings.")
        scheme_named(flags)
    result = load(run)
    from napinn.runs.export import EXPORTS, export_readings

    if flags is None:
        note = file.write(lambda beside: EXPORTS[what](result, beside))
    else:
        note = file.write(lambda beside: export_readings(result, beside, flags))
    tell({"what": what, "file": str(out), "note": note}, f"{out}: {note}", as_json)


def tell(values: dict[str, Any], sentence: str, as_json: bool) -> None:
    if as_json:
        print(json.dumps(values))  # noqa: T201
    else:
        Console().print(escape(sentence), soft_wrap=True, highlight=False)
