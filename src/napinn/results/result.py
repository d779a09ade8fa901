"""FitResult: what a fit gives back, and how it is kept in a folder.

A run folder holds `result.json` (settings, unknowns, status, versions), `model.npz` (arrays of field, gate and
noise law, by name), `readings.csv` (every input row with its verdict), `sensors.csv`, `history.csv` and `field.nc`.
Nothing in it is pickled."""

import dataclasses
import enum
import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

from napinn.data.flags import CAUSE, COMMENT, FLAG, Quality, scheme_named
from napinn.data.readings import TIME_NAMES, Conversion, Readings, with_numbers
from napinn.errors import InputError, nearest
from napinn.noise.law import FLAG_BELOW, NoiseLaw
from napinn.problem import Problem
from napinn.problem.experiment import experiment_of, plain_names
from napinn.results.discrepancy import Discrepancy
from napinn.results.functions import FoundFunction, with_functions
from napinn.results.intervals import Uncertainty, with_spread
from napinn.results.model import FittedModel
from napinn.results.notebook import Plots, ReportFrame, report_frame
from napinn.results.profiles import Profiles
from napinn.results.quality import assess_readings, assess_sensors
from napinn.results.recipe import Recipe
from napinn.results.summary import summary_html, summary_text
from napinn.results.verdicts import SensorVerdict, Verdict

CF_AXES = frozenset({"x", "y", "z"})


class FitStatus(enum.Enum):
    """How a fit ended; the value is the sentence that the user reads, and `trusted` says whether nothing casts doubt on
    it.

    >>> napinn.FitStatus.CONVERGED.trusted, napinn.FitStatus.DOUBTFUL.trusted
    (True, False)
    """

    CONVERGED = "The fit has converged: losses and coefficients no longer change."
    BUDGET_SPENT = (
        "The fit ended with its budget while losses or coefficients were still changing, so the numbers are "
        "provisional; take more steps."
    )
    INTERRUPTED = (
        "The fit was interrupted; field and coefficients are those of the last finished step and may be far from "
        "final. If it kept checkpoints, `napinn resume` continues it."
    )
    DIVERGED = (
        "The fit stopped because a number was not finite; the last finite state is kept. "
        "Check the equation for roots, logarithms and divisions, and the units; give a network a smaller learning rate."
    )
    LAW_DEGENERATE = (
        "The learned noise law is not a valid density, so the verdicts mean nothing. Check that the readings vary and "
        "are not computed from the equation itself, or fit with the method 'pinn'."
    )
    REJECTS_MOST = (
        "The gate rejects nearly half of the readings or more, and then no method can know which half is wrong: the "
        "verdicts cannot be trusted. Check the equation and the box, or raise the rejection cost."
    )
    REJECTS_NOTHING = (
        "The gate rejects nothing although the noise law says that it should, so the verdicts cannot be trusted. "
        "Lower the rejection cost, or take more steps."
    )
    AT_BOUND = "An unknown ended at its bound; widen the bound or check the equation."
    NOT_IDENTIFIABLE = (
        "An unknown cannot be determined from this field. Make it a constant if you know it, or measure where and when "
        "it matters."
    )
    DOUBTFUL = (
        "Checks cast doubt on this fit; the notes say which. Check the equations, the box and the "
        "sensors, or give the problem more readings or conditions."
    )
    EQUATION_WRONG = (
        "The equation does not describe these readings: with a source term added to it, the likelihood of held-out "
        "readings rises. The notes say how large the term is, where, and what it looks like."
    )
    SEEDS_DISAGREE = (
        "Fits that differ in their seed alone disagree, so the numbers of any one of them cannot be trusted. "
        "Take more steps, or give the problem more readings or conditions."
    )
    # The name in runs from before there were two ways to finish.
    FINISHED = BUDGET_SPENT

    @property
    def trusted(self) -> bool:
        """Whether the fit has settled and nothing casts doubt on it."""
        return self is FitStatus.CONVERGED

    @property
    def colour(self) -> str:
        """Green for a fit to be trusted, yellow for one that is not finished, and red for a doubtful one: the same on
        the terminal and in the report."""
        if self.trusted:
            return "green"
        return "yellow" if self in (FitStatus.BUDGET_SPENT, FitStatus.INTERRUPTED) else "red"


