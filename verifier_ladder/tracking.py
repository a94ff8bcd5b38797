"""Tracking: a campaign's curves beside the learner's own, in the tracker where its run is.

A tracker is never imported here: one that the process has not imported has no run in it. What is
sent are numbers by step and alarms as text, from what the ledger holds of all processes, in a
thread of its own: no call waits for it, and what a tracker raises is logged once.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Mapping
from threading import Event, Lock, Thread
from time import monotonic, time
from typing import Any, Final, NamedTuple, Protocol

from verifier_ladder.analysis.audited import AuditedSteps
from verifier_ladder.analysis.totals import recorded_alarms, unanswered_text
from verifier_ladder.budget import place_label
from verifier_ladder.containment import ContainedLog, Containment
from verifier_ladder.errors import ConfigError
from verifier_ladder.ledger import Ledger
from verifier_ladder.ledger.counting import StepCount
from verifier_ladder.text import printable

_LOG = ContainedLog("verifier_ladder")
PATIENCE: Final = 10.0
"""Seconds that closing a campaign waits for the last numbers to be sent."""
_PAUSE: Final = 1.0
"""Seconds between two looks at the least."""
_SHARE: Final = 20.0
"""It works for no more than one in so many seconds."""
_LATEST: Final = 16
"""Steps after which the truth of one is told, though some of its checks are still awaited."""
_LONGEST: Final = 500
"""Characters of an alarm."""
_ODD = re.compile(r"[^A-Za-z0-9_.\- ]")
"""What MLflow takes in no name of a metric."""


class Point(NamedTuple):
    """What there is to be told of one step."""

    step: int
    axis: str
    """What its steps are called, for a tracker that counts others."""
    numbers: Mapping[str, float]
    texts: Mapping[str, str]


class Sink(Protocol):
    """Where points go."""

    def send(self, points: list[Point]) -> None:
        """Take points in the order of their steps, or raise whatever it likes."""


class WandbSink:
    """A run of W&B.

    Its own steps only ever grow, and what is logged for an earlier one is dropped. So nothing is
    committed here: points join the row that the learner commits next, and of several the last
    counts. They have an axis of their own.
    """

    def __init__(self, run: Any) -> None:
        """Send to a run."""
        self._run = run
        self._defined: set[str] = set()

    def send(self, points: list[Point]) -> None:
        """Take points in the order of their steps."""
        row: dict[str, Any] = {}
        for point in points:
            row |= {point.axis: point.step, **point.numbers, **point.texts}
            self._define(point.axis)
            for name in point.numbers:
                self._define(name, step_metric=point.axis)
        if row:
            self._run.log(row, commit=False)

    def _define(self, name: str, **options: str) -> None:
        if name not in self._defined:
            self._run.define_metric(name, **options)
            self._defined.add(name)


class MlflowSink:
    """A run of MLflow, by its id: which one is active, only the learner's own thread knows."""

    def __init__(self, mlflow: Any, run_id: str) -> None:
        """Send to a run, with the module that was imported."""
        self._mlflow, self._run_id = mlflow, run_id

    def send(self, points: list[Point]) -> None:
        """Take points in the order of their steps."""
        client, now = self._mlflow.MlflowClient(), int(1000 * time())
        metrics = [
            self._mlflow.entities.Metric(name, value, now, point.step)
            for point in points for name, value in point.numbers.items()
        ]  # fmt: skip
        if metrics:
            client.log_batch(self._run_id, metrics=metrics)
        for point in points:
            for name, text in point.texts.items():
                client.set_tag(self._run_id, name, text)


class TensorBoardSink:
    """A `SummaryWriter`, of torch or of tensorboardX."""

    def __init__(self, writer: Any) -> None:
        """Send to a writer."""
        self._writer = writer

    def send(self, points: list[Point]) -> None:
        """Take points in the order of their steps."""
        for point in points:
            for name, value in point.numbers.items():
                self._writer.add_scalar(name, value, point.step)
            for name, text in point.texts.items():
                self._writer.add_text(name, text, point.step)


