"""Instruments: what the scheduler and the engine tell telemetry, and to whom that goes."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from time import perf_counter
from typing import Any

from verifier_ladder.containment import ContainedLog, Containment
from verifier_ladder.ledger.records import CheckRow, Claim, Request, VerdictRow
from verifier_ladder.reward import Reward
from verifier_ladder.telemetry.metrics import Metrics
from verifier_ladder.telemetry.traces import Traces
from verifier_ladder.verdict import Verdict
from verifier_ladder.verifiers import Verifier

_LOG = ContainedLog("verifier_ladder")
Enqueue = list[tuple[CheckRow, Sequence[Request]]]


def make(parts: Collection[str], provider: Any, registry: Any) -> Instruments:
    """Make what was asked for."""
    return Instruments(
        Traces.to(provider) if "traces" in parts else None,
        Metrics(registry) if "metrics" in parts else None,
    )


class Instruments:
    """Hears of everything that happens in this process, and passes it on.

    An exporter that fails is nobody's trouble: what it said is logged, once for each error, and
    what was to be told is lost.

    **Threads.** Any number may call at once.
    """

    def __init__(self, traces: Traces | None, metrics: Metrics | None) -> None:
        """Pass on to these; None is passed over."""
        self.traces, self.metrics = traces, metrics
        self._contained = Containment(_LOG, "telemetry failed, and is told on")

    @contextmanager
    def scoring(self, campaign: str, run: str, step: int, samples: int) -> Iterator[None]:
        """Around one call of `score`."""
        begun = perf_counter()
        span = ExitStack()
        if self.traces:
            with self._contained():
                span.enter_context(self.traces.scoring(campaign, run, step, samples))
        try:
            yield
        finally:
            with self._contained():  # Its exit knows the error, and raises none but its own.
                span.__exit__(*sys.exc_info())
        if self.metrics:
            with self._contained():
                self.metrics.scored(campaign, samples, perf_counter() - begun)

    def looked_up(
        self, campaign: str, candidates: int, verdicts: Iterable[VerdictRow],
        took: Iterable[tuple[str, int, float, float]] = (),
    ) -> None:  # fmt: skip
        """The first tier has been asked about candidates; these verdicts are new.

        Args:
            campaign: The campaign.
            candidates: How many candidates there are.
            verdicts: What is new.
            took: Verifier, number of checks, begin and end of each call of a verifier.
        """
        if self.metrics:
            with self._contained():
                self.metrics.looked_up(campaign, candidates, verdicts)
                self.metrics.waited(campaign, took)

    def asked(self, enqueue: Enqueue) -> Enqueue:
        """The same checks, which carry on the trace of the call that asks for them."""
        parent = None
        if self.traces:
            with self._contained():
                parent = self.traces.current()
        if parent is None:
            return enqueue
        return [
            (
                check._replace(payload={**check.payload, "trace": parent}),
                [r._replace(state={**r.state, "trace": parent}) for r in waiting],
            )
            for check, waiting in enqueue
        ]

    def checked(
        self, verifier: Verifier, claims: Sequence[Claim], verdicts: Sequence[Verdict],
        begun: float, ended: float,
    ) -> None:  # fmt: skip
        """A worker has answered about some checks; times in seconds since 1970."""
        with self._contained():
            for claim, verdict in zip(claims, verdicts, strict=True):
                if verdict.evidence.get("waiting") and verifier.waits:
                    continue
                if self.metrics:
                    self.metrics.checked(claim.check, verdict, ended - begun)
                if self.traces:
                    self.traces.checked(claim.check, verdict, begun, ended)

    def revised(self, requests: Sequence[Request], rewards: Sequence[Reward]) -> None:
        """Rewards were replaced."""
        with self._contained():
            if self.metrics and requests:
                self.metrics.revised(requests[0].campaign, len(requests))
            if self.traces:
                for request, reward in zip(requests, rewards, strict=True):
                    self.traces.revised(request, reward)

    def close(self) -> None:
        """Send what was not sent yet, and let go of the registry."""
        if self.traces:
            self.traces.close()
        if self.metrics:
            self.metrics.close()
