"""Corruption does what its words say: exact counts, exact labels, the paper's numbers, and nothing else touched."""

import hashlib
import itertools
import json
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.integrate import cumulative_trapezoid, quad

from napinn.cli import main
from napinn.data.readings import read_table
from napinn.errors import InputError
from napinn.problem import Problem, Unknown
from napinn.studies.benchmarks.allen_cahn import allen_cahn
from napinn.studies.benchmarks.base import Benchmark
from napinn.studies.benchmarks.corruption import OUTLIER_STYLES, Corrupted, Fault, OutlierStyle, corrupt
from napinn.studies.benchmarks.faults import (
    FAULTS,
    Bias,
    Burst,
    Clipped,
    Drift,
    DropOut,
    Gain,
    Neighbours,
    Stuck,
)
from napinn.studies.benchmarks.noise import NOISES, PAPER_MIXTURE, Laplace, SimulatedNoise, StudentT

TIMES = 20
SENSORS = 225
READINGS = 2 * SENSORS * TIMES


def whole_numbers(points: np.ndarray) -> np.ndarray:
    """A truth without rounding, so that pinned digests do not depend on a machine's sine."""
    x, y, t = np.round(points.T * [[14.0], [14.0], [19.0]])
    return np.stack([x + y - 2.0 * t, x * t - 30.0], axis=1)


@pytest.fixture(scope="module")
def toy() -> Benchmark:
    problem = Problem(
        coordinates={"x": (0.0, 1.0), "y": (0.0, 1.0), "t": (0.0, 1.0)},
        fields=("u", "v"),
        equations=("u_t = k*u_xx", "v_t = v_yy"),
        unknowns={"k": Unknown(1.0)},
        name="toy",
    )
    return Benchmark(problem, whole_numbers, {"k": 2.0}, times=TIMES, paper_rejection=0.1)


def values(corrupted: Corrupted) -> np.ndarray:
    return corrupted.table[["u", "v"]].to_numpy()


def true(corrupted: Corrupted) -> np.ndarray:
    return corrupted.labels[["u_true", "v_true"]].to_numpy()


def outlier(corrupted: Corrupted) -> np.ndarray:
    return corrupted.labels[["u_outlier", "v_outlier"]].to_numpy(bool)


def fault_names(corrupted: Corrupted) -> np.ndarray:
    return corrupted.labels[["u_fault", "v_fault"]].to_numpy(object)


def std(corrupted: Corrupted) -> float:
    return corrupted.law.noise_std


# --- the paper's corruption


@pytest.mark.parametrize(
    ("seed", "share", "digest"),
    [
        (0, 0.15, "506934da3fd49e5749b45aaea886a924a38040cfe29c26402a9e2dacec495345"),
        (0, 0.0, "68a4c17abe508162fc4e704fece58d41b7ede6b7544ae29fd22def23c08dfb21"),
        (3, 0.1, "123072bc419b94379641c8232bebbd81843077a28a861bc8beedba409673a45d"),
        (7, 0.05, "f8e90d58933edd3059fabf082d35d43dcd7743f69281e84232b6c5e5e6bb14de"),
    ],
)
def test_the_default_is_bit_for_bit_what_results_were_made_with(toy, seed, share, digest):
    made = corrupt(toy, share, seed)
    assert hashlib.sha256(values(made).tobytes() + outlier(made).tobytes()).hexdigest() == digest


@pytest.mark.parametrize(
    ("seed", "share", "first"),
    [
        (0, 0.15, [0.15442702294767433, 0.07591031484255421, 0.20346983428115756, 0.08049320907960146]),
        (3, 0.1, [0.18157923539513088, 1.1504781565162332, 0.07211090270811044, 0.16650369029633927]),
        (7, 0.05, [0.1796575126374336, 0.07130203934026767, 0.16866215446965035, -0.14159885826640647]),
    ],
)
def test_the_default_on_allen_cahn(seed, share, first):
    made = corrupt(allen_cahn(), share, seed).table["u"].to_numpy()
    np.testing.assert_allclose(made[[0, 1, 777, -1]], first, rtol=1e-13)


# --- laws of noise

BREAKS = [-np.inf, -30.0, -10.0, -2.0, -1.0, 0.0, 1.0, 2.7, 10.0, 30.0, np.inf]


