"""Networks as a backend: a method of phases is fitted by training, and its model is a network."""

import dataclasses
import time

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd

from napinn.data.readings import Readings
from napinn.engines.base import Backend, Estimate, RunOptions
from napinn.engines.network.adaptation import adapted
from napinn.engines.network.compiler_check import check_compiler
from napinn.engines.network.fitting import fit_network, method_of
from napinn.engines.network.model import NetworkModel, NetworkSpread, network_of, restored, restored_spread
from napinn.engines.network.training import Method, prepare_data
from napinn.engines.network.uncertainty.intervals import estimate_uncertainty
from napinn.engines.network_limits import check_network
from napinn.engines.request import Request, check_readings
from napinn.problem import Problem
from napinn.results.intervals import Uncertainty
from napinn.results.model import FittedModel
from napinn.results.recipe import Recipe
from napinn.results.result import FitResult
from napinn.storage.arrays import SavedArrays

TRIED = 20
"""Steps of each kind that are taken to compile them, and as many again to measure them."""
AROUND_FIT = 3.0
"""Seconds that imports, files and the report take."""


class Networks(Backend):
    def fit(self, request: Request, options: RunOptions) -> FitResult:
        check_network(request.problem, request.readings)
        check_compiler()
        return fit_network(request, options)

    def restore(self, request: Request, arrays: SavedArrays, has_law: bool) -> NetworkModel:
        return restored(request.problem, method_of(request), request.readings, arrays, has_law)

    def restore_spread(self, model: FittedModel, arrays: SavedArrays) -> NetworkSpread:
        assert isinstance(model, NetworkModel)
        return restored_spread(model.network, arrays)

    def estimate_uncertainty(self, result: FitResult, seed: int) -> Uncertainty:
        return estimate_uncertainty(result, seed)

    def estimate(self, problem: Problem, readings: Readings, method: Recipe) -> Estimate:
        """From a few steps of every kind of phase that the method has: what compiling takes once, what each step takes
        as often as it is taken, and what is done before, between and after."""
        assert isinstance(method, Method)
        check_network(problem, readings)
        method = adapted(method, readings, problem)
        first_of = {phase.kind: phase for phase in reversed(method.phases)}
        tried = tuple(
            dataclasses.replace(phase, name=phase.kind.value, steps=2 * TRIED, patience=None)
            for phase in method.phases
            if phase is first_of[phase.kind]
        )
        began = time.perf_counter()
        short_method = dataclasses.replace(method, phases=tried, log_every=TRIED, minutes=None)
        check_readings(problem, readings, method.double)
        short = self.fit(Request(problem, readings, short_method), RunOptions())
        whole = time.perf_counter() - began
        each = seconds_a_step(short.history)
        around = whole - 2 * TRIED * sum(each.values()) + AROUND_FIT
        slowest = max(each.values())
        steps = sum(phase.steps * each.get(phase.kind.value, slowest) for phase in method.phases)
        trained = steps if method.minutes is None else min(steps, 60.0 * method.minutes)
        return Estimate(method.name, around + trained)

    def held_out(self, result: FitResult) -> np.ndarray:
        method = network_of(result).method
        with jax.enable_x64(method.double):
            dtype = jnp.dtype(jnp.float64 if method.double else jnp.float32)
            data, place = prepare_data(result.problem, result.readings, dtype, method.held_out, result.seed)
        return place >= data.trained * data.values.shape[1]

    def device(self) -> str:
        return jax.devices()[0].platform


def seconds_a_step(history: pd.DataFrame) -> dict[str, float]:
    """By phase, the time of a step in the last row of it: the first ones hold the time of compiling."""
    rows = history[["step", "seconds"]]
    since = rows.diff().fillna(rows)
    each = since["seconds"] / since["step"]
    return {str(phase): float(rows.iloc[-1]) for phase, rows in each.groupby(history["phase"])}


BACKEND = Networks()
