"""What a run writes has units: tables in those of their columns, everything else in those of the problem."""

import dataclasses
import json

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import napinn
from exact_backend import Exact
from napinn.engines.description import describe
from napinn.results import recipe
from napinn.runs.column_units import METADATA
from napinn.runs.request import request_of

CONTENT = {
    "coordinates": {"t": [0, 3]}, "fields": ["u"], "unknowns": {"k": 0.8}, "equations": ["u_t = -k*u"],
    "units": {"t": "h", "u": "m"}, "columns": {"units": {"t": "min", "u": "cm"}},
}  # fmt: skip
TIMES = np.linspace(0.0, 3.0, 30)
TABLE = pd.DataFrame({"t": 60 * TIMES, "u": 100 * np.exp(-0.8 * TIMES) + np.cos(40 * TIMES), "sigma": 2.0})


@pytest.fixture
def result(monkeypatch):
    from napinn.problem.file.binding import bind_readings
    from napinn.problem.file.loading import parse_problem

    monkeypatch.setattr(recipe, "HOMES", {**recipe.HOMES, "Exact": "exact_backend"})
    problem, readings = bind_readings(parse_problem(CONTENT, "p"), TABLE, "readings.csv", "p")
    return napinn.fit(problem, readings, Exact())


def test_a_run_keeps_its_units_on_disk(result, tmp_path):
    napinn.save(result, tmp_path)
    table = pd.read_csv(tmp_path / "readings.csv")
    assert table["predicted"].to_numpy() == pytest.approx(100 * np.exp(-0.8 * TIMES))
    assert table["misfit"].to_numpy() == pytest.approx((TABLE["u"] - table["predicted"]).to_numpy())
    again = napinn.load(tmp_path)
    np.testing.assert_allclose(again.predicted, result.predicted, rtol=1e-12)
    np.testing.assert_allclose(again.readings.values, result.readings.values)
    assert again.readings.sigma == pytest.approx(0.02)
    told = json.loads((tmp_path / METADATA).read_text())
    readings, sensors = (
        {each["titles"]: each.get("schema:unitText") for each in part["tableSchema"]["columns"]}
        for part in told["tables"]
    )
    assert {name: readings[name] for name in ("t", "u", "sigma", "predicted", "misfit", "verdict")} == {
        "t": "min", "u": "cm", "sigma": "cm", "predicted": "cm", "misfit": "cm", "verdict": None,
    }  # fmt: skip
    assert sensors["t"] == "h"
    assert list(sensors) == list(pd.read_csv(tmp_path / "sensors.csv"))
    assert json.loads((tmp_path / "result.json").read_text())["units"] == {"t": "h", "u": "m", "k": "1/h"}
    with xr.open_dataset(tmp_path / "field.nc", decode_timedelta=False) as field:
        assert (field["u"].attrs["units"], field["t"].attrs["units"]) == ("m", "h")
        assert field.attrs["unknown_k_units"] == "1/h"


def test_points_are_read_in_the_units_of_the_readings_and_fields_are_in_those_of_the_problem(result):
    found = napinn.predict(result, pd.DataFrame({"t": [0.0, 60.0]}))
    assert found["u"].to_numpy() == pytest.approx([1.0, np.exp(-0.8)])
    grid = napinn.predict(result, xr.Dataset(coords={"t": [0.0, 1.0]}))
    assert grid["u"].to_numpy() == pytest.approx([1.0, np.exp(-0.8)])
    assert grid["u"].attrs["units"] == "m"


@pytest.mark.parametrize(
    ("units", "kept"),
    [
        ({"t": "h"}, {"t": "h"}),
        ({"t": "h", "u": "log pelts"}, {}),
        ({"t": "h", "k": "1/min"}, {}),
        ({"k": "K"}, {"k": "K"}),
    ],
)
def test_the_labels_of_an_earlier_run_stay_if_they_change_nothing(result, units, kept, tmp_path):
    plain = dataclasses.replace(result.problem, units={})
    settings = describe(dataclasses.replace(result, problem=plain))
    settings["problem"]["units"] = units
    del settings["readings"]["columns"]["conversions"]
    assert request_of(settings, tmp_path, TABLE.assign(t=TIMES), None).problem.units == kept
