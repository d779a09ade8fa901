"""`napinn init` proposes a problem file that the table can be checked against, whatever its columns are called."""

import pandas as pd
import pytest
import yaml

from napinn.cli.starting import init_command, only_table
from napinn.data.formats import read_file
from napinn.data.formats.header import header_of
from napinn.errors import InputError
from napinn.problem.file import bind_readings, load_problem_file, parse_problem
from napinn.problem.file.proposal import propose
from napinn.problem.file.roles import plain_name, roles_of


def proposed(table: pd.DataFrame):
    """The problem and readings that a proposed file comes to, as `napinn check` would have them."""
    file = parse_problem(yaml.safe_load(propose(table, "r.csv")), "problem.yaml")
    return bind_readings(file, table, "r.csv")


def test_time_and_place_give_diffusion_with_the_ranges_of_the_readings():
    problem, readings = proposed(
        pd.DataFrame({"sensor": ["a", "b", "c"], "x": [0, 1, 2], "t": [0, 3, 5], "T": [1, 2, 4]})
    )
    assert problem.coordinates == {"x": (0, 2), "t": (0, 5)}
    assert problem.fields == ("T",)
    assert problem.equations == ("T_t = D*T_xx",)
    assert problem.unknowns["D"].low == 0
    assert list(readings.sensors) == ["a", "b", "c"]


def test_dates_units_and_other_names_are_understood():
    table = pd.DataFrame(
        {
            "station": ["a", "a", "b"],
            "when": ["2024-01-01", "2024-01-02", "2024-03-01 12:00"],
            "Depth [m]": [0.5, 1.0, 2.0],
            "temp (°C)": [4.0, 5.0, 6.0],
            "note": ["", "fine", "rain"],
        }
    )
    problem, readings = proposed(table)
    assert problem.coordinates == {"t": (0.0, 60.5), "Depth": (0.5, 2.0)}
    assert problem.units == {"t": "days", "Depth": "m", "temp": "°C"}
    assert problem.equations == ("temp_t = D*d(temp, Depth, Depth)",)
    assert list(readings.sensors) == ["a", "a", "b"]


@pytest.mark.parametrize(
    ("columns", "equations"),
    [
        ("t u", ["u_t = -k*u"]),
        ("time u v", ["d(u, time) = -k_u*u", "d(v, time) = -k_v*v"]),
        ("x y p", ["p_xx + p_yy = -q"]),
        ("x y t D", ["D_t = D0*(D_xx + D_yy)"]),
        ("t k yes", ["k_t = -k_k*k", "yes_t = -k_yes*yes"]),
    ],
)
def test_equation_has_the_coordinates_that_there_are(columns, equations):
    names = columns.split()
    table = pd.DataFrame({name: [float(row + place) for row in range(3)] for place, name in enumerate(names)})
    assert list(proposed(table)[0].equations) == equations


def test_names_that_no_equation_can_hold_are_replaced_and_kept_apart():
    table = pd.DataFrame({"t": [0, 1], "a b": [1, 2], "a-b": [3, 4], "sin": [5, 6], "2m": [7, 8], "x:\n1": [9, 9]})
    problem, readings = proposed(table)
    assert len(set(problem.fields)) == 5
    assert sorted(readings.values) == [1, 2, 3, 4, 5, 6, 7, 8, 9, 9]


def test_long_table_has_the_fields_that_it_names():
    table = pd.DataFrame({"t": [0, 1, 0, 1], "field": ["u", "u", "v", "v"], "value": [1, 2, 3, 4]})
    assert proposed(table)[0].fields == ("u", "v")


def test_columns_of_a_finished_fit_and_known_deviations_are_no_fields():
    table = pd.DataFrame({"t": [0, 1], "u": [1, 2], "sigma": [1, 1], "predicted": [1, 2], "misfit": [0, 0]})
    assert proposed(table)[0].fields == ("u",)


@pytest.mark.parametrize(
    ("table", "sentence"),
    [({"u": [1.0, 2.0]}, "no column of r.csv"), ({"t": [1.0], "note": ["a"]}, "nothing is measured")],
)
def test_table_without_coordinate_or_field_is_refused(table, sentence):
    with pytest.raises(InputError, match=sentence):
        propose(pd.DataFrame(table), "r.csv")


