"""Traces: one tree of spans for a call of `score`, its checks and the revisions they lead to.

Checks may run in other processes and days later: what they carry is W3C's `traceparent`, in the
work queue.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from time import time_ns
from typing import Any

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import SpanKind, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from verifier_ladder.ledger.records import CheckRow, Request
from verifier_ladder.reward import Reward
from verifier_ladder.tier import Tier
from verifier_ladder.verdict import Verdict

_NANO = 1_000_000_000
_CARRIER = TraceContextTextMapPropagator()
_SERVICE = "verifier-ladder"


class Traces:
    """Writes spans with OpenTelemetry."""

    def __init__(self, provider: Any, *, owned: bool = False) -> None:
        """Write to a tracer provider; one that is `owned` is shut down at the end."""
        self._provider, self._owned = provider, owned
        self._tracer = provider.get_tracer("verifier_ladder")

    @classmethod
    def to(cls, provider: Any = None) -> Traces:
        """Write to this provider, or else to the process's own, or else over OTLP."""
        if provider is not None:
            return cls(provider)
        found = trace.get_tracer_provider()
        if hasattr(found, "add_span_processor"):  # Else nobody has set one.
            return cls(found)
        return cls(_exporting(), owned=True)

    @contextmanager
    def scoring(self, campaign: str, run: str, step: int, samples: int) -> Iterator[None]:
        """The span of one call; it is the current one meanwhile."""
        told = {
            "vl.campaign": campaign, "vl.run": run, "vl.step": step, "vl.samples": samples,
        }  # fmt: skip
        with self._tracer.start_as_current_span("score", attributes=told):
            yield

    def current(self) -> str | None:
        """The current span, as others continue it; None if there is none."""
        carrier: dict[str, str] = {}
        _CARRIER.inject(carrier)
        return carrier.get("traceparent")

    def checked(self, check: CheckRow, verdict: Verdict, begun: float, ended: float) -> None:
        """The span of one attempt at a check."""
        span = self._tracer.start_span(
            "check", _parent(check.payload.get("trace")), SpanKind.CONSUMER,
            {
                "vl.campaign": check.campaign, "vl.run": check.run, "vl.verifier": check.verifier,
                "vl.version": check.version, "vl.tier": Tier(check.tier).label,
                "vl.check_key": check.check_key.hex(), "vl.attempt": check.attempt,
                "vl.outcome": verdict.outcome.value, "vl.failed_at": verdict.failed_at or "",
            },
            start_time=int(begun * _NANO),
        )  # fmt: skip
        if verdict.failed_at is not None:
            span.set_status(StatusCode.ERROR, verdict.reason[:500])
        span.end(int(ended * _NANO))

    def revised(self, request: Request, reward: Reward) -> None:
        """The span of one revision: a moment."""
        now = time_ns()
        told: dict[str, Any] = {
            "vl.campaign": request.campaign, "vl.run": request.run, "vl.step": request.step,
            "vl.position": request.position, "vl.check_key": request.check_key.hex(),
            "vl.revision": reward.revision, "vl.pending": reward.pending,
        }  # fmt: skip
        if reward.value is not None:
            told["vl.reward"] = reward.value
        span = self._tracer.start_span(
            "revision", _parent(request.state.get("trace")), attributes=told, start_time=now
        )
        span.end(now)

    def close(self) -> None:
        """Send what was not sent yet."""
        if self._owned:
            self._provider.shutdown()


def _parent(carried: Any) -> Context | None:
    """The context of a span in another process; None for a trace of its own."""
    return _CARRIER.extract({"traceparent": carried}) if isinstance(carried, str) else None


def _exporting() -> Any:
    """A provider that sends to the collector of OpenTelemetry's own variables."""
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    # OTEL_SERVICE_NAME wins over this name.
    made = TracerProvider(resource=Resource({"service.name": _SERVICE}).merge(Resource.create()))
    made.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return made
