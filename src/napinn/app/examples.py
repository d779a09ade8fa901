"""Three small analyses to look at, made here: an installed package has no folder of examples."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from napinn.app.draft import Draft, Name, NameRole

IN_BED = (3.4, 9.6, 28.8, 75.5, 222.5, 292.3, 257.6, 236.4, 191.2, 125.7, 69.7, 28.8, 13.4, 5.7)
"""Boys in bed on 14 days of 1978, read off the figure of "Influenza in a boarding school", British Medical Journal 1
(1978), page 587."""


@dataclass(frozen=True)
class Example:
    """Readings, and what a person would fill in for them."""

    title: str
    about: str
    readings: Callable[[], pd.DataFrame]
    equations: tuple[str, ...]
    names: tuple[Name, ...]
    conditions: tuple[str, ...] = ()
    units: tuple[tuple[str, str], ...] = ()
    """Name in equations and unit."""

    def filled(self, draft: Draft) -> Draft:
        """A first draft with everything filled in.

        :param draft: The columns with their roles."""
        units = dict(self.units)
        columns = (column.model_copy(update={"unit": units.get(column.name, column.unit)}) for column in draft.columns)
        given = {"equations": self.equations, "names": self.names, "conditions": self.conditions}
        return draft.model_copy(update={**given, "columns": tuple(columns)})


def rod() -> pd.DataFrame:
    """Ten thermometers for an hour on a rod that cools; the fourth drifts, the seventh is stuck, 1 in 20 is wrong.

    The ends are kept at zero, and the diffusivity is 0.1 m²/h."""
    rng = np.random.default_rng(1)
    places, times = np.linspace(0.05, 0.95, 10), np.linspace(0.0, 1.0, 41)
    x, t = np.meshgrid(places, times, indexing="ij")
    decay = 0.1 * np.pi**2 * t
    values = np.exp(-decay) * np.sin(np.pi * x) + 0.5 * np.exp(-9.0 * decay) * np.sin(3.0 * np.pi * x)
    values = 20.0 * values + 0.4 * rng.standard_normal(x.shape)
    values[3] += 8.0 * times
    values[6, times >= 0.3] = values[6, np.argmax(times >= 0.3)]
    wrong = rng.random(x.shape) < 0.05
    values += np.where(wrong, rng.choice([-1.0, 1.0], x.shape) * rng.uniform(6.0, 20.0, x.shape), 0.0)
    names = np.repeat([f"thermometer {number}" for number in range(1, 11)], len(times))
    columns = {"sensor": names, "x": x.ravel().round(3), "t": t.ravel().round(4), "T": values.ravel().round(2)}
    return pd.DataFrame(columns)


def growth() -> pd.DataFrame:
    """A culture that grows to a capacity of 2.4 at a rate of 0.55 an hour, with six readings that are wrong."""
    rng = np.random.default_rng(2)
    t = np.linspace(0.0, 20.0, 81)
    density = 2.4 / (1.0 + (2.4 / 0.05 - 1.0) * np.exp(-0.55 * t)) + 0.03 * rng.standard_normal(t.size)
    wrong = rng.choice(t.size, 6, replace=False)
    density[wrong] += rng.choice([-1.0, 1.0], 6) * rng.uniform(0.4, 1.2, 6)
    return pd.DataFrame({"t": t, "u": density.round(4)})


def influenza() -> pd.DataFrame:
    """Boys in bed, day by day."""
    return pd.DataFrame({"t": np.arange(1.0, 15.0), "I": IN_BED})


EXAMPLES = {
    "rod": Example(
        "Heat in a rod with faulty thermometers",
        "Ten thermometers on a cooling rod. One drifts, one is stuck, and one reading in twenty is wrong. How fast "
        "does heat spread, and which thermometers are faulty?",
        rod,
        ("T_t = D*T_xx",),
        (Name(name="D", low="0"),),
        ("T = 0 at x = 0", "T = 0 at x = 1"),
        (("x", "m"), ("t", "h"), ("T", "K")),
    ),
    "growth": Example(
        "Growth of a culture",
        "Optical density of a culture over 20 hours, with a few readings that are plainly wrong. What are the growth "
        "rate and the capacity?",
        growth,
        ("u_t = r*u*(1 - u/K)",),
        (Name(name="r", low="0"), Name(name="K", low="0")),
        (),
        (("t", "h"),),
    ),
    "influenza": Example(
        "Influenza in a boarding school",
        "Boys in bed on 14 days of 1978, of 763 in all. Who is still healthy and who has recovered was not recorded. "
        "How contagious was it?",
        influenza,
        ("S_t = -b*S*I/N", "I_t = b*S*I/N - g*I", "S + I + R = N"),
        (
            Name(name="S", kind=NameRole.HIDDEN, value="400"),
            Name(name="b", start="1", low="0"),
            Name(name="N", kind=NameRole.CONSTANT, value="763"),
            Name(name="g", start="1", low="0"),
            Name(name="R", kind=NameRole.HIDDEN, value="400"),
        ),
        ("R = 0 at t = 0",),
        (("t", "d"), ("I", "boys")),
    ),
}
