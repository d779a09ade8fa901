"""Estimators of the noise law, one a file, and the scale that standardises misfits for them."""

from napinn.density.base import Density
from napinn.density.compressed import Compressed
from napinn.density.ebm import EBM, EBMState
from napinn.density.gmm import GMM, GMMState
from napinn.density.kde import KDE, Bandwidth, CrossValidated, KDEState, Silverman
from napinn.density.scale import BatchStd, RunningSpread, RunningStd, Scale, Standard

__all__ = [
    "EBM",
    "GMM",
    "KDE",
    "Bandwidth",
    "BatchStd",
    "Compressed",
    "CrossValidated",
    "Density",
    "EBMState",
    "GMMState",
    "KDEState",
    "RunningSpread",
    "RunningStd",
    "Scale",
    "Silverman",
    "Standard",
]
