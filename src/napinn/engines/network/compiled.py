"""Compiled functions whose programs are freed with them.

`equinox.filter_jit` keeps the programs of every function that it was ever given. For a function that is defined once
that is right; for one made by each fit it is not: a program holds memory maps, of which a process may have some
65,000, and a script that fits in a loop would end in a segmentation fault."""

import contextlib
import ctypes
import functools
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, ParamSpec, TypeVar

import equinox as eqx
import jax
import numpy as np

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True)
class _Rest:
    """What of some arguments is no array: part of the program, so equal for two calls that share one."""

    leaves: tuple[Hashable, ...]
    structure: Any


def owned_jit(function: Callable[P, R]) -> Callable[P, R]:
    """Like `equinox.filter_jit`, for a function that does not live as long as the process."""
    body: Callable[..., R] = function
    fixed: dict[_Rest, Any] = {}

    @functools.partial(jax.jit, static_argnums=1)
    def traced(arrays: Any, rest: _Rest) -> Any:
        others = jax.tree.unflatten(rest.structure, rest.leaves)
        arguments: Any = eqx.combine(arrays, others)
        result = body(*arguments[0], **arguments[1])
        moving, fixed[rest] = eqx.partition(result, eqx.is_array)
        return moving

    @functools.wraps(function)
    def run(*positional: P.args, **named: P.kwargs) -> R:
        arrays, others = eqx.partition((positional, named), _is_array)
        leaves, structure = jax.tree.flatten(others)
        rest = _Rest(tuple(leaves), structure)
        moving = traced(arrays, rest)
        return eqx.combine(moving, fixed[rest])

    return run


def _is_array(leaf: object) -> bool:
    return isinstance(leaf, jax.Array | np.ndarray | np.generic)


class Itself:
    """An object as a key: equal to itself alone, whatever it holds."""

    def __init__(self, thing: object) -> None:
        self.thing = thing

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Itself) and other.thing is self.thing

    def __hash__(self) -> int:
        return id(self.thing)


def tidy() -> None:
    """Give back to the system what compiling took; glibc would keep it, a tenth of all memory of a fit."""
    with contextlib.suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)
