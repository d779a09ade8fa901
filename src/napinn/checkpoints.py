"""Where and how often a fit keeps checkpoints: the files, apart from what is in them.

The newest two are kept: if the machine went down while one was written, the other is whole."""

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from napinn.io.whole import write_whole

FOLDER = "checkpoints"
EVERY = 60.0
"""Seconds between two checkpoints, unless said otherwise."""
KEPT = 2
log = logging.getLogger(__name__)


def found(folder: Path) -> list[Path]:
    """The checkpoints of a run folder, newest first."""
    named = [path for path in (folder / FOLDER).glob("*.checkpoint") if path.stem.isdecimal()]
    return sorted(named, key=lambda path: int(path.stem), reverse=True)


@dataclass
class Checkpoints:
    """Where and how often a fit keeps its moments: `fit(…, checkpoints=Checkpoints("runs/first"))`."""

    folder: Path | str
    every: float = EVERY
    """Seconds between two; each phase ends with one too."""
    last: float = field(default_factory=time.monotonic)
    failed: str = ""
    """Why the last one could not be written; empty when it could."""

    @property
    def due(self) -> bool:
        """Whether it is time for the next one."""
        return time.monotonic() - self.last >= self.every

    def keep(self, content: Callable[[], bytes]) -> None:
        """Write a checkpoint. A disk that fails costs the checkpoint, not the fit: the one before stays, and the next
        may succeed."""
        self.last = time.monotonic()
        try:
            self._write(content())
            self.failed = ""
        except OSError as error:
            if not self.failed:
                log.warning("no checkpoint could be written to %s: %s; the fit goes on.", self.folder, error.strerror)
            self.failed = str(error.strerror)

    def _write(self, content: bytes) -> None:
        earlier = found(Path(self.folder))
        number = int(earlier[0].stem) + 1 if earlier else 1
        (Path(self.folder) / FOLDER).mkdir(parents=True, exist_ok=True)
        write_whole(Path(self.folder) / FOLDER / f"{number:06d}.checkpoint", content)
        log.debug("checkpoint %d, %d bytes", number, len(content))
        for path in earlier[KEPT - 1 :]:
            path.unlink(missing_ok=True)
