"""Where a running fit stands: what progress displays and loggers receive."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Snapshot:
    """Where training stands, for a progress display and for the history."""

    phase: str
    step: int
    steps: int
    done: int
    total: int
    losses: dict[str, float]
    unknowns: dict[str, float]
    gate: dict[str, float]
    seconds: float
    steps_a_second: float
    detail: str = ""
    """What a progress line says in place of loss and pace, where the fit is not a training."""
    seconds_left: float | None = None
    """About how long the whole fit still takes, later phases included; None where that is not known."""

    def row(self) -> dict[str, float | str]:
        return {
            "phase": self.phase,
            "step": self.done,
            **self.losses,
            **self.unknowns,
            **self.gate,
            "seconds": self.seconds,
        }
