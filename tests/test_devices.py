"""Several devices give what one gives, to rounding."""

import json
import os
import subprocess
import sys

import jax
import pytest

from napinn import InputError
from napinn.engines.network.training.devices import mesh_of

TWO = """
import json, jax, numpy as np, pandas as pd
from napinn import Problem, Unknown, fit, na_pinn, read_table
from napinn.noise.density import EBM
from napinn.engines.network.model import network_of
from napinn.field.backbones import MLP

times = np.linspace(0.0, 3.0, 1001)
table = pd.DataFrame({"t": times, "u": np.exp(-0.8 * times) + 0.02 * np.sin(50.0 * times)})
problem = Problem({"t": (0.0, 3.0)}, ("u",), ("u_t = -k*u",), {"k": Unknown(0.3)})
sizes = dict(backbone=MLP(8, 2), collocation_batch=16, reading_batch=32, log_every=7, double=True)
method = na_pinn(20, warm_up=0, law_steps=0, estimator=EBM(width=8, depth=1, nodes=64), adapts=False, **sizes)
found = []
for devices in (jax.devices()[:1], jax.devices()):
    result = fit(problem, read_table(table, ("t",), ("u",)), method, devices=devices)
    leaf = jax.tree.leaves(network_of(result).network)[0]
    found.append({"devices": len(leaf.sharding.device_set), "k": result.unknowns["k"],
                  "predicted": result.predicted[::100].tolist(), "reliability": result.reliability[::100].tolist()})
print(json.dumps(found))
"""


def test_two_devices_give_what_one_gives():
    flags = f"{os.environ['XLA_FLAGS']} --xla_force_host_platform_device_count=2"
    environment = {**os.environ, "XLA_FLAGS": flags, "JAX_PLATFORMS": "cpu"}
    done = subprocess.run([sys.executable, "-c", TWO], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    one, two = json.loads(done.stdout)
    assert (one.pop("devices"), two.pop("devices")) == (1, 2)
    for name in one:
        assert two[name] == pytest.approx(one[name], rel=1e-8, abs=1e-10)


def test_a_batch_that_does_not_divide_is_refused(small_method):
    with pytest.raises(InputError, match="64 collocation points cannot be split evenly over 3 devices"):
        mesh_of(jax.devices()[:1] * 3, small_method())
