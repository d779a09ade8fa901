"""Does `napinn verify` doubt bad fits, and only these? Fourteen that are bad on purpose, and twelve that are sound.

    python benchmarks/bad_fits.py                      # four seeds of all, those that are not in the result file yet
    python benchmarks/bad_fits.py exchange --again     # these, again

The bad ones: stopped early, a wrong equation, a wrong constant or unit, a wrong basin, a faulty sensor that no other
contradicts, a condition that the readings contradict, unknowns that nothing determines or that can be exchanged, a
hidden field that nothing holds, too few readings, two readings in five from another source. Truths make the readings
and are compared with at the end; `verify` never sees them. Writes `benchmarks/results/bad_fits.json`.
"""

import argparse
import itertools
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.integrate import solve_ivp

import napinn
from napinn.data.readings import read_table
from napinn.problem import Problem, Unknown
from napinn.results.recipe import Recipe
from napinn.studies.paper.provenance import provenance

RESULT = Path(__file__).parent / "results" / "bad_fits.json"
Random = np.random.Generator


@dataclass(frozen=True, eq=False)
class Case:
    problem: Problem
    table: Callable[[Random], pd.DataFrame]
    truth: Mapping[str, float]
    """The coefficients that made the readings, where the problem has them."""
    bad: str = ""
    """What is wrong with it; empty for a sound one."""
    method: Callable[[], Recipe] = napinn.bsplines


def positive(**starts: float) -> dict[str, Unknown]:
    return {name: Unknown(start, low=0.0) for name, start in starts.items()}


def over_time(
    rate: Callable[..., Any], first: tuple[float, ...], end: float, count: int, names: Mapping[str, int], noise: float
) -> Callable[[Random], pd.DataFrame]:
    """One sensor at even instants; columns by the number of their state, with Gaussian noise of a share of each."""

    def table(random: Random) -> pd.DataFrame:
        times = np.linspace(0.0, end, count)
        states = solve_ivp(rate, (0.0, end), first, t_eval=times, rtol=1e-9, atol=1e-10).y
        columns = {
            name: states[row] + random.normal(0.0, noise * np.std(states[row]), count) for name, row in names.items()
        }
        return pd.DataFrame({"t": times, **columns})

    return table


def scattered(
    problem: Problem, formula: Callable[..., np.ndarray], count: int, noise: float
) -> Callable[[Random], pd.DataFrame]:
    """Readings at random points of the box."""

    def table(random: Random) -> pd.DataFrame:
        points = random.uniform(problem.lows, problem.highs, (count, len(problem.lows)))
        values = formula(*points.T)
        values = values + random.normal(0.0, noise * np.std(values), count)
        return pd.DataFrame(points, columns=list(problem.coordinates)).assign(u=values)

    return table


def gauges(count: int, spoil: Callable[[pd.DataFrame], pd.DataFrame]) -> Callable[[Random], pd.DataFrame]:
    """Gauges of one cooling body, 80 readings each; `spoil` lets some of them fail."""

    def table(random: Random) -> pd.DataFrame:
        times = np.linspace(0.0, 5.0, 80)
        parts = [
            pd.DataFrame({"sensor": f"g{number}", "t": times, "u": np.exp(-0.6 * times) + random.normal(0.0, 0.02, 80)})
            for number in range(count)
        ]
        return spoil(pd.concat(parts, ignore_index=True))

    return table


def drifting(name: str) -> Callable[[pd.DataFrame], pd.DataFrame]:
    return lambda table: table.assign(u=table["u"] + 0.12 * table["t"] * (table["sensor"] == name))


BOX = {"x": (0.0, 1.0), "t": (0.0, 0.5)}


def rod(x: np.ndarray, t: np.ndarray, decay: float = 0.0) -> np.ndarray:
    """Solves u_t = 0.4 u_xx - decay u, with u = 0 at both ends."""
    fast = 0.3 * np.exp(-(0.4 * 9.0 * np.pi**2 + decay) * t) * np.sin(3.0 * np.pi * x)
    return np.exp(-(0.4 * np.pi**2 + decay) * t) * np.sin(np.pi * x) + fast


def plate(x: np.ndarray, y: np.ndarray, t: np.ndarray) -> np.ndarray:
    return np.exp(-0.2 * 2.0 * np.pi**2 * t) * np.sin(np.pi * x) * np.sin(np.pi * y)


def wave_front(x: np.ndarray, t: np.ndarray) -> np.ndarray:
    """Fisher's front in closed form, for D = 1 and r = 1, with speed 5/√6."""
    return (1.0 + np.exp((x - 5.0 / np.sqrt(6.0) * t) / np.sqrt(6.0))) ** -2


