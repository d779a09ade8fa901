"""Readings: both forms say the same, order is kept, and bad cells are named by row and column."""

import random

import numpy as np
import pandas as pd
import pytest

from napinn.data.formats import read_csv
from napinn.data.readings import Columns, check_inside, distinct_digits, order_axis, read_table, time_axis
from napinn.errors import InputError

WIDE = "sensor,x,t,u,v\na,0,0,1,10\na,0,1,2,20\nb,1,0,3,30\n"


def table(tmp_path, text):
    path = tmp_path / "r.csv"
    path.write_text(text)
    return read_csv(path)


def test_wide_and_long_forms_hold_the_same_readings(tmp_path):
    wide = read_table(table(tmp_path, WIDE), ("x", "t"), ("u", "v"))
    long_text = "sensor,x,t,field,value\na,0,0,u,1\na,0,0,v,10\na,0,1,u,2\na,0,1,v,20\nb,1,0,u,3\nb,1,0,v,30\n"
    long = read_table(table(tmp_path, long_text), ("x", "t"), ("u", "v"))
    for name in ("points", "field_index", "values", "sensors"):
        np.testing.assert_array_equal(getattr(wide, name), getattr(long, name))
    assert (wide.wide, long.wide) == (True, False)


def test_verdicts_come_back_in_the_order_of_the_file(tmp_path):
    shuffled = table(tmp_path, "note,t,u\nthird,3,30\nfirst,1,10\nsecond,2,20\n")
    readings = read_table(shuffled, ("t",), ("u",))
    annotated = readings.annotated({"reliability": readings.values / 100, "verdict": np.array(["a", "b", "c"], object)})
    assert list(annotated.columns) == ["note", "t", "u", "reliability", "verdict"]
    assert annotated["note"].tolist() == ["third", "first", "second"]
    assert annotated["reliability"].tolist() == [0.3, 0.1, 0.2]
    assert annotated["u"].tolist() == ["30", "10", "20"]


def test_each_field_of_a_wide_row_gets_its_own_verdict(tmp_path):
    readings = read_table(table(tmp_path, WIDE), ("x", "t"), ("u", "v"))
    annotated = readings.annotated({"reliability": readings.values})
    assert annotated["u_reliability"].tolist() == [1, 2, 3]
    assert annotated["v_reliability"].tolist() == [10, 20, 30]


def test_columns_of_an_earlier_fit_are_replaced(tmp_path):
    readings = read_table(table(tmp_path, "t,u,reliability,verdict\n1,2,0.5,good\n2,3,0.5,good\n"), ("t",), ("u",))
    assert list(readings.table.columns) == ["t", "u"]


def test_columns_may_have_other_names(tmp_path):
    text = "station,Depth (m),when,reading\nA,1,0,5\nA,2,0,6\n"
    columns = Columns(value="reading", sensor="station", renamed={"z": "Depth (m)", "t": "when"})
    readings = read_table(table(tmp_path, text), ("z", "t"), ("T",), columns)
    np.testing.assert_array_equal(readings.points, [[1, 0], [2, 0]])
    assert readings.sensors.tolist() == ["A", "A"]


def test_without_a_sensor_column_a_place_is_a_sensor(tmp_path):
    readings = read_table(table(tmp_path, "x,t,u\n5,0,1\n2,0,2\n5,1,3\n2,1,4\n"), ("x", "t"), ("u",))
    assert readings.sensors.tolist() == ["s1", "s2", "s1", "s2"]


@pytest.mark.parametrize(
    ("coordinates", "dated", "time", "order"),
    [
        (("x", "t"), (), 1, 1),
        (("Time", "x"), (), 0, 0),
        (("x", "day"), (), None, None),
        (("x", "day"), ("day",), 1, 1),
        (("t", "day"), ("day",), 1, 1),
        (("year",), (), 0, 0),
        (("x",), (), None, 0),
        (("depth",), (), None, 0),
        (("x", "y"), (), None, None),
    ],
)
def test_time_is_told_by_dates_names_or_standing_alone(coordinates, dated, time, order):
    assert time_axis(coordinates, dated) == time
    assert order_axis(coordinates, dated) == order


