"""PySINDy's weak form on one record: reads a file of arrays, prints its coefficients by term as one line of JSON.

    python pysindy_weak.py record.npz 0.15            # the second number is the share of readings that is trimmed
    python pysindy_weak.py record.npz 0.15 square     # with derivatives of u² in the library

Runs in an environment of its own (`pysindy_weak.txt`). The library has powers of the field up to three, derivatives up
to the fourth and products of both. It has no derivatives of u², which the porous medium needs: with `square` u² is a
second field v, and the library has both fields and their derivatives and no products, because these would stand in it
twice. Thresholds are the package's defaults, as no truth may choose them."""

import json
import sys
import time

import numpy as np
import pysindy

SUBDOMAINS = 500
ORDER = 4

with np.load(sys.argv[1], allow_pickle=False) as file:
    t, x, u = file["t"], file["x"], file["u"]
trimmed, square = float(sys.argv[2]), "square" in sys.argv[3:]
begun = time.process_time()
grid = np.stack(np.meshgrid(x, t, indexing="ij"), axis=-1)
# Subdomains are drawn from NumPy's global generator.
np.random.seed(0)
library = pysindy.WeakPDELibrary(
    function_library=pysindy.PolynomialLibrary(degree=1 if square else 3, include_bias=False),
    include_interaction=not square,
    derivative_order=ORDER,
    spatiotemporal_grid=grid,
    K=SUBDOMAINS,
    is_uniform=True,
)
optimizer = pysindy.SR3(trimming_fraction=trimmed, unbias=False) if trimmed else pysindy.STLSQ()
model = pysindy.SINDy(feature_library=library, optimizer=optimizer)
fields = np.stack([u, u**2] if square else [u], axis=-1)
model.fit(fields, t=t, feature_names=["u", "v"][: fields.shape[-1]])
found = {name: float(value) for name, value in zip(model.get_feature_names(), model.coefficients()[0], strict=True)}
print(json.dumps({"terms": {k: v for k, v in found.items() if v}, "seconds": time.process_time() - begun}))  # noqa: T201
