"""One worker host: runs the dearer checks of the ranks until it is told to end.

Run: `python host.py LEDGER FOLDER`.
"""

from __future__ import annotations

import signal
import sys
from pathlib import Path
from threading import Event, Thread

from chaos import clock
from chaos.campaigning import ladder
from chaos.rank import AWAY

from verifier_ladder.errors import LedgerAwayError
from verifier_ladder.ledger import open_ledger
from verifier_ladder.scheduler.engines.bell import queues_for
from verifier_ladder.scheduler.engines.catalog import Catalog
from verifier_ladder.scheduler.engines.ear import Ear
from verifier_ladder.scheduler.engines.host import WorkerHost
from verifier_ladder.settings import load_settings


def main() -> None:
    """Work until SIGTERM."""
    clock.follow()
    try:
        work()
    except LedgerAwayError:
        sys.exit(AWAY)


def work() -> None:
    """Run checks of a ledger that is there."""
    over = Event()
    signal.signal(signal.SIGTERM, lambda *_: over.set())
    offered = ladder(Path(sys.argv[2]) / "executions").verifiers
    with open_ledger(sys.argv[1]) as store:
        host = WorkerHost(store, workers=1, catalog=Catalog(store, offered=offered))
        host.take_over()
        host.wake()
        if broker := load_settings().broker:
            ear = Ear(broker, queues_for(host.tiers, None), host.wait_room)
            Thread(target=ear.start, daemon=True).start()
        over.wait()
        host.leave(30.0)


if __name__ == "__main__":
    main()
