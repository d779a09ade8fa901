"""PINA: its physics-informed solver under Lightning, minibatches of collocation points and readings."""

import math
import warnings
from importlib import metadata

warnings.filterwarnings("ignore")

import torch  # noqa: E402
from common import BATCH, RATE, Turns, allen_cahn, burgers, work  # noqa: E402
from lightning.pytorch.callbacks import Callback  # noqa: E402
from pina import Condition, LabelTensor, Trainer  # noqa: E402
from pina.domain import CartesianDomain  # noqa: E402
from pina.equation import Equation  # noqa: E402
from pina.operator import grad, laplacian  # noqa: E402
from pina.optim import TorchOptimizer  # noqa: E402
from pina.problem import InverseProblem, SpatialProblem, TimeDependentProblem  # noqa: E402
from pina.solver import PhysicsInformedSingleModelSolver  # noqa: E402

given = work()
names = ["u", "v"][: given.values.shape[1]]
coordinates = ["x", "y", "t"]


def equation(points, outputs, params):
    values = [outputs.extract([name]).tensor for name in names]
    place = tuple(points.extract([name]).tensor for name in coordinates)
    taken = {}
    for name in names:
        firsts = grad(outputs, points, components=[name], d=coordinates)
        axes = [firsts.extract([f"d{name}d{axis}"]).tensor for axis in coordinates]
        taken[name] = axes, laplacian(outputs, points, components=[name], d=["x", "y"]).tensor
    unknown = params["c"]
    if given.problem == "allen_cahn":
        axes, second = taken["u"]
        return allen_cahn(torch, place, values[0], axes[2], second, unknown)
    rows = [burgers(*values, *axes, second, unknown) for axes, second in taken.values()]
    # PINA takes the mean over the equations where the others take the sum.
    return math.sqrt(2.0) * torch.cat(rows, dim=1)


class Inverse(TimeDependentProblem, SpatialProblem, InverseProblem):
    output_variables = names
    spatial_domain = CartesianDomain({"x": [0, 10], "y": [0, 10]})
    temporal_domain = CartesianDomain({"t": [0, 10]})
    unknown_parameter_domain = CartesianDomain({"c": [-1, 1]})
    conditions = {  # noqa: RUF012
        "data": Condition(input=LabelTensor(torch.tensor(given.places), coordinates),
                          target=LabelTensor(torch.tensor(given.values), names)),
        "physics": Condition(input=LabelTensor(torch.tensor(given.collocation), coordinates),
                             equation=Equation(equation)),
    }  # fmt: skip


layers = []
for weight, bias in given.layers:
    layer = torch.nn.Linear(*weight.shape)
    layer.weight.data, layer.bias.data = torch.tensor(weight.T), torch.tensor(bias)
    layers += [layer, torch.nn.Tanh()]


class Network(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(*layers[:-1])

    def forward(self, x):
        return LabelTensor(self.layers(x.tensor if isinstance(x, LabelTensor) else x), names)


problem = Inverse()
problem.unknown_parameters["c"].data = torch.tensor([given.start])
network = Network()
solver = PhysicsInformedSingleModelSolver(problem, network, TorchOptimizer(torch.optim.Adam, lr=RATE))


def initial_loss() -> float:
    points = LabelTensor(torch.tensor(given.collocation[:BATCH]), coordinates).requires_grad_()
    left = equation(points, network(points), problem.unknown_parameters)
    found = network(torch.tensor(given.places[:BATCH])).tensor
    return ((left**2).mean() + ((found - torch.tensor(given.values[:BATCH])) ** 2).mean()).item()


class Timed(Callback):
    def on_train_batch_end(self, *_):
        turns.step_done()


turns = Turns(initial_loss(), f"PINA {metadata.version('pina-mathlab')}")
quiet = dict(logger=False, enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False)
Trainer(solver, batch_size=BATCH, max_epochs=10**7, accelerator="cpu", callbacks=[Timed()], **quiet).train()
