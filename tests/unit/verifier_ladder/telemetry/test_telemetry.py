"""Telemetry tells what happens, to OpenTelemetry and to Prometheus, and costs nothing when off."""

import json
import logging
import sys
from collections.abc import Iterator
from pathlib import Path
from threading import current_thread, main_thread
from typing import Any
from urllib.request import urlopen

import pytest
from modules import forget
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from prometheus_client import REGISTRY, CollectorRegistry, generate_latest

import verifier_ladder as vl
from verifier_ladder import telemetry
from verifier_ladder.ledger import open_ledger
from verifier_ladder.scheduler.policies.alltiers import AllTiers
from verifier_ladder.telemetry.collector import LedgerCollector, serve_metrics
from verifier_ladder.telemetry.logs import JsonFormatter, TextFormatter


@vl.verifier(name="quick-o", tier="fast", kind="text", version="1", isolation="inline")
def quick(candidate: vl.Candidate) -> float:
    if candidate.content == "broken":
        raise vl.ToolError("no tool")
    return float(len(candidate.content))


@vl.verifier(name="slow-o", tier="simulation", kind="text", version="1", isolation="inline")
def slow(candidate: vl.Candidate) -> float | vl.Verdict:
    if candidate.content == "odd":
        return vl.Verdict.abstain("odd", failed_at="verifier")
    return 10.0 * len(candidate.content)


LADDER = vl.Ladder("telemetry", [quick, slow], policy=AllTiers())


@pytest.fixture
def spans() -> Iterator[InMemorySpanExporter]:
    """Traces go to memory, metrics to a registry of this test."""
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    telemetry.begin(provider=provider, registry=CollectorRegistry())
    yield exporter
    telemetry.end()


def scored(*texts: str, ledger: Any = None) -> vl.Campaign:
    with vl.Campaign.open("t", ladder=LADDER, ledger=ledger, run="r", workers=1) as campaign:
        campaign.score(list(texts), deadline="300 s")
        campaign.drain("300 s")
    return campaign


def named(exporter: InMemorySpanExporter, name: str) -> list[ReadableSpan]:
    return [span for span in exporter.get_finished_spans() if span.name == name]


def told(sample: str, **labels: str) -> float:
    assert telemetry.active is not None
    assert telemetry.active.metrics is not None
    registry: CollectorRegistry = telemetry.active.metrics._registry
    return registry.get_sample_value(sample, labels) or 0.0


def test_a_trace_goes_from_score_to_check_to_revision(spans: InMemorySpanExporter) -> None:
    scored("a")

    (score,), (check,), (revision,) = (named(spans, n) for n in ("score", "check", "revision"))
    assert score.context is not None
    for child in (check, revision):
        assert child.parent is not None
        assert child.parent.span_id == score.context.span_id
        assert child.context is not None
        assert child.context.trace_id == score.context.trace_id
    assert check.attributes is not None
    assert ("slow-o", "simulation", "accept") == tuple(
        check.attributes[f"vl.{name}"] for name in ("verifier", "tier", "outcome")
    )
    assert check.start_time is not None
    assert check.end_time is not None
    assert 0 <= check.end_time - check.start_time < 60e9
    assert revision.attributes is not None
    assert (10.0, False) == (revision.attributes["vl.reward"], revision.attributes["vl.pending"])


def test_a_check_that_fails_is_an_error(spans: InMemorySpanExporter) -> None:
    scored("odd")

    (check,) = named(spans, "check")
    assert not check.status.is_ok
    assert "odd" in str(check.status.description)
    assert check.attributes is not None
    assert "verifier" == check.attributes["vl.failed_at"]


@pytest.mark.parametrize("error", [RuntimeError("no exporter"), SystemExit(3)])
def test_an_exporter_that_fails_as_a_span_ends_costs_no_reward(error: BaseException) -> None:
    class Broken(SpanProcessor):
        def on_end(self, span: ReadableSpan) -> None:
            if span.name == "score" and isinstance(error, Exception):
                raise error
            if current_thread() is not main_thread():
                raise error

    provider = TracerProvider()
    provider.add_span_processor(Broken())
    telemetry.begin(["traces"], provider=provider)
    try:
        with vl.Campaign.open("t", ladder=LADDER, run="r", workers=1) as campaign:
            assert [20.0] == [r.value for r in campaign.score(["ab"], deadline="300 s")]
    finally:
        telemetry.end()


@pytest.mark.usefixtures("spans")
def test_work_is_counted() -> None:
    with vl.Campaign.open("t", ladder=LADDER, run="r", workers=1) as campaign:
        campaign.score(["a", "bb", "odd", "broken"], deadline="300 s")
        campaign.score(["a", "bb"], deadline="300 s")
        campaign.drain("300 s")

    assert 6.0 == told("vladder_samples_total", campaign="t")
    assert 2.0 == told("vladder_score_seconds_count", campaign="t")
    assert (4.0, 2.0) == tuple(
        told("vladder_lookups_total", campaign="t", result=result) for result in ("miss", "hit")
    )
    assert 3.0 == told(
        "vladder_checks_total", campaign="t", verifier="slow-o", tier="simulation",
        outcome="accept",
    )  # fmt: skip
    failures = [
        told("vladder_failures_total", campaign="t", verifier=verifier, failed_at=boundary)
        for verifier, boundary in (("slow-o", "verifier"), ("quick-o", "tool"))
    ]
    assert [1.0, 1.0] == failures
    assert [4.0, 4.0] == [
        told("vladder_check_wall_seconds_count", campaign="t", verifier=verifier)
        for verifier in ("slow-o", "quick-o")
    ]
    assert 4.0 == told("vladder_revisions_total", campaign="t")


