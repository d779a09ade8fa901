"""Units: texts such as `W/(m·K)` that pint understands, and what the equations of a problem say of them."""

from napinn.problem.units.dimensions import Dimensions
from napinn.problem.units.system import UnitSystem

__all__ = ["Dimensions", "UnitSystem"]
