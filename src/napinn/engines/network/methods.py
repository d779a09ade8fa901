"""Methods: named recipes of phases, written as functions; `napinn.engines.catalogue` lists them by name.

A method called with its defaults runs in scaled coordinates with batches for a desktop. `as_printed` puts any of them
back into the paper's setting: coordinates and fields unscaled, its batch sizes, its grid of collocation points."""

import dataclasses
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp

from napinn.engines.catalogue import STEPS
from napinn.engines.network import collocation, training
from napinn.engines.network.collocation import Grid
from napinn.engines.network.objective import Gating
from napinn.engines.network.training import (
    SOAP,
    CosineRate,
    Method,
    Optimiser,
    Phase,
    PhaseKind,
    Rejection,
    RelativeCost,
    Screen,
)
from napinn.field import backbones as networks
from napinn.field.backbones import Backbone, BayesianMLP
from napinn.noise import density, losses
from napinn.noise.data_term import DataTerm
from napinn.noise.density import EBM, Compressed, Density
from napinn.noise.gate import Gate
from napinn.noise.likelihood import Likelihood
from napinn.noise.losses import Absolute, Loss, QGaussian, Squared
from napinn.storage.settings import file_name

DIVERGENCE_WEIGHT = 1e-6
LIKE_DEFAULT: Mapping[str, Any] = {"equation_weight": 10.0, "unknowns_rate": 5.0, "held_out": 0.02}
"""What the default sets beside its phases: a relative error of the equation counts ten times one of the readings, the
unknowns move five times as fast as the weights, and one reading in fifty only judges."""


def _taken(phases: tuple[Phase, ...]) -> tuple[Phase, ...]:
    """Those that take a step."""
    return tuple(phase for phase in phases if phase.steps > 0)


def pinn(steps: int = STEPS, *, loss: Loss = Squared(), name: str = "pinn", **parts: Any) -> Method:
    """A plain physics-informed network: every reading has the same weight.

    :param steps: Training steps. Default 10,000.
    :param loss: Of one misfit; default its square.
    :param name: What the result calls the method.
    :param parts: Other settings of the network's training: `backbone` (such as `napinn.field.backbones.MLP(width=64)`),
        `optimiser`, `collocation_batch` and `reading_batch` (points a step), `equation_weight`, `double` (float64),
        `minutes` (budget of time), `held_out` (share of readings that only judge), `scaled`, `log_every`.
    :return: The method, for `napinn.fit(problem, readings, method)`.

    >>> napinn.pinn(500).steps
    500
    """
    return Method(name, (Phase("training", PhaseKind.PLAIN, steps, loss),), **parts)


def lad_pinn(steps: int = STEPS, **parts: Any) -> Method:
    """A network with least absolute deviations instead of least squares.

    :param steps: Training steps. Default 10,000.
    :param parts: Other settings of the network's training: `backbone` (such as `napinn.field.backbones.MLP(width=64)`),
        `optimiser`, `collocation_batch` and `reading_batch` (points a step), `equation_weight`, `double` (float64),
        `minutes` (budget of time), `held_out` (share of readings that only judge), `scaled`, `log_every`.
    :return: The method, for `napinn.fit(problem, readings, method)`.

    >>> napinn.lad_pinn(500).name
    'lad_pinn'
    """
    return pinn(steps, loss=Absolute(), name="lad_pinn", **parts)


def or_pinn(steps: int = STEPS, *, q: float = 2.9, **parts: Any) -> Method:
    """A network with a q-Gaussian likelihood, which is heavy-tailed for large q.

    :param steps: Training steps. Default 10,000.
    :param q: Between 1 (Gaussian) and 3; default 2.9.
    :param parts: Other settings of the network's training: `backbone` (such as `napinn.field.backbones.MLP(width=64)`),
        `optimiser`, `collocation_batch` and `reading_batch` (points a step), `equation_weight`, `double` (float64),
        `minutes` (budget of time), `held_out` (share of readings that only judge), `scaled`, `log_every`.
    :return: The method, for `napinn.fit(problem, readings, method)`.

    >>> napinn.or_pinn(500, q=2.0).phases[0].loss
    QGaussian(q=2.0)
    """
    return pinn(steps, loss=QGaussian(q), name="or_pinn", **parts)


