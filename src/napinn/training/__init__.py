"""Training: phases as data, one compiled loop, the state that it carries."""

from napinn.training.data import Data, load
from napinn.training.loop import DivergedError, Snapshot, all_misfits, keeping, run_phase
from napinn.training.optimisers import LBFGS, SOAP, Adam, Constant, Cosine, Optimiser, Schedule
from napinn.training.phases import FixedCost, Kind, Method, Phase, Rejection, RelativeCost, Screen, SensorScreen
from napinn.training.steps import State, begin

__all__ = [
    "LBFGS",
    "SOAP",
    "Adam",
    "Constant",
    "Cosine",
    "Data",
    "DivergedError",
    "FixedCost",
    "Kind",
    "Method",
    "Optimiser",
    "Phase",
    "Rejection",
    "RelativeCost",
    "Schedule",
    "Screen",
    "SensorScreen",
    "Snapshot",
    "State",
    "all_misfits",
    "begin",
    "keeping",
    "load",
    "run_phase",
]
