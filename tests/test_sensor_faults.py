"""Faults of the kind that begin and end, models that are told apart, and the noise of each sensor."""

import numpy as np
import pandas as pd
import pytest

from napinn.data.readings import Readings, read_table
from napinn.diagnostics.sensors import judge_sensors, noisy_scales, sensor_scales
from napinn.diagnostics.sensors.changes import SHORTEST, best_change
from napinn.diagnostics.sensors.robust import SensorGroups, compared, effective_share, normal_scores, robust_lines
from napinn.problem import Problem
from napinn.results.verdicts import SensorVerdict, Verdict

NOISE = 0.3
ROD = Problem(
    coordinates={"x": (0.0, 1.0), "t": (0.0, 160.0)},
    fields=("T",),
    equations=("T_t = T_xx",),
    units={"T": "K", "t": "d"},
)


class Rod:
    """Healthy thermometers with one gross error in twenty, one reading a day; T3 is there to be spoilt."""

    def __init__(self, seed: int = 0, sensors: int = 10, days: int = 160) -> None:
        rng = np.random.default_rng(seed)
        self.day = np.linspace(0.0, 160.0, days + 1)[:-1]
        self.names = [f"T{number}" for number in range(sensors)]
        place = np.linspace(0.05, 0.95, sensors)[:, None]
        self.true = 3.0 * np.sin(2 * np.pi * (self.day / 50.0 - place)) + 2.0 * np.cos(self.day / 9.0 + 3.0 * place)
        self.noise = NOISE * rng.normal(size=self.true.shape)
        gross = rng.random(self.true.shape) < 0.05
        self.noise[gross] += NOISE * rng.uniform(4.0, 12.0, int(gross.sum()))
        self.values = self.true + self.noise
        self.places = np.broadcast_to(place, self.true.shape)

    @property
    def readings(self) -> Readings:
        sensor = np.repeat(self.names, len(self.day))
        day = np.tile(self.day, len(self.names))
        table = {"sensor": sensor, "x": self.places.reshape(-1), "t": day, "T": self.values.reshape(-1)}
        return read_table(pd.DataFrame(table), ("x", "t"), ("T",))

    def judged(self, field: np.ndarray | None = None) -> dict[str, SensorVerdict]:
        field = self.true if field is None else field
        return {one.sensor: one for one in judge_sensors(ROD, self.readings, field.reshape(-1))}

    def named(self) -> SensorVerdict:
        """The verdict on T3, which alone may be faulty."""
        found = self.judged()
        assert [name for name, one in found.items() if one.verdict.faulty and name != "T3"] == []
        return found["T3"]

    def excluded(self, said: SensorVerdict) -> np.ndarray:
        """(days,): which readings of T3 are not believed."""
        bad = np.zeros(self.true.size, bool)
        bad[said.excluded] = True
        assert not np.delete(bad.reshape(self.true.shape), 3, axis=0).any()
        return bad.reshape(self.true.shape)[3]


@pytest.mark.parametrize(
    ("first", "last", "said"),
    [(60, 160, "from t = 60 d on"), (60, 100, "over t = 60 to 99 d"), (0, 50, "until t = 49 d")],
)
def test_a_step_condemns_the_readings_inside_it_alone(first: int, last: int, said: str) -> None:
    for seed in range(5):
        rod = Rod(seed)
        inside = (rod.day >= first) & (rod.day < last)
        rod.values[3, inside] += 1.5
        found = rod.named()
        assert found.verdict is Verdict.STEP
        assert abs(float(found.evidence.split("reads ")[1].split(" K too high")[0]) - 1.5) < 0.2
        assert (rod.excluded(found) != inside).sum() <= 3
        assert seed or said in found.evidence


@pytest.mark.parametrize(("followed", "all_of_it"), [(0.2, False), (0.45, True)])
def test_a_step_that_the_field_has_followed_is_wholly_condemned(followed: float, all_of_it: bool) -> None:
    """Where the field lies midway, nothing says which part of the record is wrong."""
    rod = Rod(1)
    rod.values[3, 80:] += 3.0
    field = rod.true.copy()
    field[3] += 3.0 * followed
    found = rod.judged(field)["T3"]
    assert found.verdict is Verdict.STEP
    assert rod.excluded(found)[:75].all() == all_of_it
    assert rod.excluded(found)[85:].all()


