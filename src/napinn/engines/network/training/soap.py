"""SOAP: Adam in the slowly turning eigenbasis of Shampoo's preconditioner (Vyas et al. 2024).

For a weight matrix with gradient G, running averages of G Gᵀ and Gᵀ G give two bases in which the gradient's entries
are nearly uncorrelated; Adam's division by the root of the second moment is then close to what a full-matrix method
would do. The bases follow by one step of orthogonal iteration every few steps, which costs a thin QR and no
eigendecomposition. Arrays that are not matrices (biases, coefficients, the gate) get plain Adam.

The step of a physics-informed network is dominated by products over thousands of points, so the products of small
square matrices here are cheap beside it; `benchmarks/speed.py` measures how cheap."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int

LARGEST_SIDE = 1024
"""A matrix with a longer side is left to Adam: that side's square matrix would cost more than it brings."""


class Eigenbases(NamedTuple):
    """Running covariances of a matrix's rows and columns, and the bases that nearly diagonalise them."""

    row_covariance: Float[Array, "m m"]
    column_covariance: Float[Array, "n n"]
    row_basis: Float[Array, "m m"]
    column_basis: Float[Array, "n n"]


class SoapState(NamedTuple):
    taken: Int[Array, ""]
    first: Any
    second: Any
    bases: tuple[Eigenbases | None, ...]


def scale_by_soap(b1: float, b2: float, epsilon: float, every: int) -> optax.GradientTransformation:
    """Direction of SOAP; the learning rate is the caller's."""

    def init(params: Any) -> Any:
        zeros = jax.tree.map(jnp.zeros_like, params)
        bases = tuple(_blank(leaf) if _is_matrix(leaf) else None for leaf in jax.tree.leaves(params))
        return SoapState(jnp.zeros((), jnp.int32), zeros, zeros, bases)

    def update(updates: Any, state: Any, params: Any = None) -> tuple[Any, Any]:
        leaves, structure = jax.tree.flatten(updates)
        count = state.taken + 1
        first = [b1 * m + (1.0 - b1) * g for m, g in zip(jax.tree.leaves(state.first), leaves, strict=True)]
        second, steps = [], []
        bases = _follow(state.bases, leaves, b2, state.taken % every == 0)
        for slope, mean, square, basis in zip(leaves, first, jax.tree.leaves(state.second), bases, strict=True):
            square = b2 * square + (1.0 - b2) * _turn(slope, basis) ** 2
            unbiased = _turn(mean, basis) / (1.0 - b1**count)
            step = unbiased / (jnp.sqrt(square / (1.0 - b2**count)) + epsilon)
            second.append(square)
            steps.append(_turn_back(step, basis))
        after = SoapState(count, jax.tree.unflatten(structure, first), jax.tree.unflatten(structure, second), bases)
        return jax.tree.unflatten(structure, steps), after

    return optax.GradientTransformation(init, update)


def _is_matrix(leaf: Array) -> bool:
    return leaf.ndim == 2 and min(leaf.shape) > 1 and max(leaf.shape) <= LARGEST_SIDE


def _blank(leaf: Float[Array, "m n"]) -> Eigenbases:
    rows, columns = (jnp.eye(side, dtype=leaf.dtype) for side in leaf.shape)
    return Eigenbases(jnp.zeros_like(rows), jnp.zeros_like(columns), rows, columns)


def _follow(
    bases: tuple[Eigenbases | None, ...], slopes: list[Array], decay: float, due: Array
) -> tuple[Eigenbases | None, ...]:
    """Covariances after one more gradient; the bases too, when they are due."""

    def learn(basis: Eigenbases, slope: Float[Array, "m n"]) -> Eigenbases:
        rows = decay * basis.row_covariance + (1.0 - decay) * slope @ slope.T
        columns = decay * basis.column_covariance + (1.0 - decay) * slope.T @ slope
        return basis._replace(row_covariance=rows, column_covariance=columns)

    learned = tuple(None if basis is None else learn(basis, slope) for basis, slope in zip(bases, slopes, strict=True))

    def turn(now: tuple[Eigenbases | None, ...]) -> tuple[Eigenbases | None, ...]:
        return tuple(None if basis is None else _iterate(basis) for basis in now)

    return jax.lax.cond(due, turn, lambda now: now, learned)


def _iterate(basis: Eigenbases) -> Eigenbases:
    """One orthogonal iteration of each basis towards the eigenvectors of its covariance."""

    def towards(covariance: Array, now: Array) -> Array:
        # Scaled, because the squares of a small gradient fall below what float32 can hold apart from zero; the small
        # share of the old basis keeps the product's columns independent when the covariance has not filled up yet.
        size = jnp.maximum(jnp.max(jnp.abs(covariance)), jnp.finfo(covariance.dtype).tiny)
        return jnp.linalg.qr((covariance / size) @ now + 1e-6 * now)[0]

    return basis._replace(
        row_basis=towards(basis.row_covariance, basis.row_basis),
        column_basis=towards(basis.column_covariance, basis.column_basis),
    )


def _turn(matrix: Array, basis: Eigenbases | None) -> Array:
    return matrix if basis is None else basis.row_basis.T @ matrix @ basis.column_basis


def _turn_back(matrix: Array, basis: Eigenbases | None) -> Array:
    return matrix if basis is None else basis.row_basis @ matrix @ basis.column_basis.T
