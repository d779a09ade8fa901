"""The JSON files of a run: their format number, and how they are read and written."""

import json
import os
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from napinn.errors import InputError, nearest

FORMAT = 2
"""The format of the files of a run; a run of another format is refused."""
RESULT, MODEL = "result.json", "model.npz"
"""Stand in the folder of a finished run."""
REQUEST = "request.json"
"""Stands in the folder of a run from its first step on."""
INTERRUPTED = "INTERRUPTED"
"""The status of a result that a fit can be continued from; the name of `FitStatus.INTERRUPTED`."""
LARGEST_JSON = 64 * 2**20
"""Bytes: no run of napinn writes a JSON file as large as this."""


def read_settings(path: Path) -> dict[str, Any]:
    """A settings file of a run, checked for its size and format."""
    try:
        if path.exists() and not path.is_file():
            raise InputError(f"{path} is not a plain file.")
        if path.stat().st_size > LARGEST_JSON:
            raise InputError(f"{path} is larger than any run of napinn writes it.")
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        check_run(path.parent)
        raise InputError(f"{path.parent} holds no finished run: {path.name} is missing.") from None
    except NotADirectoryError:
        raise InputError(f"{path.parent} is a file; give the run folder.") from None
    except (OSError, ValueError, RecursionError):
        raise InputError(f"{path} cannot be read as JSON.") from None
    if not isinstance(content, dict):
        raise InputError(f"{path} does not describe a run.")
    if content.get("format") != FORMAT:
        raise InputError(
            f"{path.parent} was written in format {content.get('format')}; this napinn reads format {FORMAT}."
        )
    return content


def check_run(folder: Path) -> None:
    """Tell a mistyped name from a folder that holds no run."""
    if not os.path.lexists(folder):
        raise InputError(f"{folder} does not exist; {_meant(folder)}")
    if not folder.is_dir():
        raise InputError(f"{folder} is a file; give the run folder.")


def _meant(folder: Path) -> str:
    """A clause that names the run which stands beside a mistyped one, by the most similar name."""
    try:
        runs = [path.name for path in folder.parent.iterdir() if (path / RESULT).is_file()]
    except (OSError, ValueError):
        runs = []
    clause = nearest(folder.name, runs)
    return clause if clause.startswith("did you mean") else "check the path of the run folder."


def check_finished(folder: Path) -> None:
    """Refuse a folder without a finished run before anything that reads one is loaded."""
    read_settings(folder / RESULT)
    # A pipe would be waited for.
    if not ((folder / MODEL).is_file() and zipfile.is_zipfile(folder / MODEL)):
        raise InputError(f"{folder / MODEL} cannot be read as the arrays of a model.")


def check_resumable(folder: Path) -> None:
    """Refuse a folder whose fit is finished or was never begun, before anything that fits is loaded.

    :param folder: Of a fit that was killed or interrupted."""
    check_run(folder)
    begun, stopped = (folder / REQUEST).exists(), (folder / RESULT).exists()
    if not begun and not stopped:
        raise InputError(f"{folder} is not the folder of a run: it has neither {RESULT} nor {REQUEST}.")
    read_settings(folder / (REQUEST if begun else RESULT))
    if stopped and read_settings(folder / RESULT).get("status") != INTERRUPTED:
        raise InputError(f"{folder} is finished, there is nothing to resume; napinn rerun repeats it.")


def as_json(content: Mapping[str, Any]) -> str:
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"
