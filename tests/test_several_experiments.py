"""Several experiments: fields of their own, shared unknowns, own constants and ranges; and noise by group."""

import base64
import json

import numpy as np
import pandas as pd
import pytest

from napinn import Experiment, Problem, Unknown, bsplines, fit, law_pinn, load, save, with_experiments
from napinn.cli.checking import describe
from napinn.data.formats import read_file
from napinn.diagnostics.uncertainty.groups import FEWEST_EXPERIMENTS, groups_of
from napinn.engines.splines import engine
from napinn.engines.splines.system import System
from napinn.engines.splines.task import Task
from napinn.errors import InputError
from napinn.problem.file import bind_readings, parse_problem
from napinn.problem.file.joined import joined_tables
from napinn.report import plot
from napinn.report.html import report_html

RATE = 0.8
DECAY = {
    "coordinates": {"t": None}, "fields": ["c"], "unknowns": {"k": {"positive": True}}, "equations": ["c_t = -k*c"],
}  # fmt: skip
ENDS = {"a": 3.0, "b": 1.5}


def table_of(starts: dict[str, float], ends: dict[str, float], count: int = 30, size: float = 0.02) -> pd.DataFrame:
    rng, parts = np.random.default_rng(1), []
    for name, start in starts.items():
        t = np.linspace(0.0, ends[name], count)
        parts.append(pd.DataFrame({"experiment": name, "t": t, "c": start * np.exp(-RATE * t)}))
    table = pd.concat(parts, ignore_index=True)
    return table.assign(c=table["c"] + rng.normal(0.0, size, len(table)))


def bound(table: pd.DataFrame, **more):
    return bind_readings(parse_problem({**DECAY, **more}, "p.yaml"), table, "r.csv", "p.yaml")


TABLE = table_of({"a": 1.0, "b": 2.0}, ENDS)


@pytest.fixture(scope="module")
def both():
    return fit(*bound(TABLE), bsplines())


def test_each_experiment_has_fields_and_a_range_of_its_own():
    problem, readings = bound(TABLE)
    assert problem.fields == readings.fields == ("c@a", "c@b")
    assert problem.box_in("b") == {"t": (0.0, 1.5)}
    assert problem.show() == "∂c/∂t = −k c"
    assert [sorted(leaf.field for leaf in each.needs) for each in problem.written] == [["c@a"] * 2, ["c@b"] * 2]
    assert readings.experiments == ("a", "b")


def test_equations_count_only_inside_the_range_of_their_experiment():
    from napinn.engines.splines.cost import Meter
    from napinn.engines.splines.smoothing import first_space

    problem, readings = bound(TABLE)
    task = Task(problem, readings)
    space = first_space(task, (7,), task.fields)
    assert 1.5 in space.axes[0].breaks
    system = System(task, space, 2, np.ones(len(readings), bool), Meter())
    whole, part = system.equation_weights
    beyond = system.grid.coordinates[0] > 1.5
    assert np.all(whole > 0.0)
    assert np.all(part[beyond] == 0.0)
    assert part.sum() == pytest.approx(1.0)


def test_together_they_are_surer_than_each_alone(both):
    widths = {}
    for name in ("a", "b"):
        alone = fit(*bound(TABLE[TABLE["experiment"] == name].drop(columns="experiment")), bsplines())
        widths[name] = np.diff([alone.uncertainty.intervals["k"].low, alone.uncertainty.intervals["k"].high])[0]
    interval = both.uncertainty.intervals["k"]
    assert both.unknowns["k"] == pytest.approx(RATE, rel=0.03)
    assert interval.low < RATE < interval.high
    assert interval.high - interval.low < min(widths.values())


def test_a_saved_run_of_several_experiments_is_the_same_when_loaded(both, tmp_path):
    save(both, tmp_path)
    again = load(tmp_path)
    assert again.unknowns == both.unknowns
    assert again.problem.experiments == both.problem.experiments
    np.testing.assert_array_equal(again.predicted, both.predicted)
    sensors = again.sensors_table()
    assert list(sensors["experiment"]) == ["a", "b"]


def test_the_grid_has_no_values_beyond_the_range_of_an_experiment(both):
    grid = both.grid(7)
    beyond = grid["t"].to_numpy() > 1.5
    assert np.isnan(grid["c@b"].to_numpy()[beyond]).all()
    assert np.isfinite(grid["c@b"].to_numpy()[~beyond]).all()
    assert np.isfinite(grid["c@a"].to_numpy()).all()


def test_the_report_writes_equations_once_and_draws_nothing_beyond_the_range_of_an_experiment(both):
    page = report_html(both)
    bundle = json.loads(page.split('id="bundle">')[1].split("</script>")[0])
    numbers = np.frombuffer(base64.b64decode(bundle["field"]["values"][1]["data"]), "<i2")
    nodes = np.frombuffer(base64.b64decode(bundle["field"]["axes"]["t"]["data"]), "<f8")
    np.testing.assert_array_equal(numbers == -32_768, nodes > 1.5)
    assert bundle["field"]["high"][1] == pytest.approx(2.0, rel=0.05)
    assert page.count("<math") == 2
    curve = plot.field(both, "c@b")[0].lines[0].get_xdata()
    assert max(curve) == 1.5