def moving_pulse(x: np.ndarray, t: np.ndarray) -> np.ndarray:
    """Solves u_t + 1.5 u_x = 0.05 u_xx."""
    width = 0.04 + 0.1 * t
    return np.exp(-((x - 0.5 - 1.5 * t) ** 2) / (2.0 * width)) * np.sqrt(0.04 / width)


def two_sources(random: Random) -> pd.DataFrame:
    """Two readings in five are of another body, which hardly cools."""
    times = np.linspace(0.0, 3.0, 200)
    other = random.uniform(size=200) < 0.4
    values = np.where(other, 1.6 - 0.1 * times, np.exp(-0.8 * times)) + random.normal(0.0, 0.05, 200)
    return pd.DataFrame({"t": times, "u": values})


def outliers(table: Callable[[Random], pd.DataFrame], share: float) -> Callable[[Random], pd.DataFrame]:
    def spoilt(random: Random) -> pd.DataFrame:
        frame = table(random)
        hit = random.uniform(size=len(frame)) < share
        return frame.assign(u=frame["u"] + hit * random.uniform(1.0, 3.0, len(frame)) * np.std(frame["u"]))

    return spoilt


def heavy_tails(random: Random) -> pd.DataFrame:
    times = np.linspace(0.0, 3.0, 150)
    return pd.DataFrame({"t": times, "u": np.exp(-0.8 * times) + 0.02 * random.standard_t(3, 150)})


def short_network(steps: int) -> Callable[[], Recipe]:
    return lambda: napinn.law_pinn(steps=steps)


def plain_network(steps: int) -> Callable[[], Recipe]:
    return lambda: napinn.pinn(steps=steps)


HEAT = Problem(BOX, ("u",), ("u_t = D*u_xx",), positive(D=0.3), name="heat")
ROD = replace(HEAT, conditions=("u = 0 at x = 0", "u = 0 at x = 1"), name="rod")
LOSES = "the readings decay by -4 u as well"
DECAY = Problem({"t": (0.0, 3.0)}, ("u",), ("u_t = -k*u",), positive(k=0.3), name="decay")
COOLING = Problem({"t": (0.0, 5.0)}, ("u",), ("u_t = -k*u",), positive(k=0.3), name="cooling")


def bad_cases() -> dict[str, Case]:
    decays = over_time(lambda t, y: -0.8 * y, (1.0,), 3.0, 60, {"u": 0}, 0.05)
    return {
        "stopped early": Case(HEAT, scattered(HEAT, rod, 400, 0.05), {"D": 0.4}, "150 steps", short_network(150)),
        "missing term": Case(ROD, scattered(HEAT, lambda x, t: rod(x, t, 4.0), 600, 0.03), {"D": 0.4}, LOSES),
        "missing term, free ends": Case(
            HEAT, scattered(HEAT, lambda x, t: rod(x, t, 4.0), 600, 0.03), {"D": 0.4}, LOSES
        ),
        "wrong exponent": Case(
            DECAY, over_time(lambda t, y: -2.0 * y**2, (2.0,), 3.0, 80, {"u": 0}, 0.03), {}, "the truth is u_t = -2 u²"
        ),
        "wrong basin": Case(
            Problem({"t": (0.0, 12.0)}, ("u",), ("u_tt = -w*u",), positive(w=0.5), name="oscillator"),
            over_time(lambda t, y: [y[1], -25.0 * y[0]], (1.0, 0.0), 12.0, 120, {"u": 0}, 0.05), {"w": 25.0},
            "a plain network that begins with a flat field", plain_network(1500),
        ),
        "faulty sensor": Case(
            COOLING, gauges(2, drifting("g1")), {"k": 0.6}, "one of two gauges drifts, and nothing says which"
        ),
        "contradicted condition": Case(
            replace(HEAT, conditions=("u = 0.5 at x = 0",)),
            scattered(HEAT, rod, 400, 0.05), {"D": 0.4}, "the readings say u = 0 at x = 0",
        ),
        "not identifiable": Case(
            Problem({"t": (0.0, 3.0)}, ("u",), ("u_t = -(a + b)*u",), positive(a=0.3, b=0.1), name="sum"),
            decays, {"a": 0.5, "b": 0.3}, "only a + b matters",
        ),
        "exchange": Case(
            Problem(
                {"t": (0.0, 6.0)}, ("s",), ("a_t = -p*a", "b_t = -q*b", "s = a + b"), positive(p=0.5, q=1.5),
                hidden=("a", "b"), conditions=("a = 1 at t = 0", "b = 1 at t = 0"), name="two decays",
            ),
            over_time(lambda t, y: [-1.8 * y[0], -0.3 * y[1], -1.8 * y[0] - 0.3 * y[1]], (1.0, 1.0, 2.0), 6.0, 120,
                      {"s": 2}, 0.02),
            {"p": 1.8, "q": 0.3}, "p and q can be exchanged",
        ),
        "wrong constant": Case(
            Problem({"t": (0.0, 6.0)}, ("u",), ("u_t = g - k*u",), positive(k=0.3), {"g": 1.0}, name="filling"),
            over_time(lambda t, y: 0.3 - 0.8 * y, (3.0,), 6.0, 80, {"u": 0}, 0.03), {"k": 0.8}, "g is 0.3, not 1",
        ),
        "wrong unit": Case(
            Problem(
                {"t": (0.0, 0.2)}, ("u",), ("u_t = -k*u + sin(om*t)",), positive(k=1.0), {"om": 2.0}, name="forced"
            ),
            lambda random: over_time(
                lambda t, y: -0.5 * y + np.sin(2.0 * t), (1.0,), 12.0, 120, {"u": 0}, 0.05
            )(random).assign(t=np.linspace(0.0, 0.2, 120)),
            {}, "t is in minutes, om in radians per second",
        ),
        "free hidden field": Case(
            Problem({"t": (0.0, 3.0)}, ("u",), ("u_t = -k*u + f",), positive(k=0.3), hidden=("f",), name="source"),
            decays, {"k": 0.8}, "f takes up whatever k leaves",
        ),
        "too few readings": Case(
            Problem(
                {"t": (0.0, 5.0)}, ("u",), ("u_t = r*u*(1 - u/K) - m*u",), positive(r=1.0, K=1.0, m=0.1), name="growth"
            ),
            over_time(lambda t, y: y * (1.0 - y / 5.0) - 0.2 * y, (0.5,), 5.0, 7, {"u": 0}, 0.1),
            {"r": 1.0, "K": 5.0, "m": 0.2}, "seven readings, three unknowns",
        ),
        "two sources": Case(DECAY, two_sources, {"k": 0.8}, "two readings in five are of another body"),
    }  # fmt: skip


