"""Outcomes of many finished jobs in one file: what a repository keeps of a study.

A job that has run leaves a folder of its own (`store`). `pack` moves the finished ones into one table, a row a job, and
`find` reads them from there. The table holds JSON text in compressed columns, so it names no class and runs nothing."""

import functools
import json
import shutil
from pathlib import Path
from typing import Any

from napinn.errors import InputError
from napinn.storage.atomic import atomic_path
from napinn.storage.lock import held

TABLE = "finished.parquet"
COLUMNS = ("name", "key", "work", "seconds", "attempts", "row", "payload")


def find(name: str, folder: Path) -> dict[str, Any] | None:
    """The packed outcome of a job, or None.

    Args:
        name: the name of the job.
        folder: the folder of the study's jobs.
    """
    path = folder / TABLE
    try:
        return _read(path, path.stat().st_mtime_ns).get(name)
    except (OSError, ValueError, KeyError):
        # Damaged, as a torn outcome file is: its jobs are run again.
        return None


def unpacked(entry: dict[str, Any]) -> dict[str, Any]:
    """The row of an entry that `find` gave."""
    return json.loads(entry["row"])


def pack(folder: Path, outcomes: dict[str, dict[str, Any]]) -> int:
    """Move finished outcomes into the table of a folder, remove their own folders, and return how many were moved.

    Args:
        folder: the folder of the study's jobs.
        outcomes: by the name of a job, the content of its outcome file.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = folder / TABLE
    # Two that pack at once would each write what the other has not read.
    with held(folder):
        known = _known(path)
        for name, content in outcomes.items():
            texts = {key: json.dumps(content[key], ensure_ascii=False) for key in ("row", "payload")}
            known[name] = {key: content.get(key) for key in COLUMNS} | texts
        ordered = [known[name] for name in sorted(known)]
        table = pa.table({column: [entry[column] for entry in ordered] for column in COLUMNS})
        with atomic_path(path) as beside:
            pq.write_table(table, beside, compression="zstd", compression_level=19)
        for name in outcomes:
            shutil.rmtree(folder / name)
    return len(outcomes)


def _known(path: Path) -> dict[str, dict[str, Any]]:
    """The entries that are packed already; a damaged table is refused, so that it is not written over."""
    if not path.exists():
        return {}
    try:
        return dict(_read(path, path.stat().st_mtime_ns))
    except (ValueError, KeyError):
        raise InputError(f"{path} is damaged; restore it, or remove it and its fits are run again.") from None


@functools.lru_cache(maxsize=4)
def _read(path: Path, changed: int) -> dict[str, dict[str, Any]]:
    """All entries by name; `changed` makes a file that was written again another one."""
    import pyarrow.parquet as pq

    return {entry["name"]: entry for entry in pq.read_table(path, columns=list(COLUMNS)).to_pylist()}
