"""What there is to fit with, by name: methods, networks, noise laws and losses.

Every entry says where it is made, and that module is loaded only when it is, so a wrong name is refused at once. A
method of a new kind is added to `METHODS` here and to `napinn.results.recipe.HOMES`."""

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

STEPS = 10_000
"""Of every method that trains a network, by default."""
DEFAULT = "auto"
"""The method of a fit that names none."""
NETWORK = "law_pinn"
"""The method of a fit that names a part of a network and no method, or that splines cannot follow."""


@dataclass(frozen=True)
class CatalogueEntry:
    """One line of a table of what there is."""

    home: str
    """Where it is made: `module:function`."""
    summary: str
    source: str
    arguments: tuple[float, ...] = ()
    """What it is made with by default."""
    parts: tuple[str, ...] = ()
    """Of a method, which of its parts a command line may choose: `backbone`, `estimator`, `loss`."""
    steps: int = STEPS
    """Of a method, how many steps it takes by default; 0 for one that has no budget to choose."""

    def make(self, *given: Any, **parts: Any) -> Any:
        """The thing itself, made with `given` and `parts`, or with its own arguments where none are given."""
        module, _, name = self.home.partition(":")
        arguments = given if given or parts else self.arguments
        return getattr(importlib.import_module(module), name)(*arguments, **parts)


_NAPINN = "Kim & Kang 2026"
_LAW = ("backbone", "estimator", "loss")
METHODS: Mapping[str, CatalogueEntry] = {
    "auto": CatalogueEntry(
        "napinn.engines.splines.method:automatic",
        "splines where they can resolve the field, else law_pinn; the default",
        "napinn",
        steps=0,
    ),
    "splines": CatalogueEntry(
        "napinn.engines.splines.method:bsplines",
        "B-splines, Gauss–Newton, the learned noise law: seconds",
        "napinn",
        steps=0,
    ),
    "law_pinn": CatalogueEntry(
        "napinn.engines.network.methods:law_pinn",
        "a network, the learned noise law as its likelihood",
        "napinn",
        parts=_LAW,
    ),
    "na_pinn": CatalogueEntry(
        "napinn.engines.network.methods:na_pinn", "learned noise law and reliability gate", _NAPINN, parts=_LAW
    ),
    "pinn": CatalogueEntry(
        "napinn.engines.network.methods:pinn",
        "least squares, every reading with the same weight",
        "Raissi et al. 2019",
        parts=("backbone", "loss"),
    ),
    "lad_pinn": CatalogueEntry(
        "napinn.engines.network.methods:lad_pinn", "least absolute deviations", "Peng et al. 2022", parts=("backbone",)
    ),
    "mad_pinn": CatalogueEntry(
        "napinn.engines.network.methods:mad_pinn",
        "absolute deviations, then squares on screened readings",
        "Peng et al. 2022",
        parts=("backbone",),
    ),
    "or_pinn": CatalogueEntry(
        "napinn.engines.network.methods:or_pinn",
        "q-Gaussian likelihood (q = 2.9)",
        "Duarte et al. 2025",
        parts=("backbone",),
    ),
    "b_pinn": CatalogueEntry(
        "napinn.engines.network.methods:b_pinn",
        "mean-field posterior over the weights",
        "Yang et al. 2021",
        parts=("backbone",),
    ),
}
BACKBONES: Mapping[str, CatalogueEntry] = {
    "mlp": CatalogueEntry("napinn.field.backbones:MLP", "tanh layers", "the default of the paper"),
    "fls": CatalogueEntry("napinn.field.backbones:FLS", "learned sine features, then tanh layers", "Wong et al. 2022"),
    "qres": CatalogueEntry("napinn.field.backbones:QRes", "quadratic residual layers", "Bu & Karpatne 2021"),
    "piratenet": CatalogueEntry(
        "napinn.field.backbones:PirateNet", "Fourier embedding, gated adaptive residual blocks", "Wang et al. 2024"
    ),
    "kan": CatalogueEntry("napinn.field.backbones:KAN", "cubic B-splines on every connection", "Liu et al. 2024"),
    "bayesian": CatalogueEntry(
        "napinn.field.backbones:BayesianMLP", "tanh layers with a Gaussian posterior", "Yang et al. 2021"
    ),
}
DENSITIES: Mapping[str, CatalogueEntry] = {
    "ebm": CatalogueEntry("napinn.noise.density:EBM", "energy network, normalised on a grid", _NAPINN),
    "gmm": CatalogueEntry("napinn.noise.density:GMM", "three trainable Gaussians", _NAPINN),
    "kde": CatalogueEntry("napinn.noise.density:KDE", "kernels on recent misfits, Silverman's bandwidth", _NAPINN),
}
DENSITY = "mixture"
"""The density of splines by default."""
SPLINE_DENSITIES: Mapping[str, CatalogueEntry] = {
    "mixture": CatalogueEntry("napinn.noise.mixture:learn_mixture", "Gaussians by EM, their number by BIC", "napinn"),
    "kde": CatalogueEntry("napinn.noise.kernels:learn_kernels", "kernels of adaptive width", "Abramson 1982"),
    "cauchy": CatalogueEntry(
        "napinn.noise.laws:Cauchy", "fixed, robust: large misfits count little", "Holland & Welsch 1977"
    ),
    "gaussian": CatalogueEntry("napinn.noise.laws:Gaussian", "fixed: least squares", "Gauss 1809"),
}
LOSSES: Mapping[str, CatalogueEntry] = {
    "squared": CatalogueEntry("napinn.noise.losses:Squared", "Gaussian noise", "Gauss 1809"),
    "absolute": CatalogueEntry("napinn.noise.losses:Absolute", "Laplace noise", "Laplace 1774"),
    "q_gaussian": CatalogueEntry(
        "napinn.noise.losses:QGaussian", "Tsallis noise, q = 2.9", "Duarte et al. 2025", (2.9,)
    ),
    "likelihood": CatalogueEntry(
        "napinn.noise.likelihood:Likelihood", "the learned law itself; methods that learn one", "napinn"
    ),
    "huber": CatalogueEntry(
        "napinn.noise.losses:Huber", "squares within one unit of scaled misfit, straight beyond", "Huber 1964", (1.0,)
    ),
}
