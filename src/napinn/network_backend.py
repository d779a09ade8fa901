"""Networks as a backend: a method of phases is fitted by training, and its model is a network."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np

from napinn.backend import Backend, Estimate, RunOptions
from napinn.certainty.sure import how_sure
from napinn.compiler_check import check_compiler
from napinn.fitting import fit
from napinn.intervals import Certainty
from napinn.io.saved import SavedArrays
from napinn.model import FittedModel
from napinn.network_fitting import fit_network, method_of
from napinn.network_model import NetworkModel, NetworkSpread, network_of, restored, restored_spread
from napinn.problem import Problem
from napinn.readings import Readings
from napinn.recipe import Recipe
from napinn.request import Request
from napinn.result import FitResult
from napinn.training import Kind, Method, load

TRIED = 20


class Networks(Backend):
    def fit(self, request: Request, options: RunOptions) -> FitResult:
        check_compiler()
        return fit_network(request, options)

    def restore(self, request: Request, arrays: SavedArrays, has_law: bool) -> NetworkModel:
        return restored(request.problem, method_of(request), request.readings, arrays, has_law)

    def restore_spread(self, model: FittedModel, arrays: SavedArrays) -> NetworkSpread:
        assert isinstance(model, NetworkModel)
        return restored_spread(model.network, arrays)

    def how_sure(self, result: FitResult, seed: int) -> Certainty:
        return how_sure(result, seed)

    def estimate(self, problem: Problem, readings: Readings, method: Recipe) -> Estimate:
        """From a few steps of the first phase that moves the field, measured once they are compiled.

        Gated steps cost somewhat more, so a whole fit takes somewhat longer."""
        assert isinstance(method, Method)
        first = next(phase for phase in method.phases if phase.kind is not Kind.LAW)
        phase = dataclasses.replace(first, kind=Kind.PLAIN, steps=2 * TRIED, screen=None)
        short = dataclasses.replace(method, phases=(phase,), gating=None, log_every=TRIED)
        history = fit(problem, readings, short).history
        return Estimate(method.name, float(history["seconds"].iloc[-1]) / TRIED * method.steps)

    def held_out(self, result: FitResult) -> np.ndarray:
        method = network_of(result).method
        with jax.enable_x64(method.double):
            dtype = jnp.dtype(jnp.float64 if method.double else jnp.float32)
            data, place = load(result.problem, result.readings, dtype, method.held_out, result.seed)
        return place >= data.trained * data.values.shape[1]

    def device(self) -> str:
        return jax.devices()[0].platform


BACKEND = Networks()
