"""Problem: what the physics says, apart from any reading.

Coordinates with their box, the fields, the unknown coefficients, and the equations that hold inside the box. No
boundary or initial condition is needed.
"""

import keyword
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from napinn.equations import (
    RESERVED,
    Constant,
    Coordinate,
    Derivative,
    Equation,
    Leaf,
    Names,
    PointFunction,
    Terms,
    bind,
    share_seconds,
    wanted,
)
from napinn.equations import Unknown as UnknownLeaf
from napinn.errors import InputError


@dataclass(frozen=True)
class Unknown:
    """A coefficient to be found, from `start`, inside optional bounds.

    Bounds hold by construction: what is trained is a raw number that a smooth map takes into the open interval. The
    raw number is in units of `unit`, a natural size of the coefficient, so that a diffusivity of 1e-7 trains as one
    of 1 does.
    """

    start: float
    low: float | None = None
    high: float | None = None

    def __post_init__(self) -> None:
        for name, value in (("start", self.start), ("low", self.low), ("high", self.high)):
            if value is not None and not math.isfinite(value):
                raise InputError(f"the {name} of an unknown is {value}; it must be a finite number.")
        low = -math.inf if self.low is None else self.low
        high = math.inf if self.high is None else self.high
        if not low < self.start < high:
            raise InputError(
                f"an unknown starts at {self.start:g}, which is not strictly between {low:g} and {high:g}."
            )

    def raw_start(self, unit: float = 1.0) -> float:
        if self.low is not None and self.high is not None:
            share = (self.start - self.low) / (self.high - self.low)
            return math.log(share / (1.0 - share))
        if self.low is not None:
            return _softplus_inverse((self.start - self.low) / unit)
        if self.high is not None:
            return _softplus_inverse((self.high - self.start) / unit)
        return self.start / unit

    def value(self, raw: Array, unit: Array | float = 1.0) -> Array:
        if self.low is not None and self.high is not None:
            return self.low + (self.high - self.low) * jax.nn.sigmoid(raw)
        if self.low is not None:
            return self.low + unit * jax.nn.softplus(raw)
        if self.high is not None:
            return self.high - unit * jax.nn.softplus(raw)
        return unit * raw


def _softplus_inverse(value: float) -> float:
    # log(exp(v) - 1) overflows for large v and cancels for small v; this form does neither.
    return value + math.log(-math.expm1(-value))


@dataclass(frozen=True)
class Problem:
    """Coordinates (name → (low, high)), fields, unknowns, known constants and equations.

    Equations are text or Python functions of one point; see `napinn.equations`.
    """

    coordinates: Mapping[str, tuple[float, float]]
    fields: tuple[str, ...]
    equations: tuple[str | PointFunction, ...]
    unknowns: Mapping[str, Unknown] = field(default_factory=dict)
    constants: Mapping[str, float] = field(default_factory=dict)
    units: Mapping[str, str] = field(default_factory=dict)
    name: str = "problem"

    def __post_init__(self) -> None:
        object.__setattr__(self, "fields", tuple(self.fields))
        object.__setattr__(self, "equations", tuple(self.equations))
        _check_names(self)
        for name, (low, high) in self.coordinates.items():
            if not (math.isfinite(low) and math.isfinite(high) and low < high):
                raise InputError(
                    f"coordinate '{name}' runs from {low} to {high}; it needs finite numbers, low before high."
                )
        _check_used(self)

    @cached_property
    def names(self) -> Names:
        return Names(tuple(self.coordinates), self.fields, tuple(self.unknowns), dict(self.constants))

    @cached_property
    def system(self) -> tuple[Equation, ...]:
        """The equations bound to the names, with sums of second derivatives shared where that saves work."""
        return share_seconds(self.written)

    @cached_property
    def written(self) -> tuple[Equation, ...]:
        return tuple(bind(source, self.names) for source in self.equations)

    @property
    def wanted(self) -> frozenset[Terms]:
        """The derivatives that the equations need of the network, whichever field they are of."""
        return wanted(self.system)

    @property
    def lows(self) -> tuple[float, ...]:
        return tuple(low for low, _ in self.coordinates.values())

    @property
    def highs(self) -> tuple[float, ...]:
        return tuple(high for _, high in self.coordinates.values())

    def residuals(
        self,
        points: Float[Array, "n d"],
        values: Mapping[Terms, Float[Array, "n f"]],
        unknowns: Mapping[str, Float[Array, ""]],
    ) -> Float[Array, "n e"]:
        """What is left of each equation at each point, given the field's derivatives there."""
        columns = {name: index for index, name in enumerate(self.coordinates)}
        outputs = {name: index for index, name in enumerate(self.fields)}

        def look_up(leaf: Leaf) -> Array:
            match leaf:
                case Coordinate(name):
                    return points[:, columns[name]]
                case Derivative(name, terms):
                    return values[terms][:, outputs[name]]
                case UnknownLeaf(name):
                    return unknowns[name]
                case Constant(_, value):
                    return jnp.asarray(value, points.dtype)

        rows = [jnp.broadcast_to(equation.residual(look_up), points.shape[:1]) for equation in self.system]
        return jnp.stack(rows, axis=1)

    def show(self) -> str:
        """The equations as mathematics, one a line."""
        return "\n".join(equation.shown for equation in self.written)


def _check_names(problem: Problem) -> None:
    if not problem.coordinates:
        raise InputError("the problem has no coordinates; name at least one, for example 't'.")
    if not problem.fields:
        raise InputError("the problem has no fields; name at least one, for example 'u'.")
    if not problem.equations:
        raise InputError("the problem has no equations; give at least one, for example 'u_t = D*u_xx'.")
    seen: dict[str, str] = {}
    groups = {
        "coordinate": problem.coordinates,
        "field": problem.fields,
        "unknown": problem.unknowns,
        "constant": problem.constants,
    }
    for kind, names in groups.items():
        for name in names:
            if not name.isidentifier() or keyword.iskeyword(name):
                raise InputError(
                    f"{kind} '{name}' is not a usable name; use letters, digits and underscores, a letter first."
                )
            if name in RESERVED:
                raise InputError(f"{kind} '{name}' has the name of a function or of π; choose another.")
            if name in seen:
                raise InputError(f"'{name}' is declared as {seen[name]} and as {kind}; names must differ.")
            seen[name] = kind
    for name, kind in seen.items():
        if problem.names.partial(name) is not None:
            raise InputError(f"{kind} '{name}' reads like a derivative of a field; choose another name.")
    for name, value in problem.constants.items():
        if not math.isfinite(value):
            raise InputError(f"constant '{name}' is {value}; it must be a finite number.")


def _check_used(problem: Problem) -> None:
    used_fields = {derivative.field for equation in problem.written for derivative in equation.needs}
    for name in problem.fields:
        if name not in used_fields:
            raise InputError(f"field '{name}' is in no equation; remove it or add the equation that it obeys.")
    used_unknowns = {name for equation in problem.written for name in equation.unknowns}
    for name in problem.unknowns:
        if name not in used_unknowns:
            raise InputError(
                f"unknown '{name}' is in no equation, so no reading can determine it; remove it or use it."
            )
