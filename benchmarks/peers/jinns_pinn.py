"""jinns: its network, dynamic loss and generators of points and observations, in one compiled step."""

from importlib import metadata

import equinox as eqx
import jax
import jax.numpy as jnp
import jinns
import numpy as np
import optax
from common import BATCH, RATE, Turns, allen_cahn, burgers, work
from jinns.data import CubicMeshPDENonStatio, DataGeneratorObservations
from jinns.loss import LossPDENonStatio, LossWeightsPDENonStatio, PDENonStatio
from jinns.nn import PINN_MLP
from jinns.parameters import DerivativeKeysPDENonStatio, Params

given = work()
fields = given.values.shape[1]
# In jinns time comes first.
turned = [2, 0, 1]
pool, places = (jnp.asarray(array[:, turned]) for array in (given.collocation, given.places))
values = jnp.asarray(given.values)


class Equation(PDENonStatio):
    def equation(self, t_x, u, params):
        def taken(component):
            def field(point):
                return u(point, params)[component]

            return jax.grad(field)(t_x), jnp.trace(jax.hessian(field)(t_x)[1:, 1:])

        found, unknown = u(t_x, params), params.eq_params.c
        t, x, y = t_x
        if given.problem == "allen_cahn":
            firsts, laplacian = taken(0)
            return allen_cahn(jnp, (x, y, t), found[0], firsts[0], laplacian, unknown).reshape(1)
        rows = []
        for component in (0, 1):
            (w_t, w_x, w_y), laplacian = taken(component)
            rows.append(burgers(*found, w_x, w_y, w_t, laplacian, unknown).reshape(()))
        return jnp.stack(rows)


layout = []
for weight, _ in given.layers:
    layout += [(eqx.nn.Linear, *weight.shape), (jnp.tanh,)]
u, start = PINN_MLP.create(key=jax.random.key(0), eqx_list=tuple(layout[:-1]), eq_type="PDENonStatio")
first, *others = given.layers
ours = [jnp.asarray(array) for weight, bias in ((first[0][turned], first[1]), *others) for array in (weight.T, bias)]
leaves, structure = jax.tree.flatten(start)
assert [leaf.shape for leaf in leaves] == [array.shape for array in ours]
params = Params(nn_params=jax.tree.unflatten(structure, ours), eq_params={"c": jnp.asarray(given.start, jnp.float32)})
keys = DerivativeKeysPDENonStatio.from_str(params=params, dyn_loss="both", observations="both")
# The sum over fields, where ours is the mean.
weights = LossWeightsPDENonStatio(dyn_loss=1.0, observations=1.0 / fields)
loss = LossPDENonStatio(u=u, dynamic_loss=Equation(), derivative_keys=keys, loss_weights=weights, params=params)
low, high = np.asarray(pool.min(axis=0)), np.asarray(pool.max(axis=0))
points = CubicMeshPDENonStatio(
    key=jax.random.key(1), n=len(pool), nb=None, ni=None, dim=2, tmin=float(low[0]), tmax=float(high[0]),
    min_pts=tuple(map(float, low[1:])), max_pts=tuple(map(float, high[1:])), domain_batch_size=BATCH, method="uniform",
)  # fmt: skip
observed = DataGeneratorObservations(
    key=jax.random.key(2), obs_batch_size=BATCH, observed_pinn_in=places, observed_values=values
)
optimiser = optax.adam(RATE)


def batch_of(points, observed):
    points, batch = points.get_batch()
    observed, seen = observed.get_batch()
    return points, observed, jinns.data.append_obs_batch(batch, seen)


def initial_loss():
    _, _, batch = batch_of(points, observed)
    batch = eqx.tree_at(lambda b: b.domain_batch, batch, pool[:BATCH])
    seen = jax.tree.map(lambda leaf: leaf, batch.obs_batch_dict)
    one = seen[0] if isinstance(seen, tuple) else seen
    one = {**one, "pinn_in": places[:BATCH], "val": values[:BATCH]}
    batch = eqx.tree_at(lambda b: b.obs_batch_dict, batch, (one,) if isinstance(seen, tuple) else one)
    return loss(params, batch)[0]


@eqx.filter_jit
def step(params, state, points, observed):
    points, observed, batch = batch_of(points, observed)
    slopes = jax.grad(lambda p: loss(p, batch)[0])(params)
    updates, state = optimiser.update(slopes, state, params)
    return optax.apply_updates(params, updates), state, points, observed


state = optimiser.init(params)
turns = Turns(initial_loss(), f"jinns {metadata.version('jinns')}")
while True:
    params, state, points, observed = jax.block_until_ready(step(params, state, points, observed))
    turns.step_done()
