"""Methods: named recipes of phases, written as functions.

`paper=True` gives a method exactly as printed: coordinates and fields unscaled, the paper's batch and budget.
Otherwise the same recipe runs in scaled coordinates with the `quick` batch and a budget for a desktop."""

from collections.abc import Mapping
from typing import Any

from napinn import collocation, density, losses, networks, training
from napinn.collocation import Grid
from napinn.density import EBM, Density
from napinn.gate import Gate
from napinn.losses import Loss, Squared
from napinn.objective import Gating
from napinn.training import FixedCost, Kind, Method, Phase, Rejection, RelativeCost

PAPER = {"collocation": Grid(100), "collocation_batch": 4000, "reading_batch": 1000, "scaled": False}
"""What the paper's presets share; its published settings name the batch sizes."""
PAPER_STEPS = 30_000


def pinn(steps: int = 10_000, *, loss: Loss = Squared(), **parts: Any) -> Method:
    """A plain physics-informed network: every reading counts alike."""
    return Method("pinn", (Phase("training", Kind.PLAIN, steps, loss),), **parts)


def na_pinn(
    steps: int = 10_000,
    *,
    warm_up: int | None = None,
    law_steps: int | None = None,
    estimator: Density = EBM(),
    gate: Gate = Gate(),
    loss: Loss = Squared(),
    rejection: Rejection = RelativeCost(),
    **parts: Any,
) -> Method:
    """The paper's method: warm-up, then the noise law alone, then field, law and gate together.

    The warm-up takes a sixth of the budget, and the law as many steps again that are not counted, as in the paper.
    """
    warm_up = steps // 6 if warm_up is None else warm_up
    law_steps = warm_up if law_steps is None else law_steps
    phases = (
        Phase("warm-up", Kind.PLAIN, warm_up, Squared()),
        Phase("noise law", Kind.LAW, law_steps),
        Phase("joint", Kind.GATED, steps - warm_up, loss),
    )
    kept = tuple(phase for phase in phases if phase.steps > 0)
    return Method("na_pinn", kept, gating=Gating(estimator, gate), rejection=rejection, **parts)


METHODS: Mapping[str, Any] = {"na_pinn": na_pinn, "pinn": pinn}
"""For the command line, where a method is a word."""

SETTINGS: Mapping[str, type] = {
    cls.__name__: cls
    for cls in (
        Method,
        Phase,
        Kind,
        Gating,
        Gate,
        FixedCost,
        RelativeCost,
        training.Adam,
        density.EBM,
        density.RunningStd,
        density.BatchStd,
        losses.Squared,
        losses.Absolute,
        networks.MLP,
        collocation.Uniform,
        collocation.Grid,
    )
}
"""Every class that may stand in a saved method."""
