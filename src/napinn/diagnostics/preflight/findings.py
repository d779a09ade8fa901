"""A finding: one thing that a person should know before a fit, and how heavily it weighs."""

import enum
from dataclasses import dataclass


class Weight(enum.Enum):
    NOTE = "note"
    """Worth knowing."""
    DOUBT = "doubt"
    """The fit will run, and its answer may be wrong because of this."""
    OBSTACLE = "obstacle"
    """The fit will refuse."""


@dataclass(frozen=True)
class Finding:
    weight: Weight
    text: str