def test_off_is_none(tmp_path: Path) -> None:
    assert telemetry.active is None
    campaign = scored("a", ledger=tmp_path / "ledger.db")
    with open_ledger(tmp_path / "ledger.db") as ledger:
        assert all("trace" not in row.payload for row in ledger.checks())
    assert "t" == campaign.name


def test_importing_it_brings_nothing_else() -> None:
    import subprocess

    code = (
        "import sys, verifier_ladder as vl; from verifier_ladder.scheduler import conductor; "
        "print([n for n in sys.modules if n.startswith(('opentelemetry', 'prometheus'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert "[]\n" == done.stdout


def test_the_environment_switches_it_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VLADDER_TELEMETRY", "metrics")
    telemetry.begin_as_set()
    try:
        assert telemetry.active is not None
        assert telemetry.active.traces is None
        assert b"vladder_samples" in generate_latest(REGISTRY)
    finally:
        telemetry.end()
    assert b"vladder_samples" not in generate_latest(REGISTRY)


@pytest.mark.parametrize("said", ["everything", "traces,smoke"])
def test_what_it_has_not_is_refused(said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VLADDER_TELEMETRY", said)
    with pytest.raises(vl.ConfigError, match="write traces or metrics"):
        telemetry.begin_as_set()
    assert telemetry.active is None


def test_a_missing_package_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    forget(monkeypatch, "verifier_ladder.telemetry.")
    monkeypatch.setitem(sys.modules, "prometheus_client", None)
    with pytest.raises(vl.ConfigError, match=r"pip install '\.\[telemetry\]'"):
        telemetry.begin()


def test_a_scrape_reads_the_ledger(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    with vl.Campaign.open(
        "t", ladder=LADDER, ledger=path, run="r", workers=1, budget={"simulation": "1 h"}
    ) as campaign:
        campaign.score(["odd", "a"], deadline="300 s")
        campaign.drain("300 s")
        campaign.pause("simulation")
        campaign.score(["ccc"])
        registry = CollectorRegistry()
        registry.register(LedgerCollector(campaign.ledger))
        text = generate_latest(registry).decode()
        age = registry.get_sample_value(
            "vladder_queue_age_seconds", {"verifier": "slow-o", "version": "1"}
        )

    assert age is not None
    assert 0 <= age < 60
    assert 'vladder_queued{verifier="slow-o",version="1"} 1.0' in text
    assert 'vladder_dead{verifier="slow-o",version="1"} 1.0' in text
    assert 'vladder_budget{campaign="t",resource="cpu_seconds",tier="simulation"} 3600.0' in text
    assert 'run="r",tier="simulation",verifier="slow-o",what="settled"' in text
    assert "vladder_checkpoint_lag_seconds" in text


def test_a_ledger_that_is_gone_is_down(tmp_path: Path) -> None:
    ledger = open_ledger(tmp_path / "ledger.db")
    registry = CollectorRegistry()
    registry.register(LedgerCollector(ledger))
    ledger.close()
    assert 0.0 == registry.get_sample_value("vladder_up")


def test_metrics_are_served(tmp_path: Path) -> None:
    with open_ledger(tmp_path / "ledger.db") as ledger:
        registry = CollectorRegistry()
        host, port = serve_metrics(ledger, 0, registry=registry)
        with urlopen(f"http://{host}:{port}/metrics") as answer:
            text = answer.read().decode()
        assert "vladder_up 1.0" in text
        with pytest.raises(vl.ConfigError, match="choose another port"):
            serve_metrics(ledger, port, registry=registry)


def test_a_log_record_is_one_line_of_json() -> None:
    record = logging.makeLogRecord(
        {"msg": "two\nlines", "levelname": "WARNING", "name": "vl", "campaign": "c"}
    )
    (line,) = JsonFormatter().format(record).splitlines()
    made = json.loads(line)
    assert ("two\nlines", "warning", "vl", "c") == tuple(
        made[name] for name in ("message", "level", "logger", "campaign")
    )


@pytest.mark.parametrize("formatter", [JsonFormatter(), TextFormatter()])
def test_a_log_tells_a_terminal_nothing(formatter: logging.Formatter) -> None:
    said = "of \x1b[2J\x9b31m\u202e\nERROR: a stranger"
    error = (RuntimeError, RuntimeError(said), None)
    told = {"levelname": "INFO", "name": "vl", "msg": "%s", "args": (said,)}

    line = formatter.format(logging.makeLogRecord(told))
    whole = formatter.format(logging.makeLogRecord({**told, "exc_info": error}))

    assert "\n" not in line
    assert not {"\x1b", "\x9b", "\u202e"} & set(line + whole)
