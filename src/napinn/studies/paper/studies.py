"""The studies: each a list of cases, a table and a picture, in a few lines."""

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from napinn.engines.network.methods import (
    LIKE_DEFAULT,
    b_pinn,
    compressed,
    lad_pinn,
    law_pinn,
    mad_pinn,
    na_pinn,
    or_pinn,
    pinn,
)
from napinn.engines.network.training import SOAP, Adam, CosineRate, FixedCost, Method, PhaseKind
from napinn.engines.splines.method import bsplines
from napinn.noise.density import EBM, GMM, KDE, BatchStd
from napinn.noise.likelihood import Likelihood
from napinn.noise.losses import Absolute, QGaussian, Squared
from napinn.results.recipe import Recipe
from napinn.studies.paper import pictures, tables
from napinn.studies.paper.cases import CLEAN, Case
from napinn.studies.paper.presets import Preset

Make = Callable[..., Method]
RIVALS: Mapping[str, tuple[Make, dict[str, Any]]] = {
    "pinn": (pinn, {}),
    "b_pinn": (b_pinn, {}),
    "lad_pinn": (lad_pinn, {}),
    "mad_pinn": (mad_pinn, {}),
    "or_pinn_q1.9": (or_pinn, {"q": 1.9}),
    "or_pinn_q2.9": (or_pinn, {"q": 2.9}),
    "na_pinn": (na_pinn, {}),
}
FOLLOWED_BY_SPLINES = ("allen_cahn",)
"""Benchmarks whose field splines resolve within their budget; the default fits the others with `law_pinn`."""
ESTIMATORS = {"ebm": EBM(), "gmm": GMM(), "kde": KDE()}


@dataclass(frozen=True)
class Study:
    name: str
    title: str
    cases: Callable[[Preset], Iterator[Case]]
    table: Callable[[pd.DataFrame, str], str]
    """Rows and the study's name to Markdown, the paper's numbers beside ours."""
    picture: Callable[[pd.DataFrame], Figure]


def _case(
    preset: Preset, label: str, benchmark: str, ratio: float, make: Make, noise: str = "mixture", **parts: Any
) -> Iterator[Case]:
    method = preset.method(benchmark, make, **parts)
    for seed in range(preset.seeds):
        yield Case(label, benchmark, ratio, method, noise, seed, preset.name)


def _named(preset: Preset, wanted: str) -> str:
    """The benchmark asked for, or the only one that a small preset has."""
    return wanted if wanted in preset.benchmarks else preset.benchmarks[0]


def _ratio(preset: Preset, wanted: float) -> float:
    return wanted if wanted in preset.ratios else preset.ratios[-1]


def main(preset: Preset) -> Iterator[Case]:
    for benchmark in preset.benchmarks:
        for ratio in preset.ratios:
            for label, (make, parts) in RIVALS.items():
                yield from _case(preset, label, benchmark, ratio, make, **parts)
            if preset.name != "smoke":
                yield from _engines(preset, benchmark, ratio)
        yield from _case(preset, "clean", benchmark, 0.0, pinn, CLEAN)


def _engines(preset: Preset, benchmark: str, ratio: float) -> Iterator[Case]:
    """napinn's own two engines, between which its default chooses."""
    yield from _own(preset, "law_pinn", benchmark, preset.own(law_pinn), preset.seeds, ratio)
    if benchmark in FOLLOWED_BY_SPLINES:
        yield from _own(preset, "splines", benchmark, bsplines(), preset.seeds, ratio)


def backbones(preset: Preset) -> Iterator[Case]:
    for benchmark in preset.benchmarks:
        for backbone in ("mlp", "fls") if preset.name == "smoke" else ("mlp", "kan", "fls", "qres", "piratenet"):
            for name, make in (("pinn", pinn), ("na_pinn", na_pinn)):
                yield from _case(preset, f"{backbone}/{name}", benchmark, _ratio(preset, 0.1), make, backbone=backbone)


def noise_laws(preset: Preset) -> Iterator[Case]:
    benchmark, ratio = _named(preset, "reaction_diffusion"), _ratio(preset, 0.15)
    methods = {
        "pinn": (pinn, {}),
        "lad_pinn": (lad_pinn, {}),
        "or_pinn_q2.9": (or_pinn, {"q": 2.9}),
        "na_pinn": (na_pinn, {}),
        "na_pinn+absolute": (na_pinn, {"loss": Absolute()}),
        "na_pinn+q2.9": (na_pinn, {"loss": QGaussian(2.9)}),
    }
    laws, shown = ("laplace", "gaussian"), list(methods.items())
    if preset.name == "smoke":
        laws, shown = laws[:1], shown[-2:]
    for law in laws:
        for label, (make, parts) in shown:
            yield from _case(preset, f"{label}@{law}", benchmark, ratio, make, law, **parts)


