"""Metrics: what this process has done, as counters for Prometheus."""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Iterable
from typing import Any

from prometheus_client import REGISTRY, Counter, Histogram

from verifier_ladder.ledger.records import CheckRow, VerdictRow
from verifier_ladder.tier import Tier
from verifier_ladder.verdict import Verdict

_SECONDS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30, 100, 300)
_LONG = (*_SECONDS, 1_000, 3_000, 10_000, 30_000)


class Metrics:
    """Counts what happens in this process."""

    def __init__(self, registry: Any = None) -> None:
        """Register the metrics; with the default registry, unless another is given."""
        self._registry = REGISTRY if registry is None else registry
        self._samples = self._counter("samples", "Samples scored.", "campaign")
        self._calls = Histogram(
            "vladder_score_seconds", "Wall time of calls of score.", ("campaign",),
            buckets=_SECONDS, registry=self._registry,
        )  # fmt: skip
        self._lookups = self._counter(
            "lookups",
            "Candidates looked up, by whether the cache knew them.",
            "campaign",
            "result",
        )
        self._checks = self._counter(
            "checks", "Checks that have answered.", "campaign", "verifier", "tier", "outcome"
        )
        self._failures = self._counter(
            "failures", "Abstentions of failed boundaries.", "campaign", "verifier", "failed_at"
        )
        self._seconds = self._counter(
            "check_seconds", "Measured cpu time of checks.", "campaign", "verifier", "tier"
        )
        self._walls = Histogram(
            "vladder_check_wall_seconds", "Wall time of checks, from a worker's claim on.",
            ("campaign", "verifier"), buckets=_LONG, registry=self._registry,
        )  # fmt: skip
        self._revisions = self._counter("revisions", "Rewards replaced.", "campaign")

    def _counter(self, name: str, what: str, *labels: str) -> Counter:
        return Counter(f"vladder_{name}", what, labels, registry=self._registry)

    def scored(self, campaign: str, samples: int, seconds: float) -> None:
        """A call of `score` is over."""
        self._samples.labels(campaign).inc(samples)
        self._calls.labels(campaign).observe(seconds)

    def looked_up(self, campaign: str, candidates: int, verdicts: Iterable[VerdictRow]) -> None:
        """Candidates came in, about which these verdicts are new."""
        fresh: set[bytes] = set()
        outcomes: Tally[tuple[str, int, Verdict | str, str]] = Tally()
        for row in verdicts:
            fresh.add(row.content_key)
            outcomes[
                row.verifier, row.tier, row.verdict.outcome.value, row.verdict.failed_at or ""
            ] += 1
        self._lookups.labels(campaign, "miss").inc(min(len(fresh), candidates))
        self._lookups.labels(campaign, "hit").inc(max(0, candidates - len(fresh)))
        for (verifier, tier, outcome, failed_at), count in outcomes.items():
            self._told(campaign, verifier, tier, str(outcome), failed_at, count)

    def waited(self, campaign: str, took: Iterable[tuple[str, int, float, float]]) -> None:
        """A learner has waited for checks: verifier, how many together, begin and end."""
        for verifier, count, begun, ended in took:
            for _ in range(count):
                self._walls.labels(campaign, verifier).observe(ended - begun)

    def checked(self, check: CheckRow, verdict: Verdict, wall: float) -> None:
        """An attempt at a check is over, after so many seconds."""
        self._walls.labels(check.campaign, check.verifier).observe(max(0.0, wall))
        self._told(
            check.campaign, check.verifier, check.tier, verdict.outcome.value,
            verdict.failed_at or "", 1,
        )  # fmt: skip
        if verdict.cost is not None:
            place = (check.campaign, check.verifier, Tier(check.tier).label)
            self._seconds.labels(*place).inc(verdict.cost.seconds)

    def _told(  # noqa: PLR0917 - all of them are labels
        self, campaign: str, verifier: str, tier: int, outcome: str, failed_at: str, count: int
    ) -> None:
        if failed_at:
            self._failures.labels(campaign, verifier, failed_at).inc(count)
        else:
            self._checks.labels(campaign, verifier, Tier(tier).label, outcome).inc(count)

    def revised(self, campaign: str, count: int) -> None:
        """Rewards were replaced."""
        self._revisions.labels(campaign).inc(count)

    def close(self) -> None:
        """Take the metrics out of the registry."""
        for metric in (
            self._samples, self._calls, self._lookups, self._checks, self._failures,
            self._seconds, self._walls, self._revisions,
        ):  # fmt: skip
            self._registry.unregister(metric)
