"""The bell: Celery messages that say that there is work. They carry none.

The work queue is in the ledger, so a message that is lost, doubled, late or forged changes
nothing but when a host looks there; and a host looks without any, now and then.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable

from celery import Celery
from kombu.entity import Queue
from kombu.exceptions import KombuError

from verifier_ladder.arguments import shown_address, wrong_address
from verifier_ladder.errors import ConfigError
from verifier_ladder.scheduler.engines.catalog import RESOURCES, resource_of
from verifier_ladder.tier import Tier
from verifier_ladder.verifiers import Verifier

_LOG = logging.getLogger("verifier_ladder")
RING = "verifier_ladder.ring"
"""What a message is called."""
_PATIENCE = 2.0
"""Seconds that a broker may take to answer; the campaign's own work waits for it."""
SILENCE = 10.0
"""Seconds that it may leave a host alone that listens."""
EXPIRES = 60.0
"""Seconds after which a message that nobody has heard is dropped."""


def queue_name(tier: Tier, resource: str) -> str:
    """The queue of what is to be run, for workers that have this resource.

    Example:
        >>> queue_name(Tier.SIMULATION, "gpu")
        'verifier_ladder.simulation.gpu'
    """
    return f"verifier_ladder.{tier.label}.{resource}"


def queue_of(verifier: Verifier, *, gpu: bool) -> str:
    """The queue of a verifier's checks, those that want a GPU or the others."""
    return queue_name(Tier.parse(verifier.tier), resource_of(verifier, gpu=gpu))


def celery_app(broker: str, queues: Iterable[str] = (), *, patience: float = _PATIENCE) -> Celery:
    """The Celery application, with nothing in its messages but JSON.

    Args:
        broker: URL of Redis or RabbitMQ.
        queues: Queues that a worker of this application consumes.
        patience: Seconds without a word from the broker after which it is taken to be down.

    Raises:
        ConfigError: If the URL is of no broker that is known, or names a port that can't be.
    """
    for address in broker.split(";"):  # Several are a cluster.
        if wrong := wrong_address(address):
            raise ConfigError(f"broker={shown_address(address)!r}: {wrong}; give redis://host/0")
    app = Celery("verifier_ladder", broker=broker, set_as_current=False)
    app.conf.update(
        task_serializer="json", accept_content=["json"], task_ignore_result=True,
        task_acks_late=True, task_reject_on_worker_lost=True, worker_prefetch_multiplier=1,
        task_queues=[Queue(name) for name in queues] or None,  # type: ignore[no-untyped-call]
        broker_connection_retry_on_startup=True, broker_connection_max_retries=None,
        broker_connection_timeout=_PATIENCE, worker_hijack_root_logger=False,
        worker_redirect_stdouts=False,
        broker_transport_options={
            "socket_connect_timeout": _PATIENCE, "socket_timeout": patience,
            "unacked_restore_interval": 1, "unacked_restore_throttle": 1,
        },
    )  # fmt: skip
    if not _is_known(app, broker):
        raise ConfigError(
            f"no broker speaks {broker.partition('://')[0]!r}; give the URL of Redis "
            "(redis://host/0) or RabbitMQ (amqp://host)"
        )
    return app


def _is_known(app: Celery, broker: str) -> bool:
    """Whether there is a transport for a broker's URL; nothing is connected."""
    try:
        return "://" in broker and app.connection_for_write().transport is not None
    except (KeyError, ImportError, ValueError):
        return False


class Bell:
    """Rings for worker hosts over a broker."""

    def __init__(self, broker: str) -> None:
        """Connect with the first message."""
        self._app = celery_app(broker)

    def ring(self, queue: str, times: int = 1) -> bool:
        """Send messages; False if the broker does not take them, which only costs time."""
        try:
            with self._app.producer_or_acquire() as producer:
                for _ in range(times):
                    self._app.send_task(
                        RING, queue=queue, expires=EXPIRES, retry=False, producer=producer
                    )
        except (KombuError, OSError) as error:
            _LOG.warning("the broker takes no messages (%s); hosts look without them", error)
            return False
        return True

    def close(self) -> None:
        """Disconnect."""
        self._app.close()


def queues_for(tiers: Iterable[Tier], resources: Iterable[str] | None) -> list[str]:
    """The queues that a host of these tiers and resources listens to."""
    wanted = tuple(resources or RESOURCES)
    return [queue_name(tier, resource) for tier in tiers for resource in wanted]
