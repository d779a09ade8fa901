"""A fit as a sequence of states, each of which is enough to continue from.

Being killed and resumed, and meeting a number that is not finite, are then the same thing: training continues
from an earlier state. After a number that is not finite it does so at a smaller rate, a few times at most."""

import logging
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from napinn.engines.network.training.data import Data
from napinn.engines.network.training.loop import DivergedError, run_phase
from napinn.engines.network.training.optimisers import Slowed
from napinn.engines.network.training.phase_progress import PhaseProgress, begin_phase
from napinn.engines.network.training.phases import Method, Phase, PhaseKind
from napinn.engines.network.training.steps import TrainingState
from napinn.engines.snapshot import Snapshot
from napinn.problem import Problem

SLOWER = 0.3
"""What the rate is multiplied by each time."""
MOST_SLOWDOWNS = 3
"""After three the rate is below three hundredths, and a further one would not train."""
STEP_COSTS = {PhaseKind.PLAIN: 1.0, PhaseKind.LAW: 0.1, PhaseKind.GATED: 1.3}
"""Time of a step of each kind, beside a plain one, until a phase of that kind has been measured."""
log = logging.getLogger(__name__)

Row = dict[str, float | str]


class GaveUpError(Exception):
    """Numbers were not finite at smaller rates either; `fit_state` is the last finite one, with a note."""

    def __init__(self, fit_state: "FitState") -> None:
        self.fit_state = fit_state


@dataclass(frozen=True)
class FitState:
    """Where a fit stands: all that is needed to continue, besides the request."""

    state: TrainingState
    phase: int = 0
    """The number of the phase that is next to take a step."""
    course: PhaseProgress | None = None
    """How far that phase has come; None before it has begun."""
    slowed: int = 0
    """How often the rate has been lowered."""
    seconds: float = 0.0
    """Since the fit began, those before it was resumed included."""
    rows: tuple[Row, ...] = ()
    """The history so far."""
    notes: tuple[str, ...] = ()
    """What happened on the way that the user should know."""
    sound: bool = True
    """Whether this is a state to come back to."""


Between = Callable[[int, TrainingState], TrainingState]
"""What is done to the state before the phase of a number begins."""


def train(
    problem: Problem, method: Method, data: Data, fit_state: FitState, between: Between = lambda number, state: state
) -> Iterator[tuple[FitState, Snapshot]]:
    """The states after this one, each with its snapshot, until all phases are done; `GaveUpError` if they cannot be."""
    good, began = fit_state, time.perf_counter() - fit_state.seconds
    measured: dict[PhaseKind, float] = {}
    while fit_state.phase < len(method.phases):
        try:
            for after, snapshot in _phase(problem, method, data, fit_state, began, between):
                fit_state = after
                good = fit_state if fit_state.sound else good
                left = seconds_left(method, fit_state.phase, fit_state.seconds, snapshot, measured)
                yield fit_state, replace(snapshot, seconds_left=left)
        except DivergedError as error:
            if good.slowed >= MOST_SLOWDOWNS or method.phases[fit_state.phase].kind is PhaseKind.LAW:
                raise GaveUpError(_noted(good, f"A number was not finite ({error}); {_kept(good)} is kept.")) from None
            share = SLOWER ** (good.slowed + 1)
            back = f"training returned to {_kept(good)} and continued at {share:.2g} of the rate."
            note = f"A number was not finite ({error}); {back}"
            fit_state = good = replace(_noted(good, note), slowed=good.slowed + 1)


def _phase(
    problem: Problem, method: Method, data: Data, fit_state: FitState, began: float, between: Between
) -> Iterator[tuple[FitState, Snapshot]]:
    number, plan = fit_state.phase, [each.steps for each in method.phases]
    phase, done, total = method.phases[number], sum(plan[:number]), sum(plan)
    course = fit_state.course or begin_phase(phase, _allotted(method, phase, time.perf_counter() - began, total - done))
    log.info("phase '%s': %d of %d steps done", phase.name, course.step, phase.steps)
    if fit_state.slowed:
        phase = replace(phase, schedule=Slowed(phase.schedule, SLOWER**fit_state.slowed))
    state = between(number, fit_state.state) if fit_state.course is None else fit_state.state
    for chunk in run_phase(problem, method, phase, state, data, done, total, course, began):
        row = chunk.snapshot.row() | ({"rate": SLOWER**fit_state.slowed} if fit_state.slowed else {})
        fit_state = replace(
            fit_state, state=chunk.state, phase=number + chunk.last, course=None if chunk.last else chunk.course,
            seconds=chunk.snapshot.seconds, rows=(*fit_state.rows, row), sound=chunk.sound,
        )  # fmt: skip
        yield fit_state, chunk.snapshot


def seconds_left(
    method: Method, following: int, spent: float, snapshot: Snapshot, measured: dict[PhaseKind, float]
) -> float | None:
    """The time of the steps that are left, those of later phases included; None before any step was measured.

    Args:
        method: what is trained with.
        following: the number of the phase that takes the next step, which is this one or the one after it.
        spent: seconds since the fit began.
        snapshot: the newest row of the history.
        measured: the time of a step by kind, to which that of this row is added; the first row of a phase is not
            taken, because it holds the time of compiling.
    """
    plan = method.phases
    number = next(place for place, phase in enumerate(plan) if phase.name == snapshot.phase)
    if snapshot.step > snapshot.new_steps:
        measured[plan[number].kind] = 1.0 / snapshot.steps_a_second
    if not measured:
        return None
    plain = next(each / STEP_COSTS[kind] for kind, each in measured.items())
    steps = [0] * number + [plan[number].steps - snapshot.step if following == number else 0]
    steps += [phase.steps for phase in plan[number + 1 :]]
    costs = (measured.get(phase.kind, plain * STEP_COSTS[phase.kind]) for phase in plan)
    left = sum(count * cost for count, cost in zip(steps, costs, strict=True))
    return left if method.minutes is None else min(left, max(60.0 * method.minutes - spent, 0.0))


def _kept(fit_state: FitState) -> str:
    return f"step {fit_state.rows[-1]['step']}" if fit_state.rows else "the start"


def _noted(fit_state: FitState, note: str) -> FitState:
    log.warning(note)
    return replace(fit_state, notes=(*fit_state.notes, note))


def _allotted(method: Method, phase: Phase, spent: float, steps_left: int) -> float | None:
    """The phase's share of what is left of the budget of time."""
    if method.minutes is None:
        return None
    return max(60.0 * method.minutes - spent, 1.0) * phase.steps / steps_left
