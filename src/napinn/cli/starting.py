"""`napinn init`, `napinn new` and `napinn schema`: what one needs to begin a problem file."""

import shlex
from pathlib import Path

from napinn.cli.console import Console
from napinn.data.formats import read_file
from napinn.data.paths import PROBLEM_FILES
from napinn.errors import InputError, listed
from napinn.problem.file.proposal import propose
from napinn.problem.file.template import TEMPLATE, schema_text
from napinn.storage.outputs import Output, output

TABLES = (".csv", ".tsv", ".parquet")
OTHER_TEXTS = (".txt", ".dat")
"""Endings by which `napinn init` finds a table in a folder; texts only where there is none of the others."""


def init_command(readings: Path | None, path: Path, overwrite: bool) -> None:
    found = only_table(Path()) if readings is None else readings
    file = output(path, PROBLEM_FILES, overwrite=overwrite, reads=[found])
    text = propose(read_file(found).table, found.name)
    _write(file, text)
    console = Console()
    console.print(text, end="", markup=False, highlight=False, soft_wrap=True)
    message = f"Written to {path}. Correct it, then: napinn check {shlex.quote(str(path))} {shlex.quote(str(found))}"
    console.print(message, markup=False, highlight=False, soft_wrap=True)


def only_table(folder: Path) -> Path:
    """The one table of readings in a folder; a sentence where there is none or a choice.

    :param folder: Where to look; its own folders are left out."""
    files = sorted(path for path in folder.iterdir() if path.is_file())
    by_ending = [[path for path in files if path.suffix.lower() in endings] for endings in (TABLES, OTHER_TEXTS)]
    found = next(filter(None, by_ending), [])
    if not found:
        known = ", ".join((*TABLES, *OTHER_TEXTS))
        raise InputError(f"there is no table ({known}) in this folder; name one: napinn init readings.csv")
    if len(found) > 1:
        raise InputError(
            f"there are {len(found)} tables in this folder ({listed([path.name for path in found])}); "
            f"name one: napinn init {shlex.quote(found[0].name)}"
        )
    return found[0]


def new_command(file: Output) -> None:
    _write(file, TEMPLATE)
    said = f"{file.path}: fill it in, then run: napinn check {shlex.quote(str(file.path))} readings.csv"
    Console().print(said, soft_wrap=True, markup=False)


def schema_command(file: Output | None) -> None:
    if file is None:
        print(schema_text(), end="")  # noqa: T201
    else:
        _write(file, schema_text())


def _write(file: Output, text: str) -> None:
    file.write(lambda beside: beside.write_text(text, encoding="utf-8"))
