"""PyTorch eager, as a PINN is usually written in it: `autograd.grad` for every derivative."""

import time

import torch
from common import BATCH, RATE, Turns, allen_cahn, burgers, work

given = work()
layers = []
for weight, bias in given.layers:
    layer = torch.nn.Linear(*weight.shape)
    layer.weight.data, layer.bias.data = torch.tensor(weight.T), torch.tensor(bias)
    layers += [layer, torch.nn.Tanh()]
network = torch.nn.Sequential(*layers[:-1])
unknown = torch.nn.Parameter(torch.tensor(given.start))
pool, places, values = (torch.tensor(array) for array in (given.collocation, given.places, given.values))
optimiser = torch.optim.Adam([*network.parameters(), unknown], lr=RATE)


def slopes(field: torch.Tensor, points: torch.Tensor) -> torch.Tensor:
    return torch.autograd.grad(field.sum(), points, create_graph=True)[0]


def derivatives(field: torch.Tensor, points: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """All firsts, and the Laplacian in x and y."""
    firsts = slopes(field, points)
    return firsts, sum(slopes(firsts[:, axis], points)[:, axis] for axis in (0, 1))


def residuals(points: torch.Tensor) -> torch.Tensor:
    points = points.requires_grad_()
    fields = network(points).unbind(1)
    taken = [derivatives(field, points) for field in fields]
    if given.problem == "allen_cahn":
        firsts, laplacian = taken[0]
        return allen_cahn(torch, points.unbind(1), fields[0], firsts[:, 2], laplacian, unknown)[:, None]
    rows = [burgers(*fields, *firsts.unbind(1), laplacian, unknown) for firsts, laplacian in taken]
    return torch.stack(rows, dim=1)


def loss(points: torch.Tensor, rows: slice | torch.Tensor) -> torch.Tensor:
    return (residuals(points) ** 2).sum(1).mean() + ((network(places[rows]) - values[rows]) ** 2).mean()


def products_rate() -> float:
    """Billions of operations a second in products of the shapes that a step is made of."""
    rows, weight, taken = torch.randn(6 * BATCH, 80), torch.randn(80, 80), []
    for _ in range(5):
        began = time.perf_counter()
        for _ in range(50):
            rows @ weight
            rows.T @ rows
        taken.append(time.perf_counter() - began)
    return 2 * 50 * 2 * rows.numel() * 80 / (1e9 * min(taken))


first = loss(pool[:BATCH].clone(), slice(BATCH)).item()
turns = Turns(first, f"PyTorch {torch.__version__}, eager", products_rate())
while True:
    optimiser.zero_grad()
    points = pool[torch.randint(len(pool), (BATCH,))]
    loss(points, torch.randint(len(places), (BATCH,))).backward()
    optimiser.step()
    turns.step_done()
