"""`napinn report`, `napinn plot`, `napinn animate` and `napinn export`: what can be made of a finished run."""

import json
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape

from napinn.errors import InputError
from napinn.report.html import write_report
from napinn.run_folder import load


def report_command(run: Path, out: Path | None, as_json: bool) -> None:
    path = out or run / "report.html"
    result = load(run)
    write_file(path, lambda: write_report(result, path))
    tell({"report": str(path)}, f"report {path}", as_json)


def write_file(path: Path, write: Any) -> None:
    """Make the folder and write, with one sentence where the place cannot be written to."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write()
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}.") from None


def tell(values: dict[str, Any], sentence: str, as_json: bool) -> None:
    if as_json:
        print(json.dumps(values, ensure_ascii=False))  # noqa: T201
    else:
        Console().print(escape(sentence), soft_wrap=True, highlight=False)
