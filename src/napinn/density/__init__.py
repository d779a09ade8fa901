"""Estimators of the noise law, one a file, and the scale that standardises misfits for them."""

from napinn.density.base import Density
from napinn.density.ebm import EBM, EBMState
from napinn.density.scale import BatchStd, RunningStd, Scale, batch_std

__all__ = ["EBM", "BatchStd", "Density", "EBMState", "RunningStd", "Scale", "batch_std"]