@dataclass(frozen=True, eq=False, repr=False)
class FittedField:
    """The field everywhere in the box: call it with an (n, d) array, or with coordinates by name."""

    model: FittedModel
    coordinates: tuple[str, ...]
    fields: tuple[str, ...]

    def __repr__(self) -> str:
        return f"<napinn.FittedField of {', '.join(self.fields)} over {', '.join(self.coordinates)}>"

    def __call__(self, points: np.ndarray) -> np.ndarray:
        """(n, d) coordinates in the problem's order to (n, f) values in the order of its fields."""
        points = np.asarray(points, float)
        if points.ndim != 2 or points.shape[1] != len(self.coordinates):
            raise InputError(f"points must have shape (n, {len(self.coordinates)}): {', '.join(self.coordinates)}.")
        return self.model.values(points)

    def at(self, **coordinates: np.ndarray | pd.Series | Sequence[float] | float) -> dict[str, np.ndarray]:
        """Values by field name at coordinates by name; the coordinates broadcast against each other."""
        for name in coordinates:
            if name not in self.coordinates:
                raise InputError(f"'{name}' is not a coordinate; {nearest(name, self.coordinates)}")
        missing = [name for name in self.coordinates if name not in coordinates]
        if missing:
            raise InputError(f"coordinate '{missing[0]}' is missing; give all of {', '.join(self.coordinates)}.")
        grids = np.broadcast_arrays(*(np.asarray(coordinates[name], float) for name in self.coordinates))
        values = self(np.stack([grid.reshape(-1) for grid in grids], axis=1))
        return {name: values[:, index].reshape(grids[0].shape) for index, name in enumerate(self.fields)}

    def spread(self, points: np.ndarray, samples: int = 64, seed: int = 0) -> np.ndarray:
        """Standard deviation of the field over draws from the network's posterior, (n, f); only a B-PINN has one."""
        return self.model.posterior_spread(points, samples, seed)


