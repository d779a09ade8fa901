"""`napinn report`, `plot`, `animate` and `export`: what can be made of a finished run."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from rich.console import Console
from rich.markup import escape

from napinn.errors import InputError, nearest
from napinn.report.html import write_report
from napinn.run_folder import load
from napinn.verification.findings import read_verification

FIGURE_FILES = (".png", ".pdf", ".svg")
Named = TypeVar("Named")
Written = TypeVar("Written")


def report_command(run: Path, out: Path | None, as_json: bool) -> None:
    path = out or run / "report.html"
    result = load(run)
    verification = read_verification(run)
    write_file(path, lambda: write_report(result, path, verification=verification))
    tell({"report": str(path)}, f"report {path}", as_json)


def plot_command(run: Path, what: str, field: str | None, out: Path, as_json: bool) -> None:
    from napinn.plot import FIGURES
    from napinn.report.figures import save

    draw = _chosen(what, FIGURES, "figure")
    if out.suffix.lower() not in FIGURE_FILES:
        raise InputError(f"{out} is not a figure file; name one that ends in {', '.join(FIGURE_FILES)}.")
    drawn = draw(load(run), field)
    write_file(out, lambda: save(drawn, out))
    tell({"what": what, "file": str(out)}, f"{what}: {out}", as_json)


def animate_command(run: Path, field: str | None, out: Path, as_json: bool) -> None:
    from napinn.report.animation import animate

    result = load(run)
    outputs = result.problem.outputs
    name = outputs[0] if field is None else _chosen(field, {each: each for each in outputs}, "field")
    frames = write_file(out, lambda: animate(result, out, name))
    tell({"frames": frames, "file": str(out)}, f"{frames} frames: {out}", as_json)


def export_command(run: Path, what: str, out: Path, as_json: bool) -> None:
    from napinn.export import EXPORTS

    export = _chosen(what, EXPORTS, "export")
    result = load(run)
    note = write_file(out, lambda: export(result, out))
    tell({"what": what, "file": str(out), "note": note}, f"{out}: {note}", as_json)


def _chosen(word: str, table: Mapping[str, Named], kind: str) -> Named:
    if word not in table:
        raise InputError(f"there is no {kind} '{word}'; {nearest(word, table)}")
    return table[word]


def write_file(path: Path, write: Callable[[], Written]) -> Written:
    """Make the folder and write, with one sentence where the place cannot be written to."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return write()
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}.") from None


def tell(values: dict[str, Any], sentence: str, as_json: bool) -> None:
    if as_json:
        print(json.dumps(values, ensure_ascii=False))  # noqa: T201
    else:
        Console().print(escape(sentence), soft_wrap=True, highlight=False)
