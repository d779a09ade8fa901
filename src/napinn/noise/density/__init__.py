"""Estimators of the noise law, one a file, and the scale that standardises misfits for them."""

from napinn.noise.density.base import Density
from napinn.noise.density.compressed import Compressed
from napinn.noise.density.ebm import EBM, EBMState
from napinn.noise.density.gmm import GMM, GMMState
from napinn.noise.density.kde import KDE, Bandwidth, CrossValidated, KDEState, Silverman
from napinn.noise.density.scale import BatchStd, RunningSpread, RunningStd, Scale, Standard

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