def coefficient(preset: Preset) -> Iterator[Case]:
    for ratio in preset.ratios:
        for label, make in (("pinn", pinn), ("na_pinn", na_pinn)):
            yield from _case(preset, label, "allen_cahn", ratio, make)


def cost(preset: Preset) -> Iterator[Case]:
    for benchmark in preset.benchmarks:
        method = preset.method(benchmark, na_pinn)
        yield Case("na_pinn/pinn", benchmark, _ratio(preset, 0.15), method, preset=preset.name, timed=True)


def estimators(preset: Preset) -> Iterator[Case]:
    for benchmark in preset.benchmarks:
        for ratio in preset.ratios:
            for label, density in ESTIMATORS.items():
                yield from _case(preset, label, benchmark, ratio, na_pinn, estimator=density)


def staged(preset: Preset) -> Iterator[Case]:
    for benchmark in preset.benchmarks:
        yield from _case(preset, "staged", benchmark, _ratio(preset, 0.15), na_pinn)
        yield from _case(preset, "unstaged", benchmark, _ratio(preset, 0.15), na_pinn, warm_up=0, law_steps=0)


def rejection_cost(preset: Preset) -> Iterator[Case]:
    prices = (0.0, 0.1, 0.3, 0.5, 0.8, 1.0) if preset.name == "quick" else [n / 10 for n in range(11)]
    for ratio in preset.ratios:
        for price in (0.0, 0.1) if preset.name == "smoke" else prices:
            yield from _case(preset, f"{price:g}", "allen_cahn", ratio, na_pinn, rejection=FixedCost(price))


def scale(preset: Preset) -> Iterator[Case]:
    for benchmark in preset.benchmarks:
        for ratio in preset.ratios:
            yield from _case(preset, "running", benchmark, ratio, na_pinn)
            yield from _case(preset, "per_batch", benchmark, ratio, na_pinn, scale=BatchStd())


def confusion(preset: Preset) -> Iterator[Case]:
    yield from _case(preset, "na_pinn", "allen_cahn", _ratio(preset, 0.1), na_pinn)


def robustness(preset: Preset) -> Iterator[Case]:
    yield from (case for case in main(preset) if case.label in RIVALS)


def noise_density(preset: Preset) -> Iterator[Case]:
    """The law when it has just been initialised, and after joint training."""
    benchmark, ratio = _named(preset, "burgers"), _ratio(preset, 0.05)
    whole = preset.method(benchmark, na_pinn)
    begun = dataclasses.replace(whole, phases=whole.phases[:2])
    for case in _case(preset, "after", benchmark, ratio, na_pinn):
        yield case
        yield dataclasses.replace(case, label="before", method=begun)


def gate_parameters(preset: Preset) -> Iterator[Case]:
    for ratio in preset.ratios:
        yield from _case(preset, f"{100 * ratio:g} %", _named(preset, "reaction_diffusion"), ratio, na_pinn)


def fields(preset: Preset) -> Iterator[Case]:
    for benchmark in preset.benchmarks:
        for label, make in (("pinn", pinn), ("na_pinn", na_pinn)):
            yield from _case(preset, label, benchmark, _ratio(preset, 0.15), make)


def estimator_densities(preset: Preset) -> Iterator[Case]:
    yield from (case for case in estimators(preset) if case.ratio == preset.ratios[0])


def video(preset: Preset) -> Iterator[Case]:
    for benchmark in preset.benchmarks:
        method = preset.method(benchmark, na_pinn)
        yield Case("na_pinn", benchmark, _ratio(preset, 0.15), method, preset=preset.name, frames=40)


def _own(
    preset: Preset,
    label: str,
    benchmark: str,
    method: Recipe,
    seeds: int = 1,
    ratio: float = 0.15,
    noise: str = "mixture",
) -> Iterator[Case]:
    for seed in range(seeds):
        yield Case(label, benchmark, _ratio(preset, ratio) if ratio else 0.0, method, noise, seed, preset.name)


def default(preset: Preset) -> Iterator[Case]:
    """napinn's own default: three seeds on every benchmark, other noise laws, clean readings, other units."""
    small = preset.name == "smoke"
    method = preset.own(law_pinn)
    for benchmark in preset.benchmarks:
        yield from _own(preset, "default", benchmark, method, 1 if small else 3)
    if small:
        return
    yield from _own(preset, "default", "allen_cahn_si", method, 3)
    for law in ("gaussian", "laplace"):
        yield from _own(preset, f"default@{law}", "reaction_diffusion", method, noise=law)
    plain = preset.own(pinn, optimiser=SOAP(), **LIKE_DEFAULT, name="pinn_soap")
    for benchmark in preset.benchmarks:
        yield from _own(preset, "default@clean", benchmark, method, ratio=0.0, noise=CLEAN)
        yield from _own(preset, "pinn+SOAP@clean", benchmark, _cooled(plain), ratio=0.0, noise=CLEAN)


