"""`napinn reproduce`."""

import json
from pathlib import Path
from typing import Any

from napinn.cli.console import Console
from napinn.cli.main import EXIT_INTERRUPTED
from napinn.engine.display import study_display
from napinn.experiments.reproduce import reproduce


def reproduce_command(
    name: str,
    preset: str,
    seeds: int | None,
    out: Path | None,
    workers: int | None,
    cluster: str | None,
    matching: str,
    only_finished: bool,
    as_json: bool,
) -> int:
    folder = out or Path("runs") / "studies" / preset
    options: dict[str, Any] = {"seeds": seeds, "workers": workers, "cluster": cluster}
    options |= {"matching": matching, "only_finished": only_finished}
    try:
        with study_display(f"{name}, {preset}", Console(stderr=True)) as progress:
            written = reproduce(name, preset, folder, progress=progress, **options)
    except KeyboardInterrupt:
        told = f"napinn: interrupted; finished fits are kept in {folder}, and the same command goes on from there."
        Console(stderr=True).print(told, highlight=False, soft_wrap=True, markup=False)
        return EXIT_INTERRUPTED
    failed = [line for study in written for line in study.failed]
    if as_json:
        told = {
            s.study: {"fits": s.fits, "files": [str(f) for f in s.files], "failed": list(s.failed)} for s in written
        }
        print(json.dumps(told))  # noqa: T201
    else:
        console = Console()
        for study in written:
            names = ", ".join(str(path) for path in study.files)
            line = f"{study.study}: {study.fits} of {study.asked} fits, {names}"
            console.print(line, highlight=False, soft_wrap=True, markup=False)
        for line in failed:
            console.print(f"failed: {line}", highlight=False, soft_wrap=True, markup=False)
    return 3 if failed else 0