def good_cases() -> dict[str, Case]:
    fisher = Problem(
        {"x": (-5.0, 15.0), "t": (0.0, 5.0)}, ("u",), ("u_t = D*u_xx + r*u*(1 - u)",), positive(D=0.5, r=0.5),
        name="fisher",
    )  # fmt: skip
    pulse = Problem(
        {"x": (0.0, 3.0), "t": (0.0, 1.0)}, ("u",), ("u_t + c*u_x = D*u_xx",), positive(c=1.0, D=0.1), name="pulse"
    )
    square = Problem(
        {"x": (0.0, 1.0), "y": (0.0, 1.0), "t": (0.0, 0.4)}, ("u",), ("u_t = D*(u_xx + u_yy)",), positive(D=0.1),
        name="plate",
    )  # fmt: skip
    return {
        "decay": Case(DECAY, over_time(lambda t, y: -0.8 * y, (1.0,), 3.0, 60, {"u": 0}, 0.05), {"k": 0.8}),
        "decay, heavy tails": Case(DECAY, heavy_tails, {"k": 0.8}),
        "decay, outliers": Case(
            DECAY, outliers(over_time(lambda t, y: -0.8 * y, (1.0,), 3.0, 150, {"u": 0}, 0.05), 0.1), {"k": 0.8}
        ),
        "logistic growth": Case(
            Problem({"t": (0.0, 10.0)}, ("u",), ("u_t = r*u*(1 - u/K)",), positive(r=0.5, K=3.0), name="logistic"),
            over_time(lambda t, y: 0.9 * y * (1.0 - y / 5.0), (0.3,), 10.0, 80, {"u": 0}, 0.04), {"r": 0.9, "K": 5.0},
        ),
        "damped oscillator": Case(
            Problem({"t": (0.0, 20.0)}, ("x",), ("x_tt + c*x_t + w*x = 0",), positive(c=0.5, w=1.0), name="spring"),
            over_time(lambda t, y: [y[1], -0.2 * y[1] - 2.0 * y[0]], (1.0, 0.0), 20.0, 160, {"x": 0}, 0.05),
            {"c": 0.2, "w": 2.0},
        ),
        "predator and prey": Case(
            Problem(
                {"t": (0.0, 15.0)}, ("u", "v"), ("u_t = a*u - b*u*v", "v_t = c*u*v - m*v"),
                positive(a=0.5, b=0.5, c=0.5, m=0.5), name="lotka",
            ),
            over_time(
                lambda t, y: [1.1 * y[0] - 0.4 * y[0] * y[1], 0.2 * y[0] * y[1] - 0.8 * y[1]], (3.0, 2.0), 15.0, 150,
                {"u": 0, "v": 1}, 0.04,
            ),
            {"a": 1.1, "b": 0.4, "c": 0.2, "m": 0.8},
        ),
        "hidden step": Case(
            Problem(
                {"t": (0.0, 6.0)}, ("a", "p"), ("a_t = -k1*a", "b_t = k1*a - k2*b", "p_t = k2*b"),
                positive(k1=0.3, k2=1.0), hidden=("b",), scales={"b": 0.3}, conditions=("b = 0 at t = 0",),
                name="reactor",
            ),
            over_time(
                lambda t, y: [-0.8 * y[0], 0.8 * y[0] - 2.0 * y[1], 2.0 * y[1]], (1.0, 0.0, 0.0), 6.0, 80,
                {"a": 0, "p": 2}, 0.03,
            ),
            {"k1": 0.8, "k2": 2.0},
        ),
        "faulty sensor left out": Case(COOLING, gauges(6, drifting("g4")), {"k": 0.6}),
        "rod with known ends": Case(ROD, scattered(HEAT, rod, 400, 0.05), {"D": 0.4}),
        "fisher front": Case(fisher, scattered(fisher, wave_front, 600, 0.04), {"D": 1.0, "r": 1.0}),
        "moving pulse": Case(pulse, scattered(pulse, moving_pulse, 800, 0.05), {"c": 1.5, "D": 0.05}),
        "plate": Case(square, scattered(square, plate, 800, 0.05), {"D": 0.2}),
    }  # fmt: skip


