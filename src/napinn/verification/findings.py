"""What the trust check says: one `Check` for each thing that was looked at, and all of them as a `Verification`."""

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from napinn.errors import InputError
from napinn.io.whole import write_whole
from napinn.request import FORMAT, as_json, read_settings
from napinn.run_folder import VERIFICATION


class Outcome(enum.Enum):
    PASS = "pass"
    DOUBT = "doubt"
    CANNOT = "cannot"
    """There is nothing to check by, or it does not apply; the fit is neither better nor worse for it."""


@dataclass(frozen=True)
class Check:
    name: str
    outcome: Outcome
    found: str
    """One sentence with the numbers."""
    numbers: Mapping[str, Any] = field(default_factory=dict)
    """The same for machines."""


@dataclass(frozen=True)
class Verification:
    checks: tuple[Check, ...]

    @property
    def trusted(self) -> bool:
        """Whether no check casts doubt on the fit."""
        return not any(check.outcome is Outcome.DOUBT for check in self.checks)

    def sentence(self) -> str:
        passed = sum(check.outcome is Outcome.PASS for check in self.checks)
        if not self.trusted:
            doubted = ", ".join(check.name for check in self.checks if check.outcome is Outcome.DOUBT)
            return f"Do not trust this fit as it is: {doubted}."
        return f"No check casts doubt on the fit: {passed} of {len(self.checks)} could be made, and passed."

    def describe(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "trusted": self.trusted,
            "message": self.sentence(),
            "checks": [
                {"name": each.name, "outcome": each.outcome.value, "found": each.found, "numbers": dict(each.numbers)}
                for each in self.checks
            ],
        }


def write_verification(verification: Verification, folder: Path) -> None:
    write_whole(folder / VERIFICATION, as_json(verification.describe()))


def read_verification(folder: Path) -> Verification | None:
    """What an earlier trust check of a run has found; None where there was none."""
    path = folder / VERIFICATION
    if not path.exists():
        return None
    content = read_settings(path)
    try:
        checks = [
            Check(str(each["name"]), Outcome(each["outcome"]), str(each["found"]), dict(each["numbers"]))
            for each in content["checks"]
        ]
    except (KeyError, TypeError, ValueError):
        raise InputError(f"{path} does not hold a trust check; napinn verify writes it again.") from None
    return Verification(tuple(checks))