def moment(law: SimulatedNoise, power: int) -> float:
    def integrand(z: float) -> float:
        return z**power * law.pdf(np.array([z])).item()

    return sum(quad(integrand, low, high)[0] for low, high in itertools.pairwise(BREAKS))


@pytest.mark.parametrize("law", NOISES.values(), ids=NOISES)
def test_a_law_is_a_density_with_the_stated_mean_and_deviation(law):
    assert moment(law, 0) == pytest.approx(1.0, abs=1e-7)
    assert moment(law, 1) == pytest.approx(law.mean, abs=1e-6)
    assert moment(law, 2) - moment(law, 1) ** 2 == pytest.approx(law.std**2, rel=1e-6)


@pytest.mark.parametrize("law", NOISES.values(), ids=NOISES)
def test_samples_and_cumulative_law_follow_the_density(law):
    nodes = law.mean + law.std * np.linspace(-40.0, 40.0, 400_001)
    cumulative = cumulative_trapezoid(law.pdf(nodes), nodes, initial=0.0)
    np.testing.assert_allclose(law.cdf(nodes), cumulative, atol=1e-4)
    drawn = law.sample(np.random.default_rng(5), (100, 200))
    assert drawn.shape == (100, 200)
    assert stats.kstest(drawn.reshape(-1), lambda z: np.interp(z, nodes, cumulative)).pvalue > 0.01
    # The test has teeth: it sees a law of another shape, or one that is moved by a tenth.
    for other in (law.cdf(drawn.reshape(-1) + 0.1 * law.std), stats.norm.cdf(1.1 * drawn.reshape(-1) / law.std)):
        assert stats.kstest(other, "uniform").pvalue < 1e-6


@pytest.mark.parametrize("law", NOISES.values(), ids=NOISES)
def test_every_law_has_the_deviation_of_the_paper_in_the_field(toy, law):
    made = corrupt(toy, 0.0, 1, noise=law)
    noise = (values(made) - true(made)) / np.abs(true(made)).mean()
    assert std(made) == pytest.approx(0.673 * np.abs(true(made)).mean(), rel=1e-3)
    # A t law with three degrees of freedom has no fourth moment, so its sample deviation settles slowly.
    assert noise.std() == pytest.approx(0.673, rel=0.1 if isinstance(law, StudentT) else 0.03)


@pytest.mark.parametrize("freedom", [2.0, 0.5, -1.0, float("nan")])
def test_a_t_law_without_deviation_is_refused(freedom):
    with pytest.raises(InputError, match="more than 2"):
        StudentT(freedom)


# --- outliers


@pytest.mark.parametrize("style", OUTLIER_STYLES.values(), ids=OUTLIER_STYLES)
@pytest.mark.parametrize("share", [0.0, 0.0001, 0.07, 0.5, 0.999])
def test_the_share_of_outliers_is_exact(toy, style, share):
    made = corrupt(toy, share, 2, outlier_style=style)
    assert outlier(made).sum() == round(share * READINGS)
    assert not made.is_faulty(("u", "v")).any()


@pytest.mark.parametrize("share", [-0.1, 1.0, 1.5, float("nan")])
def test_an_impossible_share_is_refused(toy, share):
    with pytest.raises(InputError, match="share of outliers"):
        corrupt(toy, share, 0)


@pytest.mark.parametrize("law", [PAPER_MIXTURE, Laplace()])
def test_each_style_puts_the_gross_error_where_it_says(toy, law):
    noise = values(corrupt(toy, 0.0, 4, noise=law))
    made = {name: corrupt(toy, 0.3, 4, noise=law, outlier_style=style) for name, style in OUTLIER_STYLES.items()}
    hit, truth, sigma = outlier(made["one_sided"]), true(made["one_sided"]), std(made["one_sided"])
    bases = {"one_sided": truth, "additive": noise, "replacing": np.zeros_like(truth)}
    sizes = (values(made["one_sided"]) - truth)[hit]
    for name, base in bases.items():
        signed = "signed" if name == "one_sided" else f"{name}_signed"
        for style in (name, signed):
            np.testing.assert_array_equal(outlier(made[style]), hit)
            np.testing.assert_array_equal(values(made[style])[~hit], noise[~hit])
            np.testing.assert_allclose(np.abs(values(made[style]) - base)[hit], sizes, rtol=1e-9)
        assert ((values(made[name]) - base)[hit] > 0).all()
        assert ((values(made[signed]) - base)[hit] > 0).mean() == pytest.approx(0.5, abs=0.05)
    assert sizes.min() >= 3.0 * sigma
    assert sizes.max() <= 10.0 * sigma
    assert stats.kstest(sizes / sigma, stats.uniform(3.0, 7.0).cdf).pvalue > 0.01


