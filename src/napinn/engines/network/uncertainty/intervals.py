"""`estimate_uncertainty`: intervals for the unknowns and a spread of the field, from a finished fit."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array
from scipy.special import stdtrit

from napinn.diagnostics.uncertainty.groups import groups_of
from napinn.diagnostics.uncertainty.jackknife import Balance, Jackknife, JackknifeRows, jackknife
from napinn.engines.network.model import DIRECTIONS, NetworkSpread, network_of
from napinn.engines.network.uncertainty.score import anchors, last_phase, score_values, slopes
from napinn.engines.network.uncertainty.tangent import Tangent, tangent_of
from napinn.errors import InputError
from napinn.field.derivatives import FieldNetwork
from napinn.problem import Unknown
from napinn.results.intervals import FEWEST_READINGS, LEVEL, Interval, Uncertainty
from napinn.results.result import FitResult


def estimate_uncertainty(result: FitResult, seed: int = 0) -> Uncertainty:
    """Intervals for the unknowns, and a spread of the field, of a network.

    The jackknife over sensors (over stretches of their records where sensors are few), to first order about the fit
    as it stands; `napinn.diagnostics.uncertainty.jackknife` has the formulas. A Newton step is part of the interval.
    """
    network, used = network_of(result), result.reliability > 0.0
    if used.sum() < FEWEST_READINGS:
        raise InputError(f"the fit has used {used.sum()} readings, too few for intervals.")
    groups = groups_of(result.readings, used)
    with jax.enable_x64(True):
        tangent = tangent_of(result, last_phase(network.method).equation_factors[1], seed)
        balance = balance_of(result, tangent, used)
        label = groups.label[tangent.reading[used[tangent.reading]]]
        group = np.unique(label, return_inverse=True)[1][balance.rows.reading]
        by_group = jackknife(balance, group)
        by_reading = jackknife(balance, balance.rows.reading, balance.columns)
        directions = _directions(tangent, balance, by_group)
        intervals = _intervals(result, tangent, balance, by_group, by_reading)
    spread = NetworkSpread(network.network, _in_precision(network.network, directions))
    return Uncertainty(intervals, groups.source, spread)


def balance_of(result: FitResult, tangent: Tangent, used: np.ndarray) -> Balance:
    """The fit at its end, with the readings that it used."""
    kept = used[tangent.reading]
    misfit, owner, follow = tangent.misfit[kept], tangent.owner[kept], tangent.misfit_rows[kept]
    method = network_of(result).method
    data_loss = (method, tangent.learned, tangent.law)
    score = np.array(score_values(*data_loss, jnp.asarray(misfit), jnp.asarray(owner)))
    slope = slopes(*data_loss, misfit, owner, len(result.problem.fields))[owner]
    noise = float(np.mean(score**2) / np.mean(slope))
    number = np.arange(len(misfit))
    held = anchors(*data_loss, misfit, owner)
    follow_all, score_all, slope_all, number_all = [follow], [score], [slope], [number]
    if last_phase(method).loss.location.profiled:
        for field in np.unique(owner):
            mine = owner == field
            follow_all[0] = follow_all[0] - mine[:, None] * follow[mine].mean(axis=0)
            score_all[0] = score_all[0] - mine * score[mine].mean()
    if held is not None:
        # The mean side of a field is one number, of which every reading holds a share.
        side, along, weight = held
        follow_all.append((along @ follow)[owner])
        score_all.append(2.0 * weight[owner] * side)
        slope_all.append(2.0 * weight[owner] * len(owner) / np.bincount(owner)[owner])
        number_all.append(number)
    rows = JackknifeRows(*(np.concatenate(parts) for parts in (follow_all, score_all, slope_all, number_all)))
    return Balance(tangent.residual, tangent.residual_rows, rows, noise, len(result.problem.unknowns))


def _intervals(
    result: FitResult, tangent: Tangent, balance: Balance, by_group: Jackknife, by_reading: Jackknife
) -> dict[str, Interval]:
    """Readings of a group need not agree, and a group may hold chance that its readings do not show: of the errors by
    group, by reading and by Laplace the one counts that makes the widest interval."""
    found = {}
    for number, (name, unknown) in enumerate(result.problem.unknowns.items()):
        column = number - balance.unknowns
        pairs = [(float(each.errors[column]), float(each.freedom[column])) for each in (by_group, by_reading)]
        pairs.append((float(balance.laplace[number]), float(by_reading.freedom[column])))
        raw, unit = tangent.learned.unknowns[name], tangent.learned.field.frame.unknowns[number]
        error, half = max(error for error, _ in pairs), max(_half(*pair) for pair in pairs)
        found[name] = _in_units(unknown, raw, unit, error, half, float(balance.newton[column]))
    return found


def _in_units(unknown: Unknown, raw: Array, unit: Array, error: float, half: float, drift: float) -> Interval:
    """An interval of the raw number as one of the unknown itself, which its bounds hold by construction."""

    def value(moved: float) -> float:
        return float(unknown.value(raw + moved, unit))

    slope = abs(float(jax.grad(lambda at: unknown.value(at, unit))(raw)))
    # The map may turn the line around.
    ends = value(min(drift, 0.0) - half), value(max(drift, 0.0) + half)
    return Interval(min(ends), max(ends), slope * error, value(drift) - value(0.0))


def _half(error: float, freedom: float) -> float:
    """Half of the interval, in standard errors as Student's law has it."""
    return -float(stdtrit(freedom, 0.5 * (1.0 - LEVEL))) * error if np.isfinite(error) else np.inf


def _directions(tangent: Tangent, balance: Balance, by_group: Jackknife) -> list[Any]:
    """What the weights of the network may move along: the moves of the jackknife and the Newton step,
    compressed to the directions that matter most at the readings; what these miss is made up for by their length."""
    weights = slice(0, balance.columns.start)
    moves = np.vstack([by_group.moves[:, weights], balance.newton[None, weights]])
    effects = tangent.misfit_rows[:, weights] @ moves.T
    _, sizes, mixed = np.linalg.svd(effects, full_matrices=False)
    longer = np.sqrt(np.sum(sizes**2) / max(np.sum(sizes[:DIRECTIONS] ** 2), np.finfo(float).tiny))
    rows = longer * mixed[:DIRECTIONS] @ moves
    return [tangent.unfold(row) for row in np.pad(rows, ((0, DIRECTIONS - len(rows)), (0, 0)))]


def _in_precision(network: FieldNetwork, directions: list[Any]) -> Any:
    dtype = network.frame.gain.dtype
    return jax.tree.map(lambda *each: np.stack([np.asarray(one) for one in each]).astype(dtype), *directions)
