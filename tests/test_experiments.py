"""Studies: every one runs at its smallest, writes its three files, and the paper's numbers stand beside ours."""

import fcntl
import json
import math
import os
from typing import Any

import numpy as np
import pandas as pd
import pytest

from napinn.engines.network.training import FixedCost, Method, PhaseKind
from napinn.errors import InputError, StorageError
from napinn.field.backbones import BayesianMLP
from napinn.studies.jobs import JobOutcome, Status, local
from napinn.studies.paper.cases import SLICE_SIDE, Case, injected_density, packed, unpacked
from napinn.studies.paper.catalogue import OF_SPLINES, OF_STEPS, catalogue, left_out
from napinn.studies.paper.pictures import LOG_FROM, by_ratio, maps
from napinn.studies.paper.presets import PRESETS
from napinn.studies.paper.reproduce import Setting, reproduce, write_study
from napinn.studies.paper.studies import REPEATS, STUDIES
from napinn.studies.paper.tables import against_rivals, coefficients, confusion, errors, paper, seeds_run, spread

UNFINISHED = ("pinn", "b_pinn", "lad_pinn", "mad_pinn", "clean")
"""What is done of a study that was stopped before its naPINN."""
COLUMNS = [
    "benchmark", "method", "backbone", "density", "loss", "noise", "ratio", "seed", "preset", "steps", "rmae", "rmse",
    "unknowns", "flags", "seconds",
]  # fmt: skip


