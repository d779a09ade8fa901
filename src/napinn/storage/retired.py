"""Settings that earlier versions of napinn had: the runs that name them can still be read.

A saved method is read without what is retired. Where that changes how it trains, its optimiser becomes `Retired`, which
refuses to train; what such a run found is in its folder and stays readable."""

from collections.abc import Callable, Mapping
from typing import Any

TYPES: Mapping[str, Callable[[Mapping[str, Any]], Any]] = {
    "GaussNewton": lambda settings: None,
    "LBFGS": lambda settings: None,
    "Latin": lambda settings: {"type": "Uniform"},
    "Shrunk": lambda settings: settings["inner"],
}
"""By the name of a retired class, what replaces it; a shrunk law was its inner one with other updates."""
ENTRIES: Mapping[str, Mapping[str, Any]] = {
    "EBM": {"widen": False},
    "Gating": {"through_score": False},
    "Phase": {"afresh": False, "averaging": 0.0, "chooses": False},
    "RunningSpread": {"centred": True, "shared": 0.0},
}
"""By the name of a class, its retired entries with the values that changed nothing."""
POLISH: Mapping[str, Any] = {"type": "Kind", "value": "polish"}
"""A retired kind of phase; it trained on the law where there was one."""
REFUSES: Mapping[str, str] = {"type": "Retired"}


def without_retired(method: Mapping[str, Any]) -> Mapping[str, Any]:
    """The plain values of a saved method without retired settings; `method` is what `settings.encode` wrote."""
    found: list[str] = []
    kind = "gated" if method.get("gating") else "plain"
    kept = _without(method, found, {"type": "Kind", "value": kind})
    return {**kept, "optimiser": REFUSES} if found else kept


def _without(value: Any, found: list[str], polish: Mapping[str, Any]) -> Any:
    """The value without retired settings, with `polish` in place of the retired kind of phase; the names of those that
    mattered are added to `found`."""
    if isinstance(value, list):
        return [_without(item, found, polish) for item in value]
    if not isinstance(value, dict):
        return value
    if value == POLISH:
        found.append("polish")
        return polish
    kind: Any = value.get("type")
    if kind in TYPES:
        found.append(kind)
        return _without(TYPES[kind](value), found, polish)
    entries = ENTRIES.get(kind, {})
    found += [name for name, idle in entries.items() if value.get(name, idle) != idle]
    return {name: _without(item, found, polish) for name, item in value.items() if name not in entries}
