"""What is known of a problem and its readings before any training: what they are, and what looks wrong."""

from napinn.diagnostics.preflight.data import inspect_readings
from napinn.diagnostics.preflight.findings import Finding, Weight
from napinn.diagnostics.preflight.structure import inspect_problem

__all__ = ["Finding", "Weight", "inspect_problem", "inspect_readings"]