@pytest.mark.parametrize("style", OUTLIER_STYLES.values(), ids=OUTLIER_STYLES)
@pytest.mark.parametrize("law", NOISES.values(), ids=NOISES)
def test_the_stated_law_is_that_of_all_misfits(toy, law, style):
    made = corrupt(toy, 0.25, 8, noise=law, outlier_style=style)
    nodes = std(made) * np.linspace(-60.0, 60.0, 120_001)
    cumulative = cumulative_trapezoid(made.law.pdf(nodes), nodes, initial=0.0)
    assert cumulative[-1] == pytest.approx(1.0, abs=1e-3)
    misfits = (values(made) - true(made)).reshape(-1)
    assert stats.kstest(misfits, lambda m: np.interp(m, nodes, cumulative)).pvalue > 0.01


# --- faults

SEVERAL = [kind(sensors=4) for kind in FAULTS.values()]
CHANGING = [fault for fault in SEVERAL if not isinstance(fault, DropOut)]
WITHIN = [Stuck(3, stretch=0.25), *SEVERAL]


def named(faults: list[Fault]) -> dict[str, object]:
    return {"argvalues": faults, "ids": [fault.name for fault in faults]}


def touched(before: Corrupted, after: Corrupted) -> np.ndarray:
    return values(after) != values(before)


def records(corrupted: Corrupted, mask: np.ndarray) -> dict[str, np.ndarray]:
    """Row numbers of the sensors that have a row in the mask, by sensor."""
    sensors = corrupted.table["sensor"].to_numpy()
    return {name: np.flatnonzero(sensors == name) for name in pd.unique(sensors[mask.any(axis=1)])}


def test_every_fault_has_one_sensor_by_default_and_neighbours_five():
    assert {name: kind().sensors for name, kind in FAULTS.items() if kind().sensors != 1} == {"neighbours": 5}


@pytest.mark.parametrize("fault", **named([Stuck(4, stretch=0.25), *CHANGING]))
def test_a_fault_labels_exactly_the_readings_that_it_changes(toy, fault):
    before = corrupt(toy, 0.1, 6)
    after = corrupt(toy, 0.1, 6, faults=[fault])
    changed = touched(before, after)
    assert len(records(after, changed)) == fault.sensors
    np.testing.assert_array_equal(fault_names(after), np.where(changed, fault.name, ""))
    np.testing.assert_array_equal(after.is_faulty(("u", "v")), changed.reshape(-1))
    np.testing.assert_array_equal(outlier(after)[~changed], outlier(before)[~changed])
    np.testing.assert_array_equal(true(after), true(before))
    assert after.dropped == 0


@pytest.mark.parametrize("fault", **named(WITHIN))
def test_a_seed_repeats_a_fault_and_another_seed_does_not(toy, fault):
    first, again, other = (corrupt(toy, 0.1, seed, faults=[fault]) for seed in (6, 6, 7))
    pd.testing.assert_frame_equal(first.table, again.table)
    pd.testing.assert_frame_equal(first.labels, again.labels)
    if isinstance(fault, DropOut):
        assert not first.table[["sensor", "t"]].equals(other.table[["sensor", "t"]])
    else:
        assert (fault_names(first) != fault_names(other)).any()


@pytest.mark.parametrize("fault", **named([Stuck(4), Bias(4), Drift(4), Burst(4), Neighbours(4)]))
def test_a_fault_hits_the_same_readings_whatever_stands_beside_it(toy, fault):
    alone = corrupt(toy, 0.1, 6, faults=[fault])
    where = fault_names(alone) == fault.name
    # Not beside clipped sensors: what is stuck at the end of a range reads as it would have read.
    others = [kind(30) for name, kind in FAULTS.items() if name not in (fault.name, "dropout", "clipped")]
    for faults in ([fault, *others], [*others, fault], [*reversed(others), fault]):
        together = fault_names(corrupt(toy, 0.1, 6, faults=faults))
        np.testing.assert_array_equal(np.vectorize(lambda text: fault.name in text.split("+"))(together), where)


