"""`napinn resume`, `rerun` and `bundle`: what can be done with the folder of a run besides looking at it."""

import json
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from rich.markup import escape

from napinn.checkpoints import found as checkpoints_of
from napinn.cli.certainty import finishing
from napinn.cli.console import Console
from napinn.cli.running import Manner, exit_code, run_request, tell_result
from napinn.errors import InputError
from napinn.io.lock import held
from napinn.io.outputs import output
from napinn.loggers import LOG
from napinn.request import MANY_READINGS, READINGS, REQUEST, check_run, read_request, read_settings, read_wishes
from napinn.result import FitResult, FitStatus
from napinn.run_folder import RESULT, VERIFICATION, begin, load, prepare, read_by, versions

LOG_LINES = 400
BUNDLED = (RESULT, REQUEST, VERIFICATION, "history.csv", "progress.json")


def resume_command(run: Path, manner: Manner) -> int:
    """What was asked for beside the fit, intervals and logs, is asked for again."""
    request, wishes = read_request(run), read_wishes(run)
    stopped = (run / RESULT).exists()
    if stopped and read_settings(run / RESULT)["status"] != FitStatus.INTERRUPTED.name:
        raise InputError(f"{run} is finished, there is nothing to resume; napinn rerun repeats it.")
    if wishes.seeds > 1:
        raise InputError(
            f"{run} was to fit {wishes.seeds} seeds, of which no checkpoints are kept; fit again with --overwrite."
        )
    if stopped and not checkpoints_of(run):
        raise InputError(f"{run} kept no checkpoint to go on from; napinn rerun repeats it from the beginning.")
    manner = replace(manner, logs=wishes.logs)
    with held(run):
        return tell_result(run_request(request, run, manner, resume=True, finish=finishing(wishes)), run, manner)


def rerun_command(run: Path, out: Path, overwrite: bool, manner: Manner) -> int:
    earlier, request = load(run), read_request(run)
    prepare(out, overwrite, inputs=[run])
    with held(out):
        begin(request, out)
        result = run_request(request, out, manner)
    told = comparison(earlier, result)
    ran_on = read_settings(run / RESULT)["versions"]
    told["other_versions"] = {name: ran_on.get(name) for name, now in versions().items() if ran_on.get(name) != now}
    if manner.as_json:
        print(json.dumps({**told, "folder": str(out)}))  # noqa: T201
    else:
        for line in _sentences(told, out):
            Console().print(escape(line), soft_wrap=True, highlight=False)
    return exit_code(result)


def comparison(first: FitResult, second: FitResult) -> dict[str, Any]:
    """Whether two runs of one request agree to the last bit, and if not, by how much they differ."""
    arrays = [result.model.arrays() for result in (first, second)]
    alike = arrays[0].keys() == arrays[1].keys() and all(
        np.array_equal(array, arrays[1][name]) for name, array in arrays[0].items()
    )
    scale = max(float(np.ptp(first.predicted)), np.finfo(float).tiny)
    unknowns = {
        name: abs(second.unknowns[name] - value) / max(abs(value), np.finfo(float).tiny)
        for name, value in first.unknowns.items()
    }
    return {
        "identical": bool(alike and first.unknowns == second.unknowns),
        "verdicts_that_differ": int((first.flagged != second.flagged).sum()),
        "field": float(np.abs(first.predicted - second.predicted).max()) / scale,
        "unknowns": unknowns,
    }


def _sentences(told: dict[str, Any], out: Path) -> list[str]:
    if told["identical"]:
        lines = ["The numbers agree: field, noise law and coefficients are the same to the last bit."]
    else:
        parts = [f"the field by up to {told['field']:.2g} of its range"]
        parts += [f"{name} by {value:.2g} of itself" for name, value in told["unknowns"].items()]
        parts.append(f"{told['verdicts_that_differ']} verdict(s)")
        lines = [f"The numbers do not agree: {', '.join(parts)}."]
    if told["other_versions"]:
        names = ", ".join(f"{name} {version}" for name, version in told["other_versions"].items())
        lines.append(f"The earlier run was made with {names}.")
    return [*lines, f"run folder {out}"]


def bundle_command(run: Path, out: Path, with_data: bool, overwrite: bool) -> None:
    """Only files of these names go in, so a link in the folder cannot bring another file along."""
    names = [*BUNDLED, *([READINGS, MANY_READINGS] if with_data else [])]
    found = [run / name for name in names if (run / name).is_file() and not (run / name).is_symlink()]
    if not any(path.name in (RESULT, REQUEST) for path in found):
        check_run(run)
        raise InputError(f"{run} is not the folder of a run: it has neither {RESULT} nor {REQUEST}.")
    file = output(out, (".zip",), overwrite=overwrite, reads=read_by(run))

    def pack(beside: Path) -> None:
        with zipfile.ZipFile(beside, "w", zipfile.ZIP_DEFLATED) as archive:
            for path in found:
                archive.write(path, path.name)
            archive.writestr("versions.json", json.dumps(versions(), indent=2))
            archive.writestr(LOG, _last_lines(run / LOG))

    file.write(pack)
    data = "with your readings" if with_data else "without your readings"
    Console().print(escape(f"{out}: settings, versions, history and log, {data}"), soft_wrap=True, highlight=False)


def _last_lines(path: Path) -> str:
    try:
        return "".join(path.read_text(encoding="utf-8", errors="replace").splitlines(keepends=True)[-LOG_LINES:])
    except OSError:
        return ""
