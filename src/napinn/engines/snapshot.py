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
    """Since the fit began; a fit that was resumed goes on from the seconds of its checkpoint."""
    steps_a_second: float
    """Of a training, over the steps since the snapshot before; of splines, over all points of the descent so far."""
    detail: str = ""
    """What a progress line says in place of loss and pace, where the fit is not a training."""
    seconds_left: float | None = None
    """About how long the whole fit still takes, later phases included; None where that is not known."""
    new_steps: int = 1
    """Since the snapshot before."""

    def row(self) -> dict[str, float | str]:
        return {
            "phase": self.phase,
            "step": self.done,
            **self.losses,
            **self.unknowns,
            **self.gate,
            "seconds": self.seconds,
        }