def ablation(preset: Preset) -> Iterator[Case]:
    """Each part of the default taken away or exchanged, one at a time."""
    whole = preset.own(law_pinn)
    squares = tuple(dataclasses.replace(p, loss=Squared()) if p.kind is PhaseKind.PLAIN else p for p in whole.phases)
    variants = {
        "default": whole,
        "location not profiled": preset.own(law_pinn, loss=Likelihood(profiled=False)),
        "no anchor": preset.own(law_pinn, loss=Likelihood(anchor=0.0)),
        "gate weighs the likelihood": preset.own(law_pinn, loss=Likelihood(gated=True)),
        "gated squares": preset.own(law_pinn, loss=Squared()),
        "warm-up with squares": dataclasses.replace(whole, phases=squares),
        "Adam": preset.own(law_pinn, optimiser=Adam(1e-3)),
        "law: GMM": preset.own(law_pinn, estimator=compressed(GMM())),
        "law: KDE": preset.own(law_pinn, estimator=compressed(KDE())),
        "law not compressed": preset.own(law_pinn, estimator=EBM()),
    }
    chosen = list(variants.items())
    for benchmark in preset.benchmarks[:1] if preset.name == "smoke" else ("allen_cahn", "reaction_diffusion"):
        for label, method in chosen[-1:] if preset.name == "smoke" else chosen:
            yield from _own(preset, label, benchmark, method)


def _cooled(method: Method) -> Method:
    """With a rate that falls to nothing over the whole of training."""
    return dataclasses.replace(
        method, phases=tuple(dataclasses.replace(phase, schedule=CosineRate()) for phase in method.phases)
    )


STUDIES: Mapping[str, Study] = {
    study.name: study
    for study in (
        Study("main", "Every method at three outlier ratios", main, tables.against_rivals, pictures.methods_by_ratio),
        Study("backbones", "Backbones at 10 % outliers", backbones, tables.errors, pictures.bars),
        Study("noise_laws", "Laplace and Gaussian noise, 15 % outliers", noise_laws, tables.errors, pictures.bars),
        Study("coefficient", "The coefficient of Allen–Cahn", coefficient, tables.coefficients, pictures.coefficients),
        Study("cost", "Training cost of a step", cost, tables.step_times, pictures.step_times),
        Study("estimators", "EBM, GMM and KDE inside naPINN", estimators, tables.errors, pictures.by_ratio),
        Study("staged", "With and without stages, 15 % outliers", staged, tables.errors, pictures.bars),
        Study("rejection_cost", "The rejection cost", rejection_cost, tables.errors, pictures.by_label),
        Study("scale", "Running and per-batch scale", scale, tables.errors, pictures.by_ratio),
        Study("confusion", "Confusion matrix and the gate's curve", confusion, tables.confusion, pictures.confusion),
        Study("robustness", "Error over outlier ratios", robustness, tables.errors, pictures.by_ratio),
        Study("noise_density", "Noise law before and after", noise_density, tables.errors, pictures.laws),
        Study("gate_parameters", "Gate over training", gate_parameters, tables.errors, pictures.gate_history),
        Study("fields", "Fields and error maps at 15 %", fields, tables.errors, pictures.maps),
        Study("estimator_densities", "Laws of the estimators", estimator_densities, tables.errors, pictures.laws),
        Study("default", "napinn's own default", default, tables.recovered, pictures.bars),
        Study("ablation", "The default, part by part", ablation, tables.recovered, pictures.bars),
        Study("video", "Solutions in motion", video, tables.errors, pictures.maps),
    )
}  # fmt: skip
REPEATS: Mapping[str, str] = {
    "main": "Table 1", "backbones": "Table 3", "noise_laws": "Table 4", "coefficient": "Table 5", "cost": "Table 6",
    "estimators": "Table 7", "staged": "Table 8", "rejection_cost": "Figure 8", "scale": "Table 9",
    "confusion": "Table 2, Figure 5", "robustness": "Figure 3", "noise_density": "Figure 4",
    "gate_parameters": "Figure 6", "fields": "Figure 2", "estimator_densities": "Figure 7", "video": "Supplement",
}  # fmt: skip
"""Where the paper has what a study shows; the others are napinn's own."""
