"""A kind of method that needs no network and no JAX: it "finds" u = size·exp(-k t) and Gaussian noise, as it is told.

It stands for any representation of a field but a network, and shows all that such a one has to bring along."""
# Where the contracts have properties, fields of a dataclass do.
# pyright: reportIncompatibleMethodOverride=false

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pandas as pd
from scipy import stats

from napinn.diagnostics.sensors import judge_sensors
from napinn.diagnostics.status import judge_fit
from napinn.engines.base import Backend, Estimate
from napinn.noise.law import NoiseLaw
from napinn.results.intervals import FieldSpread, Interval, Uncertainty
from napinn.results.model import FittedModel
from napinn.results.recipe import Recipe
from napinn.results.result import FitResult, FitStatus


@dataclass(frozen=True)
class Exact(Recipe):
    backend: ClassVar[str] = "exact_backend"

    rate: float = 0.8
    noise: float = 0.02
    name: str = "exact"
    double: bool = True
    held_out: float = 0.0
    steps: int = 1
    false_alarms: float = 1e-3

    def shortened(self, times):
        return self


SETTINGS = {"Exact": Exact}


@dataclass(frozen=True, eq=False)
class Gaussian(NoiseLaw):
    deviation: float
    centre: float = 0.0
    has_spread: bool = True

    @property
    def scale(self):
        return self.deviation

    def log_prob(self, misfits):
        return stats.norm.logpdf(misfits, 0.0, self.scale)

    def support(self):
        return -np.inf, np.inf

    def normaliser(self):
        return 1.0


@dataclass(frozen=True, eq=False)
class ExactModel(FittedModel):
    rate: float
    deviation: float
    noise_share: float = 1.0
    gate: tuple[float, float] | None = None
    conditions: int = 0

    @property
    def equation_units(self):
        return np.ones(1 + self.conditions)

    @property
    def unknown_units(self):
        return np.ones(1)

    def values(self, points):
        return self.derivatives(points, [((),)])[((),)]

    def derivatives(self, points, wanted):
        value = np.exp(-self.rate * points)
        return {terms: value * sum((-self.rate) ** len(axes) for axes in terms) for terms in wanted}

    @property
    def noise(self):
        return {"u": Gaussian(self.deviation)}

    def arrays(self):
        return {"found": np.array([self.rate, self.deviation])}


@dataclass(frozen=True, eq=False)
class Even(FieldSpread):
    deviation: float

    def __call__(self, points):
        return np.full((len(points), 1), self.deviation)

    def arrays(self):
        return {"deviation": np.array(self.deviation)}


class Known(Backend):
    def fit(self, request, options):
        method, readings = request.method, request.readings
        assert isinstance(method, Exact)
        model = ExactModel(method.rate, method.noise, conditions=len(request.problem.conditions))
        predicted = model.values(readings.points)[:, 0]
        reliability = np.where(np.abs(readings.values - predicted) > 5.0 * method.noise, 0.0, 1.0)
        verdicts = judge_sensors(request.problem, readings, predicted, method.false_alarms)
        row = {
            "phase": "found",
            "step": 1,
            "total": 1.0,
            "equation": 0.5,
            "data": 0.5,
            "k": method.rate,
            "seconds": 0.0,
        }
        result = FitResult(
            request.problem, method, readings, request.seed, model, {"k": method.rate}, predicted, reliability,
            pd.DataFrame([row]), FitStatus.BUDGET_SPENT, 0.0, verdicts,
        )  # fmt: skip
        status, notes = judge_fit(result, settled=True)
        return replace(result, status=status, notes=notes)

    def restore(self, request, arrays, has_law):
        assert has_law
        return ExactModel(*map(float, arrays.any_shape("found")))

    def restore_spread(self, model, arrays):
        return Even(float(arrays.any_shape("deviation")))

    def estimate_uncertainty(self, result, seed):
        rate = result.unknowns["k"]
        intervals = {"k": Interval(rate - 0.1, rate + 0.1, 0.05)}
        return Uncertainty(intervals, "400 readings", Even(0.01), np.ones((1, 1)), ("'k' and 'c' trade off.",))

    def estimate(self, problem, readings, method):
        return Estimate(method.name, 0.5)


BACKEND = Known()
