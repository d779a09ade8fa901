"""DeepXDE on PyTorch: fixed collocation points (its PDE data draw none anew), a minibatch of the readings every step.

DeepXDE evaluates the equation at the readings as well and leaves those rows out of the loss."""

import os

os.environ["DDE_BACKEND"] = "pytorch"

import deepxde as dde
import numpy as np
import torch
from common import BATCH, RATE, Turns, allen_cahn, burgers, work

given = work()
fields = given.values.shape[1]
unknown = dde.Variable(given.start)


def equation(points, outputs):
    def laplacian(component):
        return sum(dde.grad.hessian(outputs, points, component=component, i=axis, j=axis) for axis in (0, 1))

    def first(component, axis):
        return dde.grad.jacobian(outputs, points, i=component, j=axis)

    values = [outputs[:, component : component + 1] for component in range(fields)]
    if given.problem == "allen_cahn":
        place = tuple(points[:, axis : axis + 1] for axis in range(3))
        return allen_cahn(torch, place, values[0], first(0, 2), laplacian(0), unknown)
    return [
        burgers(*values, *(first(component, axis) for axis in range(3)), laplacian(component), unknown)
        for component in (0, 1)
    ]


def readings(component, rows, batch):
    return dde.icbc.PointSetBC(given.places[:rows], given.values[:rows, component : component + 1], component, batch)


def model_of(rows, batch):
    low, high = given.collocation.min(axis=0), given.collocation.max(axis=0)
    box = dde.geometry.Hypercube(low - 1e-3, high + 1e-3)
    conditions = [readings(component, rows, batch) for component in range(fields)]
    data = dde.data.PDE(box, equation, conditions, num_domain=0, anchors=given.collocation[:BATCH])
    sizes = [3, *[len(bias) for _, bias in given.layers]]
    network = dde.nn.FNN(sizes, "tanh", "Glorot normal")
    for linear, (weight, bias) in zip(network.linears, given.layers, strict=True):
        linear.weight.data, linear.bias.data = torch.tensor(weight.T), torch.tensor(bias)
    model = dde.Model(data, network)
    weights = [1.0] * fields + [1.0 / fields] * fields
    model.compile("adam", lr=RATE, loss_weights=weights, external_trainable_variables=[unknown], verbose=0)
    return model


class Timed(dde.callbacks.Callback):
    def on_batch_end(self):
        turns.step_done()


first = model_of(BATCH, None)
_, losses = first._outputs_losses(True, *first.data.train_next_batch())
initial = float(np.sum(losses.detach().numpy() if torch.is_tensor(losses) else losses))
turns = Turns(initial, f"DeepXDE {dde.__version__} on PyTorch")
model = model_of(len(given.places), BATCH)
resampler = dde.callbacks.PDEPointResampler(period=1, pde_points=False, bc_points=True)
model.train(iterations=10**7, display_every=10**8, callbacks=[resampler, Timed()], verbose=0)
