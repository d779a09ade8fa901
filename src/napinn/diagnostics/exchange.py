"""Exchanges of unknowns, together with hidden fields, that leave a system of equations as it is.

Where S = A + B is measured and A and B decay at the rates a and b, swapping A with B and a with b gives the same
equations: the readings determine the pair of rates, and not which is which. Every such swap is looked for by computing
the residuals at random values of all leaves, before and after it: each must come back as that of some equation or
condition at the same place, up to a constant factor. Unknowns get values of one size, and then values at which they
matter alike: beside a term that is a billion times as large, another one is lost in rounding."""

import itertools
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from napinn.problem import Problem
from napinn.problem.equations import Applied, Derivative, Leaf, Terms, UnknownLeaf, wanted

SAMPLES = 12
"""Random points at which residuals are compared: equations that agree at all of them by chance have measure zero."""
SAME = 1e-9
"""Relative difference below which two residuals are the same: rounding."""
MOST_SWAPS = 3
"""Pairs of unknowns that are swapped at a time."""
MOST_TRIED = 2000
"""Combinations of swaps; a system of more than ten unknowns is not searched to the end."""

Pairs = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Exchange:
    unknowns: Pairs
    hidden: Pairs

    @property
    def sentence(self) -> str:
        whole = " and ".join(f"'{one}' and '{other}'" for one, other in self.unknowns)
        fields = " and ".join(f"'{one}' and '{other}'" for one, other in self.hidden)
        with_fields = f", together with hidden fields {fields}," if self.hidden else ""
        return (
            f"Unknowns {whole} can be exchanged{with_fields} without any change in the equations: the readings cannot "
            "say which is which. Add bounds that do not overlap, or a condition."
        )


def exchange_sentences(problem: Problem, but: Container[str] = ()) -> list[str]:
    """A sentence for every exchange, but for those of unknowns of which something worse is known already."""
    return [each.sentence for each in exchanges(problem) if not any(name in but for name in sum(each.unknowns, ()))]


def exchanges(problem: Problem) -> list[Exchange]:
    """The smallest exchanges of unknowns and hidden fields under which the problem stays the same.

    Unknowns whose bounds do not overlap cannot be exchanged. Equations that are Python functions, or that hold unknown
    functions, are not searched."""
    if len(problem.unknowns) < 2 or problem.varying or any(equation.tree is None for equation in problem.written):
        return []
    found: list[Exchange] = []
    # Numbers that are not finite are answered where residuals are compared.
    with np.errstate(all="ignore"):
        first = _Residuals(problem, _random_values(problem, 1))
        alike = {name: value / (first.sensitivity(name) or 1.0) for name, value in _random_values(problem, 2).items()}
        trials = (first, _Residuals(problem, alike))
        for exchange in itertools.islice(_candidates(problem), MOST_TRIED):
            known = any(set(each.unknowns) <= set(exchange.unknowns) for each in found)
            if not known and all(each.unchanged(exchange) for each in trials):
                found.append(exchange)
    return found


def _random_values(problem: Problem, seed: int) -> dict[str, float]:
    random = np.random.default_rng(seed)
    return {name: float(random.uniform(0.5, 1.5)) for name in problem.unknowns}


def _candidates(problem: Problem) -> Iterator[Exchange]:
    """The fewest swaps first."""
    pairs = [pair for pair in itertools.combinations(problem.unknowns, 2) if _overlap(problem, *pair)]
    fields = [(), *itertools.combinations(problem.hidden, 2)]
    for count in range(1, MOST_SWAPS + 1):
        for chosen in itertools.combinations(pairs, count):
            if len({name for pair in chosen for name in pair}) == 2 * count:
                for field in fields:
                    yield Exchange(chosen, (field,) if field else ())


def _overlap(problem: Problem, first: str, second: str) -> bool:
    one, other = problem.unknowns[first], problem.unknowns[second]
    lows = [bound for bound in (one.low, other.low) if bound is not None]
    highs = [bound for bound in (one.high, other.high) if bound is not None]
    return not lows or not highs or max(lows) < min(highs)


class _Residuals:
    """Residuals of all equations and conditions at random values of their leaves, and at these of the unknowns."""

    def __init__(self, problem: Problem, unknowns: Mapping[str, float]) -> None:
        random = np.random.default_rng(0)
        self.problem = problem
        self.bound = [*((each, None) for each in problem.written), *((c.equation, dict(c.at)) for c in problem.placed)]
        self.points = random.uniform(problem.lows, problem.highs, (SAMPLES, len(problem.lows)))
        shape = (SAMPLES, len(problem.outputs))
        equations = tuple(each for each, _ in self.bound)
        self.values = {terms: random.uniform(0.5, 1.5, shape) for terms in sorted(wanted(equations))}
        self.unknowns = unknowns
        computed = [problem.linearised(each, self.points, self.values, self.unknowns) for each, _ in self.bound]
        self.before = [np.broadcast_to(residual, SAMPLES) for residual, _ in computed]
        self.partials = [partials for _, partials in computed]
        self.names = [{_name(leaf) for leaf in partials} for partials in self.partials]
        self.comparable = all(_proportional(each, each) for each in self.before)

    def sensitivity(self, name: str) -> float:
        """The root mean square by which a unit of an unknown moves the residual that it moves most."""
        slopes = [part for partials in self.partials for leaf, part in partials.items() if leaf == UnknownLeaf(name)]
        return max((float(np.sqrt(np.mean(np.square(slope)))) for slope in slopes), default=0.0)

    def unchanged(self, exchange: Exchange) -> bool:
        """Whether every residual comes back; those without a swapped name do, and are not computed."""
        unknowns, swapped = dict(self.unknowns), {*sum(exchange.unknowns, ()), *sum(exchange.hidden, ())}
        for one, other in exchange.unknowns:
            unknowns[one], unknowns[other] = unknowns[other], unknowns[one]
        order = list(range(len(self.problem.outputs)))
        for pair in exchange.hidden:
            one, other = (self.problem.outputs.index(name) for name in pair)
            order[one], order[other] = order[other], order[one]
        values = {terms: array[:, order] for terms, array in self.values.items()}
        return self.comparable and all(
            self._comes_back(number, values, unknowns) for number, names in enumerate(self.names) if names & swapped
        )

    def _comes_back(self, number: int, values: Mapping[Terms, np.ndarray], unknowns: Mapping[str, float]) -> bool:
        """Whether a residual after a swap is that of some equation or condition at the same place before it."""
        equation, place = self.bound[number]
        after = np.broadcast_to(self.problem.linearised(equation, self.points, values, unknowns)[0], SAMPLES)
        pairs = zip(self.bound, self.before, strict=True)
        return any(place == at and _proportional(after, old) for (_, at), old in pairs)


def _name(leaf: Leaf) -> str:
    """The unknown or the field of a leaf that a residual depends on."""
    return leaf.field if isinstance(leaf, Derivative | Applied) else leaf.name


def _proportional(first: np.ndarray, second: np.ndarray) -> bool:
    if not (np.isfinite(first).all() and np.isfinite(second).all()):
        return False
    size = float(np.linalg.norm(first) * np.linalg.norm(second))
    return bool(size > 0.0 and abs(abs(float(first @ second)) - size) < SAME * size)