_Found = tuple[str, "Sink | None"]
"""A run and where its points go; None where it has surely ended."""


def _wandb() -> _Found:
    run = getattr(sys.modules.get("wandb"), "run", None)
    return str(getattr(run, "id", "")), None if run is None else WandbSink(run)


def _mlflow() -> _Found | None:
    """The run that is active in this thread; None if that is not known."""
    mlflow = sys.modules.get("mlflow")
    active = getattr(mlflow, "active_run", None)
    if not callable(active) or (mine := active()) is None:
        return None
    run_id = str(mine.info.run_id)
    return run_id, MlflowSink(mlflow, run_id)


_LOOKS: Final[Mapping[str, Callable[[], _Found | None]]] = {"wandb": _wandb, "mlflow": _mlflow}


class Tracker:
    """Sends the curves of one run of a campaign to trackers, until it is closed.

    A step is told when the next one has begun, and the truth of it when no check of it is awaited
    any more, or some steps later. What was there before is not told again.

    **Threads.** Any number may call.
    """

    def __init__(self, ledger: Ledger, campaign: str, run: str) -> None:
        """Begin with what comes from now on.

        Args:
            ledger: The ledger; it must stay open until this is closed.
            campaign: Name of the campaign.
            run: The run whose steps are told.

        Raises:
            LedgerError: If the ledger can't be read.
        """
        self._points = _Points(ledger, campaign, run)
        self._contained = Containment(_LOG, "a tracker was not told everything, and is told on")
        self._sinks: dict[str, tuple[str, Sink]] = {}
        """By kind: its run, and where points go."""
        self._lock, self._wake, self._ends = Lock(), Event(), Event()
        self._thread = Thread(target=self._work, name="vl-tracker", daemon=True)
        self._thread.start()

    def note(self, writer: Any = None) -> None:
        """Look which runs are active in this thread, and have the newest numbers sent soon.

        Args:
            writer: A `SummaryWriter` of TensorBoard to send to from now on.

        Raises:
            ConfigError: If it is none.
        """
        if writer is not None:
            needed = ("add_scalar", "add_text")
            if not all(callable(getattr(writer, name, None)) for name in needed):
                raise ConfigError(
                    f"Campaign.track: writer is a {printable(type(writer).__name__, 60)}; give a "
                    "SummaryWriter of TensorBoard, or none for W&B and MLflow"
                )
            with self._lock:
                self._sinks["tensorboard"] = "", TensorBoardSink(writer)
        for kind, look in _LOOKS.items():
            with self._contained():
                self._use(kind, look())
        self._wake.set()

    def _use(self, kind: str, found: _Found | None) -> None:
        if found is None:
            return
        run, sink = found
        with self._lock:
            if sink is None:
                self._sinks.pop(kind, None)
            elif self._sinks.get(kind, ("", None))[0] != run:
                self._sinks[kind] = run, sink

    def close(self) -> None:
        """Send what there still is, and end; a tracker that hangs is not waited for."""
        self._ends.set()
        self._wake.set()
        self._thread.join(PATIENCE)
        if self._thread.is_alive():
            _LOG.warning("a tracker did not take the last numbers within %g s", PATIENCE)

    def _work(self) -> None:
        while True:
            self._wake.wait()
            self._wake.clear()
            is_last, begun = self._ends.is_set(), monotonic()
            with self._contained():
                self._look(is_last=is_last)
            if is_last:
                return
            self._ends.wait(max(_PAUSE, _SHARE * (monotonic() - begun)))

    def _look(self, *, is_last: bool) -> None:
        with self._lock:
            sinks = [sink for _, sink in self._sinks.values()]
        if not sinks:
            return
        points: list[Point] = []
        for new in (self._points.told, self._points.audited, self._points.alarms):
            with self._contained():  # What is new is told once, so the others are sent anyway.
                points.extend(new(is_last=is_last))
        for sink in sinks:
            with self._contained():
                sink.send(points)


