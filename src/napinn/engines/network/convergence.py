"""Whether the training of a network had converged when it ended, judged by its history."""

import numpy as np
import pandas as pd

from napinn.engines.network.model import network_of
from napinn.results.result import FitResult

TAIL, TAIL_OF_LAST = 0.1, 0.2
"""Shares of all steps, and of the last phase's, at the end, over which a settled fit no longer changes."""
STEADY, STEADY_UNITS = 0.01, 1e-3
"""A coefficient is steady within this share of itself, or of the change that matters to the equations."""
STALLED_LOSS, STALLED_SCORE = 0.02, 0.01
"""A loss has stalled within this share of itself, a held-out score within this many nats."""


def settled(result: FitResult) -> bool:
    """Whether losses and coefficients no longer changed over the last steps."""
    history, network = result.history, network_of(result)
    if len(history) < 4:
        return False
    end, phases = history["step"].iloc[-1], network.method.phases
    last = history[history["phase"] == history["phase"].iloc[-1]]
    window = min(TAIL * sum(phase.steps for phase in phases), TAIL_OF_LAST * phases[-1].steps)
    tail = last[last["step"] > end - window]
    before = last[(last["step"] > end - 2.0 * window) & (last["step"] <= end - window)]
    if len(tail) < 2 or len(before) < 2:
        return False
    units = np.asarray(network.learned.field.frame.unknowns, float)
    for (name, value), unit in zip(result.unknowns.items(), units, strict=True):
        if np.ptp(tail[name].to_numpy(float)) > max(STEADY * abs(value), STEADY_UNITS * unit):
            return False
    if "held_out" in tail:
        return bool(_change(before["held_out"], tail["held_out"]) <= STALLED_SCORE)
    return bool(_change(before["total"], tail["total"]) <= STALLED_LOSS * abs(before["total"].mean()))


def _change(before: pd.Series, after: pd.Series) -> float:
    """The change of a mean beyond what its scatter explains."""
    scatter = np.hypot(*(float(part.std()) / np.sqrt(len(part)) for part in (before, after)))
    return max(0.0, float(abs(after.mean() - before.mean())) - 2.0 * scatter)
