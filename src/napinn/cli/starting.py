"""`napinn new` and `napinn schema`: what one needs to begin a problem file."""

from pathlib import Path

from rich.console import Console

from napinn.errors import InputError
from napinn.problem_file.template import TEMPLATE, schema_text


def new_command(path: Path, overwrite: bool) -> None:
    _write(path, TEMPLATE, overwrite)
    Console().print(f"{path}: now fill it in, then try: napinn check {path} readings.csv", soft_wrap=True, markup=False)


def schema_command(path: Path | None, overwrite: bool) -> None:
    if path is None:
        print(schema_text(), end="")  # noqa: T201
    else:
        _write(path, schema_text(), overwrite)


def _write(path: Path, text: str, overwrite: bool) -> None:
    if path.exists() and not overwrite:
        raise InputError(f"{path} already exists; choose another name or add --overwrite.")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}.") from None
