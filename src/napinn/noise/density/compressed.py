"""Any estimator on compressed misfits: straight near zero, logarithmic far out.

With y = w asinh(r / w) the estimator learns the law of y, and p(r) = q(y) / √(1 + (r/w)²). A reading a thousand
deviations off then lies a few units beyond the others, so that no outlier, however gross, stretches the estimator's
grid or its kernels; and since the density is that of r itself, a far cluster of outliers, however tight in y, stays
improbable."""

from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float, PRNGKeyArray

from napinn.noise.density.base import Density


@dataclass(frozen=True)
class Compressed(Density):
    inner: Density
    width: float = 3.0
    """Misfits well below this many deviations are left as they are."""

    def init(self, key: PRNGKeyArray, misfits: Float[Array, " n"]) -> Any:
        return self.inner.init(key, self._press(misfits))

    def update(self, state: Any, misfits: Float[Array, " n"], key: PRNGKeyArray) -> tuple[Any, Float[Array, " n"]]:
        after, log_prob = self.inner.update(state, self._press(misfits), key)
        return after, log_prob + self._log_slope(misfits)

    def log_prob(self, state: Any, misfits: Float[Array, " n"]) -> Float[Array, " n"]:
        return self.inner.log_prob(state, self._press(misfits)) + self._log_slope(misfits)

    def sample(self, state: Any, key: PRNGKeyArray, count: int) -> Float[Array, " count"]:
        return self._release(self.inner.sample(state, key, count))

    def support(self, state: Any) -> tuple[Float[Array, ""], Float[Array, ""]]:
        low, high = self.inner.support(state)
        return self._release(low), self._release(high)

    def normaliser(self, state: Any) -> Float[Array, ""]:
        return self.inner.normaliser(state)

    def _press(self, misfits: Array) -> Array:
        return self.width * jnp.arcsinh(misfits / self.width)

    def _release(self, pressed: Array) -> Array:
        return self.width * jnp.sinh(pressed / self.width)

    def _log_slope(self, misfits: Array) -> Array:
        return -0.5 * jnp.log1p((misfits / self.width) ** 2)
