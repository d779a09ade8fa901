"""Quality flags as operators know them: the tables of three schemes, in and out, and back."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import xarray as xr

import napinn
from known_results import known
from napinn.data.flags import SCHEMES, Cause, Quality, recognised, understood
from napinn.errors import InputError
from napinn.report.flag_table import flag_counts
from napinn.report.html import report_html
from napinn.runs.export import export_readings
from napinn.runs.readings_file import readings_dataset


@pytest.fixture(scope="module")
def cooling() -> pd.DataFrame:
    """Five thermometers in a cooling bath; T3 drifts, some readings are 0.5 off, and one cell is empty."""
    rng, t = np.random.default_rng(0), np.linspace(0.0, 3.0, 61)
    parts = []
    for number in range(5):
        values = np.exp(-0.8 * t) + 0.01 * rng.standard_normal(len(t))
        values[rng.random(len(t)) < 0.05] += 0.5
        if number == 3:
            values += 0.15 * t
        if number == 4:
            values[20] = np.nan
        parts.append(pd.DataFrame({"sensor": f"T{number}", "t": t, "T": values}))
    return pd.concat(parts, ignore_index=True)


@pytest.fixture(scope="module")
def problem() -> napinn.Problem:
    return napinn.Problem({"t": (0.0, 3.0)}, ("T",), ("T_t = -a*T",), {"a": napinn.Unknown(0.3)}, units={"T": "K"})


@pytest.fixture(scope="module")
def flagged(cooling: pd.DataFrame) -> pd.DataFrame:
    """The same table with flags of an operator: one good reading is called bad, one missing, one is not evaluated."""
    flags = np.ones(len(cooling), int)
    flags[[5, 6, 7]] = 4, 9, 2
    flags[cooling["T"].isna()] = 9
    return cooling.assign(quality_flag=flags)


@pytest.fixture(scope="module")
def fitted(problem: napinn.Problem, flagged: pd.DataFrame) -> napinn.FitResult:
    return napinn.fit(problem, napinn.read_readings(flagged, problem), napinn.bsplines())


def test_schemes_write_and_read_the_tables_of_their_authors():
    from ioos_qc.qartod import QartodFlags

    names = {name: value for name, value in vars(QartodFlags).items() if not name.startswith("_")}
    assert {name: value for value, name in SCHEMES["qartod"].meanings.items()} == names
    for scheme in SCHEMES.values():
        for quality, code in scheme.codes.items():
            meant = Quality.UNKNOWN if (scheme.name, quality) == ("saqc", Quality.MISSING) else quality
            assert understood(pd.Series([code]), scheme).tolist() == [meant]
            assert understood(pd.Series([scheme.numbers[quality]]), scheme).tolist() == [meant]
    # Argo counts 1, 2, 5 and 8 as good in a profile.
    assert set(understood(pd.Series([1, 2, 5, 8]), SCHEMES["argo"])) == {Quality.GOOD}
    # What DmpScheme of SaQC accepts as a cause.
    assert set(SCHEMES["saqc"].causes.values()) == {"", "ISOLATED_SPIKE", "DEFECTIVE_SENSOR"}


@pytest.mark.parametrize(
    ("codes", "scheme"),
    [
        ([1, 2, 3, 4, 9], "qartod"),
        ([0, 1, 5], "argo"),
        ([0, 25, 255], "saqc"),
        (["OK", "BAD"], "saqc"),
        (["4"], "qartod"),
    ],
)
def test_a_scheme_is_recognised_by_its_codes(codes, scheme):
    assert recognised(pd.Series(codes, name="flag"), "file")[0].name == scheme


def test_a_code_of_no_scheme_is_refused_with_row_and_column(problem, flagged):
    odd = flagged.assign(quality_flag=flagged["quality_flag"].where(flagged.index != 3, 7))
    with pytest.raises(InputError, match=r"row 5, column 'quality_flag': '7' is not a flag of QARTOD"):
        napinn.read_readings(odd, problem, napinn.Columns(scheme="qartod"))
    # A column that nobody called flags may hold anything.
    assert napinn.read_readings(odd, problem).flags is None


def test_flags_of_the_input_are_understood(problem, flagged, cooling):
    readings = napinn.read_readings(flagged, problem)
    assert len(readings) == len(cooling) - 2
    left = napinn.read_readings(flagged, problem, napinn.Columns(leave_out_bad=True))
    assert len(left) == len(cooling) - 3
    by_field = napinn.read_readings(flagged.rename(columns={"quality_flag": "T_qc"}), problem)
    assert by_field.flags is not None
    assert readings.flags is not None
    assert (by_field.flags.qualities == readings.flags.qualities).all()


def test_readings_and_sensors_have_flags_causes_and_comments(fitted):
    table = fitted.readings_table("qartod")
    assert set(table["quality_flag"]) <= {1, 2, 3, 4, 9}
    drifting = table[table["sensor"] == "T3"]
    assert set(drifting["quality_cause"]) == {"drift"}
    assert drifting["quality_comment"].str.contains("drifts by").all()
    spikes = table[(table["quality_cause"] == "spike")]
    assert (spikes["reliability"] < 0.5).all()
    assert len(spikes) >= 5
    assert (table["quality_flag"][table["T"].isna()] == 9).all()
    # The user's own flags stay beside napinn's.
    assert table["quality_flag_given"].value_counts()[4] == 1
    sensors = fitted.sensors_table("qartod")
    assert sensors.loc["T3", "quality_cause"] == "drift"
    assert sensors.loc["T0", "quality_flag"] == 1


def test_a_fit_that_is_not_trusted_calls_nothing_bad(fitted):
    doubtful = replace(fitted, status=napinn.FitStatus.DOUBTFUL)
    assert 4 not in set(doubtful.readings_table("qartod")["quality_flag"])
    void = replace(fitted, status=napinn.FitStatus.LAW_DEGENERATE, verdicts=())
    assert set(void.readings_table("argo")["quality_flag"]) == {0, 9}


def test_saqc_flags_follow_its_scheme(fitted):
    table = fitted.readings_table("saqc")
    assert set(table["quality_flag"]) <= {"NIL", "OK", "DOUBTFUL", "BAD"}
    bad = table[table["quality_flag"] == "BAD"]
    assert set(bad["quality_cause"]) <= {"ISOLATED_SPIKE", "DEFECTIVE_SENSOR"}
    assert all({"test", "comment"} == set(json.loads(comment)) for comment in bad["quality_comment"])


@pytest.mark.parametrize("scheme", list(SCHEMES))
def test_the_netcdf_file_round_trips(fitted, scheme, tmp_path):
    path = tmp_path / "readings.nc"
    readings_dataset(fitted, SCHEMES[scheme]).to_netcdf(path, engine="h5netcdf")
    with xr.open_dataset(path) as dataset:
        assert dataset.attrs["featureType"] == "timeSeries"
        assert dataset["sensor"].attrs["cf_role"] == "timeseries_id"
        quality = dataset["T_qc"]
        assert quality.attrs["standard_name"] == "aggregate_quality_flag"
        assert len(quality.attrs["flag_values"]) == len(quality.attrs["flag_meanings"].split())
        assert set(dataset["T"].attrs["ancillary_variables"].split()) <= set(dataset.data_vars)
        assert dataset["T"].attrs["units"] == "K"
        numbers, reliability = quality.values, dataset["T_reliability"].values
        causes = [Cause(number).word for number in dataset["T_qc_cause"].values]
    table = fitted.readings_table(scheme)
    codes = {SCHEMES[scheme].numbers[each]: SCHEMES[scheme].codes[each] for each in reversed(Quality)}
    assert [codes[float(number)] for number in numbers] == table["quality_flag"].tolist()
    np.testing.assert_array_equal(reliability, table["reliability"])
    if scheme != "saqc":
        assert causes == table["quality_cause"].tolist()


def test_xarray_writes_the_same_flags_to_a_table_that_napinn_reads(fitted, problem, tmp_path):
    readings_dataset(fitted, SCHEMES["qartod"]).to_netcdf(tmp_path / "readings.nc", engine="h5netcdf")
    with xr.open_dataset(tmp_path / "readings.nc") as dataset:
        dataset[["T", "T_qc"]].to_dataframe().to_csv(tmp_path / "readings.csv")
    flags = fitted.readings_table("qartod")["quality_flag"]
    assert pd.read_csv(tmp_path / "readings.csv")["T_qc"].tolist() == flags.tolist()
    again = napinn.read_readings(tmp_path / "readings.csv", problem).flags
    assert again is not None
    assert again.scheme == "qartod"
    assert again.qualities[:, 0].tolist() == understood(flags, SCHEMES["qartod"]).tolist()


def test_ioos_qc_aggregates_the_flags(fitted):
    from ioos_qc.qartod import gross_range_test, qartod_compare

    dataset = readings_dataset(fitted, SCHEMES["qartod"])
    ours = np.ma.array(dataset["T_qc"].values)
    assert qartod_compare([ours]).tolist() == ours.tolist()
    # With a test of its own beside them, the worse flag counts.
    theirs = gross_range_test(dataset["T"].values, fail_span=(-0.5, 1.2))
    both = qartod_compare([ours, theirs])
    assert (both == 4).sum() >= max((ours == 4).sum(), (theirs == 4).sum())


def test_napinn_reads_its_own_netcdf_file(fitted, problem, tmp_path):
    path = tmp_path / "readings.nc"
    readings_dataset(fitted, SCHEMES["qartod"]).to_netcdf(path, engine="h5netcdf")
    again = napinn.read_readings(path, problem)
    np.testing.assert_allclose(again.points, fitted.readings.points)
    np.testing.assert_array_equal(again.values, fitted.readings.values)
    assert again.sensors.tolist() == fitted.readings.sensors.tolist()
    assert again.flags is not None


def test_places_of_sensors_and_dates_follow_cf():
    table = pd.DataFrame({"x": [0.0, 0.0, 1.0], "t": ["2024-03-01", "2024-03-02", "2024-03-01"], "u": [0.0, 1.0, 2.0]})
    problem = napinn.Problem({"x": (0.0, 1.0), "t": (0.0, 1.0)}, ("u",), ("u_t = u_xx",), units={"x": "m"})
    columns = napinn.Columns(clocks={"t": napinn.Clock("days")})
    result = known(problem, {}, lambda x, t: x + t, readings=napinn.read_readings(table, problem, columns))
    dataset = readings_dataset(result, SCHEMES["qartod"])
    assert dataset["x"].dims == ("station",)
    assert dataset["x"].attrs == {"long_name": "x coordinate", "axis": "X", "units": "m"}
    assert dataset["t"].attrs["units"].startswith("days since 2024-03-01")
    assert dataset["station_index"].values.tolist() == [0, 0, 1]
    # A method without a noise law evaluates no reading.
    assert set(dataset["u_qc"].values) == {2}
    moving = table.assign(sensor="buoy")
    result = known(problem, {}, lambda x, t: x + t, readings=napinn.read_readings(moving, problem, columns))
    assert readings_dataset(result, SCHEMES["qartod"]).attrs["featureType"] == "point"


def test_experiments_share_one_variable(cooling, tmp_path):
    two = pd.concat([cooling.assign(experiment=name).query("sensor == 'T0'") for name in "AB"], ignore_index=True)
    two.loc[70:, "T"] *= 2.0
    (tmp_path / "problem.yaml").write_text(
        "coordinates: {t: [0, 3]}\nfields: [T]\nunknowns: {a: 0.3}\nequations: ['T_t = -a*T']\n", encoding="utf-8"
    )
    problem, readings = napinn.read_problem(tmp_path / "problem.yaml", two)
    assert len(problem.fields) == 2
    model = known(problem, {"a": 0.8}, *[lambda t: 0.0 * t] * 2, readings=readings)
    dataset = readings_dataset(model, SCHEMES["qartod"])
    assert {"T", "T_qc"} <= set(dataset.data_vars)
    np.testing.assert_array_equal(dataset["T"].values, two["T"])


def test_a_run_folder_keeps_flags_and_loads(fitted, tmp_path):
    napinn.save(fitted, tmp_path / "run", flags="argo")
    table = pd.read_csv(tmp_path / "run" / "readings.csv")
    assert {"quality_flag", "quality_flag_given", "quality_cause", "quality_comment"} <= set(table.columns)
    loaded = napinn.load(tmp_path / "run")
    assert loaded.readings.flags is not None
    assert (loaded.readings.flags.qualities == fitted.readings.flags.qualities).all()
    again, before = (each.readings_table("argo").drop(columns="quality_flag_given") for each in (loaded, fitted))
    pd.testing.assert_frame_equal(again, before)


def test_more_that_is_known_of_a_saved_fit_keeps_its_flags(fitted, tmp_path):
    napinn.save(fitted, tmp_path, flags="argo")
    flagged = (tmp_path / "readings.csv").read_text()
    napinn.save(napinn.load(tmp_path), tmp_path, same_fit=True)
    assert (tmp_path / "readings.csv").read_text() == flagged
    assert (tmp_path / "readings.nc").exists()
    napinn.save(fitted, tmp_path)
    assert not (tmp_path / "readings.nc").exists()


@pytest.mark.parametrize("name", ["R.CSV", "R.Parquet", "R.NC"])
def test_the_case_of_an_ending_does_not_change_the_format(fitted, tmp_path, name):
    export_readings(fitted, tmp_path / name)
    begun = {"R.CSV": b"t,", "R.Parquet": b"PAR1", "R.NC": b"\x89HDF"}
    assert begun[name] in (tmp_path / name).read_bytes()[:40]


def test_the_report_sets_their_flags_against_ours(fitted):
    counts = flag_counts(fitted)
    assert counts is not None
    assert counts.sum() == len(fitted.readings.table)
    assert counts[Quality.BAD].sum() == 1
    assert counts[Quality.MISSING, Quality.MISSING] == 2
    assert "Quality flags" in report_html(fitted)


def test_the_command_line_writes_and_exports_flags(flagged, tmp_path, monkeypatch):
    from typer.testing import CliRunner

    from napinn.cli.main import app

    monkeypatch.chdir(tmp_path)
    flagged.to_csv("readings.csv", index=False)
    words = ["fit", "readings.csv", "-e", "T_t = -a*T", "-u", "a=0.3", "-m", "splines", "--leave-out-bad", "--quiet"]
    assert CliRunner().invoke(app, [*words, "--flags", "qartod", "-o", "run"]).exit_code == 0
    table = pd.read_csv("run/readings.csv")
    assert table["verdict"].tolist().count("missing") == 3
    with xr.open_dataset("run/readings.nc") as dataset:
        assert dataset["T_qc"].values.tolist() == table["quality_flag"].tolist()
    done = CliRunner().invoke(app, ["export", "run", "--what", "readings", "--flags", "saqc", "-o", "saqc.csv"])
    assert done.exit_code == 0
    assert set(pd.read_csv("saqc.csv")["quality_flag"]) <= {"NIL", "OK", "DOUBTFUL", "BAD"}
    with pytest.raises(InputError, match="there is no flag scheme 'qartot'; did you mean 'qartod'"):
        CliRunner().invoke(app, [*words, "--flags", "qartot"], catch_exceptions=False)
    with pytest.raises(InputError, match="readings only"):
        CliRunner().invoke(
            app, ["export", "run", "--what", "field", "--flags", "saqc", "-o", "f.nc"], catch_exceptions=False
        )
