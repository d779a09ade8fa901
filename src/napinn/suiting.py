"""What the readings themselves ask of a method, settled before training.

Many waves across the box (`napinn.waves`): the perceptron's first layer becomes sines with as many waves at the start,
because tanh layers would settle on a field at rest, with which most equations are content.

Few readings: equations whose unknowns are still far off outweigh them, so the field first follows the readings under
light equations, which then grow heavy. A field that follows gross errors ends elsewhere, though, so there is a second
start under equations at their full weight, and the better of the two goes on. Noise that does not average out would
leave its mark on a field that its equations hold only in part, so they end heavier than with many readings. Along the
valley that is left, network and unknowns have to move together, which Gauss–Newton steps do
(`napinn.training.gauss_newton`); with few readings these are cheap. And a flexible law would learn a few misfits by
heart, so it is a smooth one with a prior, centred on zero.

Some thousands, where a field carries itself along and so steepens into fronts: what a few dozen of them say of a front
has to be heard before the equations, whose weight is greatest there, have settled on a smoother one. So the warm-up is
longer, and the equations are light in it; and again when the likelihood comes, in whose units misfits weigh less. They
grow to their full weight while the rate falls.

None of this happens in the paper's benchmarks. A backbone or an estimator that was named stays; a named estimator of
few misfits gets the prior all the same."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np

from napinn.density import GMM, RunningSpread, Shrunk
from napinn.equations import Terms
from napinn.likelihood import Likelihood
from napinn.losses import Huber, Loss
from napinn.methods import FLEXIBLE, compressed
from napinn.networks import FLS, MLP
from napinn.objective import VALUE
from napinn.problem import Problem
from napinn.readings import Readings
from napinn.training import GaussNewton, Kind, Method, Phase
from napinn.waves import FEW, crowding

FEW_READINGS, SOME_READINGS = 1000, 5000
"""With as many readings as these, they are not few, and not some."""
LIGHTEST, LIGHT, STIFFEST = 1e-4, 1e-2, 100.0
"""Weights of the equations: when training begins, when the warm-up ends, and in the end."""
APPROACH, REFINEMENT = 1 / 200, 1 / 100
"""Gauss–Newton steps after the warm-up and in the end, as shares of the budget of steps."""
HUBER = 0.1
"""Misfits in the approach are squared up to this many deviations of the field, and absolute beyond."""
LONG = 1 / 3
"""Share of the steps that the warm-up takes where there are fronts."""
LIGHTER = 0.1
"""Weight of the equations at the end of that warm-up."""
LIGHTENED = 0.02
"""And when the likelihood takes over."""
KEPT = 1 / 3
"""How much remains of the phases in between, which then only have to learn law and gate."""
RESIDUALS = 512
"""Of the equations in a Gauss–Newton step; twice as many in two dimensions or more."""
TRIED, ROUNDING = 8, 1e-9
"""Points at which an equation is tried, and what of its size is rounding."""
PRIOR = 100
"""How many readings the prior of the noise law is worth, and the supposition that all fields are as noisy."""
SMOOTH = compressed(GMM(smallest=0.5))


def suited(method: Method, readings: Readings, problem: Problem) -> Method:
    """The method as it will be trained; the same when it is asked again."""
    if not (method.adapts and method.scaled) or method.crowding is not None:
        return method
    if _fitted_by_law(method):
        count = len(readings)
        if count < FEW_READINGS:
            method = for_few(method, count, problem)
        elif count < SOME_READINGS and steepens(problem):
            method = for_fronts(method)
    if method.keeps_backbone or not isinstance(method.backbone, MLP):
        return dataclasses.replace(method, crowding=(1.0,) * len(problem.coordinates))
    return for_waves(method, method.backbone, crowding(readings, problem.lows, problem.highs))


def for_waves(method: Method, backbone: MLP, times: tuple[float, ...]) -> Method:
    method = dataclasses.replace(method, crowding=times)
    if max(times) == 1.0:
        return method
    # The box is two units long, so half of the waves across it are cycles per unit.
    sigma = tuple(0.5 * FEW * each for each in times)
    return dataclasses.replace(method, backbone=FLS(backbone.width, backbone.depth, sigma))


def _fitted_by_law(method: Method) -> bool:
    """Whether it ends with the learned law as its likelihood."""
    return method.gating is not None and method.phases[-1].loss_is_law


def steepens(problem: Problem) -> bool:
    """Whether an equation holds the product of a field with a slope of one, or another function of both that is no sum.

    Told by trying: what moving both changes is then not what moving each of them changes."""
    slopes = [terms for terms in problem.wanted if all(len(axes) == 1 for axes in terms)]
    if VALUE not in problem.wanted or not slopes:
        return False
    random = np.random.default_rng(0)
    with jax.enable_x64(True):
        points = jnp.asarray(random.uniform(problem.lows, problem.highs, (TRIED, len(problem.lows))))
        drawn = {terms: random.uniform(0.5, 1.5, (TRIED, len(problem.outputs))) for terms in sorted(problem.wanted)}
        unknowns = {name: jnp.asarray(random.uniform(0.5, 1.5)) for name in problem.unknowns}

        def moved(*terms: Terms) -> np.ndarray:
            values = {each: jnp.asarray(array + (each in terms)) for each, array in drawn.items()}
            return np.asarray(problem.left_over(problem.system, points, values, unknowns))

        still, carried = moved(), moved(VALUE)
        both = [moved(VALUE, slope) - moved(slope) - carried + still for slope in slopes]
    return any(bool(np.any(np.abs(each) > ROUNDING * (1.0 + np.abs(still)))) for each in both)


def for_fronts(method: Method) -> Method:
    plain = sum(phase.steps for phase in method.phases if phase.kind is Kind.PLAIN)
    longer = max(round(LONG * method.steps), plain)
    stretched, left = longer / max(plain, 1), (method.steps - longer) / max(method.steps - plain, 1)
    phases: list[Phase] = []
    for phase in method.phases:
        if phase.kind is Kind.PLAIN:
            steps, stiffness = round(stretched * phase.steps), (LIGHT, LIGHTER)
        elif phase.kind is Kind.GATED:
            steps, stiffness = round(left * phase.steps), (LIGHTENED, 1.0 if phase is method.phases[-1] else LIGHTENED)
        else:
            steps, stiffness = phase.steps, phase.stiffness
        phases.append(dataclasses.replace(phase, steps=max(steps, 1), stiffness=stiffness))
    return dataclasses.replace(method, phases=tuple(phases))


def for_few(method: Method, readings: int, problem: Problem) -> Method:
    gating, last = method.gating, method.phases[-1]
    assert gating is not None
    assert isinstance(last.loss, Likelihood)
    learned = SMOOTH if gating.density == FLEXIBLE else gating.density
    gating = dataclasses.replace(gating, density=Shrunk(learned, PRIOR / (PRIOR + readings)))
    if isinstance(gating.scale, RunningSpread):
        shared = PRIOR / (PRIOR + readings / len(problem.fields)) if len(problem.fields) > 1 else 0.0
        gating = dataclasses.replace(gating, scale=dataclasses.replace(gating.scale, centred=False, shared=shared))
    loss = dataclasses.replace(last.loss, profiled=False)
    residuals = RESIDUALS * min(len(problem.coordinates), 2)
    newton = GaussNewton(points=max(residuals // len(problem.equations), RESIDUALS // 4))
    phases: list[Phase] = []
    for phase in method.phases:
        if phase.kind is Kind.PLAIN:
            phases += _two_starts(method, phase, newton)
        elif phase.kind is Kind.GATED:
            steps = max(round(KEPT * phase.steps), 1)
            # The first one begins afresh after Gauss–Newton steps; the next goes on.
            goes_on = bool(phases) and phases[-1].kind is Kind.GATED
            afresh = None if goes_on else method.optimiser
            phases.append(dataclasses.replace(phase, loss=loss, steps=steps, optimiser=afresh))
        else:
            phases.append(phase)
    phases.append(_newton("refinement", method, REFINEMENT, loss, newton, (1.0, STIFFEST)))
    return dataclasses.replace(method, phases=tuple(phases), gating=gating)


def _two_starts(method: Method, phase: Phase, newton: GaussNewton) -> tuple[Phase, ...]:
    """Under equations that begin light, and under heavy ones; the last phase chooses."""
    approach = _newton("approach", method, APPROACH, Huber(HUBER), newton, (LIGHT, 1.0))
    heavy = dataclasses.replace(phase, name="heavy warm-up", optimiser=method.optimiser, afresh=True)
    chooser = dataclasses.replace(approach, name="heavy approach", stiffness=(1.0, 1.0), chooses=True)
    return dataclasses.replace(phase, stiffness=(LIGHTEST, LIGHT)), approach, heavy, chooser


def _newton(
    name: str,
    method: Method,
    share: float,
    loss: Loss | Likelihood,
    optimiser: GaussNewton,
    stiffness: tuple[float, float],
) -> Phase:
    steps = max(round(share * method.steps), 1)
    return Phase(name, Kind.POLISH, steps, loss, optimiser=optimiser, stiffness=stiffness)
