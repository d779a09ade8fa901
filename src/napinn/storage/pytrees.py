"""The arrays of a tree by the path of their leaf, and a tree filled with such arrays.

Settings rebuild the tree, and a file only fills in its numbers: it can choose neither class nor shape nor path. Keys
of random numbers are written as the integers that they are made of."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from napinn.errors import InputError


def leaves(tree: Any) -> dict[str, np.ndarray]:
    flat, _ = jax.tree_util.tree_flatten_with_path(eqx.filter(tree, eqx.is_array))
    return {jax.tree_util.keystr(path): _plain(leaf) for path, leaf in flat}


def fill(skeleton: Any, array: Callable[[str, tuple[int, ...], np.dtype], np.ndarray | None], source: Path) -> Any:
    """The skeleton (shapes in place of arrays) with `array(path, shape, dtype)` for each leaf; None where there is
    none of that path, shape and kind."""

    def replace(path: Any, leaf: Any) -> Any:
        if not isinstance(leaf, jax.ShapeDtypeStruct):
            return leaf
        name, is_key = jax.tree_util.keystr(path), jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)
        plain = jax.eval_shape(jax.random.key_data, leaf) if is_key else leaf
        found = array(name, plain.shape, np.dtype(plain.dtype))
        if found is None or (found.shape, found.dtype) != (plain.shape, plain.dtype):
            raise InputError(f"{source} does not match the settings of the run (array '{name}').")
        return jax.random.wrap_key_data(jnp.asarray(found)) if is_key else jnp.asarray(found, leaf.dtype)

    return jax.tree_util.tree_map_with_path(replace, skeleton)


def _plain(leaf: Any) -> np.ndarray:
    return np.asarray(jax.random.key_data(leaf) if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key) else leaf)