@pytest.mark.parametrize(("name", "sensors"), [("year", ["s1", "s1", "s1"]), ("x", ["s1", "s2", "s1"])])
def test_without_a_sensor_column_a_record_in_time_is_one_sensor(name, sensors):
    frame = pd.DataFrame({name: [5.0, 6.0, 5.0], "u": [1.0, 2.0, 3.0]})
    assert read_table(frame, (name,), ("u",)).sensors.tolist() == sensors


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is empty"),
        ("x,t,u\n", "has no rows"),
        ("x,u\n0,1\n", "has no column 't' for the coordinate"),
        ("x,T,u\n0,1,2\n", "did you mean 'T'?"),
        ("x,t,w\n0,1,2\n", "neither a column 'u' (wide form) nor a column 'value' (long form)"),
        ("x,t,u\n0,0,1\n0,1,abc\n", "row 3, column 'u': expected a finite number, found 'abc'"),
        ("x,t,u\n0,0,1\n0,,2\n", "row 3, column 't': expected a finite number, found nothing"),
        ("x,t,u\n0,0,\n0,1,\n", "holds no reading"),
        ("x,t,u\n0,0,1\n0,nan,2\n", "row 3, column 't'"),
        ("x,t,u\n0,0,inf\n0,1,2\n", "row 2, column 'u'"),
        ("x,t,u\n0,0,-1e999\n0,1,2\n", "row 2, column 'u'"),
        ("x,t,u\n0,0,1\n0,1,2\n0,0,1\n", "rows 2 and 4 hold the same reading"),
        ("x,t,u,u\n0,0,1,2\n", "two columns named 'u'"),
        ("x,t,u\n0,0,1,7,8\n0,1\n", "not a regular table"),
    ],
)
def test_bad_tables_are_refused_by_row_and_column(tmp_path, text, said):
    with pytest.raises(InputError) as caught:
        read_table(table(tmp_path, text), ("x", "t"), ("u",), source="r.csv")
    assert said in str(caught.value)
    assert len(str(caught.value).splitlines()) == 1


def test_a_field_that_is_not_in_the_problem_is_named(tmp_path):
    with pytest.raises(InputError, match="row 2, column 'field': 'w' is not a field"):
        read_table(table(tmp_path, "t,field,value\n0,w,1\n"), ("t",), ("u", "v"))
    with pytest.raises(InputError, match="no column 'field'"):
        read_table(table(tmp_path, "t,value\n0,1\n"), ("t",), ("u", "v"))


def test_a_reading_outside_the_box_is_named(tmp_path):
    readings = read_table(table(tmp_path, "x,t,u\n0,0,1\n2.5,1,2\n"), ("x", "t"), ("u",), source="r.csv")
    with pytest.raises(
        InputError, match=r"r.csv, row 3, column 'x': 2.5 is outside the problem's range of 'x', 0 to 1"
    ):
        check_inside(readings, (0.0, 0.0), (1.0, 1.0))


def test_the_edge_of_the_box_holds_to_single_precision():
    edges = (0.0, 0.0), (0.1, 0.3)
    grid = pd.DataFrame({"x": np.float32([0.0, 0.1]), "t": [0.0, np.arange(0.0, 0.4, 0.1)[3]], "u": [1.0, 2.0]})
    check_inside(read_table(grid, ("x", "t"), ("u",)), *edges)
    readings = read_table(grid.assign(x=[0.0, 0.1000002]), ("x", "t"), ("u",))
    with pytest.raises(InputError, match=r"0\.1000002 is outside the problem's range of 'x', 0 to 0\.1 \(1 reading"):
        check_inside(readings, *edges)


def test_files_that_are_no_tables_are_refused(tmp_path):
    (tmp_path / "b.csv").write_bytes(b"\xff\xfe\x00\x01,\n")
    for path, said in (
        (tmp_path / "none.csv", "does not exist"),
        (tmp_path, "is a folder"),
        (tmp_path / "b.csv", "UTF-8"),
    ):
        with pytest.raises(InputError, match=said):
            read_csv(path)


def test_a_table_may_come_from_pandas():
    frame = pd.DataFrame({"t": [0.0, np.nan], "u": [1.0, 2.0]})
    with pytest.raises(InputError, match=r"row 3, column 't'.*found nothing"):
        read_table(frame, ("t",), ("u",))


SCRAPS = [
    '"', ",", "\n", "\r", "\t", "\x00", "nan", "1e999", "é", "\ufeff", ";", '"\n"', "0x10", "1_000", "∞", "True",
    "\x1c",
]  # fmt: skip


def test_four_hundred_damaged_tables_are_each_read_or_refused_in_a_sentence(tmp_path):
    choose = random.Random(0)
    path = tmp_path / "damaged.csv"
    refused = 0
    for _ in range(400):
        text = "sensor,x,t,u\na,0,0,1\na,0,1,2\nb,1,0,3\n"
        for _ in range(choose.randint(1, 4)):
            at = choose.randrange(len(text) + 1)
            cut = choose.choice([0, 0, 1, 4])
            text = text[:at] + choose.choice([*SCRAPS, text[:at]]) + text[at + cut :]
        path.write_bytes(text.encode() + bytes(choose.choices(range(256), k=choose.choice([0, 0, 0, 1]))))
        said = "fine."
        try:
            read_table(read_csv(path), ("x", "t"), ("u",), source="damaged.csv")
        except InputError as error:
            refused += 1
            said = str(error)
        assert len(said.splitlines()) == 1
    assert 100 < refused < 400


def test_numbers_are_written_with_enough_digits_to_distinguish_them():
    assert distinct_digits(0.0, 3.14159265, fewest=4) == ["0", "3.142"]
    assert distinct_digits(2_460_000.0, 2_460_003.0, fewest=4) == ["2460000", "2460003"]
    assert distinct_digits(1.0, 1.0) == ["1", "1"]
