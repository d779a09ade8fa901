"""The paper's recipe written plainly in PyTorch: 4,000 + 1,000 points a step, raw coordinates, its grid and its costs.

Warm-up, then the noise law alone, then field, law and gate together. Prints seconds, steps and rMSE as it goes, the
time of judging left out, and ends when it is as accurate as asked or its steps or minutes are over."""

import itertools
import json
import math
import sys
import time

import torch
from common import RATE, allen_cahn, work

given = work()
accuracy, minutes, steps = float(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4])
POINTS, READINGS, NODES, WARM_UP, COST, DECAY = 4000, 1000, 100, steps // 6, 0.1, 0.99


def network_of(sizes, layers=None):
    parts = []
    for number, (inputs, outputs) in enumerate(itertools.pairwise(sizes)):
        linear = torch.nn.Linear(inputs, outputs)
        if layers is None:
            torch.nn.init.xavier_uniform_(linear.weight)
            torch.nn.init.zeros_(linear.bias)
        else:
            linear.weight.data, linear.bias.data = torch.tensor(layers[number][0].T), torch.tensor(layers[number][1])
        parts += [linear, torch.nn.Tanh()]
    return torch.nn.Sequential(*parts[:-1])


torch.manual_seed(0)
field = network_of([3, 80, 80, 80, 80, 80, 1], given.layers)
epsilon = torch.nn.Parameter(torch.tensor(given.start))
energy = network_of([1, 32, 32, 32, 1])
gate = torch.nn.Parameter(torch.tensor([math.log(math.expm1(5.0)), math.log(math.expm1(2.0))]))
main = torch.optim.Adam([*field.parameters(), epsilon, gate], lr=RATE)
law = torch.optim.Adam(energy.parameters(), lr=RATE)
places, values = torch.tensor(given.places), torch.tensor(given.values)
where, truth = torch.tensor(given.collocation[:, :3]), torch.tensor(given.collocation[:, 3:])
grid = torch.linspace(-10.0, 10.0, 1024)[:, None]
trapezoid = torch.full((1024,), 20.0 / 1023).log()
trapezoid[[0, -1]] += math.log(0.5)


def slopes(values, points):
    return torch.autograd.grad(values.sum(), points, create_graph=True)[0]


def equation_loss():
    points = (torch.randint(NODES, (POINTS, 3)) / (NODES - 1.0)).requires_grad_()
    u = field(points)[:, 0]
    firsts = slopes(u, points)
    laplacian = sum(slopes(firsts[:, axis], points)[:, axis] for axis in (0, 1))
    return (allen_cahn(torch, points.unbind(1), u, firsts[:, 2], laplacian, epsilon) ** 2).mean()


def log_density(standard):
    return energy(standard.clamp(-10.0, 10.0))[:, 0] - torch.logsumexp(energy(grid)[:, 0] + trapezoid, 0)


def learn_law(misfits, scale):
    """One step of the law, and the log-densities before it."""
    found = log_density(misfits.detach() / scale)
    law.zero_grad()
    (-found.mean()).backward()
    law.step()
    return found.detach()


def rmse():
    with torch.no_grad():
        error = torch.cat([field(piece) for piece in where.split(8192)]) - truth
    return float((error.square().sum() / truth.square().sum()).sqrt())


def misfits_of(rows):
    return values[rows] - field(places[rows])


scale, began, judged = None, time.perf_counter(), 0.0
for step in range(steps + WARM_UP):
    rows = torch.randint(len(places), (READINGS,))
    if step >= WARM_UP and scale is None:
        with torch.no_grad():
            still = misfits_of(slice(None))
            scale = still.std()
    if WARM_UP <= step < 2 * WARM_UP:
        learn_law(still[rows], scale)
    else:
        misfits = misfits_of(rows)
        loss = equation_loss()
        if step < WARM_UP:
            loss = loss + misfits.square().mean()
        else:
            scale = DECAY * scale + (1.0 - DECAY) * misfits.detach().std()
            scores = learn_law(misfits, scale)
            standard = (scores - scores.mean()) / scores.std().clamp_min(1e-6)
            steepness, cutoff = torch.nn.functional.softplus(gate)
            weights = torch.sigmoid(steepness * (standard + cutoff))
            loss = loss + (weights * misfits[:, 0].square()).mean() + COST * (1.0 - weights).mean()
        main.zero_grad()
        loss.backward()
        main.step()
    if step % 100 == 99:
        now = time.perf_counter()
        found, seconds = rmse(), now - began - judged
        print("@" + json.dumps({"step": step + 1, "seconds": round(seconds, 2), "rmse": round(found, 5)}), flush=True)  # noqa: T201
        judged += time.perf_counter() - now
        if found <= accuracy or seconds > 60.0 * minutes:
            break
