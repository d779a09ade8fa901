"""Training: phases as data, one compiled loop, the state that it carries."""

from napinn.training.data import Data, load
from napinn.training.loop import DivergedError, Snapshot, State, all_misfits, begin, run_phase
from napinn.training.phases import Adam, FixedCost, Kind, Method, Phase, Rejection, RelativeCost, Screen

__all__ = [
    "Adam",
    "Data",
    "DivergedError",
    "FixedCost",
    "Kind",
    "Method",
    "Phase",
    "Rejection",
    "RelativeCost",
    "Screen",
    "Snapshot",
    "State",
    "all_misfits",
    "begin",
    "load",
    "run_phase",
]
