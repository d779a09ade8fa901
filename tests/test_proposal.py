"""`napinn init` proposes a problem file that the table can be checked against, whatever its columns are called."""

import pandas as pd
import pytest
import yaml

from napinn.cli.starting import init_command, only_table
from napinn.data.formats import read_file
from napinn.errors import InputError
from napinn.problem.file import bind_readings, load_problem_file, parse_problem
from napinn.problem.file.proposal import propose
from napinn.problem.file.roles import roles_of


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
        ("time,DO\ns,mg/L\n0,8.0\n1,7.9\n", "row 2, column 'time': expected a finite number, found 's'"),
        ("Datum,Uhrzeit,u\n2024-03-01,08:00,1\n2024-03-01,09:00,2\n", "join them in one column"),
        ("t,u,,\n0,1,2,3\n", "two columns without a name"),
    ],
)
def test_a_table_that_is_not_understood_gets_the_way_to_mend_it(text, sentence, tmp_path):
    path = tmp_path / "readings.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=sentence):
        propose(read_file(path).table, path.name)


def test_a_row_with_too_many_cells_is_no_line_above_the_header(tmp_path):
    path = tmp_path / "readings.csv"
    path.write_text("t,u\n0,1\n1,2,3\n2,3\n3,4\n4,5\n")
    with pytest.raises(InputError, match="row 3 has 3 cells"):
        read_file(path)
