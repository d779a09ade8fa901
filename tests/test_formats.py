"""Readers: every format gives the same readings, gaps are kept and marked, dates are counted, and headers that lie are
refused before memory is taken."""

import io
import zipfile

import h5py
import numpy as np
import pandas as pd
import pytest
import scipy.io
import xarray as xr

from napinn import Clock, Columns, InputError, Problem, Unknown, fit, load, pinn, read_readings, read_table, save
from napinn.data.formats import ArrayName, read_file, write_table
from napinn.data.formats.mat5 import matlab_arrays
from napinn.data.formats.netcdf import rows_of_dataset
from napinn.data.readings import with_numbers
from napinn.field.backbones import MLP
from napinn.problem.file import bind_readings, parse_problem, sheet_of
from napinn.problem.file.sources import _sheet

X, T = np.linspace(0.0, 1.0, 4), np.linspace(0.0, 2.0, 3)
U = np.sin(X)[:, None] * np.exp(-T)[None, :]
HEAT = {"coordinates": {"x": [0, 1], "t": [0, 2]}, "fields": ["u"], "equations": ["u_t = u_xx"]}
GRID = {"x": "x", "t": "t", "u": {"name": "field", "axes": ["x", "t"]}}


def rows():
    x, t = (axis.reshape(-1) for axis in np.meshgrid(X, T, indexing="ij"))
    return pd.DataFrame({"x": x, "t": t, "u": U.reshape(-1)})


def written(folder, ending):
    """The same readings in any format."""
    path = folder / f"readings{ending}"
    match ending:
        case ".npz":
            np.savez(path, x=X, t=T, field=U)
        case ".mat":
            scipy.io.savemat(path, {"x": X[:, None], "t": T, "field": U})
        case ".v73.mat":
            with h5py.File(path, "w") as file:
                for name, array in {"x": X[:, None], "t": T[:, None], "field": U}.items():
                    file[name] = array.T
        case ".classic.nc":
            xr.Dataset({"u": (("x", "t"), U)}, {"x": X, "t": T}).to_netcdf(path, engine="scipy")
        case ".nc":
            grid = xr.Dataset({"u": (("x", "t"), U), "other": ("k", np.zeros(50))}, {"x": X, "t": T})
            grid.to_netcdf(path, engine="h5netcdf")
        case _:
            write_table(rows(), path)
    return path


@pytest.mark.parametrize("ending", [".csv", ".tsv", ".parquet", ".nc", ".classic.nc", ".npz", ".mat", ".v73.mat"])
def test_every_format_holds_the_same_readings(tmp_path, ending):
    file = parse_problem({**HEAT, "arrays": GRID}, "p.yaml")
    path = written(tmp_path, ending)
    _, readings = bind_readings(file, sheet_of(file, path, "p.yaml").table, str(path))
    expected = read_table(rows(), ("x", "t"), ("u",))
    np.testing.assert_allclose(readings.points, expected.points, rtol=1e-15)
    np.testing.assert_allclose(readings.values, expected.values, rtol=1e-15)


def test_separator_and_decimal_mark_are_guessed_and_said(tmp_path):
    path = tmp_path / "german.csv"
    path.write_text("Ort;Tiefe, m;u\nSee, Nord;0,5;-1,25\nSee, Nord;1,5;2e-3\n", encoding="utf-8")
    sheet = read_file(path)
    assert sheet.notes == ("separator: semicolon; decimal mark: comma",)
    readings = read_table(sheet.table, ("z",), ("u",), Columns(sensor="Ort", renamed={"z": "Tiefe, m"}))
    assert readings.points[:, 0].tolist() == [0.5, 1.5]
    assert readings.values.tolist() == [-1.25, 0.002]
    assert readings.sensors.tolist() == ["See, Nord"] * 2


def test_missing_cells_sentinels_and_blank_rows_are_kept_and_marked(tmp_path):
    path = tmp_path / "gaps.csv"
    path.write_text("t,u,v\n0,1,10\n1,,20\n2,-999,NA\n,,\n4,5,50\n")
    readings = read_table(read_file(path).table, ("t",), ("u", "v"), Columns(missing=(-999.0,)))
    assert readings.values.tolist() == [1, 10, 20, 5, 50]
    assert readings.missing_rows == 2
    marked = readings.annotated({"reliability": np.ones(5), "verdict": np.array(["good"] * 5, object)})
    assert marked["u_verdict"].tolist() == ["good", "missing", "missing", "missing", "good"]
    assert marked["v_verdict"].tolist() == ["good", "good", "missing", "missing", "good"]
    assert marked["u_reliability"].isna().tolist() == [False, True, True, True, False]