def test_an_unknown_per_experiment_has_a_value_for_each():
    t = np.linspace(0.0, 3.0, 40)
    rng = np.random.default_rng(2)
    rates = {"a": 0.5, "b": 1.5}
    parts = [pd.DataFrame({"experiment": name, "t": t, "c": np.exp(-k * t)}) for name, k in rates.items()]
    table = pd.concat(parts, ignore_index=True)
    table["c"] += rng.normal(0.0, 0.01, len(table))
    result = fit(*bound(table, unknowns={"k": {"positive": True, "per": "experiment"}}), bsplines())
    assert list(result.unknowns) == ["k@a", "k@b"]
    for name, rate in rates.items():
        assert result.unknowns[f"k@{name}"] == pytest.approx(rate, rel=0.05)


@pytest.mark.parametrize("given", [{"a": 1.0, "b": 2.0}, {"column": "start"}])
def test_constants_by_experiment_are_taken_by_name_or_from_a_column(given):
    table = TABLE.assign(start=TABLE["experiment"].map({"a": 1.0, "b": 2.0}))
    problem, _ = bound(table, constants={"c0": given}, conditions=["c = c0 at t = 0"])
    values = [float(each.constants["c0"]) for each in problem.experiments.values()]
    assert values == [1.0, 2.0]
    assert len(problem.placed) == 2


def test_intervals_leave_out_whole_experiments_where_there_are_enough():
    def groups(count: int):
        names = [f"e{number}" for number in range(count)]
        table = table_of(dict.fromkeys(names, 1.0), dict.fromkeys(names, 2.0), count=8)
        _, readings = bound(table)
        return groups_of(readings, np.ones(len(readings), bool))

    enough = groups(FEWEST_EXPERIMENTS)
    assert enough.source == f"{FEWEST_EXPERIMENTS} experiments"
    assert len(np.unique(enough.label)) == FEWEST_EXPERIMENTS
    assert "experiments" not in groups(FEWEST_EXPERIMENTS - 1).source


@pytest.mark.parametrize(
    ("table", "more", "said"),
    [
        (TABLE.iloc[:31], {}, "r.csv, row 32, column 'experiment': experiment 'b' has 1 reading"),
        (TABLE.assign(experiment="a"), {"unknowns": {"k": {"per": "experiment"}}}, "p.yaml: unknown 'k' is given by"),
        (TABLE, {"constants": {"q": {"a": 1.0}}}, "p.yaml: constant 'q' has no value for experiment 'b' of r.csv"),
        (TABLE, {"constants": {"q": {"a": 1.0, "b": 1.0, "bb": 2.0}}}, "names experiment 'bb', which r.csv does not"),
        (TABLE, {"constants": {"q": {"column": "dose"}}}, "r.csv has no column 'dose' for the constant 'q'"),
        (TABLE, {"constants": {"q": {"column": "t"}}}, "r.csv, column 't': constant 'q' has the values"),
        (TABLE, {"coordinates": {"t": {"ranges": {"a": [0, 3], "c": [0, 1]}}}}, "names experiment 'c'"),
        (TABLE, {"coordinates": {"t": {"ranges": {"a": [0, 3], "b": [0, 1]}}}}, "outside the problem's range of 't'"),
        (TABLE, {"columns": {"experiment": "run"}}, "r.csv has no column 'run' for the experiment"),
        (TABLE, {"columns": {"sigma": "error"}}, "r.csv has no column 'error' for the sigma"),
        (
            TABLE,
            {"columns": {"sensor": "probe"}},
            "no column 'probe' for the sensor; known here: c, experiment, t. It is",
        ),
        (TABLE, {"noise": {"by": "labs"}}, "r.csv has no column 'labs' for the noise group"),
        (TABLE.assign(lab=["x"] * 59 + ["y"]), {"noise": {"by": "lab"}}, "noise group 'y' has 1 reading(s)"),
        (TABLE.assign(lab=["x"] * 59 + [None]), {"noise": {"by": "lab"}}, "row 61, column 'lab': the noise group is"),
    ],
)
def test_what_does_not_fit_together_is_one_sentence(table, more, said):
    with pytest.raises(InputError) as error:
        bound(table, **more)
    assert said in str(error.value)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"noise": {"bye": "lab"}}, "'noise.bye' is not an entry of a problem file; did you mean 'by'?"),
        ({"noise": "lab"}, "entry 'noise' must hold names and values"),
        ({"observables": ["y"]}, "entry 'observables' must hold names and values"),
        ({"unknowns": {"k": {"per": "sensor"}}}, "entry 'unknowns.k.per'"),
        ({"columns": {"experiments": "subject"}}, "did you mean 'experiment'?"),
        ({"constants": {"q": {"a": "high"}}}, "entry 'constants.q"),
    ],
)
def test_a_bad_entry_is_one_sentence_with_the_file(more, said):
    with pytest.raises(InputError) as error:
        parse_problem({**DECAY, **more}, "p.yaml")
    assert str(error.value).startswith("p.yaml: ")
    assert said in str(error.value)


