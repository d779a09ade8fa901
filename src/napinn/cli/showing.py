"""`napinn report`, `plot`, `animate` and `export`: what can be made of a finished run."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from rich.markup import escape

from napinn.cli.console import Console
from napinn.errors import InputError, nearest
from napinn.io.outputs import output
from napinn.report.html import write_report
from napinn.run_folder import load, read_by
from napinn.verification.findings import read_verification

REPORT_FILES = (".html", ".htm")
FIGURE_FILES = (".png", ".pdf", ".svg")
ANIMATION_FILES = (".gif", ".mp4")
EXPORT_FILES = {"field": (".nc", ".nc4", ".cdf"), "model": (".stablehlo", ".bin"), "readings": (".parquet", ".pq")}
Named = TypeVar("Named")


def report_command(run: Path, out: Path | None, overwrite: bool, as_json: bool) -> None:
    own = run / "report.html"
    path = out or own
    file = output(path, REPORT_FILES, overwrite=overwrite, reads=read_by(run), own=own)
    result = load(run)
    verification = read_verification(run)
    file.write(lambda beside: write_report(result, beside, verification=verification))
    tell({"report": str(path)}, f"report {path}", as_json)


def plot_command(run: Path, what: str, field: str | None, out: Path, overwrite: bool, as_json: bool) -> None:
    from napinn.plot import FIGURES
    from napinn.report.figures import save

    draw = _chosen(what, FIGURES, "figure")
    file = output(out, FIGURE_FILES, overwrite=overwrite, reads=read_by(run))
    drawn = draw(load(run), field)
    file.write(lambda beside: save(drawn, beside))
    tell({"what": what, "file": str(out)}, f"{what}: {out}", as_json)


def animate_command(run: Path, field: str | None, out: Path, overwrite: bool, as_json: bool) -> None:
    from napinn.report.animation import animate

    file = output(out, ANIMATION_FILES, overwrite=overwrite, reads=read_by(run))
    result = load(run)
    outputs = result.problem.outputs
    name = outputs[0] if field is None else _chosen(field, {each: each for each in outputs}, "field")
    frames = file.write(lambda beside: animate(result, beside, name))
    tell({"frames": frames, "file": str(out)}, f"{frames} frames: {out}", as_json)


def export_command(run: Path, what: str, out: Path, overwrite: bool, as_json: bool) -> None:
    from napinn.export import EXPORTS

    export = _chosen(what, EXPORTS, "export")
    own = run / "field.nc" if what == "field" else None
    file = output(out, EXPORT_FILES[what], overwrite=overwrite, reads=read_by(run), own=own)
    result = load(run)
    note = file.write(lambda beside: export(result, beside))
    tell({"what": what, "file": str(out), "note": note}, f"{out}: {note}", as_json)


def _chosen(word: str, table: Mapping[str, Named], kind: str) -> Named:
    if word not in table:
        raise InputError(f"there is no {kind} '{word}'; {nearest(word, table)}")
    return table[word]


def tell(values: dict[str, Any], sentence: str, as_json: bool) -> None:
    if as_json:
        print(json.dumps(values))  # noqa: T201
    else:
        Console().print(escape(sentence), soft_wrap=True, highlight=False)