def test_only_table_of_a_folder_is_taken_and_a_choice_is_left_to_the_user(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="no table"):
        only_table(tmp_path)
    pd.DataFrame({"t": [0, 1], "u": [1.0, 2.0]}).to_csv("my readings.csv", index=False)
    (tmp_path / "read me.txt").write_text("nothing")
    init_command(None, tmp_path / "problem.yaml", overwrite=False)
    assert load_problem_file(tmp_path / "problem.yaml").fields == ["u"]
    assert "problem.yaml 'my readings.csv'" in capsys.readouterr().out
    with pytest.raises(InputError, match="overwrite"):
        init_command(None, tmp_path / "problem.yaml", overwrite=False)
    (tmp_path / "more.csv").write_text("t,u\n")
    with pytest.raises(InputError, match="2 tables"):
        init_command(None, tmp_path / "other.yaml", overwrite=False)


def test_places_beside_time_alone_are_what_was_measured():
    roles = roles_of(pd.DataFrame({"t": [0.0, 1.0], "x": [0.1, 0.2], "y": [0.3, 0.4]}))
    assert (roles.coordinates, roles.fields) == ({"t": "t"}, {"x": "x", "y": "y"})


@pytest.mark.parametrize(
    ("cells", "written"),
    [
        (["05.03.2024 08:00", "05.03.2024 09:30", "06.03.2024 08:00"], "%d.%m.%Y %H:%M"),
        (["01/10/2024 11:45 PM", "01/11/2024 12:00 AM", "01/13/2024 12:00 AM"], "%m/%d/%Y %I:%M %p"),
        (["13/01/2024", "14/01/2024", "15/01/2024"], "%d/%m/%Y"),
        # Either order of day and month can be read; days that follow each other span less than months.
        (["03/01/2024", "04/01/2024", "05/01/2024"], "%d/%m/%Y"),
        (["2024-01-03", "2024-01-04", "2024-01-05"], None),
    ],
)
def test_dates_are_understood_as_spreadsheets_write_them(cells, written):
    table = pd.DataFrame({"Date/Time": cells, "u (mm)": [1.0, 2.0, 3.0]})
    assert roles_of(table).written == written
    problem, readings = proposed(table)
    assert readings.points[0, 0] == 0.0
    assert problem.units["u"] == "mm"


def test_without_a_named_coordinate_time_is_the_first_column_that_only_grows():
    problem, _ = proposed(pd.DataFrame({"Strom [A]": [2.0, 1.0, 3.0], "Zeit [s]": [0.0, 1.0, 2.0]}))
    assert problem.coordinates == {"t": (0.0, 2.0)}
    assert problem.units == {"Strom": "A", "t": "s"}
    assert proposed(pd.DataFrame({"day": [0, 1, 2], "cases": [3.0, 9.0, 2.0]}))[0].units == {"t": "days"}


def test_a_column_that_never_changes_within_a_sensor_is_a_place():
    table = pd.DataFrame(
        {"station": ["a", "a", "b", "b"], "pos": [1, 1, 4, 4], "time": [0, 1, 0, 1], "n": [1.0, 2.0, 3.0, 5.0]}
    )
    assert proposed(table)[0].coordinates == {"time": (0.0, 1.0), "pos": (1.0, 4.0)}
    moving = table.assign(pos=[1, 2, 4, 4])
    assert proposed(moving)[0].fields == ("pos", "n")


