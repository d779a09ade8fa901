"""The names of the studies, apart from the studies, so that a mistyped one is refused before JAX is imported."""

from napinn.errors import InputError, nearest

NAMES = (
    "main", "backbones", "noise_laws", "coefficient", "cost", "estimators", "staged", "rejection_cost", "scale",
    "confusion", "robustness", "noise_density", "gate_parameters", "fields", "estimator_densities", "default",
    "ablation", "video",
)  # fmt: skip
"""Of the studies of `napinn.studies.paper.studies`, in their order."""
OTHERS = ("discovery", "all")
PRESETS = ("smoke", "quick", "paper")


def check_study(name: str) -> None:
    """Refuse a name that no study has.

    :param name: As the user wrote it."""
    if name not in (*NAMES, *OTHERS):
        raise InputError(f"there is no study '{name}'; {nearest(name, [*NAMES, *OTHERS])}")


def check_preset(name: str) -> None:
    """Refuse a name that no preset has.

    :param name: As the user wrote it."""
    if name not in PRESETS:
        raise InputError(f"there is no preset '{name}'; {nearest(name, PRESETS)}")