def test_what_only_splines_take_is_refused_by_a_network():
    with pytest.raises(InputError, match="2 experiments, which only --method splines"):
        fit(*bound(TABLE), law_pinn(5))
    single = TABLE[TABLE["experiment"] == "a"].drop(columns="experiment").assign(lab=["x", "y"] * 15)
    with pytest.raises(InputError, match="several noise groups, which only --method splines"):
        fit(*bound(single, noise={"by": "lab"}), law_pinn(5))


def test_what_neither_splines_nor_a_network_take_is_refused_with_both_reasons(monkeypatch):
    monkeypatch.setattr(engine, "FIRST_BUDGET", 0.0)
    said = "too many for splines, and the problem has 2 experiments, which only splines can fit with"
    with pytest.raises(InputError, match=said):
        fit(*bound(TABLE))


def test_several_files_are_an_experiment_each(tmp_path):
    paths = [tmp_path / "monday.csv", tmp_path / "tuesday.csv"]
    for path, name in zip(paths, ("a", "b"), strict=True):
        TABLE[TABLE["experiment"] == name].drop(columns="experiment").to_csv(path, index=False)
    sheet = joined_tables(paths, read_file, "experiment")
    problem, readings = bound(sheet.table)
    assert problem.fields == ("c@monday", "c@tuesday")
    assert len(readings) == len(TABLE)
    with pytest.raises(InputError, match="two files are called 'monday'"):
        joined_tables([paths[0], paths[0]], read_file, "experiment")
    TABLE.to_csv(tmp_path / "both.csv", index=False)
    with pytest.raises(InputError, match=r"both\.csv has a column 'experiment'"):
        joined_tables([paths[0], tmp_path / "both.csv"], read_file, "experiment")


def test_check_says_back_experiments_and_noise_groups():
    table = TABLE.assign(start=TABLE["experiment"].map({"a": 1.0, "b": 2.0}))
    noise = {"by": "experiment"}
    problem, readings = bound(table, constants={"c0": {"column": "start"}}, conditions=["c = c0 at t = 0"], noise=noise)
    told = describe(problem, readings, (), [])
    assert told["experiments"]["b"] == {"readings": 30, "ranges": {"t": [0.0, 1.5]}, "constants": {"c0": 2.0}}
    assert told["noise_groups"] == {"a": 30, "b": 30}


def test_an_experiment_alone_is_refused():
    problem = Problem({"t": (0, 1)}, ("u",), ("u_t = -k*u",), {"k": Unknown()})
    with pytest.raises(InputError, match="at least 2"):
        with_experiments(problem, {"a": Experiment()})


def test_each_noise_group_has_a_scale_and_the_quiet_one_decides():
    rng = np.random.default_rng(6)
    t = np.linspace(0.0, 3.0, 200)
    sigma = np.where(np.arange(200) % 2, 0.1, 0.01)
    table = pd.DataFrame({"t": t, "c": np.exp(-RATE * t) + sigma * rng.normal(size=200)})
    table["lab"] = np.where(np.arange(200) % 2, "poor", "good")
    named = fit(*bound(table, noise={"by": "lab"}), bsplines())
    known = fit(*bound(table.assign(sigma=sigma)), bsplines())
    assert list(named.noise) == ["c@good", "c@poor"]
    assert named.noise["c@good"].scale == pytest.approx(0.01, rel=0.3)
    assert named.noise["c@poor"].scale == pytest.approx(0.1, rel=0.3)
    assert named.unknowns["k"] == pytest.approx(known.unknowns["k"], rel=0.01)
    assert named.uncertainty.intervals["k"].error == pytest.approx(known.uncertainty.intervals["k"].error, rel=0.4)


def test_groups_of_many_readings_learn_a_law_each():
    rng = np.random.default_rng(7)
    t = np.linspace(0.0, 3.0, 1000)
    noise = np.where(np.arange(1000) % 2, rng.normal(0.0, 0.01, 1000), rng.choice([-0.1, 0.1], 1000))
    table = pd.DataFrame({"t": t, "c": np.exp(-RATE * t) + noise, "lab": np.where(np.arange(1000) % 2, "one", "two")})
    result = fit(*bound(table, noise={"by": "lab"}), bsplines())
    assert result.unknowns["k"] == pytest.approx(RATE, rel=0.01)
    two = result.noise["c@two"]
    # One law has a single peak, and the other has two with nothing between them.
    assert two.pdf(np.array([0.1]))[0] > 5.0 * two.pdf(np.array([0.0]))[0]
    one = result.noise["c@one"]
    assert one.pdf(np.array([0.0]))[0] > 5.0 * one.pdf(np.array([0.1]))[0]
