"""Checks of a problem when it is made: names, numbers of entries, and that every entry is used.

Each check names the entry and the remedy, so that a mistake in a problem file is found before any reading is read.
"""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from napinn.data.names import normal
from napinn.errors import InputError, nearest
from napinn.problem.equations import RESERVED, Varying, walk
from napinn.problem.experiment import experiment_of, plain
from napinn.problem.unknown import Unknown

if TYPE_CHECKING:
    from napinn.problem.problem import Problem

MOST = {
    "coordinate": 12,
    "field": 100,
    "hidden field": 100,
    "unknown": 100,
    "constant": 1000,
    "table": 100,
    "varying unknown": 4,
}
"""Names of each kind. What is fitted grows with each of them, and so do the compiled program and the checks of what can
be determined: at a hundred unknowns these take seconds, at a thousand they would not end."""
UNUSABLE = frozenset({"True", "False", "None"})
"""Words that are values in an equation; other reserved words of Python may be names."""
MOST_EQUATIONS = 200
"""Equations, and as many conditions; each is compiled by itself."""


def normalise_names(problem: "Problem") -> None:
    """Bring all names to the form in which Python's parser gives those of an equation.

    :param problem: The problem; its entries are replaced, which only its own construction may do.
    :raises InputError: if two names of one kind have the same form."""
    for given in ("fields", "hidden", "periodic"):
        object.__setattr__(problem, given, tuple(normal(name) for name in getattr(problem, given)))
    for given in ("coordinates", "unknowns", "constants", "units", "scales", "tables", "observables", "varying"):
        entries = getattr(problem, given)
        found = {normal(name): entry for name, entry in entries.items()}
        if len(found) < len(entries):
            twice = next(name for name in found if sum(normal(other) == name for other in entries) > 1)
            raise InputError(f"'{twice}' is declared twice under {given}, in characters that only look different.")
        object.__setattr__(problem, given, found)


def as_tuple(given: Any) -> tuple[Any, ...]:
    """The entries of a list; one text is one entry, and not a list of its letters.

    :param given: As the caller gave it."""
    return (given,) if isinstance(given, str) else tuple(given)


def check_unknowns(unknowns: object) -> None:
    """Unknowns are given by name, each with its `Unknown`.

    :param unknowns: As the caller gave them.
    :raises InputError: with the way to write them."""
    if not isinstance(unknowns, Mapping):
        raise InputError("unknowns must be given by name, as {'D': napinn.Unknown()}.")
    for name, given in unknowns.items():
        if not isinstance(given, Unknown):
            raise InputError(
                f"the unknown '{name}' is {given!r}; write napinn.Unknown(), or napinn.Unknown(start, low=0)."
            )


def check_names(problem: "Problem") -> None:
    """There is something to fit, no kind of name is too numerous, and every name is usable, its own and no derivative.

    :param problem: The problem to check; its names are normalised.
    :raises InputError: with the name and the remedy."""
    if not problem.coordinates:
        raise InputError("the problem has no coordinates; name at least one, for example 't'.")
    if not problem.fields:
        raise InputError("the problem has no fields; name at least one, for example 'u'.")
    if not problem.equations:
        raise InputError("the problem has no equations; give at least one, for example 'u_t = D*u_xx'.")
    for kind, texts in (("equations", problem.equations), ("conditions", problem.conditions)):
        if len(texts) > MOST_EQUATIONS:
            raise InputError(f"the problem has {len(texts)} {kind}, and napinn takes at most {MOST_EQUATIONS}.")
    seen: dict[str, str] = {}
    groups = {
        "coordinate": problem.coordinates,
        "field": problem.fields,
        "hidden field": problem.hidden,
        "unknown": problem.unknowns,
        "constant": problem.constants,
        "table": problem.tables,
        "varying unknown": problem.varying,
    }
    for kind, names in groups.items():
        if len(names) > MOST[kind]:
            raise InputError(f"the problem has {len(names)} {kind}s, and napinn takes at most {MOST[kind]}; use fewer.")
        for name in names:
            if not (plain(name) if experiment_of(name) in problem.experiments else name).isidentifier() or (
                name in UNUSABLE
            ):
                raise InputError(
                    f"{kind} '{name}' is not a usable name; use letters, digits and underscores, a letter first."
                )
            if name in RESERVED:
                has = "of π" if name == "pi" else "of a function"
                raise InputError(f"{kind} '{name}' has the name {has}; choose another.")
            if name in seen:
                raise InputError(f"'{name}' is declared as {seen[name]} and as {kind}; names must differ.")
            seen[name] = kind
    for name, kind in seen.items():
        if problem.names.partial(name) is not None or problem.names.slope(name) is not None:
            raise InputError(f"{kind} '{name}' reads like a derivative of a field; choose another name.")
    for name, value in problem.constants.items():
        if not math.isfinite(value):
            raise InputError(f"constant '{name}' is {value}; it must be a finite number.")


def check_ranges(problem: "Problem") -> None:
    """Every coordinate has a range, and every table covers the box.

    :param problem: The problem to check; its names are right.
    :raises InputError: with the coordinate or the table."""
    for name, (low, high) in problem.coordinates.items():
        if not (math.isfinite(low) and math.isfinite(high) and low < high):
            raise InputError(
                f"coordinate '{name}' runs from {low} to {high}; it needs finite numbers, low before high."
            )
    for name, table in problem.tables.items():
        table.check_covers(name, problem.coordinates)


def check_used(problem: "Problem") -> None:
    """Every field and every unknown is in some equation.

    :param problem: The problem to check; its names are right.
    :raises InputError: with the name that is in none."""
    used_fields = {derivative.field for equation in problem.written for derivative in equation.needs}
    for name in problem.outputs:
        if name not in used_fields:
            raise InputError(f"field '{name}' is in no equation; remove it or add an equation for it.")
    bound = (*problem.written, *(condition.equation for condition in problem.placed))
    used_unknowns = {name for equation in bound for name in equation.unknowns}
    used_unknowns |= {
        leaf.name for each in bound if each.tree is not None for leaf in walk(each.tree) if isinstance(leaf, Varying)
    }
    for name in (*problem.unknowns, *problem.varying):
        if name not in used_unknowns:
            raise InputError(
                f"unknown '{name}' is in no equation, so no reading can determine it; remove it or use it."
            )


def check_extras(problem: "Problem") -> None:
    """Scales, varying unknowns and periodicity name fields and coordinates that the problem has.

    :param problem: The problem to check; its names are right.
    :raises InputError: with the entry and the remedy."""
    for name, scale in problem.scales.items():
        if name not in problem.hidden:
            raise InputError(
                f"a scale is given for '{name}', which is not a hidden field; its readings give its scale."
            )
        if not (math.isfinite(scale) and scale > 0.0):
            raise InputError(f"the scale of hidden field '{name}' is {scale}; it must be a finite number above 0.")
    for name, varying in problem.varying.items():
        for axis in varying.of:
            if axis not in problem.coordinates:
                raise InputError(
                    f"unknown '{name}' varies along '{axis}', which is not a coordinate; "
                    f"{nearest(axis, problem.coordinates)}"
                )
    for name in problem.periodic:
        if name not in problem.coordinates:
            raise InputError(f"periodic '{name}' is not a coordinate; {nearest(name, problem.coordinates)}")
