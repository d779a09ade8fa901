"""The readings of a finished fit with their quality flags as a CF NetCDF file, `readings.nc`.

Readings are an indexed ragged array (CF conventions, appendix H.2.5): one observation for every cell of the input table
that can hold a reading, in the order of the table, with the number of its sensor. Each field `T` has the ancillary
variables `T_qc`, `T_qc_cause`, `T_predicted` and `T_reliability`."""

from importlib import metadata

import numpy as np
import pandas as pd
import xarray as xr

from napinn.data.flags import Cause, FlagScheme, Quality
from napinn.data.readings import TIME_NAMES, Readings, cell_points
from napinn.problem.experiment import plain
from napinn.results.quality import assess_readings
from napinn.results.result import CF_AXES, FitResult

FLAGGED = "readings.nc"
OBSERVATION, STATION, SENSOR = "obs", "station", "sensor"
LARGEST_SHIFT = 1e-9
"""How far, as a share of the range, a sensor may be from its own mean place and still count as fixed: rounding."""
SHORT_UNITS = {"seconds": "s", "minutes": "min", "hours": "h", "days": "d"}
"""Units of a time without a date. Their long names would make xarray read durations in nanoseconds."""


def readings_dataset(result: FitResult, scheme: FlagScheme) -> xr.Dataset:
    """The readings of a fit with their flags, predictions and reliabilities.

    :param result: A finished fit.
    :param scheme: The table of flags that `T_qc` is written in.
    :return: A dataset with the dimensions `obs` and `station`, `featureType` timeSeries where sensors are fixed and
        there is a time, and point otherwise."""
    readings = result.readings
    cells = _Cells(readings)
    fixed = cells.places is not None and any(is_time(readings, name) for name in readings.coordinates)
    dataset = xr.Dataset(
        coords=_coordinates(result, cells, fixed),
        attrs={
            "Conventions": "CF-1.11",
            "featureType": "timeSeries" if fixed else "point",
            "title": f"readings of {result.problem.name} with quality flags",
            "source": f"napinn {metadata.version('napinn')}, method {result.method.name}, seed {result.seed}",
            "history": f"read from {readings.source}",
            "comment": result.status.value,
        },
    )
    assessment = assess_readings(result)
    along = " ".join(readings.coordinates)
    # All experiments share one variable.
    measured = [plain(name) for name in readings.fields]
    for name in dict.fromkeys(measured):
        mine = np.isin(readings.field_index, [index for index, each in enumerate(measured) if each == name])
        unit = {"units": known} if (known := result.problem.unit_of(name)) else {}
        parts = ("_qc", "_qc_cause", "_predicted", "_reliability")
        dataset[name] = cells.numbers(readings.values, mine)
        dataset[name].attrs = {"long_name": f"measured {name}", **unit, "coordinates": along,
                               "ancillary_variables": " ".join(name + part for part in parts)}  # fmt: skip
        dataset[f"{name}_qc"] = cells.flags(assessment.quality, mine, scheme)
        dataset[f"{name}_qc_cause"] = cells.causes(assessment.cause, mine)
        dataset[f"{name}_predicted"] = cells.numbers(result.predicted, mine)
        dataset[f"{name}_predicted"].attrs = {"long_name": f"fitted field {name} at the reading", **unit}
        dataset[f"{name}_reliability"] = cells.numbers(result.reliability, mine)
        dataset[f"{name}_reliability"].attrs = {"long_name": "reliability of the reading, 0 to 1", "units": "1"}
    return dataset


def _coordinates(result: FitResult, cells: "_Cells", fixed: bool) -> dict[str, xr.Variable]:
    """Coordinates of observations, places of fixed sensors, and the sensor of each observation."""
    readings, found = result.readings, {}
    for axis, name in enumerate(readings.coordinates):
        timely = is_time(readings, name)
        if fixed and not timely and cells.places is not None:
            found[name] = xr.Variable(STATION, cells.places[:, axis])
        else:
            found[name] = xr.Variable(OBSERVATION, cells.points[:, axis])
        found[name].attrs = _time_attributes(result, name) if timely else _place_attributes(result, name)
    found[SENSOR] = xr.Variable(STATION, cells.sensors.astype(str), {"cf_role": "timeseries_id", "long_name": "sensor"})
    about = {"long_name": "number of the sensor of this observation", "instance_dimension": STATION}
    found["station_index"] = xr.Variable(OBSERVATION, cells.sensor.astype(np.int32), about)
    return found


