"""What the readings themselves ask of a method, settled before training.

Many waves across the box (`napinn.waves`): the perceptron's first layer becomes sines with as many waves at the start,
because tanh layers would settle on a field at rest, with which most equations are content.

Few readings: they are outweighed by equations whose unknowns are still far off, so the equations begin light. Their
noise does not average out, so a field held by its equations only in part would follow it; the equations therefore
weigh ever more while the fit cools. And a flexible law would learn a few misfits by heart, so it is given a prior,
centred on zero.

Neither happens in the paper's benchmarks, and a method that is given its backbone by name keeps it."""

import dataclasses

from napinn.density import RunningSpread, Shrunk
from napinn.likelihood import Likelihood
from napinn.networks import FLS, MLP
from napinn.problem import Problem
from napinn.readings import Readings
from napinn.training import Kind, Method, Phase
from napinn.waves import FEW, crowding

MANY = 1000
"""With as many readings as this, nothing is few."""
LIGHTEST, STIFFEST = 1e-4, 100.0
"""Between these the weight of the equations grows."""
PRIOR = 100
"""How many readings the prior of the noise law is worth."""


def suited(method: Method, readings: Readings, problem: Problem) -> tuple[Method, tuple[float, ...] | None]:
    """The method as it will be trained, and how crowded each coordinate is (None where that was not asked)."""
    if not (method.adapts and method.scaled):
        return method, None
    method = for_few(method, len(readings))
    if not isinstance(method.backbone, MLP):
        return method, None
    times = crowding(readings, problem.lows, problem.highs)
    return for_waves(method, method.backbone, times), times


def for_waves(method: Method, backbone: MLP, times: tuple[float, ...]) -> Method:
    if max(times) == 1.0:
        return method
    # The box is two units long, so half of the waves across it are cycles per unit.
    sigma = tuple(0.5 * FEW * each for each in times)
    return dataclasses.replace(method, backbone=FLS(backbone.width, backbone.depth, sigma))


def for_few(method: Method, readings: int) -> Method:
    """Concerns methods that end with the learned law as their likelihood."""
    gating, last = method.gating, method.phases[-1]
    if readings >= MANY or gating is None or not isinstance(last.loss, Likelihood):
        return method
    gating = dataclasses.replace(gating, density=Shrunk(gating.density, PRIOR / (PRIOR + readings)))
    if isinstance(gating.scale, RunningSpread):
        gating = dataclasses.replace(gating, scale=dataclasses.replace(gating.scale, centred=False))
    phases = tuple(_for_few(phase, phase is last, readings) for phase in method.phases)
    return dataclasses.replace(method, phases=phases, gating=gating)


def _for_few(phase: Phase, is_last: bool, readings: int) -> Phase:
    if phase.kind is Kind.PLAIN:
        return dataclasses.replace(phase, stiffness=(LIGHTEST, 1.0))
    if isinstance(phase.loss, Likelihood):
        phase = dataclasses.replace(phase, loss=dataclasses.replace(phase.loss, profiled=False))
    return dataclasses.replace(phase, stiffness=(1.0, min(MANY / readings, STIFFEST))) if is_last else phase
