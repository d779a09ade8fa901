"""The trust check of a run on disk."""

from pathlib import Path

from napinn.diagnostics.findings import Check, CheckOutcome, Verification
from napinn.errors import InputError
from napinn.storage.atomic import write_atomic
from napinn.storage.json_files import as_json, read_settings

VERIFICATION = "verify.json"


def write_verification(verification: Verification, folder: Path) -> None:
    write_atomic(folder / VERIFICATION, as_json(verification.describe()))


def read_verification(folder: Path) -> Verification | None:
    """What an earlier trust check of a run has found; None where there was none."""
    path = folder / VERIFICATION
    if not path.exists():
        return None
    content = read_settings(path)
    try:
        checks = [
            Check(str(each["name"]), CheckOutcome(each["outcome"]), str(each["found"]), dict(each["numbers"]))
            for each in content["checks"]
        ]
    except (KeyError, TypeError, ValueError):
        raise InputError(f"{path} does not hold a trust check; napinn verify writes it again.") from None
    return Verification(tuple(checks))
