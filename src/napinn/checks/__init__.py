"""What can be said of a problem and its readings before any training: what they are, and what looks wrong."""

from napinn.checks.data import inspect_readings
from napinn.checks.duration import estimate
from napinn.checks.findings import Finding, Weight
from napinn.checks.structure import inspect_problem

__all__ = ["Finding", "Weight", "estimate", "inspect_problem", "inspect_readings"]