def test_two_faults_of_one_kind_hit_sensors_of_their_own(toy):
    made = corrupt(toy, 0.0, 0, faults=[Bias(1), Bias(1)])
    assert len(records(made, fault_names(made) != "")) == 2


def test_a_reading_carries_the_names_of_all_of_its_faults_in_order(toy):
    made = corrupt(toy, 0.1, 0, faults=[Bias(SENSORS), Gain(SENSORS)])
    assert (fault_names(made) == "bias+gain").all()


@pytest.mark.parametrize(("stretch", "length"), [(None, None), (0.25, 5), (0.01, 1), (1.0, TIMES - 1)])
def test_a_stuck_sensor_repeats_its_last_value(toy, stretch, length):
    before = corrupt(toy, 0.5, 1)
    after = corrupt(toy, 0.5, 1, faults=[Stuck(40, stretch)])
    changed = touched(before, after)
    starts = set()
    for rows in records(after, changed).values():
        hit = np.flatnonzero(changed[rows, 0])
        starts.add(hit[0])
        assert (np.diff(hit) == 1).all()
        assert hit[-1] == TIMES - 1 if length is None else len(hit) == length
        np.testing.assert_array_equal(values(after)[rows[hit]], values(before)[[rows[hit[0] - 1]] * len(hit)])
    assert len(starts) > 5 or stretch == 1.0
    # What is stuck holds no gross error of its own.
    np.testing.assert_array_equal(outlier(after), outlier(before) & ~changed)


def test_a_bias_is_one_offset_for_each_field(toy):
    before, after = corrupt(toy, 0.1, 1), corrupt(toy, 0.1, 1, faults=[Bias(40, size=2.5)])
    added = (values(after) - values(before)) / std(before)
    hit = records(after, touched(before, after)).values()
    assert len(hit) == 40
    offsets = np.array([added[rows] for rows in hit])
    np.testing.assert_allclose(np.abs(offsets), 2.5, rtol=1e-9)
    np.testing.assert_allclose(np.ptp(offsets, axis=1), 0.0, atol=1e-9)
    assert (offsets > 0).any()
    assert (offsets < 0).any()


@pytest.mark.parametrize("begin", [0.0, -7.0, 5.0])
def test_a_drift_grows_evenly_from_the_first_reading_to_its_size(toy, begin):
    coordinates = {**toy.problem.coordinates, "t": (begin, begin + 2.0)}
    later = replace(toy, problem=replace(toy.problem, coordinates=coordinates))
    before, after = corrupt(later, 0.1, 1), corrupt(later, 0.1, 1, faults=[Drift(3, size=4.0)])
    added = (values(after) - values(before)) / std(before)
    hit = records(after, touched(before, after)).values()
    assert len(hit) == 3
    for rows in hit:
        expected = np.linspace(0.0, 4.0, TIMES)[:, None] * np.sign(added[rows[-1]])
        np.testing.assert_allclose(added[rows], expected, atol=1e-9)


def test_a_gain_is_one_factor(toy):
    before, after = corrupt(toy, 0.1, 1), corrupt(toy, 0.1, 1, faults=[Gain(3, size=3.0)])
    changed = touched(before, after)
    factor = 1.0 + 3.0 * std(before) / np.abs(true(before)).mean()
    np.testing.assert_allclose((values(after) / values(before))[changed], factor, rtol=1e-12)
    assert changed.sum() == 3 * TIMES * 2


def test_a_burst_is_a_stretch_of_large_noise(toy):
    before, after = corrupt(toy, 0.1, 1), corrupt(toy, 0.1, 1, faults=[Burst(SENSORS, size=5.0, stretch=0.2)])
    changed = touched(before, after)
    for rows in records(after, changed).values():
        hit = np.flatnonzero(changed[rows, 0])
        assert (np.diff(hit) == 1).all()
        assert len(hit) == 0.2 * TIMES
    added = ((values(after) - values(before)) / std(before))[changed]
    assert stats.kstest(added / 5.0, stats.norm.cdf).pvalue > 0.01


def test_a_clipped_sensor_reads_the_end_of_its_range_beyond_it(toy):
    before, after = corrupt(toy, 0.3, 1), corrupt(toy, 0.3, 1, faults=[Clipped(SENSORS, limit=2.0)])
    end = 2.0 * std(before)
    np.testing.assert_array_equal(values(after), np.clip(values(before), -end, end))
    np.testing.assert_array_equal(fault_names(after) == "clipped", np.abs(values(before)) > end)


