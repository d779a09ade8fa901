"""`napinn init`, `napinn new` and `napinn schema`: what one needs to begin a problem file."""

import shlex
from pathlib import Path

from napinn.cli.console import Console
from napinn.data.formats import read_file
from napinn.errors import InputError, listed
from napinn.problem.file.proposal import propose
from napinn.problem.file.template import TEMPLATE, schema_text
from napinn.storage.outputs import output

TABLES = (".csv", ".tsv", ".parquet")
"""Endings by which `napinn init` finds a table in a folder."""


def init_command(readings: Path | None, path: Path, overwrite: bool) -> None:
    found = only_table(Path()) if readings is None else readings
    text = propose(read_file(found).table, found.name)
    _write(path, text, (".yaml", ".yml"), overwrite)
    console = Console()
    console.print(text, end="", markup=False, highlight=False, soft_wrap=True)
    message = f"Written to {path}. Correct it, then: napinn check {shlex.quote(str(path))} {shlex.quote(str(found))}"
    console.print(message, markup=False, highlight=False, soft_wrap=True)


def only_table(folder: Path) -> Path:
    """The one table of readings in a folder; a sentence where there is none or a choice.

    :param folder: Where to look; its own folders are left out."""
    found = sorted(path for path in folder.iterdir() if path.suffix.lower() in TABLES and path.is_file())
    if not found:
        raise InputError(f"there is no table ({', '.join(TABLES)}) in this folder; name one: napinn init readings.csv")
    if len(found) > 1:
        raise InputError(
            f"there are {len(found)} tables in this folder ({listed([path.name for path in found])}); "
            f"name one: napinn init {shlex.quote(found[0].name)}"
        )
    return found[0]


def new_command(path: Path, overwrite: bool) -> None:
    _write(path, TEMPLATE, (".yaml", ".yml"), overwrite)
    Console().print(f"{path}: fill it in, then run: napinn check {path} readings.csv", soft_wrap=True, markup=False)


def schema_command(path: Path | None, overwrite: bool) -> None:
    if path is None:
        print(schema_text(), end="")  # noqa: T201
    else:
        _write(path, schema_text(), (".json",), overwrite)


def _write(path: Path, text: str, endings: tuple[str, ...], overwrite: bool) -> None:
    file = output(path, endings, overwrite=overwrite)
    file.write(lambda beside: beside.write_text(text, encoding="utf-8"))
