"""A problem of several experiments from a problem of one."""

from collections.abc import Collection, Mapping
from dataclasses import replace

from napinn.errors import InputError
from napinn.problem import Problem, Unknown
from napinn.problem.experiment import Experiment, of_experiment

FEWEST = 2
"""Experiments: of a single one there is nothing to share."""


def with_experiments(
    problem: Problem, experiments: Mapping[str, Experiment], measured: Collection[str] | None = None
) -> Problem:
    """The problem of several experiments that share its equations and unknowns.

    :param problem: Of one experiment. An unknown with `per="experiment"` gets a value for each.
    :param experiments: What is known of each alone, by name.
    :param measured: The measured fields by experiment, such as `T@a`; by default all are measured in each.
    :return: The problem whose fields are `T@a`, `T@b` and so on; its readings name their experiment in a column.
    :raises InputError: if there is only one experiment, or an equation is a Python function.

    >>> beaker = napinn.Problem({"t": (0, 3)}, ("c",), ("c_t = -k*c",), {"k": napinn.Unknown(0.5)})
    >>> napinn.with_experiments(beaker, {"A": napinn.Experiment(), "B": napinn.Experiment()}).fields
    ('c@A', 'c@B')
    """
    if len(experiments) < FEWEST:
        raise InputError(f"the problem has {len(experiments)} experiment(s), and several need at least {FEWEST}.")
    if not all(isinstance(source, str) for source in problem.equations):
        raise InputError("an equation is a Python function, and several experiments need it as text.")
    pairs = [(name, of_experiment(name, each)) for each in experiments for name in problem.outputs]
    wanted = {of_experiment(name, each) for each in experiments for name in problem.fields}
    wanted = wanted if measured is None else set(measured)
    own_unknowns = [(name, of_experiment(name, each)) for each in experiments for name in problem.unknowns]
    return replace(
        problem,
        fields=tuple(own for _, own in pairs if own in wanted),
        hidden=tuple(own for _, own in pairs if own not in wanted),
        scales={own: problem.scales[name] for name, own in pairs if name in problem.scales and own not in wanted},
        units={
            **problem.units,
            **{own: problem.units[name] for name, own in (*pairs, *own_unknowns) if name in problem.units},
        },
        unknowns=_unknowns(problem, experiments),
        constants={name: value for name, value in problem.constants.items() if not _own(name, experiments)},
        experiments=dict(experiments),
    )


def _own(constant: str, experiments: Mapping[str, Experiment]) -> bool:
    """Whether every experiment has a value of its own of a constant."""
    return all(constant in each.constants for each in experiments.values())


def _unknowns(problem: Problem, experiments: Mapping[str, Experiment]) -> dict[str, Unknown]:
    found: dict[str, Unknown] = {}
    for name, unknown in problem.unknowns.items():
        if unknown.per is None:
            found[name] = unknown
        else:
            found |= {of_experiment(name, each): replace(unknown, per=None) for each in experiments}
    return found
