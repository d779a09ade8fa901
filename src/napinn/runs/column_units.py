"""The units of the columns in the tables of a run, as `csv-metadata.json`.

Text tables have no place for units beside their header, which programs read. The file follows the W3C recommendation
"Metadata Vocabulary for Tabular Data", by which readers of CSV files look for this name in the folder of a table."""

from collections.abc import Mapping, Sequence
from typing import Any

from napinn.problem.experiment import plain
from napinn.results.result import FitResult
from napinn.runs.request import READINGS

METADATA = "csv-metadata.json"
SENSORS = "sensors.csv"


def reading_units(result: FitResult) -> dict[str, str]:
    """The unit of every column of the table of readings that has one.

    :param result: A finished fit. What belongs to a column, such as a prediction, has the column's unit."""
    readings, columns = result.readings, result.readings.columns
    units = {name: unit for name in (*readings.coordinates, *readings.fields, *readings.labels)
             if name not in columns.clocks and (unit := _column_unit(result, name))}  # fmt: skip
    found = {columns.of(name): unit for name, unit in units.items()}
    measured = {units.get(name, "") for name in readings.fields}
    shared = next(iter(measured)) if len(measured) == 1 else ""
    for label in readings.labels:
        of_label = units.get(label, shared)
        beside = (f"{label}_{columns.sigma}", *(f"{label}_{name}" for name in ("predicted", "misfit")))
        found |= dict.fromkeys(beside, of_label)
        found |= {label: of_label} if columns.places else {}
    found |= dict.fromkeys((columns.value, columns.sigma, "predicted", "misfit"), shared)
    return {column: unit for column, unit in found.items() if unit}


def _column_unit(result: FitResult, name: str) -> str:
    known = result.readings.columns.conversions.get(plain(name))
    return (result.problem.unit_of(name) or "") if known is None else known.unit


def table_metadata(result: FitResult, tables: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """What `csv-metadata.json` holds.

    :param result: A finished fit.
    :param tables: The columns of each file, in their order."""
    units = {
        READINGS: reading_units(result),
        SENSORS: {name: unit for name in result.problem.coordinates if (unit := result.problem.unit_of(name))},
    }
    return {
        "@context": "http://www.w3.org/ns/csvw",
        "tables": [
            {"url": file, "tableSchema": {"columns": [_column(name, units[file].get(name)) for name in columns]}}
            for file, columns in tables.items()
        ],
    }


def _column(name: str, unit: str | None) -> dict[str, str]:
    return {"titles": name, **({"schema:unitText": unit} if unit else {})}
