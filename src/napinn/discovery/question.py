"""What is asked of a discovery: left sides, candidates and known parts, read and checked."""

from collections.abc import Mapping, Sequence

import numpy as np

from napinn.data.readings import Readings, time_axis
from napinn.discovery.evidence import Wanted
from napinn.discovery.terms import (
    Term,
    default_terms,
    highest_power,
    left_side,
    read_term,
    read_terms,
    slower_terms,
    spell,
)
from napinn.errors import InputError
from napinn.problem.equations import Derivative, Names
from napinn.problem.equations.tree import walk

MOST_AXES = 3
"""As many as splines take."""

Terms = Sequence[str] | Mapping[str, Sequence[str]]


class Question:
    """What is asked for, read and checked."""

    def __init__(
        self, readings: Readings, left: Sequence[str] | str | None, terms: Terms | None, known: Terms,
        constants: dict[str, float],
    ) -> None:  # fmt: skip
        if len(readings.coordinates) > MOST_AXES:
            raise InputError(f"equations are discovered along at most {MOST_AXES} coordinates, time among them.")
        self.constants = constants
        names = Names(tuple(readings.coordinates), tuple(readings.fields), (), constants)
        self.names = names
        self.time = _time_of(readings)
        lefts = [left] if isinstance(left, str) else left
        if not lefts:
            if self.time is None:
                raise InputError("no coordinate is named as time, so the left side is not known; name it with --left.")
            lefts = [spell(Derivative(field, ((self.time,),))) for field in readings.fields]
        self.sides = [left_side(text, names) for text in lefts]
        self.lefts = tuple(spell(side) for side in self.sides)
        if len(set(self.lefts)) < len(self.lefts):
            raise InputError(f"left side '{_twice(self.lefts)}' is given twice; remove one of them.")
        self.default = [] if terms else self._default_libraries()
        library = self._by_left(terms) if terms else self.default
        fixed = self._by_left(known) if known else [[] for _ in self.lefts]
        self.wanted = []
        for side, texts, certain in zip(self.sides, library, fixed, strict=True):
            read = read_terms(texts, names)
            self._check(side, read, readings)
            self.wanted.append(Wanted(side, read, tuple(read_term(text, names) for text in certain)))
        self.known_texts = tuple(" + ".join(f"({term.spelled})" for term in each.known) for each in self.wanted)

    def _default_libraries(self) -> list[list[str]]:
        time = self.time or ""
        usual = default_terms(self.names, time)
        return [[*usual, *slower_terms(self.names, time, side)] for side in self.sides]

    def _by_left(self, terms: Terms) -> list[list[str]]:
        if not isinstance(terms, Mapping):
            return [list(terms) for _ in self.lefts]
        given = {spell(left_side(text, self.names)): list(texts) for text, texts in terms.items()}
        for text in given:
            if text not in self.lefts:
                raise InputError(
                    f"terms are given for '{text}', which is not a left side; left sides are {', '.join(self.lefts)}."
                )
        return [given.get(text, []) for text in self.lefts]

    def library_note(self) -> tuple[str, ...]:
        """What the default library cannot hold."""
        if not self.default:
            return ()
        size, degree = max(map(len, self.default)), highest_power(len(self.names.fields))
        return (
            f"The default library of {size} terms holds derivatives of the fields and products up to "
            f"degree {degree}; anything else, such as sin({self.names.fields[0]}), is found only if --terms lists it.",
        )

    def _check(self, side: Derivative, terms: tuple[Term, ...], readings: Readings) -> None:
        if not terms:
            raise InputError(f"there are no candidate terms for '{spell(side)}'; list some with --terms.")
        for term in terms:
            if term.tree == side:
                raise InputError(f"term '{term.text}' is the left side itself; remove it.")
        count = int(np.sum(readings.field_index == readings.fields.index(side.field)))
        if count <= len(terms):
            raise InputError(
                f"{readings.source} holds {count} readings of '{side.field}', too few to choose among "
                f"{len(terms)} terms; give fewer terms or more readings."
            )


def _twice(texts: Sequence[str]) -> str:
    return next(text for number, text in enumerate(texts) if text in texts[:number])


def _time_of(readings: Readings) -> str | None:
    axis = time_axis(readings.coordinates, readings.columns.clocks)
    if axis is None and len(readings.coordinates) == 1:
        axis = 0
    return None if axis is None else readings.coordinates[axis]


def fields_used(question: Question) -> list[str]:
    trees = [term.tree for each in question.wanted for term in (*each.terms, *each.known)]
    found = {leaf.field for tree in trees for leaf in walk(tree) if isinstance(leaf, Derivative)}
    found |= {side.field for side in question.sides}
    return [name for name in question.names.fields if name in found]


def highest_orders(question: Question, coordinates: Sequence[str]) -> list[int]:
    """The highest derivative along each coordinate that falls on a test function."""
    outside = [side.terms[0] for side in question.sides]
    for each in question.wanted:
        for term in (*each.terms, *each.known):
            inside = [leaf.terms[0] for leaf in walk(term.flux) if isinstance(leaf, Derivative)] or [()]
            outside += [(*term.axes, *axes) for axes in inside]
    return [max(list(axes).count(name) for axes in outside) for name in coordinates]