def test_neighbours_fail_together(toy):
    centres = set()
    for seed in range(6):
        before = corrupt(toy, 0.1, seed)
        after = corrupt(toy, 0.1, seed, faults=[Neighbours(5, size=2.0)])
        changed = touched(before, after)
        hit = records(after, changed)
        times = {tuple(after.table["t"].to_numpy()[rows[changed[rows, 0]]]) for rows in hit.values()}
        assert len(times) == 1, "all from one instant on"
        assert times.pop()[-1] == 1.0
        added = ((values(after) - values(before)) / std(before))[changed.all(axis=1)]
        np.testing.assert_allclose(np.abs(added), 2.0, rtol=1e-9)
        np.testing.assert_allclose(np.ptp(added, axis=0), 0.0, atol=1e-9)
        places = after.table[["x", "y"]].to_numpy()[[rows[0] for rows in hit.values()]]
        every = np.unique(after.table[["x", "y"]].to_numpy(), axis=0)
        # Of all sensors some one has exactly these as its nearest: none left out is nearer to it than one of them.
        centre, reach = min(
            ((tuple(p), np.linalg.norm(places - p, axis=1).max()) for p in places), key=lambda pair: pair[1]
        )
        nearer = np.linalg.norm(every - centre, axis=1) < reach - 1e-9
        assert nearer.sum() < 5
        centres.add(centre)
    assert len(centres) > 3


def test_nearness_is_in_shares_of_the_array(toy):
    """One coordinate in kilometres must not decide alone who is near."""
    coordinates = {"x": (0.0, 1000.0), "y": (0.0, 1.0), "t": (0.0, 1.0)}
    stretched = replace(toy, problem=replace(toy.problem, coordinates=coordinates))
    stretched = replace(stretched, truth=lambda points: whole_numbers(points / [1000.0, 1.0, 1.0]))
    kinds = [corrupt(benchmark, 0.1, 3, faults=[Neighbours(9)]) for benchmark in (toy, stretched)]
    np.testing.assert_array_equal(*(fault_names(made) for made in kinds))


def test_rows_that_drop_out_leave_both_tables_and_are_counted(toy):
    before = corrupt(toy, 0.1, 1, faults=[Drift(10)])
    after = corrupt(toy, 0.1, 1, faults=[DropOut(7, stretch=0.3), Drift(10), DropOut(2, stretch=0.5)])
    assert after.dropped == len(before.table) - len(after.table)
    assert 7 * 6 <= after.dropped <= 7 * 6 + 2 * 10
    pd.testing.assert_index_equal(after.table.index, pd.RangeIndex(len(after.table)))
    keys = ["sensor", "x", "y", "t"]
    pd.testing.assert_frame_equal(after.table[keys], after.labels[keys])
    # What is left is what would have been there: no step noticed that rows were missing.
    left = before.table.merge(after.table, how="inner", on=keys, suffixes=("_was", ""))
    assert len(left) == len(after.table)
    np.testing.assert_array_equal(left[["u_was", "v_was"]].to_numpy(), left[["u", "v"]].to_numpy())
    assert len(read_table(after.table, ("x", "y", "t"), ("u", "v"))) == 2 * len(after.table)


def test_a_drop_out_is_one_stretch_of_a_record(toy):
    after = corrupt(toy, 0.1, 1, faults=[DropOut(SENSORS, stretch=0.3)])
    instants = np.round(19.0 * after.table["t"].to_numpy()).astype(int)
    for _, seen in pd.Series(instants).groupby(after.table["sensor"].to_numpy()):
        lost = sorted(set(range(TIMES)) - set(seen))
        assert len(lost) == 6
        assert lost[-1] - lost[0] == 5


@pytest.mark.parametrize("count", [0, -2, SENSORS + 1])
@pytest.mark.parametrize("kind", FAULTS.values(), ids=FAULTS)
def test_an_impossible_number_of_sensors_is_refused_before_the_truth_is_solved(toy, kind, count):
    def solve(points: np.ndarray) -> np.ndarray:
        raise AssertionError("asked too early")

    with pytest.raises(InputError, match=f"cannot hit {count} sensors; the benchmark has 225"):
        corrupt(replace(toy, truth=solve), 0.1, 0, faults=[Bias(), kind(count)])