REAL = {
    "spreadsheet in German on Windows": (
        "Zeit [h];Fühler;x [m];Temperatur [°C]\r\n0,0;A;0,1;20,5\r\n0,5;A;0,1;20,1\r\n0,0;B;0,3;21,5\r\n"
        "0,5;B;0,3;21,0\r\n",
        "cp1252",
        ["Temperatur_t = D*Temperatur_xx"],
        {"Temperatur": 4},
    ),
    "a column for each depth, by date": (
        "timestamp,T_10cm,T_20cm\n2024-03-01 00:00:00,9.5,10.2\n2024-03-01 00:30:00,9.6,10.1\n2024-03-01 06:00,9.6,\n",
        "utf-8-sig",
        ["T_t = D*T_xx"],
        {"T": 5},
    ),
    "empty columns and rows of a spreadsheet": (
        "Date/Time,Glucose (mg/dL),,\r\n3/1/2024 8:00,250,,\r\n,,,\r\n3/1/2024 9:00,#N/A,,\r\n"
        "3/1/2024 9:30,180,,\r\n,,,\r\n",
        "utf-8-sig",
        ["Glucose_t = -k*Glucose"],
        {"Glucose": 2},
    ),
    "names of species under one time, saved by pandas": (
        ",day,species,count\n0,0,hare,30\n1,0,lynx,4\n\n2,1,hare,41\n3,1,lynx,5\n",
        "utf-8",
        ["count_t = -k*count"],
        {"count": 4},
    ),
    "lines of a logger above the header": (
        "Logger: U12\nSerial: 12345\n\ntime\tpH\tDO\n0\t7.1\t8.0\n5\t7.2\t7.9\n10\t7.2\t7.7\n",
        "utf-8",
        ["d(pH, time) = -k_pH*pH", "d(DO, time) = -k_DO*DO"],
        {"pH": 3, "DO": 3},
    ),
    "the separator named above the header": ("sep=;\nt;u\n0;1\n1;0,5\n", "utf-8", ["u_t = -k*u"], {"u": 2}),
    "what an oscilloscope writes above its table, in as many cells": (
        "Model,TBS1102B\nFirmware Version,v1.09\n\nSample Interval,2e-06\nVertical Units,V\n\n"
        "TIME,CH1\n0.0,3.3\n2e-06,3.2\n4e-06,3.1\n",
        "utf-8",
        ["d(CH1, TIME) = -k*CH1"],
        {"CH1": 3},
    ),
    "a row of units below the header": (
        "Time;Temp\ns;deg C\n0;20,5\n60;\n120;19,5\n",
        "utf-8",
        ["d(Temp, Time) = -k*Temp"],
        {"Temp": 2},
    ),
    "units in brackets below the header, and lines above it": (
        "Logger 7\nSerial 12\nt\tpH\n[min]\t(-)\n0\t7.1\n5\t7.2\n10\t7.2\n",
        "utf-8",
        ["pH_t = -k*pH"],
        {"pH": 3},
    ),
    "four rows above the table of a Campbell logger": (
        '"TOA5","CR1000","CR1000","12345","Std.27","CPU:a.CR1","1234","Table1"\n"TIMESTAMP","RECORD","Temp_C_Avg"\n'
        '"TS","RN","Deg C"\n"","","Avg"\n"2024-05-01 00:00:00",0,20.1\n"2024-05-01 00:05:00",1,"NAN"\n'
        '"2024-05-01 00:10:00",2,20.4\n',
        "utf-8",
        ["TempCAvg_t = -k*TempCAvg"],
        {"TempCAvg": 2},
    ),
    "a plate reader's sheet, filled up to one width, with a word for a reading that it did not get": (
        "Plate reader;;;;\n;;;;\nTime;A1;A2;A3;\n[h];OD600;OD600;OD600;\n0,0;0,03;0,05;0,05;\n0,5;0,03;OVRFLW;0,04;\n"
        "1,0;0,05;0,05;0,06;\n1,5;0,05;0,05;0,06;\n",
        "utf-8",
        [f"d(A{well}, Time) = -k_A{well}*A{well}" for well in (1, 2, 3)],
        {"A1": 4, "A2": 3, "A3": 4},
    ),
    "columns of white space": ("t  u\n0.0   1\n10.0  -0.5\n", "utf-8", ["u_t = -k*u"], {"u": 2}),
}
"""Tables as people have them, with their encoding, the equations that are proposed, and readings by field."""


@pytest.mark.parametrize("name", REAL)
def test_tables_as_people_have_them_are_understood(name, tmp_path):
    text, encoding, equations, counts = REAL[name]
    path = tmp_path / "readings.csv"
    path.write_bytes(text.encode(encoding))
    table = read_file(path).table
    problem, readings = proposed(table)
    assert list(problem.equations) == equations
    assert {field: len(readings.of_field(index)) for index, field in enumerate(readings.fields)} == counts


