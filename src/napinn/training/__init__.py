"""Training: phases as data, one compiled loop, and moments of it that can be kept and taken up again."""

from napinn.training.checkpoints import keep_checkpoint, offer_checkpoint
from napinn.training.data import Data, load
from napinn.training.loop import all_misfits, keeping
from napinn.training.moments import GaveUpError, Moment, train
from napinn.training.optimisers import LBFGS, SOAP, Adam, Constant, Cosine, Optimiser, Retired, Schedule, Slowed
from napinn.training.phases import FixedCost, Kind, Method, Phase, Rejection, RelativeCost, Screen, SensorScreen
from napinn.training.steps import State, begin

__all__ = [
    "LBFGS",
    "SOAP",
    "Adam",
    "Constant",
    "Cosine",
    "Data",
    "FixedCost",
    "GaveUpError",
    "Kind",
    "Method",
    "Moment",
    "Optimiser",
    "Phase",
    "Rejection",
    "RelativeCost",
    "Retired",
    "Schedule",
    "Screen",
    "SensorScreen",
    "Slowed",
    "State",
    "all_misfits",
    "begin",
    "keep_checkpoint",
    "keeping",
    "load",
    "offer_checkpoint",
    "train",
]
