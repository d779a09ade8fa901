"""`napinn resume`, `rerun` and `bundle`: what can be done with the folder of a run besides looking at it."""

import dataclasses
import functools
import json
import zipfile
from pathlib import Path
from typing import Any

from rich.markup import escape

from napinn.cli.console import Console
from napinn.cli.running import OutputOptions, display, exit_code, print_result
from napinn.engines.description import versions
from napinn.errors import InputError
from napinn.evaluation.agreement import agreement
from napinn.runs.folder import RESULT
from napinn.runs.loggers import LOG
from napinn.runs.pipeline import rerun, resume_run
from napinn.runs.request import MANY_READINGS, READINGS, REQUEST
from napinn.runs.verification import VERIFICATION
from napinn.storage.json_files import check_run, read_settings
from napinn.storage.outputs import Output

LOG_LINES = 400
BUNDLED = (RESULT, REQUEST, VERIFICATION, "history.csv", "progress.json")


def resume_command(run: Path, every: float, output: OutputOptions) -> int:
    return print_result(resume_run(run, functools.partial(display, output), every), run, output)


def rerun_command(run: Path, out: Path, overwrite: bool, output: OutputOptions) -> int:
    earlier, result = rerun(run, out, functools.partial(display, output), overwrite)
    agreed = dataclasses.asdict(agreement(earlier, result))
    ran_on = read_settings(run / RESULT)["versions"]
    agreed["other_versions"] = {name: ran_on.get(name) for name, now in versions().items() if ran_on.get(name) != now}
    if output.as_json:
        print(json.dumps({**agreed, "folder": str(out)}))  # noqa: T201
    else:
        for line in _sentences(agreed, out):
            Console().print(escape(line), soft_wrap=True, highlight=False)
    return exit_code(result)


def _sentences(agreed: dict[str, Any], out: Path) -> list[str]:
    if agreed["identical"]:
        lines = ["The numbers agree: field, noise law and coefficients are the same to the last bit."]
    else:
        parts = [f"the field by up to {agreed['field']:.2g} of its range"]
        parts += [f"{name} by {value:.2g} of itself" for name, value in agreed["unknowns"].items()]
        parts.append(f"{agreed['verdicts_that_differ']} verdict(s)")
        lines = [f"The numbers do not agree: {', '.join(parts)}."]
    if agreed["other_versions"]:
        names = ", ".join(f"{name} {version}" for name, version in agreed["other_versions"].items())
        lines.append(f"The earlier run was made with {names}.")
    return [*lines, f"run folder {out}"]


def bundle_command(run: Path, file: Output, with_data: bool) -> None:
    """Only files of these names go in, so a link in the folder cannot bring another file along."""
    names = [*BUNDLED, *([READINGS, MANY_READINGS] if with_data else [])]
    found = [run / name for name in names if (run / name).is_file() and not (run / name).is_symlink()]
    if not any(path.name in (RESULT, REQUEST) for path in found):
        check_run(run)
        raise InputError(f"{run} is not the folder of a run: it has neither {RESULT} nor {REQUEST}.")

    def pack(beside: Path) -> None:
        with zipfile.ZipFile(beside, "w", zipfile.ZIP_DEFLATED) as archive:
            for path in found:
                archive.write(path, path.name)
            archive.writestr("versions.json", json.dumps(versions(), indent=2))
            archive.writestr(LOG, _last_lines(run / LOG))

    file.write(pack)
    data = "with your readings" if with_data else "without your readings"
    Console().print(
        escape(f"{file.path}: settings, versions, history and log, {data}"), soft_wrap=True, highlight=False
    )


def _last_lines(path: Path) -> str:
    try:
        return "".join(path.read_text(encoding="utf-8", errors="replace").splitlines(keepends=True)[-LOG_LINES:])
    except OSError:
        return ""
