"""A source term as a user reads it: its band, its size beside the terms of its equation, and what it looks like."""

import itertools
from collections.abc import Iterator

import numpy as np

from napinn.engines.splines.points import Point
from napinn.engines.splines.uncertainty import found_functions
from napinn.engines.splines.unknown_functions import AddedSource, tree_of
from napinn.field.splines.functions import nodes_of
from napinn.problem.equations.printing import show
from napinn.problem.equations.tree import Expression, Product, Sum, evaluate
from napinn.problem.experiment import experiment_of, plain
from napinn.results.discrepancy import LEAST_LIKENESS, Likeness, SourceTerm
from napinn.results.functions import FoundFunction

NODES = {1: 101, 2: 25, 3: 9}
"""Along each coordinate, by how many there are: what a chart shows of so coarse a function."""
NEGLIGIBLE = 1e-3
"""Of the size of the equation's terms, below which a source term looks like nothing: readings asked for none."""
MOST_FIELDS = 4
"""Of an experiment, up to which products of two fields are tried."""


def described_source(point: Point, source: AddedSource) -> SourceTerm:
    """The source term that a fit has found.

    Args:
        point: the end of the fit with source terms.
        source: one of them."""
    task, state, grid = point.system.task, point.state, point.system.grid
    curve, function = task.curve_of[source.name], found_functions(point)[source.name]
    count = NODES[len(source.space.names)]
    places = nodes_of(source.space, count)
    shape = (count,) * len(source.space.names)
    low, high = function.band(places)
    axes = {name: np.unique(places[:, number]) for number, name in enumerate(source.space.names)}
    inside = np.stack([along.ravel() for along in grid.coordinates], axis=1)
    values = source.unit * (source.space.basis(inside) @ curve.of(state.unknowns)).reshape(grid.cells, grid.points)
    weights = point.system.equation_weights[source.equation]
    return SourceTerm(
        equation=task.problem.stated[source.equation].shown,
        axes=axes,
        values=source.unit * function(places).reshape(shape),
        halves=0.5 * source.unit * (high - low).reshape(shape),
        size=float(np.sqrt(np.sum(weights * values**2))),
        terms=_terms(point, source),
        likeness=_likeness(point, source, values, _precision(source, function, inside, weights)),
    )


def _precision(source: AddedSource, function: FoundFunction, places: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Weights of the places at which a source term is compared with others: less where its band is wide."""
    low, high = function.band(places)
    half = 0.5 * source.unit * (high - low).reshape(weights.shape)
    usual = float(np.median(half)) or 1.0
    return weights / (usual**2 + half**2)


def _terms(point: Point, source: AddedSource) -> dict[str, float]:
    """Root mean square over the box of each term of the equation."""
    system, state = point.system, point.state
    task, grid, weights = system.task, system.grid, system.equation_weights[source.equation]
    look_up = task.look_up(
        grid,
        lambda leaf: grid.values(state.coefficients, task.field_of[leaf.field], task.orders_of(leaf)),
        dict(zip(task.unknowns, state.unknowns, strict=True)),
        lambda leaf: system.function(leaf, grid, state.unknowns),
    )
    found: dict[str, float] = {}
    for term in _summands(tree_of(task.problem.stated[source.equation])):
        values = np.broadcast_to(evaluate(term, look_up), weights.shape)
        name = show(term)
        found[name] = max(float(np.sqrt(np.sum(weights * values**2))), found.get(name, 0.0))
    return found


def _summands(node: Expression) -> Iterator[Expression]:
    """The terms of a sum; a product with one sum inside is taken apart."""
    match node:
        case Sum(terms):
            for _, child in terms:
                yield from _summands(child)
        case Product(factors):
            sums = [number for number, (power, child) in enumerate(factors) if power > 0 and isinstance(child, Sum)]
            if len(sums) != 1:
                yield node
                return
            (number,) = sums
            for part in _summands(factors[number][1]):
                yield Product((*factors[:number], (1, part), *factors[number + 1 :]))
        case _:
            yield node


def _likeness(point: Point, source: AddedSource, values: np.ndarray, weights: np.ndarray) -> Likeness | None:
    """The simple term that explains most of a source term, beside changes of the unknowns: these share with the source
    term what the equation lacks. None where no single term explains half of it."""
    residual = point.system.residuals(point.state.coefficients, point.state.unknowns)[source.equation]
    root = np.sqrt(weights).ravel()
    wanted = root * values.ravel()
    whole = float(wanted @ wanted)
    if np.sqrt(np.mean(values**2)) < NEGLIGIBLE * source.unit:
        return None
    names = point.system.task.problem.unknowns
    slopes = [root * residual.unknowns[name].ravel() for name in names if name in residual.unknowns]
    found: list[Likeness] = []
    for text, term in _candidates(point, source):
        columns = np.stack([root * np.broadcast_to(term, values.shape).ravel(), *slopes], axis=1)
        sizes = np.linalg.norm(columns, axis=0)
        if not (np.isfinite(sizes).all() and sizes[0] > 0.0):
            continue
        sizes = np.where(sizes > 0.0, sizes, 1.0)
        solution, _, rank, _ = np.linalg.lstsq(columns / sizes, wanted, rcond=1e-6)
        if rank < columns.shape[1]:
            continue
        left = wanted - (columns / sizes) @ solution
        share = 1.0 - float(left @ left) / whole if whole > 0.0 else 0.0
        found.append(Likeness(text, float(solution[0] / sizes[0]), share))
    best = max(found, key=lambda each: each.share, default=None)
    return best if best is not None and best.share >= LEAST_LIKENESS else None


def _candidates(point: Point, source: AddedSource) -> Iterator[tuple[str, np.ndarray]]:
    """Simple terms with their values: a constant, fields, squares, products of two, and first derivatives of the field
    that the equation is of."""
    task, grid = point.system.task, point.system.grid
    equation = task.problem.stated[source.equation]
    highest = max(equation.needs, key=lambda leaf: len(leaf.terms[0]))
    scope = experiment_of(highest.field)
    fields = [name for name in task.problem.outputs if experiment_of(name) == scope]

    def value(name: str, orders: tuple[int, ...]) -> np.ndarray:
        return grid.values(point.state.coefficients, task.field_of[name], orders)

    none = (0,) * task.dimensions
    known = {name: value(name, none) for name in fields}
    yield "1", np.ones((grid.cells, grid.points))
    for name, values in known.items():
        yield plain(name), values
        yield f"{plain(name)}²", values**2
    if len(fields) <= MOST_FIELDS:
        for one, other in itertools.combinations(fields, 2):
            yield f"{plain(one)}·{plain(other)}", known[one] * known[other]
    there = {task.orders_of(leaf) for leaf in equation.needs if leaf.field == highest.field}
    for number, axis in enumerate(task.problem.coordinates):
        orders = tuple(int(other == number) for other in range(task.dimensions))
        if orders in there:
            # With the other terms of its equation, it would explain any source term by the equation itself.
            continue
        yield f"{plain(highest.field)}_{axis}", value(highest.field, orders)