def is_time(readings: Readings, name: str) -> bool:
    """Whether a coordinate is the time."""
    return name.lower() in TIME_NAMES or name in readings.columns.clocks


def _time_attributes(result: FitResult, name: str) -> dict[str, str]:
    clock = result.readings.columns.clocks.get(name)
    if clock is not None:
        since = {"units": f"{clock.unit} since {clock.origin}", "calendar": "standard"}
        return {"long_name": "time", "standard_name": "time", "axis": "T", **since}
    unit = result.problem.units.get(name)
    return {"long_name": "time", "axis": "T", **({} if unit is None else {"units": SHORT_UNITS.get(unit, unit)})}


def _place_attributes(result: FitResult, name: str) -> dict[str, str]:
    unit = result.problem.units.get(name)
    axis = {"axis": name.upper()} if name.lower() in CF_AXES else {}
    return {"long_name": f"{name} coordinate", **axis, **({} if unit is None else {"units": unit})}


class _Cells:
    """Every cell of the table that can hold a reading, as one observation."""

    def __init__(self, readings: Readings):
        self.readings = readings
        self.labels = len(readings.labels) if readings.columns.places else 1
        self.count = len(readings.table) * self.labels
        self.number = readings.rows * self.labels + (readings.label_index if self.labels > 1 else 0)
        self.sensor_of_reading, self.sensors = readings.numbered_sensors
        self.points = cell_points(readings).reshape(self.count, len(readings.coordinates))
        self.still = np.array([not is_time(readings, name) for name in readings.coordinates])
        self.places = self._places()
        self.sensor = self._sensor()

    def _places(self) -> np.ndarray | None:
        """(sensors, coordinates) where each stands; None if one moves."""
        points, sensor = self.readings.points, self.sensor_of_reading
        sums = np.zeros((len(self.sensors), points.shape[1]))
        np.add.at(sums, sensor, points)
        means = sums / np.bincount(sensor)[:, None]
        shifts = np.abs(points - means[sensor])[:, self.still]
        allowed = LARGEST_SHIFT * np.ptp(points, axis=0)[self.still]
        return None if (shifts > allowed).any() else means

    def _sensor(self) -> np.ndarray:
        """(cells,) the number of each cell's sensor, -1 where a cell without a reading does not say."""
        found = np.full(self.count, -1)
        table, columns = self.readings.table, self.readings.columns
        if columns.places:
            found[:] = np.tile(pd.Index(self.sensors).get_indexer(pd.Index(list(columns.places))), len(table))
        elif columns.sensor in table.columns:
            found[:] = pd.Index(self.sensors).get_indexer(pd.Index(table[columns.sensor].astype(str)))
        elif self.places is not None:
            known = {tuple(place): number for number, place in enumerate(self.places[:, self.still])}
            found[:] = [known.get(tuple(point), -1) for point in self.points[:, self.still]]
        found[self.number] = self.sensor_of_reading
        return found

    def numbers(self, values: np.ndarray, mine: np.ndarray) -> xr.Variable:
        found = np.full(self.count, np.nan)
        found[self.number[mine]] = values[mine]
        return xr.Variable(OBSERVATION, found)

    def flags(self, quality: np.ndarray, mine: np.ndarray, scheme: FlagScheme) -> xr.Variable:
        kind = scheme.number_type
        found = np.full(self.count, scheme.numbers[Quality.MISSING], kind)
        found[self.number[mine]] = np.array([scheme.numbers[each] for each in Quality], kind)[quality[mine]]
        return xr.Variable(
            OBSERVATION,
            found,
            {
                "long_name": f"quality flag ({scheme.title})",
                "standard_name": "aggregate_quality_flag",
                "flag_values": np.array(list(scheme.meanings), kind),
                "flag_meanings": " ".join(scheme.meanings.values()),
            },
        )

    def causes(self, cause: np.ndarray, mine: np.ndarray) -> xr.Variable:
        found = np.zeros(self.count, np.int8)
        found[self.number[mine]] = cause[mine]
        return xr.Variable(
            OBSERVATION,
            found,
            {
                "long_name": "cause of the quality flag",
                "flag_values": np.array([each.value for each in Cause], np.int8),
                "flag_meanings": " ".join(each.name.lower() for each in Cause),
            },
        )
