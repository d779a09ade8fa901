"""What the trust check says: one `Check` for each thing that was looked at, and all of them as a `Verification`."""

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from napinn.data import markup
from napinn.storage.json_files import FORMAT


class CheckOutcome(enum.Enum):
    PASS = "pass"
    DOUBT = "doubt"
    CANNOT = "cannot"
    """There is nothing to check by, or it does not apply; the fit is neither better nor worse for it."""


@dataclass(frozen=True)
class Check:
    name: str
    outcome: CheckOutcome
    found: str
    """One sentence with the numbers."""
    numbers: Mapping[str, Any] = field(default_factory=dict)
    """The same for machines."""


@dataclass(frozen=True)
class Verification:
    """What the trust check found: `napinn.verify(result)`.

    :param checks: One for each thing that was looked at, with its `name`, its `outcome` and a sentence in `found`.

    >>> verification = napinn.verify(result)
    >>> verification.trusted, verification.checks[0].name
    (True, 'status of the fit')
    """

    checks: tuple[Check, ...]

    def __repr__(self) -> str:
        """What it found, one line a check."""
        lines = (f"  {check.outcome.value:6} {check.name}: {check.found}" for check in self.checks)
        return "\n".join([f"<napinn.Verification: {self.sentence()}>", *lines])

    def _repr_html_(self) -> str:
        rows = [(check.name, check.outcome.value, check.found) for check in self.checks]
        table = markup.table(("check", "outcome", "found"), rows)
        return markup.block("Verification", [markup.line(self.sentence()), markup.fold("Checks", table, True)])

    @property
    def trusted(self) -> bool:
        """Whether no check casts doubt on the fit."""
        return not any(check.outcome is CheckOutcome.DOUBT for check in self.checks)

    def sentence(self) -> str:
        passed = sum(check.outcome is CheckOutcome.PASS for check in self.checks)
        if not self.trusted:
            doubted = ", ".join(check.name for check in self.checks if check.outcome is CheckOutcome.DOUBT)
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
