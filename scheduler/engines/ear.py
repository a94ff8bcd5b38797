"""The ear: hears Celery's messages, which say that there may be work."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from threading import Event
from typing import Any

from verifier_ladder.scheduler.engines.bell import RING, SILENCE, celery_app

_LOG = logging.getLogger("verifier_ladder")
_PAUSE = 1.0
"""Seconds until it listens again after something that Celery could not bear."""


class Ear:
    """Makes a call for every message to some queues.

    It takes one message at a time: while the call lasts, others are left to other hosts.

    **Forged messages.** Celery drops what it can read and does not know. What it can't read ends
    its consumer, so that one is replaced; the message is gone by then.

    Example:
        ear = Ear(broker, queues_for(host.tiers, None), host.wait_room)
        Thread(target=ear.start, daemon=True).start()
    """

    def __init__(self, broker: str, queues: Iterable[str], heard: Callable[[], None]) -> None:
        """Listen when it is started.

        Raises:
            ConfigError: If the URL is of no broker that is known.
        """
        self._app = celery_app(broker, queues, patience=SILENCE)
        self._over = Event()
        self._worker: Any = None

        @self._app.task(name=RING, shared=False)  # type: ignore[untyped-decorator]
        def ring() -> None:
            heard()

    def start(self) -> None:
        """Listen until it is stopped."""
        while not self._over.is_set():
            self._worker = self._app.Worker(
                pool="threads", concurrency=1, without_gossip=True, without_mingle=True,
                loglevel="WARNING", quiet=True,
            )  # fmt: skip
            self._worker.start()
            if not self._over.is_set():
                _LOG.warning("a message in the broker could not be read; listening again")
            self._over.wait(_PAUSE)

    def stop(self) -> None:
        """Listen no more."""
        self._over.set()
        if self._worker is not None:
            self._worker.stop()