@pytest.fixture(scope="module")
def smoke(tmp_path_factory):
    """All studies at the smallest preset. Workers of one run share a folder, and so each fit is made by one of them.

    One process fits all: fits within a process share compiled programs, and the other core runs other tests."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "smoke-studies"
    with open(folder.with_suffix(".lock"), "w") as turn, pytest.MonkeyPatch.context() as patch:
        patch.setattr(local, "LONG_ENOUGH", math.inf)
        fcntl.flock(turn, fcntl.LOCK_EX)
        return folder, reproduce("all", "smoke", folder, workers=1)


def test_every_study_writes_its_table_and_picture(smoke):
    folder, written = smoke
    assert [study.study for study in written] == list(STUDIES)
    for study in written:
        assert study.failed == ()
        assert study.fits > 0
        table = pd.read_csv(folder / f"{study.study}.csv")
        if study.study == "cost":
            assert (table[["pinn_ms", "na_pinn_ms", "times"]] > 0.0).all(axis=None)
        else:
            assert set(COLUMNS) <= set(table.columns)
            assert table["rmse"].between(0, 10).all()
            assert all(json.loads(text) for text in table["unknowns"])
        assert f"napinn reproduce {study.study} --preset smoke" in (folder / f"{study.study}.md").read_text()
        assert (folder / f"{study.study}.png").stat().st_size > 2_000


def test_a_fit_is_run_once_however_many_studies_ask_for_it(smoke):
    folder, written = smoke
    stored = {path.parent.name for path in folder.glob("fits/*/outcome.json")}
    asked = [case.job().name for study in STUDIES.values() for case in study.cases(PRESETS["smoke"])]
    assert stored == set(asked)
    assert len(asked) > 1.5 * len(stored)
    times = {path: path.stat().st_mtime_ns for path in folder.glob("fits/*/outcome.json")}
    again = reproduce("confusion", "smoke", folder)
    assert again[0].files == written[list(STUDIES).index("confusion")].files
    assert all(path.stat().st_mtime_ns == then for path, then in times.items())


def test_an_unfinished_study_says_so(tmp_path, smoke):
    folder, _ = smoke
    cases = [case for case in STUDIES["main"].cases(PRESETS["smoke"]) if case.label in UNFINISHED]
    (tmp_path / "fits").mkdir()
    for name in (case.job().name for case in cases):
        (tmp_path / "fits" / name).symlink_to(folder / "fits" / name)
    written = reproduce("all", "smoke", tmp_path, only_finished=True)
    assert sum(study.fits < study.expected for study in written) > 3
    for study in written:
        unfinished = 0 < study.fits < study.expected
        assert unfinished == (study.fits > 0 and "Not finished" in (tmp_path / f"{study.study}.md").read_text())
    assert len(list((tmp_path / "fits").iterdir())) == 5


def test_a_part_of_a_study_is_run_alone_and_written_beside_what_is_finished(tmp_path, smoke):
    folder, _ = smoke
    before = next(case for case in STUDIES["backbones"].cases(PRESETS["smoke"]) if case.label == "fls/pinn")
    (tmp_path / "fits").mkdir()
    (tmp_path / "fits" / before.job().name).symlink_to(folder / "fits" / before.job().name)
    (written,) = reproduce("backbones", "smoke", tmp_path, matching="allen_cahn/mlp/p*/15")
    assert sorted(pd.read_csv(written.files[0])["label"]) == ["fls/pinn", "mlp/pinn"]
    assert (written.fits, written.expected) == (2, 4)
    with pytest.raises(
        InputError, match="no fit here is called 'allen_cahn/mlb/pinn'; did you mean 'allen_cahn/mlp/pinn'"
    ):
        reproduce("backbones", "smoke", tmp_path, matching="allen_cahn/mlb/pinn")
    with pytest.raises(InputError, match="did you mean 'allen_cahn/mlp/pinn/15'"):
        reproduce("backbones", "smoke", tmp_path, matching="allen_cahn/mlp/pinn/10")


def row_of(case: Case) -> dict[str, Any]:
    """What a fit leaves, as far as tables and pictures look at it."""
    flat = [0.5] * SLICE_SIDE**2
    return {
        "benchmark": case.benchmark, "ratio": case.ratio, "seed": case.seed, "rmse": 0.2, "rmae": 0.1, "seconds": 30.0,
        "unknowns": {"k": 0.3}, "commit": "abc", "machine": "here",
        "pinn_ms": 5.0, "na_pinn_ms": 6.0, "times": 1.2, "times_low": 1.19, "times_high": 1.21, "rounds": 15,
        "chunk": 20, "other_cores": 0.1,
        "extras": {"slices": [{"t": 0.5, "true": flat, "fitted": flat}]},
    }  # fmt: skip


@pytest.mark.parametrize(
    ("study", "done", "line"),
    [
        ("cost", {("burgers", "na_pinn/pinn")}, "| Burgers | 5.0 | 6.0 | 1.200 (1.190–1.210) | 42.3 | 47.8 | 1.130 |"),
        ("fields", {("allen_cahn", "na_pinn"), ("burgers", "pinn")}, "| pinn | – / 0.682 | 0.200 / 0.547 |"),
        ("main", {("allen_cahn", "clean")}, "PINN on clean readings: Allen–Cahn 0.200 / 0.069."),
    ],
)
def test_a_study_is_written_whichever_of_its_fits_are_finished(tmp_path, study, done, line):
    """As after Ctrl-C, or where one fit has failed."""
    cases = list(STUDIES[study].cases(PRESETS["quick"]))
    outcomes = {
        case.job().name: JobOutcome(case.job(), Status.DONE, row_of(case), None, 1.0, 1)
        for case in cases
        if (case.benchmark, case.label) in done
    }
    written = write_study(STUDIES[study], cases, outcomes, PRESETS["quick"], tmp_path)
    assert [path.suffix for path in written.files] == [".csv", ".md", ".png"]
    assert line in (tmp_path / f"{study}.md").read_text()
    with pytest.raises(StorageError, match=rf"the study '{study}' could not be written to .*gone: "):
        write_study(STUDIES[study], cases, outcomes, PRESETS["quick"], tmp_path / "gone")


def network_of(case: Case) -> Method:
    assert isinstance(case.method, Method)
    return case.method


def test_presets_hold_what_the_paper_prints():
    cases = [case for case in STUDIES["main"].cases(PRESETS["paper"]) if case.label == "na_pinn"]
    assert len(cases) == 3 * 3 * 10
    methods = {case.benchmark: network_of(case) for case in cases}
    method = methods["burgers"]
    assert {each.rejection for each in methods.values()} == {FixedCost(0.5)}
    assert (method.steps, method.collocation_batch, method.reading_batch) == (30_000, 4_000, 1_000)
    assert [phase.steps for phase in method.phases if phase.kind is PhaseKind.LAW] == [5_000]
    quick = network_of(next(STUDIES["main"].cases(PRESETS["quick"])))
    assert (quick.steps, quick.collocation_batch, quick.reading_batch) == (10_000, 1_024, 1_024)


def test_the_papers_numbers_are_at_hand():
    assert paper()["main", "na_pinn", "allen_cahn", 0.15, "rmse"] == 0.127
    assert paper()["main", "clean", "reaction_diffusion", 0.0, "rmse"] == 0.047
    assert paper()["confusion", "na_pinn", "allen_cahn", 0.1, "normal_rejected"] == 152
    assert paper()["noise_laws", "na_pinn+absolute@gaussian", "reaction_diffusion", 0.15, "rmse"] == 0.064


def test_unknown_names_are_refused_in_a_sentence(tmp_path):
    with pytest.raises(InputError, match="did you mean 'main'"):
        reproduce("mian", "smoke", tmp_path)
    with pytest.raises(InputError, match="did you mean 'quick'"):
        reproduce("main", "quik", tmp_path)


def table_of(values: dict[tuple[str, float], list[float]]) -> pd.DataFrame:
    """Rows of Allen–Cahn by label and ratio, one a seed; rMSE and rMAE are alike."""
    return pd.DataFrame(
        [
            {"label": label, "benchmark": "allen_cahn", "ratio": ratio, "seed": seed, "rmse": value, "rmae": value}
            for (label, ratio), found in values.items()
            for seed, value in enumerate(found)
        ]
    )


def test_tables_have_deviations_and_mark_the_best_before_rounding():
    text = against_rivals(
        table_of({("pinn", 0.05): [0.30004, 0.30004], ("lad_pinn", 0.05): [0.2, 0.4], ("na_pinn", 0.05): [0.1, 0.2]}),
        "main",
    )
    assert "| na_pinn | **0.150** (0.071) / 0.101 |" in text
    # Both round to 0.300; the mean of the second is smaller.
    assert "| lad_pinn | <u>0.300</u> (0.141) / 0.233 |" in text
    assert "| pinn | 0.300 (0.000) / 0.267 |" in text
    # Ours against LAD-PINN; by the paper's numbers of the methods in the table, against LAD-PINN too.
    assert f"| *improvement* | 50.0 % / {100 * (1 - 0.101 / 0.233):.1f} % |" in text
    alone = errors(table_of({("pinn", 0.05): [0.3]}), "main")
    assert "| pinn | 0.300 / 0.267 |" in alone


def test_own_engines_stand_below_the_papers_methods_and_take_no_rank():
    values = {("pinn", 0.05): [0.3], ("na_pinn", 0.05): [0.2], ("law_pinn", 0.05): [0.1], ("splines", 0.05): [0.05]}
    text = against_rivals(table_of(values), "main")
    assert "| na_pinn | **0.200** / 0.101 |" in text
    assert "| pinn | <u>0.300</u> / 0.267 |" in text
    assert text.index("*improvement* | 33.3 %") < text.index("| law_pinn | 0.100 |") < text.index("| splines | 0.050 |")
    assert "napinn's own two engines" in text
    assert "engines" not in against_rivals(table_of({("pinn", 0.05): [0.3]}), "main")


def test_every_system_of_the_paper_has_a_video():
    cases = list(STUDIES["video"].cases(PRESETS["quick"]))
    assert [case.benchmark for case in cases] == ["allen_cahn", "burgers", "reaction_diffusion"]


def test_one_legend_names_what_only_some_panels_show():
    rows = table_of({("ebm", 0.05): [0.1], ("gmm", 0.05): [0.2]})
    rows = pd.concat([rows, rows[rows["label"] == "ebm"].assign(benchmark="burgers")])
    panels = by_ratio(rows).axes
    legend = panels[-1].get_legend()
    assert legend is not None
    assert [text.get_text() for text in legend.get_texts()] == ["ebm", "gmm"]
    assert len(panels[-1].get_legend_handles_labels()[1]) == 1


def test_posteriors_may_begin_narrower():
    setting = Setting(posterior_start=0.02)
    assert setting.options == ["--posterior-start 0.02"]
    for case in STUDIES["main"].cases(PRESETS["quick"]):
        changed = setting.of(case)
        assert (changed.job() != case.job()) == (case.label == "b_pinn")
        if case.label == "b_pinn":
            backbone = network_of(changed).backbone
            assert isinstance(backbone, BayesianMLP)
            assert np.log1p(np.exp(backbone.raw_start)) == pytest.approx(0.02)


@pytest.mark.parametrize(("times", "scale"), [(0.9, "linear"), (1.1, "log")])
def test_an_axis_of_errors_is_logarithmic_where_two_labels_fit_on_it(times, scale):
    (axes,) = by_ratio(table_of({("a", 0.05): [0.1], ("b", 0.05): [0.1 * times * LOG_FROM]})).axes
    assert axes.get_yscale() == scale
    assert axes.get_xticks().tolist() == [5.0]


def test_small_errors_have_deviations_as_exact_as_they_are():
    assert spread(pd.Series([0.0005, 0.0007])) == "0.0006 (0.000141)"
    assert spread(pd.Series([0.1, 0.2])) == "0.150 (0.071)"


def test_the_papers_counts_stand_beside_the_same_share_of_outliers_only():
    row = {"benchmark": "allen_cahn", "ratio": 0.1, "seed": 0, "outliers": 20, "outliers_flagged": 19,
           "good_readings": 80, "good_flagged": 2}  # fmt: skip
    assert "| outlier | 19 / 2,209 | 1 / 41 |" in confusion(pd.DataFrame([row]), "confusion")
    assert "| outlier | 19 | 1 |" in confusion(pd.DataFrame([row | {"ratio": 0.15}]), "confusion")


def test_maps_without_a_snapshot_say_so():
    figure = maps(pd.DataFrame([{"label": "pinn", "benchmark": "allen_cahn", "extras": {}}]))
    assert figure.texts[0].get_text() == "No fit with snapshots is finished."


def test_a_column_a_law_and_the_best_of_each():
    values = {("pinn@laplace", 0.15): [0.3], ("na_pinn@laplace", 0.15): [0.2], ("pinn@gaussian", 0.15): [0.1],
              ("na_pinn@gaussian", 0.15): [0.15]}  # fmt: skip
    text = errors(table_of(values), "noise_laws")
    assert "| pinn | <u>0.300</u> | **0.100** |" in text
    assert "| na_pinn | **0.200** | <u>0.150</u> |" in text


def test_the_coefficient_is_ranked_by_its_distance_to_the_truth():
    rows = table_of({("pinn", 0.05): [0.1], ("na_pinn", 0.05): [0.1]})
    rows["unknowns"] = [{"eps": 0.29}, {"eps": 0.302}]  # pyright: ignore[reportCallIssue]
    text = coefficients(rows, "coefficient")
    assert "| na_pinn | **0.3020** / 0.2980 |" in text
    assert "| na_pinn | **0.0020** / 0.0021 |" in text
    assert "| pinn | <u>0.0100</u> / 0.0087 |" in text


def test_captions_count_the_seeds_that_were_run():
    assert seeds_run(table_of({("a", 0.1): [1.0], ("b", 0.1): [1.0]})) == "one seed (0)"
    assert seeds_run(table_of({("a", 0.1): [1.0] * 3})) == "3 seeds (0, 1, 2)"
    assert seeds_run(table_of({("a", 0.1): [1.0] * 3, ("b", 0.1): [1.0]})) == (
        "1 to 3 seeds a number (of seeds 0, 1, 2)"
    )


def test_the_list_says_what_a_study_repeats_and_what_a_preset_leaves_out(tmp_path):
    listed = {line.study: line for line in catalogue(PRESETS["quick"], tmp_path)}
    assert list(listed) == list(STUDIES)
    assert set(STUDIES) - set(REPEATS) == {"default", "ablation"}
    assert listed["main"].repeats == "Table 1"
    # 63 of the paper's methods, 3 of clean readings, and napinn's network and splines.
    assert (listed["main"].fits, listed["main"].done) == (66 + 9 + 3, 0)
    assert listed["main"].seconds == 75 * PRESETS["quick"].seconds + 3 * OF_SPLINES
    assert listed["cost"].seconds == 3 * OF_STEPS
    assert left_out(STUDIES["rejection_cost"], PRESETS["quick"]) == "0.2, 0.4, 0.6, 0.7, 0.9"
    assert not any(left_out(study, PRESETS["paper"]) for study in STUDIES.values())


def test_a_setting_other_than_the_usual_is_another_fit():
    """And the usual one keeps the name that finished fits have."""
    case = next(STUDIES["noise_laws"].cases(PRESETS["quick"]))
    mixture = next(STUDIES["main"].cases(PRESETS["quick"]))
    assert Setting().of(case).job() == case.job()
    other = Setting(outliers="additive", law_scale=0.15, error="instants")
    assert other.of(case).job().payload["outliers"] == "additive"
    assert other.of(case).job().payload["law_scale"] == 0.15
    assert "law_scale" not in other.of(mixture).job().payload
    assert other.options == ["--outliers additive", "--law-scale 0.15", "--error instants"]
    assert Setting(error="instants").of(case).job() == case.job()
    assert (Setting().stem("main"), other.stem("main")) == ("main", "main-instants")
    for wrong, told in (({"outliers": "aditive"}, "additive"), ({"error": "instant"}, "instants"),
                        ({"law_scale": 0.0}, "must be positive"),
                        ({"posterior_start": 0.0}, "starts at 0; it must be positive")):  # fmt: skip
        with pytest.raises(InputError, match=told):
            Setting(**wrong)


def test_errors_at_instants_stand_beside_the_usual_ones(tmp_path):
    case = next(STUDIES["confusion"].cases(PRESETS["quick"]))
    row = row_of(case) | {"rmse_instants": 0.4, "rmae_instants": 0.3, "outliers_flagged": 5, "outliers": 6}
    row |= {"good_flagged": 1, "good_readings": 9, "law_phase": (0, 0), "label": "na_pinn"}
    study = STUDIES["main"]
    outcomes = {case.job().name: JobOutcome(case.job(), Status.DONE, row, None, 1.0, 1)}
    for setting, shown in ((Setting(), "0.200"), (Setting(error="instants"), "0.400")):
        written = write_study(study, [case], outcomes, PRESETS["quick"], tmp_path, setting)
        assert f"| na_pinn | {shown} / 0.108 |" in written.files[1].read_text()
    assert {path.name for path in tmp_path.glob("*.md")} == {"main.md", "main-instants.md"}
    early = {case.job().name: JobOutcome(case.job(), Status.DONE, row_of(case), None, 1.0, 1)}
    with pytest.raises(InputError, match="made before errors of single instants were kept"):
        write_study(study, [case], early, PRESETS["quick"], tmp_path, Setting(error="instants"))


def test_the_steps_of_the_estimator_alone_are_known():
    case = next(case for case in STUDIES["main"].cases(PRESETS["paper"]) if case.label == "na_pinn")
    assert case.law_phase == (5_000, 10_000)
    plain = next(STUDIES["main"].cases(PRESETS["paper"]))
    assert plain.law_phase == (30_000, 30_000)


def test_the_injected_density_leaves_the_outliers_out():
    """Also of earlier fits, which did not keep it: it is the mixture, whose mass lies near zero."""
    misfits = np.linspace(-3.0, 3.0, 4001)
    row = {"benchmark": "allen_cahn", "ratio": 0.15, "seed": 0, "noise": "mixture", "outliers": 3375}
    density = np.array(injected_density(row | {"extras": {"law": {"misfit": misfits.tolist()}}}))
    assert np.trapezoid(density, misfits) == pytest.approx(1.0, abs=1e-3)
    assert injected_density({"extras": {"law": {"misfit": [0.0], "injected": [0.7]}}}) == [0.7]


def test_a_snapshot_comes_back_to_a_step_of_its_range():
    values = np.random.default_rng(0).normal(size=400)
    assert np.abs(unpacked(packed(values)).reshape(-1) - values).max() <= 0.51 * np.ptp(values) / 65_535
    assert np.array_equal(unpacked(packed(np.full(9, 2.5))), np.full((3, 3), 2.5))
    assert np.array_equal(unpacked([1.0, 2.0, 3.0, 4.0]), [[1.0, 2.0], [3.0, 4.0]])