def test_names_at_one_place_each_are_sensors_and_names_under_one_time_may_be_quantities():
    fixed = pd.DataFrame(
        {"well": ["A", "A", "B", "B"], "t": [0, 1, 0, 1], "x": [0.1, 0.1, 0.5, 0.5], "h": [1.0, 2, 3, 4]}
    )
    assert roles_of(fixed).sensor == "well"
    moved = fixed.assign(x=[0.1, 0.2, 0.5, 0.6])
    assert (roles_of(moved).sensor, roles_of(moved).ignored) == (None, ["well"])
    listed = fixed.drop(columns="x")
    assert roles_of(listed).labels == "well"
    assert "field: well and value: h" in propose(listed, "r.csv")
    # A remark beside rows that differ in time names nothing.
    assert roles_of(listed.assign(t=range(4))).labels is None


@pytest.mark.parametrize(("unit", "taken"), [("h", True), ("min", True), ("W", False), ("H", False), ("S", False)])
def test_only_units_of_time_make_a_column_time(unit, taken):
    table = pd.DataFrame({f"a [{unit}]": [3.0, 1.0, 2.0], "x": [0.0, 1.0, 2.0], "u": [1.0, 2.0, 3.0]})
    assert (roles_of(table).time_column == f"a [{unit}]") is taken


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("0.0,1.0\n0.1,0.9\n", "has no header: its first row holds numbers only"),
        ("time,DO\nfast,high\n0,8.0\n1,7.9\n", "row 2, column 'time': expected a finite number, found 'fast'"),
        ('t,p\n0,"101,325.0"\n1,"99,000"\n', "column 'p': numbers such as 101,325.0 have commas between"),
        ("t,u,,\n0,1,2,3\n", "two columns without a name"),
        ("time,0,1,2\nA1,0.1,0.2,0.4\nA2,0.1,0.2,0.3\n", "'time' is named as a coordinate, but holds 'A1'"),
    ],
)
def test_a_table_that_is_not_understood_gets_the_way_to_mend_it(text, sentence, tmp_path):
    path = tmp_path / "readings.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=sentence):
        propose(read_file(path).table, path.name)


def test_a_workbook_that_is_called_csv_is_named_as_one(tmp_path):
    path = tmp_path / "readings.csv"
    path.write_bytes(b"PK\x03\x04\x14\x00\xff\xfe")
    with pytest.raises(InputError, match="is a workbook or another ZIP file, not text; save the sheet as CSV"):
        read_file(path)


def test_units_below_the_header_are_units_of_the_columns_and_said(tmp_path):
    path = tmp_path / "logger.csv"
    path.write_text("Time,Temp,Flow (L/s)\nmin,Deg C,L/s\n0,8.0,1\n1,7.9,2\n")
    sheet = read_file(path)
    assert list(sheet.table.columns) == ["Time (min)", "Temp (Deg C)", "Flow (L/s)"]
    assert "units below the header, joined with it and not counted as rows" in sheet.notes[0]
    units = proposed(sheet.table)[0].units
    assert (units["Time"], units["Temp"]) == ("min", "°C")


@pytest.mark.parametrize(
    "text",
    [
        "t,u\n0,1\n1,2\nt,u\n0,3\n1,4\n2,5\n",  # Two records one below the other: nothing may be left out.
        "t,u\n0,1x\n1,2\n2,3\n",  # A damaged first reading.
        "t,u\nfirst,run\n0,1\n1,2\n",  # One line of text more, which says nothing of where the header is.
        "site,note\nA,dry\nB,wet\nC,dry\n",  # No numbers at all.
        "t,u\ns,V\n0,1\n",  # One reading could be part of what is above it.
    ],
)
def test_a_header_is_not_sought_further_down_without_need(text):
    assert header_of(text.splitlines(), ",") is None


def test_a_row_with_too_many_cells_is_no_line_above_the_header(tmp_path):
    path = tmp_path / "readings.csv"
    path.write_text("t,u\n0,1\n1,2,3\n2,3\n3,4\n4,5\n")
    with pytest.raises(InputError, match="row 3 has 3 cells"):
        read_file(path)