def test_dates_are_counted_in_the_unit_from_the_origin():
    frame = pd.DataFrame({"when": ["2024-03-01 12:00", "2024-03-01 06:00", "2024-03-02T06:00"], "u": [1.0, 2.0, 3.0]})
    columns = Columns(renamed={"t": "when"}, clocks={"t": Clock("hours")})
    readings = read_table(frame, ("t",), ("u",), columns)
    assert readings.points[:, 0].tolist() == [6.0, 0.0, 24.0]
    assert readings.columns.clocks["t"].origin == "2024-03-01T06:00:00+00:00"
    from_pandas = frame.assign(when=pd.to_datetime(frame["when"], format="ISO8601"))
    days = Columns(renamed={"t": "when"}, clocks={"t": Clock("days", "2024-02-29")})
    assert read_table(from_pandas, ("t",), ("u",), days).points[:, 0].tolist() == [1.5, 1.25, 2.25]
    with pytest.raises(InputError, match=r"row 2, column 'when': expected a finite number.*unit and an origin"):
        read_table(frame, ("t",), ("u",), Columns(renamed={"t": "when"}))
    bad = frame.assign(when=["01/03/2024", "02/03/2024", "03/03/2024"])
    with pytest.raises(InputError, match=r"row 2, column 'when': expected a date .* found '01/03/2024'.*'format'"):
        read_table(bad, ("t",), ("u",), columns)
    european = Columns(renamed={"t": "when"}, clocks={"t": Clock("days", format="%d/%m/%Y")})
    assert read_table(bad, ("t",), ("u",), european).points[:, 0].tolist() == [0.0, 1.0, 2.0]


@pytest.mark.parametrize("format", ["%D", "%s", "%d/%d", "%"])
def test_a_format_that_is_none_is_a_sentence(format):
    frame = pd.DataFrame({"when": ["01/03/2024", "02/03/2024"], "u": [1.0, 2.0]})
    columns = Columns(renamed={"t": "when"}, clocks={"t": Clock("days", format=format)})
    with pytest.raises(InputError, match=rf"r\.csv, column 'when': '{format}' is not a format of dates; write one"):
        read_table(frame, ("t",), ("u",), columns, "r.csv")


def test_a_column_per_sensor_is_read_with_the_places_of_the_sensors(tmp_path):
    (tmp_path / "places.csv").write_text("sensor,x\nleft,0.1\nright,0.9\n")
    table = pd.DataFrame({"t": [0.0, 1.0], "left": [1.0, np.nan], "right": [3.0, 4.0]})
    inline = parse_problem({**HEAT, "sensors": {"left": {"x": 0.1}, "right": {"x": 0.9}}}, "p.yaml")
    from_file = parse_problem({**HEAT, "sensors": "places.csv"}, "p.yaml", tmp_path)
    for file in (inline, from_file):
        _, readings = bind_readings(file, table, "r.csv")
        assert readings.points.tolist() == [[0.1, 0.0], [0.9, 0.0], [0.9, 1.0]]
        assert readings.sensors.tolist() == ["left", "right", "right"]
        marked = readings.annotated({"verdict": np.array(["a", "b", "c"], object)})
        assert marked["left_verdict"].tolist() == ["a", "missing"]
        assert marked["right_verdict"].tolist() == ["b", "c"]


def test_no_path_of_a_problem_file_leads_out_of_its_folder(tmp_path):
    for name in ("../secret.csv", "/etc/passwd", "a/../../b.csv", "\x00"):
        file = parse_problem({**HEAT, "sensors": name}, "p.yaml", tmp_path)
        with pytest.raises(InputError, match="is outside the problem file's folder"):
            file.table_columns()


