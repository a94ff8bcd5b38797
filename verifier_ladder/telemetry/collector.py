"""Collector: what a ledger tells Prometheus whenever it is asked, whoever did the work."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from prometheus_client import REGISTRY, start_http_server
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

from verifier_ladder.budget import place_label
from verifier_ladder.errors import ConfigError, LedgerError
from verifier_ladder.ledger import Ledger
from verifier_ladder.tier import Tier


class LedgerCollector:
    """Reads queue, spend and log of one ledger at every scrape; nothing is kept between two.

    Example:
        >>> from prometheus_client import CollectorRegistry, generate_latest
        >>> from verifier_ladder.ledger import open_ledger
        >>> registry = CollectorRegistry()
        >>> with open_ledger(None) as ledger:
        ...     registry.register(LedgerCollector(ledger))
        ...     b"vladder_up 1.0" in generate_latest(registry)
        True
    """

    def __init__(self, ledger: Ledger) -> None:
        """Read this ledger, which stays the caller's."""
        self._ledger = ledger

    def collect(self) -> Iterator[Any]:
        """Give all metrics; of a ledger that can't be read only that it is down."""
        up = GaugeMetricFamily("vladder_up", "Whether the ledger can be read.")
        try:
            found = [*self._queue(), *self._money()]
        except LedgerError:
            found = []
        up.add_metric([], float(bool(found)))
        yield up
        yield from found

    def describe(self) -> list[Any]:
        """Nothing: registering it must not read the ledger."""
        return []

    def _queue(self) -> Iterator[Any]:
        vitals = self._ledger.vitals(now=self._ledger.clock())
        names = ("verifier", "version")
        waiting = GaugeMetricFamily(
            "vladder_queued", "Checks that wait for a worker.", labels=names
        )
        age = GaugeMetricFamily(
            "vladder_queue_age_seconds", "How long the first of them has waited.", labels=names
        )
        dead = GaugeMetricFamily("vladder_dead", "Checks that failed too often.", labels=names)
        for name, found in vitals.waiting.items():
            waiting.add_metric(name, found.checks)
            age.add_metric(name, found.longest)
        for name, count in vitals.dead.items():
            dead.add_metric(name, count)
        unsigned = GaugeMetricFamily(
            "vladder_unsigned_entries", "Entries without a place in the signed log."
        )
        unsigned.add_metric([], vitals.unsigned)
        lag = GaugeMetricFamily(
            "vladder_checkpoint_lag_seconds", "How long the first of them has waited for it."
        )
        lag.add_metric([], vitals.unsigned_for)
        yield from (waiting, age, dead, unsigned, lag)

    def _money(self) -> Iterator[Any]:
        names = ("campaign", "run", "tier", "verifier", "resource", "what")
        spend = CounterMetricFamily(
            "vladder_spend", "Spent, by the run that asked first.", labels=names
        )
        for row in self._ledger.spend():
            place = (
                row.campaign, row.run, Tier(row.charged.tier).label, row.charged.verifier,
                row.resource.label,
            )  # fmt: skip
            spend.add_metric([*place, "settled"], row.settled)
            spend.add_metric([*place, "failed"], row.failed)
        cap = GaugeMetricFamily(
            "vladder_budget", "Caps of accounts.", labels=("campaign", "tier", "resource")
        )
        for campaign in self._ledger.campaigns():
            for account in self._ledger.accounts(campaign.name):
                if account.cap is not None:
                    where = (campaign.name, place_label(account.tier), account.resource.label)
                    cap.add_metric(where, account.cap)
        yield from (spend, cap)


def serve_metrics(
    ledger: Ledger, port: int, host: str = "127.0.0.1", *, registry: Any = REGISTRY
) -> tuple[str, int]:
    """Answer `/metrics` in the background until the process ends; gives where.

    Args:
        ledger: The ledger that is read at every scrape, beside what this process counts.
        port: The port; 0 for any that is free.
        host: The address; other machines reach it at 0.0.0.0.
        registry: What is answered; the ledger's collector is added to it.

    Raises:
        ConfigError: If the port is taken.
    """
    try:
        server, _ = start_http_server(port, host, registry)
    except OSError as error:
        raise ConfigError(
            f"can't listen at {host}:{port} for metrics ({error.strerror}); choose another port"
        ) from None
    registry.register(LedgerCollector(ledger))
    return str(server.server_address[0]), int(server.server_address[1])
