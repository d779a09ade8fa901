"""Plain JAX: derivatives of one point by `grad` of `grad`, `vmap` over the points, one compiled step."""

import jax
import jax.numpy as jnp
import optax
from common import BATCH, RATE, Turns, allen_cahn, burgers, work

given = work()
pool, places, values = (jnp.asarray(array) for array in (given.collocation, given.places, given.values))
params = {"layers": [(jnp.asarray(weight), jnp.asarray(bias)) for weight, bias in given.layers],
          "unknown": jnp.asarray(given.start, jnp.float32)}  # fmt: skip
optimiser = optax.adam(RATE)


def network(layers, point):
    for weight, bias in layers[:-1]:
        point = jnp.tanh(point @ weight + bias)
    weight, bias = layers[-1]
    return point @ weight + bias


def residuals(params, point):
    def derivatives(component):
        slopes = jax.grad(lambda p: network(params["layers"], p)[component])
        seconds = [jax.grad(lambda p, axis=axis: slopes(p)[axis])(point)[axis] for axis in (0, 1)]
        return slopes(point), sum(seconds)

    fields = network(params["layers"], point)
    if given.problem == "allen_cahn":
        firsts, laplacian = derivatives(0)
        return allen_cahn(jnp, tuple(point), fields[0], firsts[2], laplacian, params["unknown"])[None]
    taken = [derivatives(component) for component in (0, 1)]
    return jnp.stack([burgers(*fields, *firsts, laplacian, params["unknown"]) for firsts, laplacian in taken])


def loss(params, points, rows):
    left = jax.vmap(residuals, (None, 0))(params, points)
    misfits = values[rows] - jax.vmap(network, (None, 0))(params["layers"], places[rows])
    return jnp.mean(jnp.sum(left**2, axis=1)) + jnp.mean(misfits**2)


@jax.jit
def step(params, state, key):
    key, for_points, for_rows = jax.random.split(key, 3)
    points = pool[jax.random.randint(for_points, (BATCH,), 0, len(pool))]
    rows = jax.random.randint(for_rows, (BATCH,), 0, len(places))
    updates, state = optimiser.update(jax.grad(loss)(params, points, rows), state)
    return optax.apply_updates(params, updates), state, key


state, key = optimiser.init(params), jax.random.key(0)
initial = jax.jit(loss)(params, pool[:BATCH], jnp.arange(BATCH))
turns = Turns(initial, f"plain JAX {jax.__version__}, vmap of grad(grad)")
while True:
    params, state, key = jax.block_until_ready(step(params, state, key))
    turns.step_done()