def test_known_deviations_weigh_the_misfits():
    """Two groups of readings that disagree: the sure one decides."""
    times = np.linspace(0, 1, 60)
    sure = np.arange(60) % 2 == 0
    table = pd.DataFrame({"t": times, "u": np.where(sure, 1.0, 2.0), "sigma": np.where(sure, 0.1, 1.0)})
    problem = Problem({"t": (0, 1)}, ("u",), ("u_t = 0",))
    method = pinn(400, backbone=MLP(8, 2), collocation_batch=32, reading_batch=64)
    weighed = fit(problem, read_table(table, ("t",), ("u",)), method)
    alike = fit(problem, read_table(table.drop(columns="sigma"), ("t",), ("u",)), method)
    assert alike.field.at(t=0.5)["u"] == pytest.approx(1.5, abs=0.1)
    # The weighted mean, with weights 1 / sigma².
    assert weighed.field.at(t=0.5)["u"] == pytest.approx((100 * 1 + 1 * 2) / 101, abs=0.05)
    np.testing.assert_allclose(weighed.predicted, weighed.field.at(t=times)["u"], rtol=1e-5)


def test_a_field_called_sigma_is_no_deviation():
    table = pd.DataFrame({"t": [0.0, 1.0], "sigma": [1.0, -2.0]})
    assert read_table(table, ("t",), ("sigma",)).sigma is None
    with pytest.raises(InputError, match="row 3, column 'sigma': a standard deviation must be above 0, found -2"):
        read_table(table.assign(u=1.0), ("t",), ("u",))


def test_text_becomes_numbers_only_where_numbers_are_asked_for(tmp_path):
    path = tmp_path / "r.csv"
    path.write_text("sensor,when,x,t,u,sigma,v,id\n007,0103,0.5,1,2.50,0.1,1,08\n007,0203,abc,2,NA,,2,09\n")
    columns = Columns(renamed={"d": "when"}, clocks={"d": Clock("days", format="%d%m")})
    table = read_file(path).table
    found = with_numbers(table, columns, ("x", "t", "d", "u", "v"))
    assert found["t"].tolist() == [1, 2]
    assert found["v"].dtype.kind == "i"
    np.testing.assert_array_equal(found[["u", "sigma"]].to_numpy(), [[2.5, 0.1], [np.nan, np.nan]])
    kept = ["sensor", "when", "x", "id"]
    pd.testing.assert_frame_equal(found[kept], table[kept])


def test_a_run_with_gaps_dates_and_sensor_columns_comes_back_whole(tmp_path):
    when = pd.date_range("2024-03-01", periods=12, freq="6h").strftime("%Y-%m-%d %H:%M")
    table = pd.DataFrame({"when": when, "a": np.arange(12.0), "b": np.arange(12.0) + 1})
    table.loc[3, "a"] = -999.0
    table.loc[[5, 6], ["a", "b"]] = np.nan
    columns = Columns(
        renamed={"t": "when"}, missing=(-999.0,), clocks={"t": Clock("days")}, places={"a": {"x": 0.0}, "b": {"x": 1.0}}
    )
    problem = Problem({"x": (0, 1), "t": (0, 3)}, ("u",), ("u_t = k*u_xx",), {"k": Unknown(1.0)})
    readings = read_table(table, ("x", "t"), ("u",), columns)
    assert len(readings) == 19
    result = fit(problem, readings, pinn(20, backbone=MLP(4, 1), collocation_batch=8, reading_batch=8))
    save(result, tmp_path / "run")
    back = load(tmp_path / "run")
    np.testing.assert_array_equal(back.readings.points, readings.points)
    np.testing.assert_array_equal(back.readings.values, readings.values)
    np.testing.assert_allclose(back.predicted, result.predicted, rtol=1e-12)
    marked = pd.read_csv(tmp_path / "run" / "readings.csv")
    assert len(marked) == 12
    assert marked["a_verdict"].tolist()[3:7] == ["missing", "good", "missing", "missing"]


def test_the_dimensions_of_a_dataset_are_points_if_nothing_else_is_wanted():
    grid = xr.Dataset({"u": (("x", "t"), U)}, {"x": X, "t": T})
    points = rows_of_dataset(grid, {"x", "t"})
    pd.testing.assert_frame_equal(points[["x", "t"]], rows()[["x", "t"]])
    with pytest.raises(InputError, match=r"the dataset holds none of v; it holds u, x, t\."):
        rows_of_dataset(grid, {"x", "t", "v"})