CASES = {**bad_cases(), **good_cases()}


def run(case: Case, seed: int) -> dict[str, Any]:
    table = case.table(np.random.default_rng(seed))
    readings = read_table(table, tuple(case.problem.coordinates), case.problem.fields)
    result = napinn.fit(case.problem, readings, case.method(), seed=seed)
    begun = time.perf_counter()
    found = napinn.verify(result)
    return {
        "bad": case.bad,
        "status": result.status.name,
        "verified": found.trusted,
        "doubts": {check.name: check.found for check in found.checks if check.outcome.value == "doubt"},
        "cannot": [check.name for check in found.checks if check.outcome.value == "cannot"],
        "found": {name: float(f"{value:.4g}") for name, value in result.unknowns.items()},
        "truth": dict(case.truth),
        "commit": provenance()["commit"],
        "seconds": round(result.seconds, 1),
        "verify_seconds": round(time.perf_counter() - begun, 1),
    }


def summary(rows: Mapping[str, Mapping[str, Any]]) -> dict[str, int]:
    fits = [row for seeds in rows.values() for row in seeds.values()]
    bad, good = ([row for row in fits if bool(row["bad"]) is kind] for kind in (True, False))
    return {
        "bad": len(bad),
        "bad_doubted": sum(not row["verified"] for row in bad),
        "bad_doubted_by_the_fit": sum(row["status"] != "CONVERGED" for row in bad),
        "good": len(good),
        "good_doubted": sum(not row["verified"] for row in good),
        "good_doubted_by_the_fit": sum(row["status"] != "CONVERGED" for row in good),
    }


def counted(seeds: Mapping[str, Mapping[str, Any]]) -> str:
    return f"{sum(not row['verified'] for row in seeds.values())} of {len(seeds)}"


def main(names: list[str], seeds: int, again: bool, out: Path) -> None:
    rows: dict[str, Any] = json.loads(out.read_text())["rows"] if out.exists() else {}
    for name, seed in itertools.product(names or CASES, range(seeds)):
        if str(seed) in rows.get(name, {}) and not again:
            continue
        rows.setdefault(name, {})[str(seed)] = row = run(CASES[name], seed)
        print(name, seed, row["status"], row["verified"], list(row["doubts"]), row["found"], flush=True)  # noqa: T201
        ordered = {each: rows[each] for each in CASES if each in rows}
        doubted = {each: counted(ordered[each]) for each in ordered}
        made = {"made_by": "python benchmarks/bad_fits.py", **provenance(), **summary(rows), "doubted": doubted}
        out.write_text(json.dumps({**made, "rows": ordered}, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(summary(rows))  # noqa: T201


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", choices=[[], *CASES], help="fits; default all")
    parser.add_argument("--seeds", type=int, default=4, help="how many, from 0")
    parser.add_argument("--again", action="store_true", help="also those that are in the result file")
    parser.add_argument("--out", type=Path, default=RESULT)
    given = parser.parse_args()
    main(list(given.names), given.seeds, given.again, given.out)
