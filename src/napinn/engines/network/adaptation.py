"""Adaptation of a method to the readings, decided before training.

Many waves across the box (`wavenumber.py`): the perceptron's first layer becomes sines with as many waves at the
start, because tanh layers would end at a constant field, which solves most equations.

Fronts in two dimensions and more, with some thousands of readings, where a field carries itself along and so steepens:
what a few dozen readings say of a front has to count before the equations, whose weight is greatest there, have led to
a smoother one. So the warm-up is longer, and the equations are light in it; and again when the likelihood comes, in
whose units misfits weigh less. They grow to their full weight while the rate falls. In one dimension splines resolve
fronts, and a network that is named trains as elsewhere.

None of this happens in the paper's benchmarks. A backbone that was named stays."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np

from napinn.data.readings import Readings
from napinn.engines.network.objective import VALUE
from napinn.engines.network.training import Method, Phase, PhaseKind
from napinn.engines.network.wavenumber import FEW, wavenumbers
from napinn.field.backbones import FLS, MLP
from napinn.problem import Problem
from napinn.problem.equations import Terms

SOME_READINGS = range(1000, 5000)
"""How many readings are followed under light equations where there are fronts: fewer would leave the field to their
noise, and more outweigh the equations by themselves."""
PLANE_AND_TIME = 3
"""The fewest coordinates for which fronts change a method."""
LONG = 1 / 3
"""Share of the steps that the warm-up takes where there are fronts."""
LIGHT, LIGHTER = 0.01, 0.1
"""Weights of the equations when that warm-up begins and when it ends."""
LIGHTENED = 0.02
"""Their weight when the likelihood takes over."""
TRIED, ROUNDING = 8, 1e-9
"""Points at which an equation is tried, and what of its size is rounding."""


def adapted(method: Method, readings: Readings, problem: Problem) -> Method:
    """The method as it will be trained; the same when it is asked again."""
    if not (method.adapts and method.scaled) or method.wavenumbers is not None:
        return method
    by_law = method.gating is not None and method.phases[-1].loss.is_law
    spacious = len(problem.coordinates) >= PLANE_AND_TIME
    if by_law and spacious and len(readings) in SOME_READINGS and steepens(problem):
        method = adapt_to_fronts(method)
    if method.keeps_backbone or not isinstance(method.backbone, MLP):
        return dataclasses.replace(method, wavenumbers=(1.0,) * len(problem.coordinates))
    return adapt_to_waves(method, method.backbone, wavenumbers(readings, problem.lows, problem.highs))


def adapt_to_waves(method: Method, backbone: MLP, times: tuple[float, ...]) -> Method:
    method = dataclasses.replace(method, wavenumbers=times)
    if max(times) == 1.0:
        return method
    # The box is two units long, so half of the waves across it are cycles per unit.
    sigma = tuple(0.5 * FEW * each for each in times)
    return dataclasses.replace(method, backbone=FLS(backbone.width, backbone.depth, sigma))


def steepens(problem: Problem) -> bool:
    """Whether an equation holds the product of a field with a slope of one, or another function of both that is no sum.

    Found by trying: what moving both changes is then not what moving each of them changes."""
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
            return np.asarray(problem.residual_values(problem.system, points, values, unknowns))

        still, carried = moved(), moved(VALUE)
        both = [moved(VALUE, slope) - moved(slope) - carried + still for slope in slopes]
    return any(bool(np.any(np.abs(each) > ROUNDING * (1.0 + np.abs(still)))) for each in both)


def adapt_to_fronts(method: Method) -> Method:
    plain = sum(phase.steps for phase in method.phases if phase.kind is PhaseKind.PLAIN)
    longer = max(round(LONG * method.steps), plain)
    stretched, left = longer / max(plain, 1), (method.steps - longer) / max(method.steps - plain, 1)
    phases: list[Phase] = []
    for phase in method.phases:
        if phase.kind is PhaseKind.PLAIN:
            steps, equation_factors = round(stretched * phase.steps), (LIGHT, LIGHTER)
        elif phase.kind is PhaseKind.GATED:
            steps, equation_factors = (
                round(left * phase.steps),
                (LIGHTENED, 1.0 if phase is method.phases[-1] else LIGHTENED),
            )
        else:
            steps, equation_factors = phase.steps, phase.equation_factors
        phases.append(dataclasses.replace(phase, steps=max(steps, 1), equation_factors=equation_factors))
    return dataclasses.replace(method, phases=tuple(phases))