def test_date_and_time_of_day_in_two_columns_are_joined_and_said(tmp_path):
    path = tmp_path / "readings.csv"
    rows = "31.01.2024;23:50:00;20,5\n01.02.2024;00:00:00;20,4\n01.02.2024;;20,3\n01.02.2024;00:20:00;20,1\n"
    path.write_text("Datum;Uhrzeit;Temp (°C)\n" + rows, encoding="utf-8")
    sheet = read_file(path)
    assert "'Datum' and 'Uhrzeit' joined in the column 'Datum Uhrzeit'" in sheet.notes[0]
    roles = roles_of(sheet.table)
    assert (roles.time_column, roles.written, roles.ignored) == (
        "Datum Uhrzeit",
        "%d.%m.%Y %H:%M:%S",
        ["Datum", "Uhrzeit"],
    )
    propose(sheet.table, path.name)
    # A table that was written with the joined column is read as it is.
    again = tmp_path / "again.csv"
    sheet.table.to_csv(again, index=False)
    assert list(read_file(again).table.columns) == list(sheet.table.columns)


@pytest.mark.parametrize(
    "header", ["day;from;to\n2024-03-01;08:00;09:00\n2024-03-02;08:00;09:00\n", "when;u\n2024-03-01;1\n2024-03-02;2\n"]
)
def test_dates_are_joined_only_with_one_column_of_times(header, tmp_path):
    path = tmp_path / "readings.csv"
    path.write_text(header)
    assert "joined" not in read_file(path).notes[0]


def test_an_empty_column_beside_dates_is_no_time_of_day():
    table = pd.DataFrame({"date": ["2024-03-01", "2024-03-02", "2024-03-03"], "T": [1.0, 2.0, 4.0], "T_qc": [None] * 3})
    assert proposed(table)[0].fields == ("T",)


@pytest.mark.parametrize(
    ("times", "counted"),
    [
        (["0:00:00", "0:30:00", "24:15:00"], ["0", "0.5", "24.25"]),
        (["00:00", "00:45", "01:30"], ["0", "0.75", "1.5"]),
        (["23:30", "00:00", "00:30"], None),
        (["1:00 AM", "2:00 AM", "3:00 AM"], None),
    ],
)
def test_a_stopwatch_is_counted_in_hours_unless_it_begins_again(times, counted, tmp_path):
    path = tmp_path / "readings.csv"
    path.write_text("Time [hh:mm:ss],OD\n" + "\n".join(f"{time},0.{row}" for row, time in enumerate(times)) + "\n")
    sheet = read_file(path)
    if counted is None:
        with pytest.raises(InputError, match="holds times of day, such as"):
            propose(sheet.table, path.name)
        return
    assert list(sheet.table["Time (h)"]) == counted
    assert "'Time [hh:mm:ss]' counted in hours in the column 'Time (h)'" in sheet.notes[0]
    assert proposed(sheet.table)[0].coordinates == {"Time": (0.0, float(counted[-1]))}


def test_a_column_of_which_all_times_have_the_same_values_is_a_place():
    table = pd.DataFrame(
        {"t": [0, 0, 0, 1, 1, 1], "Tiefe": [5, 10, 20, 5, 10, 20], "T": [9.0, 8.5, 8.0, 9.1, 8.6, 8.05]}
    )
    problem = proposed(table)[0]
    assert (problem.fields, list(problem.coordinates)) == (("T",), ["t", "Tiefe"])
    assert proposed(table.assign(Tiefe=[5, 10, 20, 5, 10, 21]))[0].fields == ("Tiefe", "T")


@pytest.mark.parametrize(
    ("columns", "fields", "deviation"),
    [
        ("t u u_err", ["u"], "u_err"),
        ("t u error", ["u"], "error"),
        ("t u v_err", ["u", "verr"], None),
        ("t u v u_err", ["u", "v", "uerr"], None),
    ],
)
def test_a_column_named_as_the_deviation_of_the_field_is_one(columns, fields, deviation):
    table = pd.DataFrame({name: [1.0, 3.0 + place, 2.0] for place, name in enumerate(columns.split())})
    roles = roles_of(table.assign(t=[0.0, 1.0, 2.0]))
    assert (list(roles.fields), roles.deviation) == (fields, deviation)


