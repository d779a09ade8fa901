"""A fit as a row of moments, each of which is enough to go on from.

Being killed and taken up again, and meeting a number that is not finite, are then the same thing: training goes on
from an earlier moment. After a number that is not finite it does so at a smaller rate, a few times at most."""

import logging
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from napinn.problem import Problem
from napinn.snapshot import Snapshot
from napinn.training.course import Course, begun
from napinn.training.data import Data
from napinn.training.loop import DivergedError, run_phase
from napinn.training.optimisers import Slowed
from napinn.training.phases import Kind, Method, Phase
from napinn.training.steps import State

SLOWER = 0.3
"""What the rate is multiplied by each time."""
MOST_SLOWDOWNS = 3
STEP_COSTS = {Kind.PLAIN: 1.0, Kind.LAW: 0.1, Kind.GATED: 1.3, Kind.POLISH: 2.0}
"""Time of a step of each kind, beside a plain one, until a phase of that kind has been measured."""
log = logging.getLogger(__name__)

Row = dict[str, float | str]


class GaveUpError(Exception):
    """Numbers were not finite at smaller rates either; `moment` is the last sound one, with a note of what happened."""

    def __init__(self, moment: "Moment") -> None:
        self.moment = moment


@dataclass(frozen=True)
class Moment:
    """Where a fit stands: all that going on needs, besides what the fit was asked for."""

    state: State
    phase: int = 0
    """The number of the phase that is next to take a step."""
    course: Course | None = None
    """How far that phase has come; None before it has begun."""
    slowed: int = 0
    """How often the rate has been lowered."""
    seconds: float = 0.0
    rows: tuple[Row, ...] = ()
    """The history so far."""
    notes: tuple[str, ...] = ()
    """What happened on the way that the user should know."""
    sound: bool = True
    """Whether this is a moment to come back to."""


Between = Callable[[int, State], State]
"""What is done to the state before the phase of a number begins."""


def train(
    problem: Problem, method: Method, data: Data, moment: Moment, between: Between = lambda number, state: state
) -> Iterator[tuple[Moment, Snapshot]]:
    """The moments after this one, until all phases are done; `GaveUpError` if they cannot be."""
    good, began = moment, time.perf_counter() - moment.seconds
    measured: dict[Kind, float] = {}
    while moment.phase < len(method.phases):
        try:
            for after, snapshot in _phase(problem, method, data, moment, began, between):
                moment = after
                good = moment if moment.sound else good
                left = seconds_left(method, moment.phase, moment.seconds, snapshot, measured)
                yield moment, replace(snapshot, seconds_left=left)
        except DivergedError as error:
            if good.slowed >= MOST_SLOWDOWNS or method.phases[moment.phase].kind in (Kind.LAW, Kind.POLISH):
                raise GaveUpError(_noted(good, f"A number was not finite ({error}); {_kept(good)} is kept.")) from None
            share = SLOWER ** (good.slowed + 1)
            back = f"training went back to {_kept(good)} and on at {share:.2g} of the rate."
            note = f"A number was not finite ({error}); {back}"
            moment = good = replace(_noted(good, note), slowed=good.slowed + 1)


def _phase(
    problem: Problem, method: Method, data: Data, moment: Moment, began: float, between: Between
) -> Iterator[tuple[Moment, Snapshot]]:
    number, plan = moment.phase, [each.steps for each in method.phases]
    phase, done, total = method.phases[number], sum(plan[:number]), sum(plan)
    course = moment.course or begun(phase, _allotted(method, phase, time.perf_counter() - began, total - done))
    log.info("phase '%s': %d of %d steps done", phase.name, course.step, phase.steps)
    if moment.slowed:
        phase = replace(phase, schedule=Slowed(phase.schedule, SLOWER**moment.slowed))
    state = between(number, moment.state) if moment.course is None else moment.state
    for chunk in run_phase(problem, method, phase, state, data, done, total, course):
        row = chunk.snapshot.row() | ({"rate": SLOWER**moment.slowed} if moment.slowed else {})
        moment = replace(
            moment, state=chunk.state, phase=number + chunk.last, course=None if chunk.last else chunk.course,
            seconds=time.perf_counter() - began, rows=(*moment.rows, row), sound=chunk.sound,
        )  # fmt: skip
        yield moment, chunk.snapshot


def seconds_left(
    method: Method, following: int, spent: float, snapshot: Snapshot, measured: dict[Kind, float]
) -> float | None:
    """The time of the steps that are left, those of later phases included; None before any step was measured.

    Args:
        method: what is trained with.
        following: the number of the phase that takes the next step, which is this one or the one after it.
        spent: seconds since training began.
        snapshot: the newest row of the history.
        measured: the time of a step by kind, to which that of this row is added; the first row of a phase is not
            taken, because it holds the time of compiling.
    """
    plan = method.phases
    number = next(place for place, phase in enumerate(plan) if phase.name == snapshot.phase)
    if snapshot.step > 1.001 * snapshot.steps_a_second * snapshot.seconds:
        measured[plan[number].kind] = 1.0 / snapshot.steps_a_second
    if not measured:
        return None
    plain = next(each / STEP_COSTS[kind] for kind, each in measured.items())
    steps = [0] * number + [plan[number].steps - snapshot.step if following == number else 0]
    steps += [phase.steps for phase in plan[number + 1 :]]
    costs = (measured.get(phase.kind, plain * STEP_COSTS[phase.kind]) for phase in plan)
    left = sum(count * cost for count, cost in zip(steps, costs, strict=True))
    return left if method.minutes is None else min(left, max(60.0 * method.minutes - spent, 0.0))


def _kept(moment: Moment) -> str:
    return f"step {moment.rows[-1]['step']}" if moment.rows else "the start"


def _noted(moment: Moment, note: str) -> Moment:
    log.warning(note)
    return replace(moment, notes=(*moment.notes, note))


def _allotted(method: Method, phase: Phase, spent: float, steps_left: int) -> float | None:
    """The phase's share of what is left of the budget of time."""
    if method.minutes is None:
        return None
    return max(60.0 * method.minutes - spent, 1.0) * phase.steps / steps_left