def test_a_burst_condemns_the_readings_inside_it_alone() -> None:
    rod = Rod(2, days=400)
    rod.values[3, 150:250] += 6.0 * NOISE * np.random.default_rng(9).normal(size=100)
    found = rod.named()
    assert found.verdict is Verdict.BURST
    bad = rod.excluded(found)
    assert bad[155:245].all()
    assert not bad[:140].any()
    assert not bad[260:].any()
    assert "against 0.3" in found.evidence


def test_a_drift_beside_an_offset_is_told_from_a_gain_beside_an_offset() -> None:
    rod = Rod(3)
    rod.values[3] += 1.0 + 0.01 * rod.day
    found = rod.named()
    assert found.verdict is Verdict.DRIFTING
    assert "too high at the start" in found.evidence
    assert abs(float(found.evidence.split(", ")[1].split(" K per d")[0]) - 0.01) < 0.002
    rod = Rod(3)
    rod.values[3] += 1.0 + 0.3 * rod.true[3]
    found = rod.named()
    assert found.verdict is Verdict.GAIN
    gain, offset = found.evidence.split("reading = ")[1].split(" K)")[0].split(" × field + ")
    assert abs(float(gain) - 1.3) < 0.05
    assert abs(float(offset) - 1.0) < 0.15


@pytest.mark.parametrize(("size", "word"), [(0.4, Verdict.FINE), (0.8, Verdict.OFFSET)])
def test_an_offset_matters_from_half_the_noise_on(size: float, word: Verdict) -> None:
    rod = Rod(4, days=2000)
    rod.values[3] += size * NOISE
    assert rod.named().verdict is word


@pytest.mark.parametrize(("times", "word"), [(1.6, Verdict.FINE), (3.0, Verdict.NOISY)])
def test_a_sensor_is_noisy_from_twice_the_typical_noise_on_and_keeps_its_readings(times: float, word: Verdict) -> None:
    rod = Rod(5, days=600)
    rod.values[3] += (times - 1.0) * rod.noise[3]
    found = rod.named()
    assert found.verdict is word
    assert found.excluded.size == 0


def test_misfits_that_follow_each_other_are_no_fault() -> None:
    """Noise with a memory of three readings wanders as a drifting sensor does."""
    for seed in range(5):
        rod = Rod(seed)
        wander = np.random.default_rng(seed).normal(size=rod.true.shape)
        for day in range(1, 160):
            wander[:, day] = 0.7 * wander[:, day - 1] + 0.7 * wander[:, day]
        rod.values = rod.true + NOISE * wander
        assert rod.named().verdict is Verdict.FINE


def test_many_faults_at_once_do_not_hide_each_other() -> None:
    rod = Rod(6)
    rod.values[0] += 1.5 * rod.day / 160.0
    rod.values[3, 60:] -= 1.5
    rod.values[5] += 0.3 * rod.true[5]
    rod.values[7, 60:110] = rod.values[7, 60]
    rod.values[8] += 2.0 * rod.noise[8]
    found = {name: one.verdict for name, one in rod.judged().items() if one.verdict.faulty}
    assert found == {
        "T0": Verdict.DRIFTING, "T3": Verdict.STEP, "T5": Verdict.GAIN, "T7": Verdict.STUCK, "T8": Verdict.NOISY
    }  # fmt: skip