@pytest.mark.parametrize("kind", FAULTS.values(), ids=FAULTS)
def test_a_fault_can_hit_every_sensor(toy, kind):
    made = corrupt(toy, 0.1, 0, faults=[kind(SENSORS)])
    assert len(set(made.table["sensor"])) == SENSORS
    assert np.isfinite(values(made)).all()


# --- command line


def napinn(monkeypatch, capfd, *arguments):
    monkeypatch.setattr(sys, "argv", ["napinn", *arguments])
    with pytest.raises(SystemExit) as stop:
        main.run()
    return (stop.value.code, *capfd.readouterr())


def test_simulate_writes_what_its_words_say(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    code, out, err = napinn(
        monkeypatch, capfd, "simulate", "allen_cahn", "--noise", "laplace", "--outliers", "0.15",
        "--outlier-style", "signed", "--fault", "drift:3", "--fault", "stuck", "--fault", "dropout:2",
        "--seed", "5", "-o", "r.csv", "--json",
    )  # fmt: skip
    assert (code, err) == (0, "")
    told = json.loads(out)
    expected = corrupt(
        allen_cahn(),
        0.15,
        5,
        noise=Laplace(),
        outlier_style=OutlierStyle(signed=True),
        faults=[Drift(3), Stuck(1), DropOut(2)],
    )
    readings, labels = pd.read_csv(told["readings"]), pd.read_csv(told["labels"], keep_default_na=False)
    pd.testing.assert_frame_equal(readings, expected.table, check_dtype=False)
    pd.testing.assert_frame_equal(labels, expected.labels, check_dtype=False)
    faulty = labels["u_fault"] != ""
    assert set(labels["u_fault"][faulty]) >= {"drift", "stuck"}
    assert (told["count"], told["dropped_rows"]) == (len(readings), 40)
    assert (told["faulty"], told["outliers"]) == (faulty.sum(), labels["u_outlier"].sum())
    assert told["faults"] == ["drift:3", "stuck", "dropout:2"]

    code, out, _ = napinn(monkeypatch, capfd, "simulate", "allen_cahn", "--fault", "dropout", "-o", "s.csv")
    assert code == 0
    assert "20 rows dropped out" in out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--noise", "gausian"], "there is no noise 'gausian'; did you mean 'gaussian'?"),
        (["--outlier-style", "onesided"], "there is no outlier style 'onesided'; did you mean 'one_sided'?"),
        (["--fault", "drfit:2"], "there is no fault 'drfit'; did you mean 'drift'?"),
        (["--fault", "drift:0"], "cannot hit 0 sensors"),
        (["--fault", "stuck", "--fault", "drift:226"], "choose from 1 to 225"),
        (["--fault", "drift:many"], "'many' in the fault 'drift:many' is not a number of sensors"),
        (["--fault", "drift:"], "is not a number of sensors"),
        (["--fault", "drift:1.5"], "is not a number of sensors"),
    ],
)
def test_bad_words_get_a_sentence_and_write_nothing(tmp_path, monkeypatch, capfd, arguments, said):
    monkeypatch.chdir(tmp_path)
    code, out, err = napinn(monkeypatch, capfd, "simulate", "allen_cahn", *arguments)
    assert (code, out) == (2, "")
    assert said in " ".join(err.split())
    assert not list(tmp_path.iterdir())


def test_help_names_everything_there_is(monkeypatch, capfd):
    monkeypatch.setenv("COLUMNS", "200")
    code, out, _ = napinn(monkeypatch, capfd, "simulate", "--help")
    assert code == 0
    assert {name for name in (*NOISES, *OUTLIER_STYLES, *FAULTS) if name not in out} == set()


def test_scale_of_the_noise_takes_outliers_and_law_with_it(toy):
    usual, small = (corrupt(toy, 0.2, 3, noise=Laplace(), noise_scale=scale) for scale in (1.0, 0.25))
    truth = usual.labels["u_true"].to_numpy()
    misfits = [found.table["u"].to_numpy() - truth for found in (usual, small)]
    np.testing.assert_allclose(misfits[1], 0.25 * misfits[0], atol=1e-12)
    assert small.law.noise_std == pytest.approx(0.25 * usual.law.noise_std)
    np.testing.assert_allclose(small.law.noise_pdf(np.array([0.1])), 4 * usual.law.noise_pdf(np.array([0.4])))
