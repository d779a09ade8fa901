"""Several experiments in one problem: each has fields of its own, and they share the unknowns.

A problem of two experiments `a` and `b` has the fields `T@a` and `T@b`, the unknown `D`, and where an unknown has one
value for each experiment `V@a` and `V@b`. Its equations are written once, in the names without the experiment, and
hold for the fields of each."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from napinn.data.readings.columns import MARK
from napinn.problem.equations import Equation
from napinn.problem.equations.equation import from_tree
from napinn.problem.equations.tree import Derivative, Expression, UnknownLeaf, with_children


@dataclass(frozen=True)
class Experiment:
    """What is known of one experiment alone.

    :param constants: Numbers that differ between experiments, by name.
    :param ranges: Each coordinate whose range is smaller than that of the problem, to the range in which the equations
        hold.

    >>> napinn.Experiment(constants={"dose": 4.5}).constants
    {'dose': 4.5}
    """

    constants: Mapping[str, float] = field(default_factory=dict)
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)


def of_experiment(name: str, experiment: str) -> str:
    """The name of a field or unknown in one experiment."""
    return f"{name}{MARK}{experiment}"


def plain(name: str) -> str:
    """The name without its experiment."""
    return name.partition(MARK)[0]


def experiment_of(name: str) -> str:
    """The experiment that a field or unknown belongs to; empty where it belongs to none."""
    return name.partition(MARK)[2]


def plain_names(names: Iterable[str]) -> tuple[str, ...]:
    """The names without their experiments, each once, in the order in which they come."""
    return tuple(dict.fromkeys(plain(name) for name in names))


def without_experiment(equation: Equation) -> Equation:
    """An equation of one experiment in plain names, as it is written once for all.

    Args:
        equation: with or without marks of an experiment."""

    def renamed(node: Expression) -> Expression:
        match node:
            case Derivative(name, terms):
                return Derivative(plain(name), terms)
            case UnknownLeaf(name):
                return UnknownLeaf(plain(name))
            case _:
                return with_children(node, renamed)

    return (
        equation if equation.tree is None else from_tree(str(equation.source), equation.shown, renamed(equation.tree))
    )


def in_experiment(equation: Equation, experiment: str, unknowns: Iterable[str]) -> Equation:
    """An equation for the fields of one experiment.

    Args:
        equation: written in plain names.
        experiment: its name.
        unknowns: all unknowns of the problem, those of experiments with their mark."""
    assert equation.tree is not None
    own = {name for name in unknowns if experiment_of(name) == experiment}

    def renamed(node: Expression) -> Expression:
        match node:
            case Derivative(name, terms):
                return Derivative(of_experiment(name, experiment), terms)
            case UnknownLeaf(name) if of_experiment(name, experiment) in own:
                return UnknownLeaf(of_experiment(name, experiment))
            case _:
                return with_children(node, renamed)

    return from_tree(str(equation.source), equation.shown, renamed(equation.tree))
