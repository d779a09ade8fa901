"""A discovery on disk: `discovery.json` for the report, and `problem.yaml` that `napinn fit` continues from."""

from pathlib import Path
from typing import Any

import yaml

from napinn.discovery.found import Discovery, described
from napinn.problem import Unknown
from napinn.problem.file import ProblemFile
from napinn.storage.atomic import write_atomic
from napinn.storage.folders import DISCOVERY, FOUND_PROBLEM
from napinn.storage.json_files import as_json, read_settings


def write_discovery(found: Discovery, folder: Path, file: ProblemFile) -> None:
    """What was found, and the problem file of it where equations are claimed."""
    write_atomic(folder / DISCOVERY, as_json(described(found)))
    if found.problem is not None:
        write_atomic(folder / FOUND_PROBLEM, problem_text(found, file))


def read_discovery(run: Path) -> dict[str, Any] | None:
    """What a run folder holds of a discovery; None where it holds none."""
    path = run / DISCOVERY
    return read_settings(path) if path.exists() else None


def problem_text(found: Discovery, file: ProblemFile) -> str:
    """The problem file of the equations found; coordinates, columns and units are those that were asked with."""
    assert found.problem is not None
    entries = file.model_dump(
        mode="json", exclude_defaults=True, exclude={"left", "terms", "known", "equations", "unknowns"}
    )
    fields = [name for name in file.fields if name in found.problem.fields]
    content = {
        **entries,
        "coordinates": entries.get("coordinates", {}),
        "fields": fields,
        "equations": list(map(str, found.problem.equations)),
        "unknowns": {name: float(f"{unknown.started():.6g}") for name, unknown in _starts(found).items()},
    }
    return "# Found by napinn discover.\n" + yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=120)


def _starts(found: Discovery) -> dict[str, Unknown]:
    assert found.problem is not None
    if found.result is None:
        return dict(found.problem.unknowns)
    return {name: Unknown(float(value)) for name, value in found.result.unknowns.items()}
