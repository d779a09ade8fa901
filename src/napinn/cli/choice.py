"""A method and its parts, by their words on the command line."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from napinn.engines.catalogue import (
    BACKBONES,
    DEFAULT,
    DENSITIES,
    LOSSES,
    METHODS,
    NETWORK,
    SPLINE_DENSITIES,
    CatalogueEntry,
)
from napinn.errors import InputError, named

if TYPE_CHECKING:
    # What a method is made of takes long to import, which words that are refused should not wait for.
    from napinn.results.recipe import Recipe


@dataclass(frozen=True)
class Choice:
    """A method and its parts by their words on the command line; None leaves a part as the method has it."""

    method: str | None = None
    backbone: str | None = None
    density: str | None = None
    loss: str | None = None
    steps: int | None = None
    double: bool = False
    minutes: float | None = None

    @property
    def name(self) -> str:
        """The method. Where none is named, a part, a density or a budget that only one kind has selects that kind."""
        if self.method is not None:
            return self.method
        if self._network_options or (self.density in DENSITIES and self.density not in SPLINE_DENSITIES):
            return NETWORK
        return "splines" if self.density in SPLINE_DENSITIES and self.density not in DENSITIES else DEFAULT

    @property
    def _network_options(self) -> list[str]:
        """The options given that only a network has."""
        words = {"backbone": self.backbone, "loss": self.loss, "steps": self.steps, "minutes": self.minutes}
        return [f"--{name}" for name, word in {**words, "double": self.double or None}.items() if word is not None]

    @property
    def in_double(self) -> bool:
        """Whether it computes in float64."""
        return self.double or METHODS[self.name].steps == 0

    def check(self) -> "Choice":
        """Itself, or a sentence on what is wrong with the words; nothing is made."""
        entry = named(self.name, METHODS, "method")
        for word, option in ((self.steps, "steps"), (self.minutes, "minutes")):
            if word is not None and entry.steps == 0:
                raise InputError(f"method '{self.name}' ends by itself; leave out --{option}.")
        for word, table, kind in ((self.backbone, BACKBONES, "backbone"), (self.loss, LOSSES, "loss")):
            if word is None:
                continue
            named(word, table, kind)
            if kind not in entry.parts:
                raise InputError(f"method '{self.name}' has no choice of {kind}; leave out --{kind}.")
        if self.density is not None:
            self._check_density(self.density, entry)
        if self.loss == "likelihood" and "estimator" not in entry.parts:
            raise InputError(
                f"method '{self.name}' learns no noise law, which the loss 'likelihood' needs; use law_pinn."
            )
        if self.name == "b_pinn" and self.backbone not in (None, "bayesian"):
            raise InputError("method 'b_pinn' needs the backbone 'bayesian'; leave out --backbone.")
        return self

    def _check_density(self, density: str, entry: CatalogueEntry) -> None:
        named(density, {**DENSITIES, **SPLINE_DENSITIES}, "density")
        if entry.steps == 0 and density not in SPLINE_DENSITIES:
            raise InputError(
                f"method '{self.name}' has no density '{density}', only {', '.join(SPLINE_DENSITIES)}; "
                f"use --method {NETWORK}."
            )
        if self.name == DEFAULT and density not in DENSITIES:
            raise InputError(
                f"method '{DEFAULT}' may hand over to a network, which has no density '{density}'; "
                "use --method splines."
            )
        if entry.steps == 0:
            return
        if "estimator" not in entry.parts:
            raise InputError(f"method '{self.name}' has no choice of density; leave out --density.")
        if density not in DENSITIES:
            others = f", which {self._network_options[0]} asks for," if self.method is None else ""
            raise InputError(
                f"method '{self.name}'{others} has no density '{density}', only {', '.join(DENSITIES)}; "
                "use --method splines."
            )

    def make(self) -> "Recipe":
        """The method; the modules that it is made of are loaded only now."""
        self.check()
        if METHODS[self.name].steps == 0:
            return METHODS[self.name].make() if self.density is None else METHODS[self.name].make(self.density)
        parts: dict[str, Any] = {"double": self.double, "minutes": self.minutes}
        if self.steps is not None:
            parts["steps"] = self.steps
        if self.backbone is not None:
            parts |= {"backbone": BACKBONES[self.backbone].make(), "keeps_backbone": True}
        if self.density is not None:
            parts["estimator"] = _estimator(self.name, self.density)
        if self.loss is not None:
            parts["loss"] = LOSSES[self.loss].make()
        return METHODS[self.name].make(**parts)


def _estimator(method: str, density: str) -> Any:
    estimator = DENSITIES[density].make()
    if method != NETWORK:
        return estimator
    from napinn.engines.network.methods import compressed

    return compressed(estimator)


def chosen_methods(names: str, steps: int | None) -> dict[str, Choice]:
    """Several methods by their names, checked and not yet made.

    Args:
        names: of methods, with commas between.
        steps: training steps of each; None for the method's own."""
    found = list(dict.fromkeys(name.strip() for name in names.split(",") if name.strip()))
    if not found:
        raise InputError("no method is named; write for example --methods pinn,na_pinn.")
    return {name: Choice(name, steps=steps).check() for name in found}
