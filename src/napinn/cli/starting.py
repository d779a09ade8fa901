"""`napinn new` and `napinn schema`: what one needs to begin a problem file."""

from pathlib import Path

from napinn.cli.console import Console
from napinn.io.outputs import output
from napinn.problem_file.template import TEMPLATE, schema_text


def new_command(path: Path, overwrite: bool) -> None:
    _write(path, TEMPLATE, (".yaml", ".yml"), overwrite)
    Console().print(f"{path}: now fill it in, then try: napinn check {path} readings.csv", soft_wrap=True, markup=False)


def schema_command(path: Path | None, overwrite: bool) -> None:
    if path is None:
        print(schema_text(), end="")  # noqa: T201
    else:
        _write(path, schema_text(), (".json",), overwrite)


def _write(path: Path, text: str, endings: tuple[str, ...], overwrite: bool) -> None:
    file = output(path, endings, overwrite=overwrite)
    file.write(lambda beside: beside.write_text(text, encoding="utf-8"))