class _Points:
    """What is new of a run, point by point."""

    def __init__(self, ledger: Ledger, campaign: str, run: str) -> None:
        self._ledger, self._campaign, self._run = ledger, campaign, run
        self._prefix = f"vladder/{_ODD.sub('_', campaign)}"
        self._cursor = ledger.newest()
        self._steps = AuditedSteps(ledger, campaign, after=self._cursor, run=run)
        self._newest = self._told = -1
        self._newest = self._told = max((count.step for count in self._counts()), default=-1)
        self._steps.forget(run, self._newest)
        self._alarms = 0
        self._is_unanswered = False

    def told(self, *, is_last: bool) -> Iterator[Point]:
        """What the learner was told in the steps that are over."""
        counts = self._counts()
        spent = self._spent() if counts else {}
        self._newest = max((count.step for count in counts), default=self._newest)
        for count in counts:
            if count.step < self._newest or is_last:
                self._told = count.step
                yield self._point("", count.step, {**_rewards(count), **spent})

    def audited(self, *, is_last: bool) -> Iterator[Point]:
        """What audits say of the steps whose checks are no longer awaited."""
        if not self._steps.is_audited:
            return
        self._steps.refresh()
        for step in self._steps.steps:
            is_over = not step.pending or step.step + _LATEST <= self._newest
            if not (is_last or (is_over and step.step < self._newest)):
                return
            self._steps.forget(step.run, step.step)
            if step.truth is not None and step.audits:
                numbers = {"reward": step.truth, "samples": float(step.audits)}
                yield self._point("/audited", step.step, numbers)

    def alarms(self, *, is_last: bool) -> Iterator[Point]:  # noqa: ARG002 - as the others
        """Alarms that were raised, each at the step whose audits raised it."""
        for entry, alarm in recorded_alarms(self._ledger, self._campaign, self._cursor):
            self._cursor = entry
            if alarm is not None and alarm.last.run == self._run:
                yield self._alarm(alarm.last.step, alarm.text)
        if not self._is_unanswered and (text := self._unanswered()):
            self._is_unanswered = True
            yield self._alarm(max(0, self._newest), text)

    def _counts(self) -> list[StepCount]:
        """The steps that are not told yet."""
        found = self._ledger.step_counts(self._campaign, since=self._told + 1)
        return [count for count in found if count.run == self._run]

    def _spent(self) -> dict[str, float]:
        """What was spent of each resource until now, by tier."""
        return {
            f"spent/{place_label(account.tier)}/{account.resource.label}": account.spent
            for account in self._ledger.accounts(self._campaign) if account.spent
        }  # fmt: skip

    def _alarm(self, step: int, text: str) -> Point:
        self._alarms += 1
        texts = {"text": printable(text, _LONGEST)}
        return self._point("/alarms", step, {"count": float(self._alarms)}, texts)

    def _unanswered(self) -> str | None:
        """What there is to say of samples without a reward; None if they are few."""
        for run in self._ledger.step_counts(self._campaign, whole_runs=True):
            if run.run == self._run:
                return unanswered_text(run)
        return None

    def _point(
        self, series: str, step: int, numbers: Mapping[str, float],
        texts: Mapping[str, str] | None = None,
    ) -> Point:  # fmt: skip
        """A point of one of the series, which have steps of their own."""
        start = f"{self._prefix}{series}/"
        return Point(
            step, f"{start}step", {start + name: value for name, value in numbers.items()},
            {start + name: text for name, text in (texts or {}).items()},
        )  # fmt: skip


def _rewards(count: StepCount) -> dict[str, float]:
    """The rewards of a step as they stand; what is not known is left out."""
    told = {"samples": float(count.samples)}
    if count.mean is not None:
        told["reward"] = count.mean
    if count.samples and not count.unsummed:
        told["unknown"] = 1.0 - count.known / count.samples
        if count.waiting >= 0:
            told["pending"] = count.waiting / count.samples
    return told