def test_arrays_by_name_are_a_table_or_a_grid():
    problem = Problem({"x": (0, 1), "t": (0, 2)}, ("u",), ("u_t = D*u_xx",), {"D": Unknown()})
    x, t = np.array([0.0, 0.5, 1.0]), np.array([0.0, 2.0])
    grid = read_readings({"x": x, "t": t, "u": np.arange(6.0).reshape(3, 2)}, problem)
    rows = read_readings({"x": [0.0, 0.0, 0.5], "t": [0.0, 2.0, 0.0], "u": [0.0, 1.0, 2.0]}, problem)
    assert grid.points[:3].tolist() == rows.points.tolist() == [[0.0, 0.0], [0.0, 2.0], [0.5, 0.0]]
    assert grid.values[:3].tolist() == rows.values.tolist()
    for arrays, said in (
        ({"x": x, "t": t, "u": np.zeros((2, 3))}, r"'u' has the shape \(2, 3\)"),
        ({"x": x, "t": t}, "'t' has the shape"),
    ):
        with pytest.raises(InputError, match=said):
            read_readings(arrays, problem)
    with pytest.raises(InputError, match="cannot be read from ndarray; give a path, a DataFrame"):
        _sheet(np.zeros((3, 2)), set())


def test_pandas_and_xarray_go_in():
    problem = Problem({"x": (0, 1), "t": (0, 2)}, ("u",), ("u_t = u_xx",))
    array = xr.DataArray(U, {"x": X, "t": T}, name="u")
    indexed = rows().set_index("t")
    for data in (rows(), indexed, array, array.to_dataset()):
        readings = read_readings(data, problem)
        assert sorted(map(tuple, readings.points)) == sorted(map(tuple, rows()[["x", "t"]].to_numpy()))
    with pytest.raises(InputError, match="has no name"):
        read_readings(array.rename(None), problem)


def lying_npz(path):
    """A header that claims a terabyte before a file of some bytes."""
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": (400_000, 400_000)})
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("u.npy", header.getvalue())


def lying_hdf5(path):
    with h5py.File(path, "w") as file:
        file.create_dataset("u", shape=(400_000, 400_000), dtype="f8", chunks=(1000, 1000))


def lying_netcdf(path):
    import h5netcdf

    with h5netcdf.File(path, "w") as file:
        file.dimensions = {"x": 400_000, "t": 400_000}
        file.create_variable("u", ("x", "t"), "f8", chunks=(1000, 1000))


@pytest.mark.parametrize(("name", "make"), [("a.npz", lying_npz), ("a.mat", lying_hdf5), ("a.nc", lying_netcdf)])
def test_a_header_that_claims_terabytes_is_refused_before_memory_is_taken(tmp_path, name, make):
    make(tmp_path / name)
    with pytest.raises(InputError, match=r"says that it holds 1\.6e\+11|says that it holds 4\.8e\+11"):
        read_file(tmp_path / name, {"u"}, {"u": ArrayName("u")})


def test_objects_are_never_unpickled(tmp_path):
    np.savez(tmp_path / "a.npz", u=np.array([{"a": 1}], dtype=object))
    with pytest.raises(InputError, match="array 'u' holds Python objects"):
        read_file(tmp_path / "a.npz")


