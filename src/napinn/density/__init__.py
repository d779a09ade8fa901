"""Estimators of the noise law, one a file, and the scale that standardises misfits for them."""

from napinn.density.base import Density
from napinn.density.ebm import EBM, EBMState
from napinn.density.gmm import GMM, GMMState
from napinn.density.kde import KDE, Bandwidth, CrossValidated, KDEState, Silverman
from napinn.density.scale import BatchStd, RunningStd, Scale, batch_std

__all__ = [
    "EBM",
    "GMM",
    "KDE",
    "Bandwidth",
    "BatchStd",
    "CrossValidated",
    "Density",
    "EBMState",
    "GMMState",
    "KDEState",
    "RunningStd",
    "Scale",
    "Silverman",
    "batch_std",
]