@dataclass(frozen=True, eq=False, repr=False)
class FitResult:
    """What a fit gives back: the field, the unknowns, the noise law, and a reliability for every reading.

    :param problem: What was fitted.
    :param method: With what.
    :param readings: To what.
    :param seed: Of every random number.
    :param model: What represents the field; `result.field` is the way to its values.
    :param unknowns: The coefficients by name.
    :param predicted: (n,) the field at every reading, in the order of the readings.
    :param reliability: (n,) 0 to 1 for every reading; all 1 for a method that does not weigh.
    :param history: Rows at intervals while the fit ran: `phase`, `step`, the losses, each unknown by its name,
        and the `seconds` since the fit began.
    :param status: How the fit ended; `status.value` is the sentence for the user.
    :param seconds: How long it took.
    :param verdicts: On every sensor, field by field.
    :param notes: What the user should know beside the status, a sentence each.
    :param uncertainty: Intervals and spread; None where `napinn.estimate_uncertainty` was not asked for them.
    :param profiles: Likelihood profiles of unknowns by name, where they were asked for.
    :param lacks_a_term: Whether further terms in the equations make the readings likelier and move the unknowns.
    :param discrepancy: What a source term in each equation makes of the fit, where it was asked for.
    :param held_out: (n,) whether each reading only judged and was never trained on; None where that is not known.

    >>> result.status.name, round(result.unknowns["k"], 2)
    ('CONVERGED', 0.8)
    >>> result.field.at(t=[0.0, 1.0])["u"].round(2).tolist()
    [1.0, 0.45]
    >>> result.readings_table()[["u", "predicted", "reliability", "verdict"]].shape
    (160, 4)
    """

    problem: Problem
    method: Recipe
    readings: Readings
    seed: int
    model: FittedModel
    unknowns: Mapping[str, float]
    predicted: np.ndarray
    reliability: np.ndarray
    history: pd.DataFrame
    """Rows at intervals while the fit ran: `phase`, `step`, the losses `total`, `equation` and `data`, each unknown by
    its name, and the `seconds` since the fit began; for a method with a gate also `steepness`, `cutoff` and `rejected`,
    and `held_out` where readings were."""
    status: FitStatus
    seconds: float
    verdicts: tuple[SensorVerdict, ...] = ()
    """On every sensor, field by field."""
    notes: tuple[str, ...] = ()
    """What the user should know beside the status, a sentence each."""
    uncertainty: Uncertainty | None = None
    """Intervals and spread, where `napinn.estimate_uncertainty` was asked for them."""
    profiles: Profiles = dataclasses.field(default_factory=dict)
    """The profile likelihood of the unknowns, where it was asked for."""
    lacks_a_term: bool = False
    """Only splines look for one, and say more in a note; runs of earlier versions do not say."""
    discrepancy: Discrepancy | None = None
    held_out: np.ndarray | None = None
    """For each reading, whether it only judged and was never trained on; None for splines, and for runs of earlier
    versions, which do not say."""

    def __repr__(self) -> str:
        """The fit on one screen."""
        return summary_text(self)

    def _repr_html_(self) -> str:
        return summary_html(self)

    def show(self, height: int = 700) -> ReportFrame:
        """The report, in a notebook: the same page as `report.html` of a run folder, in a frame.

        :param height: Of the frame, in pixels.
        :return: What a notebook shows when it is the last value of a cell."""
        return report_frame(self, height)

    @property
    def plot(self) -> Plots:
        """Figures that give back matplotlib axes: `result.plot.field()`, `noise`, `gate`, `sensors`, `history` and
        `parameters`."""
        return Plots(self)

    @property
    def field(self) -> FittedField:
        return FittedField(self.model, tuple(self.problem.coordinates), self.problem.outputs)

    @property
    def functions(self) -> Mapping[str, FoundFunction]:
        """The unknowns that vary, each a function of its coordinates with a 95 % band."""
        return self.model.functions

    @property
    def found(self) -> dict[str, Any]:
        """Everything that equations need beside the field: numbers, and functions of the coordinates."""
        return {**self.unknowns, **self.functions}

    @property
    def misfits(self) -> np.ndarray:
        return self.readings.values - self.predicted

    @property
    def standard_misfits(self) -> np.ndarray:
        """Misfits over what is known of their spread: those that the noise law is of, and that the gate weighs."""
        return self.readings.standard(self.misfits)

    @property
    def log_densities(self) -> np.ndarray:
        """Of every reading under the learned law, in the law's own units: fields of different units share one gate."""
        found, misfits = np.zeros(len(self.readings)), self.standard_misfits
        scatters = self.readings.scatters
        for index, name in enumerate(scatters.names):
            if name in self.noise:
                mine, noise = scatters.index == index, self.noise[name]
                found[mine] = noise.log_prob(misfits[mine]) + np.log(noise.scale)
        return found

    @property
    def flagged(self) -> np.ndarray:
        return self.reliability < FLAG_BELOW

    @property
    def noise(self) -> Mapping[str, NoiseLaw]:
        """The noise law by field, or by field and noise group (`Readings.scatters`); empty for a method that learns
        none."""
        return self.model.noise

    def readings_table(self, flags: str | None = None) -> pd.DataFrame:
        """The input table with predicted value, misfit, reliability and verdict of every row, in its original order.

        Coordinates and fields are numbers, also where they were read from text. A prediction and its misfit are in the
        unit of the column that they are beside.

        :param flags: `qartod`, `argo` or `saqc` adds the columns `quality_flag`, `quality_cause` and `quality_comment`.
        :raises InputError: if there is no such scheme of flags."""
        verdict = np.array(["good", "unreliable"], dtype=object)[self.flagged.astype(np.int8)]
        added = {
            "predicted": self.readings.converted(self.predicted, Conversion.outward),
            "misfit": self.readings.converted(self.misfits, Conversion.difference_outward),
            "reliability": self.reliability,
            "verdict": verdict,
        }
        missing: dict[str, object] = {}
        if flags is not None:
            scheme = scheme_named(flags)
            added |= assess_readings(self).columns(scheme)
            missing = {FLAG: scheme.codes[Quality.MISSING], CAUSE: "", COMMENT: ""}
        table = self.readings.annotated(added, missing)
        names = (*self.readings.coordinates, *plain_names(self.readings.fields))
        return with_numbers(table, self.readings.columns, names)

    def sensors_table(self, flags: str | None = None) -> pd.DataFrame:
        """One row a sensor: where it is (the mean of its coordinates), how many readings, the share flagged, the mean
        reliability, and the verdict on it; of several fields, the gravest.

        :param flags: `qartod`, `argo` or `saqc` adds the columns `quality_flag`, `quality_cause` and `quality_comment`.
        :raises InputError: if there is no such scheme of flags."""
        table = self._sensors.copy()
        return table if flags is None else table.assign(**assess_sensors(self, table).columns(scheme_named(flags)))

    @functools.cached_property
    def _sensors(self) -> pd.DataFrame:
        """The table of sensors without flags, computed once: saving, report and terminal all read it."""
        frame = pd.DataFrame(self.readings.points, columns=list(self.problem.coordinates))
        frame["reliability"] = self.reliability
        frame["flagged_share"] = self.flagged.astype(float)
        groups = frame.groupby(self.readings.sensors, sort=False)
        table = groups.mean().assign(readings=groups.size()).rename_axis("sensor")
        found = self._verdict_by_sensor()
        pairs = [found.get(str(sensor), (Verdict.FEW.value, "")) for sensor in table.index]
        table["verdict"], table["evidence"] = ([pair[part] for pair in pairs] for part in (0, 1))
        order = ("readings", "flagged_share", "reliability", "verdict", "evidence")
        first = []
        if self.problem.experiments:
            first, table["experiment"] = ["experiment"], [experiment_of(str(sensor)) for sensor in table.index]
        return table[[*first, *self.problem.coordinates, *order]]

    def faulty_sensors(self) -> pd.DataFrame:
        """The rows of `sensors_table` whose sensor is faulty: stuck, drifting, offset or noisy, throughout or for a
        while, or of a wrong gain."""
        table = self.sensors_table()
        return table[table["verdict"].isin([verdict.value for verdict in Verdict if verdict.faulty])]

    def _verdict_by_sensor(self) -> dict[str, tuple[str, str]]:
        """By sensor, the gravest verdict, and the evidence of all fields for which there is as grave a one."""
        gravity = {verdict: rank for rank, verdict in enumerate(Verdict)}
        several = len(self.problem.fields) > 1
        found: dict[str, list[SensorVerdict]] = {}
        for verdict in self.verdicts:
            found.setdefault(verdict.sensor, []).append(verdict)
        summaries = {}
        for sensor, ones in found.items():
            worst = min((one.verdict for one in ones), key=lambda verdict: gravity[verdict])
            shown = [one for one in ones if one.verdict is worst or one.verdict.faulty]
            sentences = (f"{one.field}: {one.evidence}" if several else one.evidence for one in shown)
            summaries[sensor] = (worst.value, "; ".join(sentences))
        return summaries

    def grid(self, nodes: int | Mapping[str, int] = 41) -> xr.Dataset:
        """The field on a regular grid over the box, with its spread where that is known.

        :param nodes: Along every coordinate, or by the name of each. Default 41.
        :return: A dataset with CF attributes; `to_netcdf` writes it.

        >>> result.grid(5)["u"].dims
        ('t',)
        """
        axes = {}
        for name, (low, high) in self.problem.coordinates.items():
            count = nodes if isinstance(nodes, int) else nodes[name]
            axes[name] = np.linspace(low, high, count)
        mesh = np.meshgrid(*axes.values(), indexing="ij")
        values = self.field.at(**dict(zip(axes, mesh, strict=True)))
        values = {
            name: self.in_range(name, array, dict(zip(axes, mesh, strict=True))) for name, array in values.items()
        }
        dataset = xr.Dataset(
            {name: (tuple(axes), array.astype(np.float32)) for name, array in values.items()},
            coords=axes,
            attrs={
                "Conventions": "CF-1.11",
                "title": f"napinn fit of {self.problem.name}",
                "source": f"napinn {metadata.version('napinn')}, method {self.method.name}, seed {self.seed}",
                "history": f"fitted to {len(self.readings)} readings of {self.readings.source}",
                "comment": self.status.value,
                **{f"unknown_{k}": v for k, v in self.unknowns.items()},
                **{f"unknown_{k}_units": unit for k in self.unknowns if (unit := self.problem.unit_of(k))},
            },
        )
        for name in axes:
            dataset[name].attrs.update(_coordinate_attributes(name))
        for name in values:
            dataset[name].attrs["long_name"] = f"fitted field {name}"
        for name in map(str, dataset.variables):
            if unit := self.problem.unit_of(name):
                dataset[name].attrs["units"] = unit
        dataset = with_functions(dataset, self.functions, {name: self.problem.unit_of(name) for name in self.functions})
        return dataset if self.uncertainty is None else with_spread(dataset, self.uncertainty, self.problem.outputs)

    def in_range(self, field: str, values: np.ndarray, places: Mapping[str, np.ndarray]) -> np.ndarray:
        """Values of a field; NaN beyond the range of its experiment, where its equations do not hold.

        :param field: By name, such as `T@monday`.
        :param values: Of the field, in any shape.
        :param places: Of the values, by coordinate, in the same shape."""
        scope = experiment_of(field)
        ranges = self.problem.experiments[scope].ranges if scope in self.problem.experiments else {}
        for name, (low, high) in ranges.items():
            values = np.where((places[name] >= low) & (places[name] <= high), values, np.nan)
        return values


def _coordinate_attributes(name: str) -> dict[str, str]:
    """What CF says of a coordinate; `axis` only where the name leaves no doubt."""
    if name.lower() in TIME_NAMES:
        return {"axis": "T", "long_name": "time"}
    if name.lower() in CF_AXES:
        return {"axis": name.upper(), "long_name": f"{name.lower()} coordinate"}
    return {"long_name": name}