def test_deviations_that_are_not_positive_are_a_field():
    table = pd.DataFrame({"t": [0.0, 1.0, 2.0], "u": [1.0, 3.0, 2.0], "u_err": [0.1, 0.0, 0.1]})
    assert roles_of(table).deviation is None


def test_a_proposed_deviation_reaches_the_readings():
    table = pd.DataFrame({"t [s]": [0.0, 1.0, 2.0], "u [K]": [1.0, 3.0, 2.0], "u_err [K]": [0.1, 0.2, 0.1]})
    _, readings = proposed(table)
    assert readings.sigma is not None
    assert readings.sigma.tolist() == [0.1, 0.2, 0.1]


def test_numbers_of_the_rows_are_no_field_beside_a_time():
    table = pd.DataFrame({"RECORD": [7, 8, 9], "t": [0.0, 2.0, 3.0], "u": [1.0, 3.0, 2.0]})
    assert (list(roles_of(table).fields), roles_of(table).ignored) == (["u"], ["RECORD"])
    assert list(roles_of(table.assign(RECORD=[7, 9, 10])).fields) == ["RECORD", "u"]
    assert list(roles_of(table.drop(columns="t")).coordinates.values()) == ["RECORD"]


@pytest.mark.parametrize(
    ("column", "plain"),
    [
        ("x_km", ("x", "km")),
        ("depth_m", ("depth", "m")),
        ("pressure, Pa", ("pressure", "Pa")),
        ("Temp, °C (LGR S/N: 1, SEN S/N: 2)", ("Temp", "°C")),
        ("T, inner", ("T, inner", "")),
        ("u_m", ("u_m", "")),
    ],
)
def test_units_are_taken_from_names(column, plain):
    assert plain_name(column) == plain


def test_values_that_loggers_write_for_no_reading_are_listed_and_single_ones_are_not():
    level = pd.Series([12.4, 12.5, 12.3, 12.4, 12.6, 12.2, 12.5])
    table = pd.DataFrame({"t": range(10), "a": [*level, *[-9999] * 3], "b": [*level, -999, -999, 12.4]})
    assert roles_of(table).missing == [-9999]
    assert [len(proposed(table)[1].of_field(index)) for index in (0, 1)] == [7, 10]


def test_quality_flags_of_a_column_are_no_field():
    table = pd.DataFrame({"t": [0.0, 1.0, 2.0], "h": [1.0, 2.0, 3.0], "h_qc": [1, 1, 4]})
    problem, readings = proposed(table)
    assert problem.fields == ("h",)
    assert readings.flags is not None
    assert proposed(table.rename(columns={"h_qc": "b_qc"}))[0].fields == ("h", "bqc")


def test_a_mistyped_number_is_not_taken_for_a_word():
    table = pd.DataFrame({"t": range(5), "u": ["1.5", "1x5", "1.6", "1.7", "over"], "v": 1.0})
    with pytest.raises(InputError, match=r"row 3, column 'u': expected a finite number, found '1x5' \(2 such cells\)"):
        propose(table, "r.csv")


def test_columns_that_name_no_place_are_not_used_beside_those_that_do():
    table = pd.DataFrame(
        {
            "t": [0.0, 1.0],
            "BattV": [12.0, 12.1],
            "h_4m (m)": [1.0, 1.1],
            "h_9m (m)": [2.0, 2.2],
            "h_12m (m)": [3.0, 3.1],
        }
    )
    problem, readings = proposed(table)
    assert problem.fields == ("h",)
    assert sorted(set(readings.points[:, 1])) == [4.0, 9.0, 12.0]
    assert "not used: BattV" in propose(table, "r.csv")


@pytest.mark.parametrize("column", ["T at x={} m (°C)", "T_{}m", "temp @ {} m", "T x={}m"])
def test_columns_that_name_their_places_are_one_field(column):
    table = pd.DataFrame({"time (s)": [0.0, 1.0, 2.0]} | {column.format(x): [1.0, 3.0, 2.0] for x in (0.05, 0.15)})
    problem, readings = proposed(table)
    assert list(problem.coordinates) == ["time", "x"]
    assert (len(problem.fields), sorted(set(readings.points[:, 1]))) == (1, [0.05, 0.15])
