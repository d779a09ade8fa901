"""How sure a fit is: reads a result to first order about where it ended, and never trains."""

from napinn.certainty.sure import how_sure

__all__ = ["how_sure"]
