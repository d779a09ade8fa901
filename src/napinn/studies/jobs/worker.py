"""A worker's own side: `python -m napinn.studies.jobs.worker CORES…` does one request after another, read from a pipe.

The pipe is also its lifeline. Only the parent holds the other end, so the pipe closes when the parent ends, even by
SIGKILL, and the worker leaves at once. It writes nothing but replies, so there is nothing that leaving could spoil.
"""

import dataclasses
import faulthandler
import json
import os
import queue
import signal
import sys
import threading
from typing import Any, BinaryIO

from napinn.studies.jobs.cores import confine
from napinn.studies.jobs.work import perform


def main() -> None:
    # Ctrl-C reaches every process of a terminal. It is the parent's to act on: here it would end a fit early, and the
    # half-trained field would be kept as if it were whole.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    faulthandler.enable()
    # Before JAX is imported: it counts cores once.
    confine([int(core) for core in sys.argv[1:]])
    requests, replies = _private_pipes()
    inbox: queue.SimpleQueue[str] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(requests, inbox), daemon=True).start()
    while True:
        report = perform(inbox.get(), lambda share: _reply(replies, {"share": share}))
        _reply(replies, {"report": dataclasses.asdict(report)})


def _private_pipes() -> tuple[BinaryIO, BinaryIO]:
    """Standard input and output for us alone: work that prints, or starts programs, must not touch them."""
    requests, replies = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.dup2(2, 1)
    os.close(nothing)
    return os.fdopen(requests, "rb"), os.fdopen(replies, "wb")


def _listen(requests: BinaryIO, inbox: "queue.SimpleQueue[str]") -> None:
    for line in requests:
        inbox.put(line.decode())
    # Not sys.exit(), which would wait for the work in the main thread.
    os._exit(0)


def _reply(replies: BinaryIO, message: dict[str, Any]) -> None:
    replies.write(json.dumps(message).encode() + b"\n")
    replies.flush()


if __name__ == "__main__":
    main()
