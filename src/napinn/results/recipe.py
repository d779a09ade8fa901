"""What every method has in common, whatever represents the field: the settings that generic code reads.

A method is a frozen dataclass of settings that goes into `result.json` whole and comes back from it. `HOMES` is the one
list of the kinds there are; `Recipe.backend` names the module that fits with a kind and reads its model back."""

import abc
import importlib
from collections.abc import Mapping
from typing import Any, ClassVar

from napinn.errors import InputError
from napinn.storage.retired import without_retired
from napinn.storage.settings import decode

HOMES: Mapping[str, str] = {
    "Method": "napinn.engines.network.methods",
    "Splines": "napinn.engines.splines.method",
    "Automatic": "napinn.engines.splines.method",
}
"""By the name of the settings class of a method, the module whose `SETTINGS` lists every class that a saved
method of that kind may contain."""
FALSE_ALARMS = 1e-3
"""The chance that any sensor is named faulty where all of them are sound: a person who fits every working day sees one
false name in four years."""
ENOUGH_TO_HOLD_OUT = 1000
"""With fewer readings than this, each is needed for the fit, and a method holds none out."""


class Recipe(abc.ABC):
    """The settings of a method. A kind of method is a frozen dataclass that derives from this class."""

    name: str
    """What reports and tables call it."""
    double: bool
    """Whether it computes in float64 rather than in float32."""
    held_out: float
    """Share of the readings that only judge: they are never fitted."""
    backend: ClassVar[str]
    """The module whose `BACKEND` is the `napinn.engines.base.Backend` of this kind."""

    @property
    @abc.abstractmethod
    def steps(self) -> int:
        """Steps of the fit, for reports and for an estimate of its time."""

    @property
    @abc.abstractmethod
    def false_alarms(self) -> float:
        """The chance that any sensor is named faulty where all of them are sound."""

    @abc.abstractmethod
    def shortened(self, times: int) -> "Recipe":
        """The method with its budget of steps and time divided by `times`; itself where that saves nothing."""


def decode_method(value: Any) -> Recipe:
    """A method from the plain values of a settings file, which can build nothing but the classes of its kind."""
    kind = value["type"]
    if kind not in HOMES:
        raise InputError(f"settings name an unknown type '{kind}'.")
    method = decode(without_retired(value), importlib.import_module(HOMES[kind]).SETTINGS)
    if not isinstance(method, Recipe):
        raise InputError(f"settings of '{kind}' are not those of a method.")
    return method
