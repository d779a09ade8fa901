"""Methods: named recipes of phases, written as functions; `napinn.catalogue` lists them by name.

A method called with its defaults runs in scaled coordinates with batches for a desktop. `as_printed` puts any of them
back into the paper's setting: coordinates and fields unscaled, its batch sizes, its grid of collocation points."""

import dataclasses
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp

from napinn import collocation, density, losses, networks, training
from napinn.catalogue import STEPS
from napinn.collocation import Grid
from napinn.density import EBM, Compressed, Density
from napinn.gate import Gate
from napinn.likelihood import Likelihood
from napinn.losses import Absolute, Loss, QGaussian, Squared
from napinn.networks import Backbone, BayesianMLP
from napinn.objective import Gating
from napinn.training import SOAP, Cosine, Kind, Method, Optimiser, Phase, Rejection, RelativeCost, Screen

DIVERGENCE_WEIGHT = 1e-6
LIKE_DEFAULT: Mapping[str, Any] = {"equation_weight": 10.0, "unknowns_rate": 5.0, "held_out": 0.02}
"""What the default sets beside its phases: a relative error of the equation counts ten times one of the readings, the
unknowns move five times as fast as the weights, and one reading in fifty only judges."""


def _taken(phases: tuple[Phase, ...]) -> tuple[Phase, ...]:
    """Those that take a step."""
    return tuple(phase for phase in phases if phase.steps > 0)


def pinn(steps: int = STEPS, *, loss: Loss = Squared(), name: str = "pinn", **parts: Any) -> Method:
    """A plain physics-informed network: every reading counts alike."""
    return Method(name, (Phase("training", Kind.PLAIN, steps, loss),), **parts)


def lad_pinn(steps: int = STEPS, **parts: Any) -> Method:
    """Least absolute deviations in place of least squares."""
    return pinn(steps, loss=Absolute(), name="lad_pinn", **parts)


def or_pinn(steps: int = STEPS, *, q: float = 2.9, **parts: Any) -> Method:
    """A q-Gaussian likelihood, heavy-tailed for large q."""
    return pinn(steps, loss=QGaussian(q), name="or_pinn", **parts)


def mad_pinn(steps: int = STEPS, *, screen: Screen = Screen(), **parts: Any) -> Method:
    """Least absolute deviations for half of the steps, then least squares on the readings within three deviations."""
    phases = (
        Phase("absolute", Kind.PLAIN, steps // 2, Absolute()),
        Phase("screened", Kind.PLAIN, steps - steps // 2, Squared(), screen),
    )
    return Method("mad_pinn", _taken(phases), **parts)


def b_pinn(steps: int = STEPS, *, backbone: BayesianMLP = BayesianMLP(), **parts: Any) -> Method:
    """A mean-field Gaussian posterior over the network's weights; predictions use its mean."""
    method = pinn(steps, name="b_pinn", backbone=backbone, **parts)
    return dataclasses.replace(method, divergence_weight=DIVERGENCE_WEIGHT)


def na_pinn(
    steps: int = STEPS,
    *,
    warm_up: int | None = None,
    law_steps: int | None = None,
    estimator: Density = EBM(),
    gate: Gate = Gate(),
    scale: density.Scale = density.RunningStd(),
    loss: Loss | Likelihood = Squared(),
    rejection: Rejection = RelativeCost(),
    **parts: Any,
) -> Method:
    """The paper's method: warm-up, then the noise law alone, then field, law and gate together.

    The warm-up takes a sixth of the budget, and the law as many steps again that are not counted, as in the paper.
    `warm_up=0` trains everything together from the start; `law_steps=0` lets the law begin with the joint phase.
    """
    warm_up = steps // 6 if warm_up is None else warm_up
    law_steps = warm_up if law_steps is None else law_steps
    phases = (
        Phase("warm-up", Kind.PLAIN, warm_up, Squared()),
        Phase("noise law", Kind.LAW, law_steps),
        Phase("joint", Kind.GATED, steps - warm_up, loss),
    )
    return Method("na_pinn", _taken(phases), gating=Gating(estimator, gate, scale), rejection=rejection, **parts)


def compressed(estimator: Density) -> Density:
    """An estimator as the default takes it: of compressed misfits, of which the grossest are a few units out."""
    wide = dataclasses.replace(estimator, low=-15.0, high=15.0) if isinstance(estimator, EBM) else estimator
    return Compressed(wide)


def law_pinn(
    steps: int = STEPS,
    *,
    warm_up: int | None = None,
    law_steps: int | None = None,
    estimator: Density = compressed(EBM()),
    gate: Gate = Gate(),
    scale: density.Scale = density.RunningSpread(),
    loss: Loss | Likelihood = Likelihood(),
    rejection: Rejection = RelativeCost(2.5),
    optimiser: Optimiser = SOAP(),
    **parts: Any,
) -> Method:
    """napinn's own default: the learned law is the likelihood that the field is fitted with.

    The warm-up takes absolute misfits, which outliers pull least; the law is then learned alone; then all together,
    at the full rate until held-out readings are predicted no better, and at a rate that falls to nothing."""
    warm_up = steps // 6 if warm_up is None else warm_up
    law_steps = 1000 if law_steps is None else law_steps
    joint = (steps - warm_up) // 3
    phases = (
        Phase("warm-up", Kind.PLAIN, warm_up, Absolute(), schedule=Cosine(rise=0.05, end=1.0)),
        Phase("noise law", Kind.LAW, law_steps),
        Phase("joint", Kind.GATED, joint, loss, patience=max(joint // 3, 1)),
        Phase("cooling", Kind.GATED, steps - warm_up - joint, loss, schedule=Cosine()),
    )
    gating = Gating(estimator, gate, scale)
    own = {**LIKE_DEFAULT, **parts}
    return Method("law_pinn", _taken(phases), gating=gating, rejection=rejection, optimiser=optimiser, **own)


def as_printed(method: Method, rejection: Rejection | None = None) -> Method:
    """The method in the paper's setting; its rejection cost is a number in the readings' own units, squared."""
    printed = dataclasses.replace(
        method, collocation=Grid(100), collocation_batch=4000, reading_batch=1000, scaled=False
    )
    return printed if rejection is None else dataclasses.replace(printed, rejection=rejection)


SETTINGS: Mapping[str, type] = {
    cls.__name__: cls
    for cls in (
        Method,
        Phase,
        Kind,
        Gating,
        Gate,
        Screen,
        training.SensorScreen,
        training.FixedCost,
        training.RelativeCost,
        training.Adam,
        training.SOAP,
        training.LBFGS,
        training.Retired,
        training.Constant,
        training.Cosine,
        Likelihood,
        density.EBM,
        density.GMM,
        density.KDE,
        density.Compressed,
        density.Silverman,
        density.CrossValidated,
        density.RunningStd,
        density.RunningSpread,
        density.BatchStd,
        losses.Squared,
        losses.Absolute,
        losses.QGaussian,
        losses.Huber,
        networks.MLP,
        networks.FLS,
        networks.QRes,
        networks.PirateNet,
        networks.KAN,
        networks.BayesianMLP,
        collocation.Uniform,
        collocation.Grid,
    )
}
"""Every class that may stand in a saved method."""


def parameters(backbone: Backbone, inputs: int = 3, outputs: int = 2) -> int:
    """Trained numbers of a backbone, counted without making any array."""
    ends = jnp.ones((inputs,))
    shapes = jax.eval_shape(lambda key: backbone.init(key, inputs, outputs, -ends, ends), jax.random.key(0))
    return networks.parameter_count(shapes)
