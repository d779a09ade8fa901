"""How near a training step is to the limit: its matrix products alone, timed beside the whole of it.

The products of a step are read off its traced program, with their shapes. All of them are then run on arrays of their
own, with nothing between them. What share of the step's time that takes is how much of the machine's rate for products
of these shapes the step reaches."""

import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.extend import core

from napinn.engines.network.training.steps import schedule_of, step_of
from napinn.studies.paper.step_times import Start

Product = tuple[tuple[int, ...], tuple[int, ...], Any]
REPEATS = 5


def products_of(start: Start) -> Counter[Product]:
    """Shapes and contracted axes of every product in one step, and how often each occurs."""
    phase = start.method.phases[-1]
    step = step_of(start.benchmark.problem, start.method, phase)
    share = jax.tree.map(lambda each: each[0], schedule_of(phase, np.zeros(1), start.data.points.dtype))
    moving, static = eqx.partition(start.state, eqx.is_array)

    def bare(moving: Any, data: Any) -> Any:
        after, losses = step(eqx.combine(moving, static), data, jnp.zeros((0,)), share)
        return eqx.filter(after, eqx.is_array), losses

    traced = jax.make_jaxpr(bare)(moving, start.data)
    found: Counter[Product] = Counter()
    for equation in _equations(traced.jaxpr):
        if equation.primitive.name == "dot_general":
            left, right = (tuple(operand.aval.shape) for operand in equation.invars)
            found[left, right, equation.params["dimension_numbers"]] += 1
    return found


def _equations(jaxpr: core.Jaxpr) -> Iterator[Any]:
    for equation in jaxpr.eqns:
        yield equation
        for inner in jax.tree.leaves(
            list(equation.params.values()), is_leaf=lambda leaf: isinstance(leaf, core.Jaxpr | core.ClosedJaxpr)
        ):
            if isinstance(inner, core.ClosedJaxpr):
                yield from _equations(inner.jaxpr)
            elif isinstance(inner, core.Jaxpr):
                yield from _equations(inner)


def operations(products: Counter[Product]) -> float:
    """Multiplications and additions of all products."""
    total = 0.0
    for (left, right, ((_, across), (_, batch))), count in products.items():
        kept = [size for axis, size in enumerate(right) if axis not in (*across, *batch)]
        total += 2.0 * count * float(np.prod(left)) * float(np.prod(kept))
    return total


def timed_products(products: Counter[Product]) -> Callable[[], float]:
    """A function that runs them all, each on arrays of its own, and gives the seconds that it took."""
    random = np.random.default_rng(0)

    def operand(shape: tuple[int, ...]) -> jax.Array:
        return jnp.asarray(random.standard_normal(shape), jnp.float32)

    axes = [axes for (_, _, axes), count in products.items() for _ in range(count)]
    pairs = [(operand(left), operand(right)) for (left, right, _), count in products.items() for _ in range(count)]

    @jax.jit
    def run(pairs: list[tuple[jax.Array, jax.Array]]) -> list[jax.Array]:
        found = [jax.lax.dot_general(*pair, how) for pair, how in zip(pairs, axes, strict=True)]
        # One number of each: to hand over whole arrays would cost memory that a step does not take, and without the
        # barrier the rest would not be computed.
        return [jax.lax.optimization_barrier(array)[0, 0] for array in found]

    def seconds() -> float:
        began = time.perf_counter()
        for _ in range(REPEATS):
            jax.block_until_ready(run(pairs))
        return (time.perf_counter() - began) / REPEATS

    seconds()
    return seconds
