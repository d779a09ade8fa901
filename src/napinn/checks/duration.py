"""How long a fit will take, from a few of its steps."""

import dataclasses

from napinn.fitting import fit
from napinn.problem import Problem
from napinn.readings import Readings
from napinn.training import Kind, Method

TRIED = 20


def seconds_a_step(problem: Problem, readings: Readings, method: Method) -> float:
    """Seconds of one step of the first phase that moves the field, measured once it is compiled.

    Gated steps cost somewhat more, so a whole fit takes longer than this times its steps."""
    first = next(phase for phase in method.phases if phase.kind is not Kind.LAW)
    phase = dataclasses.replace(first, kind=Kind.PLAIN, steps=2 * TRIED, screen=None)
    short = dataclasses.replace(method, phases=(phase,), gating=None, log_every=TRIED)
    history = fit(problem, readings, short).history
    return float(history["seconds"].iloc[-1]) / TRIED
