"""Equations that came as Python functions, which only JAX can differentiate and write down."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from napinn.problem.equations.equation import Equation
from napinn.problem.equations.tree import Leaf, UnknownLeaf


def function_partials(
    equation: Equation, look_up: Callable[[Leaf], Any], count: int
) -> tuple[np.ndarray, dict[Leaf, np.ndarray]]:
    """The residual at `count` points, and its partial derivatives with respect to the derivatives of fields and the
    unknowns that the function asks for, in float64; `look_up` gives NumPy arrays or numbers."""
    free: list[Leaf] = [*sorted(equation.needs, key=repr), *(UnknownLeaf(name) for name in sorted(equation.unknowns))]
    with jax.enable_x64(True):
        known = {leaf: jnp.broadcast_to(jnp.asarray(look_up(leaf), float), (count,)) for leaf in free}

        def residual(moved: dict[Leaf, Any]) -> Any:
            found = equation.residual(lambda leaf: moved[leaf] if leaf in moved else jnp.asarray(look_up(leaf)))
            return jnp.broadcast_to(jnp.asarray(found, float), (count,))

        def along(leaf: Leaf) -> np.ndarray:
            return np.asarray(
                jax.jvp(lambda one: residual({**known, leaf: one}), (known[leaf],), (jnp.ones(count),))[1]
            )

        return np.asarray(residual(known)), {leaf: along(leaf) for leaf in free}
