"""Both signs of unknowns that have neither start, bound nor prior.

Such an unknown starts at its natural size, which says nothing of its sign. A network that has learned a field beside a
velocity of the wrong sign may stay there, and so may every seed. So the first phase begins twice, with all such
unknowns mirrored the second time, and the sign whose loss is lower after a tenth of the phase is the start of the fit.
Several unknowns are mirrored together; a mixture of signs is not tried."""

from collections.abc import Sequence
from dataclasses import replace

import equinox as eqx
import numpy as np

from napinn.engines.network.training import Data, FitState, GaveUpError, Method, train
from napinn.problem import Problem

TRIAL = 0.1
"""Share of the first phase after which the two starts are compared."""


def free_signs(problem: Problem) -> tuple[str, ...]:
    """The unknowns of which nothing says whether they are positive.

    Args:
        problem: with its unknowns."""
    return tuple(
        name
        for name, each in problem.unknowns.items()
        if each.start is None and each.low is None and each.high is None and each.prior is None
    )


def with_better_signs(problem: Problem, method: Method, data: Data, fit_state: FitState) -> FitState:
    """The start with the signs of lower loss, and a note where the two starts led to different signs.

    Args:
        problem: what is fitted.
        method: by which it is trained.
        data: readings on the device.
        fit_state: where the fit begins; one that has steps behind it is returned as it is."""
    names = free_signs(problem)
    if not names or fit_state.rows or fit_state.course is not None:
        return fit_state
    other = _mirrored(fit_state, names)
    first, second = (_tried(problem, method, data, each) for each in (fit_state, other))
    better = other if second[0] < first[0] else fit_state
    opposite = [name for name in names if first[1].get(name, 0.0) * second[1].get(name, 0.0) < 0.0]
    if not opposite:
        return better
    chosen = (second if better is other else first)[1]
    shown = ", ".join(f"'{name}' {'above' if chosen[name] > 0.0 else 'below'} zero" for name in opposite)
    note = (
        "No start was given, so both signs were tried; after a tenth of the first phase the loss is lower with "
        f"{shown}."
    )
    return replace(better, notes=(*better.notes, note))


def _mirrored(fit_state: FitState, names: Sequence[str]) -> FitState:
    unknowns = fit_state.state.learned.unknowns
    mirrored = {name: -raw if name in names else raw for name, raw in unknowns.items()}
    return replace(fit_state, state=eqx.tree_at(lambda state: state.learned.unknowns, fit_state.state, mirrored))


def _tried(problem: Problem, method: Method, data: Data, fit_state: FitState) -> tuple[float, dict[str, float]]:
    """Loss and unknowns after a tenth of the first phase; an infinite loss where numbers are not finite."""
    enough, loss, unknowns = TRIAL * method.phases[0].steps, np.inf, {}
    try:
        for _, snapshot in train(problem, method, data, fit_state):
            loss, unknowns = snapshot.losses["total"], dict(snapshot.unknowns)
            if snapshot.step >= enough:
                break
    except GaveUpError:
        return np.inf, unknowns
    return (loss if np.isfinite(loss) else np.inf), unknowns
