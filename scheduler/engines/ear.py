"""The ear: hears the bell's messages, which say that there may be work, and reads nothing in them.

It consumes Celery's queues and is no Celery worker: no message can name a task, a callback, a
chord or an address to answer, and there are no control commands, because nothing here would obey.
"""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable, Iterable
from contextlib import suppress
from threading import Event
from typing import Any

from celery import Celery
from kombu.message import Message

from verifier_ladder.scheduler.engines.bell import RING, SILENCE, celery_app

_LOG = logging.getLogger("verifier_ladder")
_PAUSE = 1.0
"""Seconds until it listens again after a broker that went away, or garbage in it."""
_POLL = 0.5
"""Seconds after which it looks whether it is to stop."""
_MOST_SAID = 100
"""Strange messages of which a log tells; somebody may send very many."""


class _AsSent(Message):
    """A message whose body stays as it was sent: what is small there can be gigabytes unpacked."""

    def __init__(self, **parts: Any) -> None:
        """Take the parts of a message, whoever sent it."""
        headers = parts.pop("headers", None)
        kept = dict(headers) if isinstance(headers, dict) else {}
        kept.pop("compression", None)
        super().__init__(headers=kept, **parts)  # type: ignore[no-untyped-call]


class Ear:
    """Makes a call for every message of the bell in some queues.

    It takes one message at a time: while the call lasts, others are left to other hosts.

    **Forged messages.** A message is known as the bell's by its name alone; its body is never
    decoded or unpacked, so it can be pickled, truncated or of any size. All others are dropped and
    told.

    Example:
        ear = Ear(broker, queues_for(host.tiers, None), host.wait_room)
        Thread(target=ear.start, daemon=True).start()
    """

    def __init__(self, broker: str, queues: Iterable[str], heard: Callable[[], None]) -> None:
        """Listen when it is started.

        Raises:
            ConfigError: If the URL is of no broker that is known.
        """
        self._app: Celery = celery_app(broker, queues, patience=SILENCE)
        self._heard = heard
        self._over, self._is_deaf = Event(), Event()
        self._is_deaf.set()
        self._said = 0

    def start(self) -> None:
        """Listen until it is stopped."""
        self._is_deaf.clear()
        while not self._over.is_set():
            try:
                self._listen()
            except Exception as error:  # noqa: BLE001 - whatever the broker does, or is sent
                self._say("the broker can't be listened to just now: %s", f"{error!r:.200}")
                self._over.wait(_PAUSE)
        self._is_deaf.set()

    def _listen(self) -> None:
        """Listen over one connection, until it breaks."""
        with (
            self._app.connection_for_read() as connection,
            connection.channel() as channel,
            connection.Consumer(
                self._app.conf.task_queues,
                channel=channel,
                on_message=self._take,
                accept=[],
                prefetch_count=1,
            ),
        ):
            # kombu unpacks in the constructor of its own class, which is the last in this order.
            channel.Message = type("Message", (channel.Message, _AsSent), {})
            while not self._over.is_set():
                with suppress(socket.timeout):
                    connection.drain_events(timeout=_POLL)

    def _take(self, message: Any) -> None:
        if self._over.is_set():
            message.requeue()
            return
        headers = message.headers
        name = headers.get("task") if isinstance(headers, dict) else None
        if name == RING:
            self._heard()
        else:
            self._say("a message of a stranger was dropped: %s", f"{name!r:.100}")
        message.ack()

    def _say(self, what: str, more: str) -> None:
        self._said += 1
        if self._said <= _MOST_SAID:
            _LOG.warning(what, more)

    def stop(self) -> None:
        """Listen no more; what is being heard just now may go on."""
        self._over.set()
        self._is_deaf.wait(_PAUSE + _POLL)