@pytest.mark.parametrize("count", [40, 1000])
def test_the_stretch_that_differs_is_found_to_a_reading(count: int) -> None:
    scores = np.tile([0.1, -0.1], count // 2)
    first, last = int(0.3 * count), int(0.55 * count)
    scores[first:last] += 2.0
    found = best_change(scores)
    assert found is not None
    assert (found.start, found.stop, found.changes) == (first, last, 2)
    scores[last:] += 2.0
    found = best_change(scores)
    assert found is not None
    assert (found.changes, {found.start, found.stop}) == (1, {0, first})
    assert (found.complement.start, found.complement.stop) == (first, count)


@pytest.mark.parametrize(("count", "exists"), [(2 * SHORTEST - 1, False), (2 * SHORTEST, True)])
def test_a_stretch_has_five_readings_and_as_many_beside_it(count: int, exists: bool) -> None:
    found = best_change(np.arange(count, dtype=float))
    assert (found is not None) == exists
    assert found is None or found.stop - found.start >= SHORTEST


def test_lines_are_not_moved_by_one_gross_error_in_seven() -> None:
    rng = np.random.default_rng(0)
    groups = SensorGroups(np.array([200, 300]))
    x = np.concatenate([np.linspace(0.0, 1.0, 200), np.linspace(0.0, 1.0, 300)])
    y = np.repeat([1.0, -2.0], groups.counts) + np.repeat([3.0, 0.0], groups.counts) * x + 0.1 * rng.normal(size=500)
    y[::7] += 5.0
    lines = robust_lines(y, x, groups, 1e-6)
    np.testing.assert_allclose(lines.levels, [1.0, -2.0], atol=0.06)
    np.testing.assert_allclose(lines.rises, [3.0, 0.0], atol=0.08)


def test_scores_and_shares_are_those_of_independent_normal_readings() -> None:
    rng = np.random.default_rng(0)
    assert np.std(normal_scores(rng.exponential(size=5000))) == pytest.approx(1.0, abs=0.01)
    groups = SensorGroups(np.full(10, 500))
    white = rng.normal(size=5000)
    assert effective_share([white], groups) == pytest.approx(1.0, abs=0.1)
    wander = white.copy()
    for number in range(1, 5000):
        wander[number] = 0.5 * wander[number - 1] + white[number]
    assert effective_share([wander], groups) == pytest.approx(1.0 / 3.0, abs=0.05)
    assert effective_share([wander, white], groups) == pytest.approx(1.0, abs=0.1)


def test_fewer_sensors_have_to_stand_out_further() -> None:
    for count, height, odd in ((4, 8.0, False), (40, 8.0, True)):
        effects = np.append(np.tile([-0.6745, 0.6745], count // 2), height)
        typical = np.arange(count + 1) < count
        assert compared(effects, np.zeros(count + 1), typical).odd(1e-5)[-1] == odd


def scales(rod: Rod) -> np.ndarray:
    found = sensor_scales(rod.readings, (rod.values - rod.true).reshape(-1)).reshape(rod.true.shape)
    assert (found == found[:, :1]).all()
    return found[:, 0]


def test_sensors_that_are_alike_share_one_scale() -> None:
    for seed in range(5):
        assert (scales(Rod(seed)) == 1.0).all()


def test_a_noisy_sensor_has_a_scale_of_its_own_and_others_keep_theirs() -> None:
    rod = Rod(0)
    rod.values[3] += 2.0 * rod.noise[3]
    found = scales(rod)
    assert found[3] == pytest.approx(3.0, rel=0.2)
    np.testing.assert_allclose(np.delete(found, 3), 1.0, atol=0.1)


def test_a_fault_of_the_level_is_no_noise() -> None:
    rod = Rod(0)
    rod.values[3, 60:] += 1.5
    rod.values[5] += 1.5 * rod.day / 160.0
    rod.values[7, 60:110] = rod.values[7, 60]
    np.testing.assert_allclose(scales(rod), 1.0, atol=0.15)


def test_no_sensor_counts_as_more_precise_than_half_the_typical_noise() -> None:
    rod = Rod(0)
    rod.values[3] = rod.true[3] + 0.1 * rod.noise[3]
    assert scales(rod)[3] == 0.5


@pytest.mark.parametrize(("days", "own"), [(9, False), (40, True)])
def test_a_scale_of_its_own_takes_ten_readings(days: int, own: bool) -> None:
    rod = Rod(0, days=days)
    rod.values[3] += 9.0 * rod.noise[3]
    assert (scales(rod)[3] > 2.0) == own


def test_only_noisy_sensors_are_weighed_by_their_own_noise() -> None:
    rod = Rod(0)
    rod.values[3] += 2.0 * rod.noise[3]
    rod.values[5] = rod.true[5] + 0.5 * rod.noise[5]
    found = noisy_scales(rod.readings, rod.true.reshape(-1), tuple(rod.judged().values())).reshape(rod.true.shape)
    assert (found[3] > 2.4).all()
    assert (np.delete(found, 3, axis=0) == 1.0).all()
