"""Training: phases as data, one compiled loop, and states of it that can be kept and resumed."""

from napinn.engines.network.training.checkpoints import keep_checkpoint, offer_checkpoint
from napinn.engines.network.training.data import Data, prepare_data
from napinn.engines.network.training.fit_state import FitState, GaveUpError, train
from napinn.engines.network.training.loop import all_misfits, keeping
from napinn.engines.network.training.optimisers import (
    SOAP,
    Adam,
    ConstantRate,
    CosineRate,
    Optimiser,
    Retired,
    Schedule,
    Slowed,
)
from napinn.engines.network.training.phases import (
    FixedCost,
    Method,
    Phase,
    PhaseKind,
    Rejection,
    RelativeCost,
    Screen,
    SensorScreen,
)
from napinn.engines.network.training.steps import TrainingState, begin

__all__ = [
    "SOAP",
    "Adam",
    "ConstantRate",
    "CosineRate",
    "Data",
    "FitState",
    "FixedCost",
    "GaveUpError",
    "Method",
    "Optimiser",
    "Phase",
    "PhaseKind",
    "Rejection",
    "RelativeCost",
    "Retired",
    "Schedule",
    "Screen",
    "SensorScreen",
    "Slowed",
    "TrainingState",
    "all_misfits",
    "begin",
    "keep_checkpoint",
    "keeping",
    "offer_checkpoint",
    "prepare_data",
    "train",
]