@pytest.mark.parametrize("ending", [".parquet", ".nc", ".npz", ".mat", ".csv"])
def test_a_damaged_file_is_a_sentence(tmp_path, ending):
    whole = written(tmp_path, ending).read_bytes()
    rng = np.random.default_rng(0)
    path = tmp_path / f"damaged{ending}"
    for size in (0, 3, 60, len(whole) // 2, len(whole) - 7):
        cut = bytearray(whole[:size])
        for place in rng.integers(0, max(size, 1), 4 if size else 0):
            cut[place] ^= 0xFF
        path.write_bytes(bytes(cut))
        said = "fine."
        try:
            read_file(path, {"x", "t", "u"})
        except InputError as error:
            said = str(error)
        assert len(said.splitlines()) == 1


def test_an_ending_that_is_not_read_is_named(tmp_path):
    (tmp_path / "a.xlsx").write_bytes(b"PK")
    with pytest.raises(InputError, match=r"the ending '\.xlsx' is not one that napinn reads; save the sheet as CSV"):
        read_file(tmp_path / "a.xlsx")


@pytest.mark.parametrize(
    ("arrays", "said"),
    [
        ({"x": "x", "t": "t", "u": "fild"}, "no array 'fild' for 'u'; did you mean 'field'?"),
        ({"x": "x", "t": "t", "u": "field"}, "different numbers of entries"),
        ({"x": "x", "t": "t", "u": {"name": "field", "axes": ["t", "x"]}}, "correct the order of 'axes'"),
        ({"x": "x", "u": {"name": "field", "axes": ["x", "t"]}}, "axis 't' has no array of its own"),
    ],
)
def test_each_mistake_in_a_mapping_of_arrays_gets_its_sentence(tmp_path, arrays, said):
    file = parse_problem({**HEAT, "arrays": arrays}, "p.yaml")
    with pytest.raises(InputError, match=said.replace("?", r"\?")):
        sheet_of(file, written(tmp_path, ".npz"), "p.yaml")


@pytest.mark.parametrize("compressed", [False, True])
def test_matlab_arrays_are_those_that_scipy_reads(compressed):
    content = io.BytesIO()
    numbers = {
        "a": np.random.default_rng(0).normal(size=(3, 4)),
        "a_long_name": np.arange(5),
        "short": np.int16([-1, 5]),
        "cube": np.arange(24.0).reshape(2, 3, 4),
        "single": np.float32([[1.5, 2.5]]),
        "flags": np.array([True, False]),
        "none": np.zeros((0, 3)),
    }
    others = {"text": "abc", "complex": np.array([1 + 2j]), "structure": {"x": 1.0}}
    scipy.io.savemat(content, {**numbers, **others}, do_compression=compressed)
    found = matlab_arrays(content.getvalue())
    assert found.keys() == numbers.keys()
    expected = scipy.io.loadmat(io.BytesIO(content.getvalue()))
    for name, array in found.items():
        np.testing.assert_array_equal(array.values, expected[name], strict=True)


def test_a_matlab_file_cut_anywhere_is_refused_or_holds_whole_arrays():
    content = io.BytesIO()
    scipy.io.savemat(content, {"t": np.arange(5.0), "u": np.arange(5.0) ** 2})
    whole = content.getvalue()
    for length in range(len(whole)):
        try:
            found = {name: array.values for name, array in matlab_arrays(whole[:length]).items()}
        except ValueError:
            continue
        assert all(array.shape == (1, 5) for array in found.values())


@pytest.mark.parametrize("row", ["0 1.97", "0   -2e-3"])
def test_rows_that_are_separated_otherwise_than_the_header_are_refused(tmp_path, row):
    (tmp_path / "r.csv").write_text("t,u\n" + f"{row}\n" * 4)
    with pytest.raises(InputError, match=r"r\.csv, row 2: .* is one cell, and the header has 2; separate the rows"):
        read_file(tmp_path / "r.csv")


@pytest.mark.parametrize("row", ["2024-03-01 12:30", "0.5"])
def test_a_first_column_alone_is_no_row_without_separators(tmp_path, row):
    (tmp_path / "r.csv").write_text("t,u\n" + f"{row},\n" * 4)
    assert len(read_file(tmp_path / "r.csv").table) == 4


def test_comments_above_the_header_are_skipped_and_said(tmp_path):
    path = tmp_path / "logger.csv"
    path.write_text("# station: 3\n# made by a logger; 2024\nt;u\n0;1,5\n1;2,5\n", encoding="utf-8")
    sheet = read_file(path)
    assert list(sheet.table.columns) == ["t", "u"]
    assert sheet.table["u"].tolist() == ["1.5", "2.5"]
    assert "2 lines above the header" in sheet.notes[0]


def test_a_row_with_too_many_cells_is_named(tmp_path):
    path = tmp_path / "ragged.csv"
    path.write_text("t,u\n0,1\n1,2,3\n", encoding="utf-8")
    with pytest.raises(InputError, match="row 3 has 3 cells and the rows before it have 2; correct the row"):
        read_file(path)
