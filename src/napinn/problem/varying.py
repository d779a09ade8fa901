"""VaryingUnknown: a coefficient or a source term that is a function of some coordinates, to be found as a whole."""

from dataclasses import dataclass

from napinn.errors import InputError

MOST_COORDINATES = 2


@dataclass(frozen=True)
class VaryingUnknown:
    """An unknown function of one or two coordinates.

    :param of: The coordinates that it varies along.
    :param positive: Whether it is found by its logarithm, so that it stays above 0.
    :param steps: Whether it is constant but for jumps, whose places are found; by default it is smooth, and the
        readings choose how smooth.
    :param start: The value that it starts from everywhere; the default is the constant that suits the equations best.
    :raises InputError: if it varies along none or more than two coordinates, or a positive one starts at 0 or below.

    >>> napinn.VaryingUnknown(("x",), positive=True).description
    'positive, smooth along x'
    """

    of: tuple[str, ...]
    positive: bool = False
    steps: bool = False
    start: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "of", tuple(self.of))
        if not 1 <= len(self.of) <= MOST_COORDINATES:
            raise InputError(
                f"an unknown varies along {len(self.of)} coordinates; name one or {MOST_COORDINATES}, as 'of: [x]'."
            )
        if len(set(self.of)) < len(self.of):
            raise InputError(f"an unknown varies along '{self.of[0]}' twice; name each coordinate once.")
        if self.steps and len(self.of) > 1:
            raise InputError("an unknown with 'steps: true' varies along one coordinate only, as 'of: [t]'.")
        if self.positive and self.start is not None and self.start <= 0.0:
            raise InputError(f"a positive unknown starts at {self.start:g}; its start must be above 0.")

    @property
    def description(self) -> str:
        """What it is, in a few words."""
        kind = "constant but for jumps" if self.steps else "smooth"
        return f"{'positive, ' if self.positive else ''}{kind} along {' and '.join(self.of)}"