def mad_pinn(steps: int = STEPS, *, screen: Screen = Screen(), **parts: Any) -> Method:
    """Least absolute deviations for half of the steps, then least squares on the readings within three deviations.

    :param steps: Training steps. Default 10,000.
    :param screen: How many robust standard deviations a reading may be off in the second half.
    :param parts: Other settings of the network's training: `backbone` (such as `napinn.field.backbones.MLP(width=64)`),
        `optimiser`, `collocation_batch` and `reading_batch` (points a step), `equation_weight`, `double` (float64),
        `minutes` (budget of time), `held_out` (share of readings that only judge), `scaled`, `log_every`.
    :return: The method, for `napinn.fit(problem, readings, method)`.

    >>> [phase.name for phase in napinn.mad_pinn(500).phases]
    ['absolute', 'screened']
    """
    phases = (
        Phase("absolute", PhaseKind.PLAIN, steps // 2, Absolute()),
        Phase("screened", PhaseKind.PLAIN, steps - steps // 2, Squared(), screen),
    )
    return Method("mad_pinn", _taken(phases), **parts)


def b_pinn(steps: int = STEPS, *, backbone: BayesianMLP = BayesianMLP(), **parts: Any) -> Method:
    """A mean-field Gaussian posterior over the network's weights; predictions use its mean.

    :param steps: Training steps. Default 10,000.
    :param backbone: The network; its weights have a mean and a deviation each.
    :param parts: Other settings of the network's training: `backbone` (such as `napinn.field.backbones.MLP(width=64)`),
        `optimiser`, `collocation_batch` and `reading_batch` (points a step), `equation_weight`, `double` (float64),
        `minutes` (budget of time), `held_out` (share of readings that only judge), `scaled`, `log_every`.
    :return: The method, for `napinn.fit(problem, readings, method)`.

    >>> napinn.b_pinn(500).divergence_weight
    1e-06
    """
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
    loss: DataTerm = Squared(),
    rejection: Rejection = RelativeCost(),
    **parts: Any,
) -> Method:
    """The paper's method: warm-up, then the noise law alone, then field, law and gate together (naPINN, Kim & Kang).

    :param steps: Training steps. Default 10,000.
    :param warm_up: Steps before the noise law is learned; default a sixth of all. 0 trains everything together.
    :param law_steps: Steps of the noise law alone, which are not counted; default as many as the warm-up.
    :param estimator: What learns the noise law: `EBM()`, `GMM()` or `KDE()` of `napinn.noise.density`.
    :param gate: How log-density becomes reliability: its first steepness and cutoff.
    :param scale: What misfits are divided by before the law sees them.
    :param loss: Of one misfit in the joint phase; default its square.
    :param rejection: What a rejected reading costs; default (2 robust standard deviations of all misfits)².
    :param parts: Other settings of the network's training: `backbone` (such as `napinn.field.backbones.MLP(width=64)`),
        `optimiser`, `collocation_batch` and `reading_batch` (points a step), `equation_weight`, `double` (float64),
        `minutes` (budget of time), `held_out` (share of readings that only judge), `scaled`, `log_every`.
    :return: The method, for `napinn.fit(problem, readings, method)`.

    >>> [phase.name for phase in napinn.na_pinn(600).phases]
    ['warm-up', 'noise law', 'joint']
    """
    warm_up = steps // 6 if warm_up is None else warm_up
    law_steps = warm_up if law_steps is None else law_steps
    phases = (
        Phase("warm-up", PhaseKind.PLAIN, warm_up, Squared()),
        Phase("noise law", PhaseKind.LAW, law_steps),
        Phase("joint", PhaseKind.GATED, steps - warm_up, loss),
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
    loss: DataTerm = Likelihood(),
    rejection: Rejection = RelativeCost(2.5),
    optimiser: Optimiser = SOAP(),
    **parts: Any,
) -> Method:
    """The network that napinn uses where splines cannot follow: the learned law is the likelihood of the fit.

    The warm-up takes absolute misfits, on which outliers have the least effect; the law is then learned alone; then
    all together, at the full rate until held-out readings are predicted no better, and at a rate that falls to nothing.

    :param steps: Training steps. Default 10,000.
    :param warm_up: Steps before the noise law is learned; default a sixth of all. 0 trains everything together.
    :param law_steps: Steps of the noise law alone, which are not counted; default 1000.
    :param estimator: What learns the noise law: `EBM()`, `GMM()` or `KDE()` of `napinn.noise.density`.
    :param gate: How log-density becomes reliability: its first steepness and cutoff.
    :param scale: What misfits are divided by before the law sees them.
    :param loss: Of one misfit in the joint phase; default the negative log-likelihood under the learned law.
    :param rejection: What a rejected reading costs; default (2.5 robust standard deviations)².
    :param optimiser: Default SOAP.
    :param parts: Other settings of the network's training: `backbone` (such as `napinn.field.backbones.MLP(width=64)`),
        `optimiser`, `collocation_batch` and `reading_batch` (points a step), `equation_weight`, `double` (float64),
        `minutes` (budget of time), `held_out` (share of readings that only judge), `scaled`, `log_every`.
    :return: The method, for `napinn.fit(problem, readings, method)`.

    >>> [phase.name for phase in napinn.law_pinn(600).phases]
    ['warm-up', 'noise law', 'joint', 'cooling']
    """
    warm_up = steps // 6 if warm_up is None else warm_up
    law_steps = 1000 if law_steps is None else law_steps
    joint = (steps - warm_up) // 3
    phases = (
        Phase("warm-up", PhaseKind.PLAIN, warm_up, Absolute(), schedule=CosineRate(rise=0.05, end=1.0)),
        Phase("noise law", PhaseKind.LAW, law_steps),
        Phase("joint", PhaseKind.GATED, joint, loss, patience=max(joint // 3, 1)),
        Phase("cooling", PhaseKind.GATED, steps - warm_up - joint, loss, schedule=CosineRate()),
    )
    gating = Gating(estimator, gate, scale)
    own = {**LIKE_DEFAULT, **parts}
    return Method("law_pinn", _taken(phases), gating=gating, rejection=rejection, optimiser=optimiser, **own)


def as_printed(method: Method, rejection: Rejection | None = None) -> Method:
    """A method in the paper's setting: coordinates and fields unscaled, its batch sizes, its grid of collocation
    points.

    :param method: Any method of a network.
    :param rejection: What a rejected reading costs, a number in the readings' own units, squared; default the method's.
    :return: The method, for `napinn.fit(problem, readings, method)`.

    >>> napinn.as_printed(napinn.na_pinn(600)).scaled
    False
    """
    printed = dataclasses.replace(
        method, collocation=Grid(100), collocation_batch=4000, reading_batch=1000, scaled=False
    )
    return printed if rejection is None else dataclasses.replace(printed, rejection=rejection)


SETTINGS: Mapping[str, type] = {
    file_name(cls): cls
    for cls in (
        Method,
        Phase,
        PhaseKind,
        Gating,
        Gate,
        Screen,
        training.SensorScreen,
        training.FixedCost,
        training.RelativeCost,
        training.Adam,
        training.SOAP,
        training.Retired,
        training.ConstantRate,
        training.CosineRate,
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
"""Every class that a saved method may contain."""


def parameters(backbone: Backbone, inputs: int = 3, outputs: int = 2) -> int:
    """Trained numbers of a backbone, counted without making any array."""
    ends = jnp.ones((inputs,))
    shapes = jax.eval_shape(lambda key: backbone.init(key, inputs, outputs, -ends, ends), jax.random.key(0))
    return networks.parameter_count(shapes)
