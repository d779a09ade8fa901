"""With one dimension and time: another start beside a sound one, where it is cheap and the equations still cost."""

import numpy as np
import pandas as pd
import pytest

import napinn
from napinn.engines.splines import starts
from napinn.engines.splines.method import bsplines
from napinn.problem import Problem, Unknown

FRONT = Problem(
    {"x": (-4.0, 12.0), "t": (0.0, 4.0)}, ("u",), ("u_t = D*u_xx + r*u*(1 - u)",),
    {"D": Unknown(low=0.0), "r": Unknown(low=0.0)},
)  # fmt: skip


@pytest.mark.parametrize(("cheap", "tried"), [(starts.CHEAP_STEP, True), (0.0, False)])
def test_another_start_is_tried_only_where_it_is_cheap(monkeypatch, cheap, tried):
    monkeypatch.setattr(starts, "CHEAP_STEP", cheap)
    random = np.random.default_rng(3)
    x, t = random.uniform(-4.0, 12.0, 400), random.uniform(0.0, 4.0, 400)
    u = (1.0 + np.exp((x - 5.0 / np.sqrt(6.0) * t) / np.sqrt(6.0))) ** -2 + random.normal(0.0, 0.02, 400)
    stages = set()
    readings = napinn.read_table(pd.DataFrame({"x": x, "t": t, "u": u}), ("x", "t"), ("u",))
    result = napinn.fit(FRONT, readings, bsplines(), progress=lambda now: stages.add(now.phase))
    assert ("start 'given start'" in stages) is tried
    assert result.unknowns == pytest.approx({"D": 1.0, "r": 1.0}, rel=0.1)
