"""The question: coordinates, fields, equations with unknowns, conditions, and the file that says them."""

from napinn.problem.problem import Problem
from napinn.problem.unknown import Unknown
from napinn.problem.varying import VaryingUnknown

__all__ = ["Problem", "Unknown", "VaryingUnknown"]
