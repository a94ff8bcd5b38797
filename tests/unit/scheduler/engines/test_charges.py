"""A batch is charged what its workers took for it, whatever becomes of them.

The workers are simulated: they take cpu time on paper only.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Mapping, Sequence
from math import isclose
from random import Random
from threading import Event
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifier_ladder.candidate import Candidate
from verifier_ladder.cost import LARGEST, Cost
from verifier_ladder.function import FunctionVerifier
from verifier_ladder.ledger.records import Claim
from verifier_ladder.masking import NO_MASK
from verifier_ladder.scheduler.engines import lane, wire, work
from verifier_ladder.scheduler.engines.job import MOST_RESERVED, BatchFuture
from verifier_ladder.scheduler.engines.journal import Journal
from verifier_ladder.scheduler.engines.pool import WorkerPool
from verifier_ladder.scheduler.engines.watch import Failure
from verifier_ladder.scheduler.engines.work import Work
from verifier_ladder.testing.records import check_row
from verifier_ladder.verdict import Verdict
from verifier_ladder.verifiers import Verifier


class Classed(Verifier):
    """Its marks are not sure to name the candidate that it is at."""

    name, version = "classed", "1"

    def verify(self, candidates: Sequence[Candidate]) -> list[float]:
        return [1.0] * len(candidates)


VERIFIERS = (Classed(), FunctionVerifier(float, name="function", version="1"))
BAD = "bad"
ENDS = ("lies", "dies", "dies unseen", "is stopped")


class Script:
    """What happens to a batch: drawn at random, and added up."""

    each = False
    """Whether its workers say what each candidate took."""

    def __init__(self, random: Random, ends: Sequence[str] = ()) -> None:
        self.random, self.ends = random, list(ends)
        self.taken = self.charged = 0.0
        self.begins = Event()
        self.work: Work

    def takes(self) -> float:
        """Cpu-seconds that a worker takes for something."""
        seconds = self.random.choice([0.0, 0.125, 0.5, 2.0])
        self.taken += seconds
        return seconds

    def pay(self) -> None:
        claims, verdicts = self.work.settled()
        self.work.written(claims)
        self.charged += sum(charge(verdict) for verdict in verdicts)

    def try_to_pay(self) -> None:
        """Pay, unless the ledger goes away before that is written."""
        self.maybe(self.work.settled)
        self.maybe(self.pay)

    def maybe(self, deed: Callable[[], object]) -> None:
        if self.random.random() < 0.5:
            deed()


class Worker:
    """Answers as the script says, with the interface of a `WorkerProcess`."""

    def __init__(self, script: Script) -> None:
        self.script, self.journal, self.mask = script, Journal(), NO_MASK
        self.known: set[int] = set()
        self.used = self.dead = False
        self.pid, self.took, self.least = None, 0.0, 0.0

    def call(
        self, request: bytes, _: object, look: Callable[[float, float], None]
    ) -> bytes | Failure:
        self.script.begins.wait()
        (_, contents, *_), *_ = pickle.loads(request)[3]  # noqa: S301
        end = "dies" if BAD in contents else self.script.ends.pop() if self.script.ends else ""
        most = stops = len(contents)
        if end:
            stops = contents.index(BAD) if BAD in contents else self.script.random.randint(0, most)
        self.used, self.took = True, 0.0
        self.journal.begin()
        for _ in range(stops):
            self.took += self.script.takes()
            self.journal.note(1.0)
            look(self.took, 0.0)
            self.script.maybe(lambda: look(self.took, 0.0))
            self.script.try_to_pay()
        self.seconds = self.took + self.script.takes()
        return self.ended(end, most)

    def ended(self, end: str, most: int) -> bytes | Failure:
        said = wire.pack(([], None))
        if end in ("", "lies"):
            return wire.pack(("ok", said, -1.0 if end else self.seconds))
        self.dead = True
        cause = "budget" if end == "is stopped" else "crash"
        at = None if end == "dies unseen" else min(self.journal.count, most - 1)
        return Failure(cause, "ended", at, self.seconds)

    def disbelieve(self, cause: str, why: str) -> Failure:
        self.dead = True
        return Failure(cause, why, None, self.seconds)

    def kill(self) -> None:
        self.journal.close()

    def signal_death(self) -> None:
        """Nothing is there to be killed."""


def charge(verdict: Verdict) -> float:
    return (verdict.cost or Cost()).seconds


def judged(
    script: Script, verifier: Verifier, *contents: str, worker: type[Worker] = Worker
) -> list[Verdict]:
    """Have simulated workers judge a batch, of which answers are paid while they do."""
    note = BatchFuture.note

    def noted(future: BatchFuture[Any], answers: Mapping[int, Any]) -> None:
        script.try_to_pay()
        note(future, answers)

    with pytest.MonkeyPatch.context() as patch, WorkerPool(1) as pool:
        patch.setattr(lane, "WorkerProcess", lambda *_, **__: worker(script))
        patch.setattr(BatchFuture, "note", noted)
        patch.setattr(work, "_LONG", 0.0)
        claims = [Claim(check_row(f"{n}"), 1) for n in range(len(contents))]
        future = pool.verify(verifier, [Candidate("text", content) for content in contents])
        script.work = Work(verifier, claims, future, None, asked_at=0.0)
        script.begins.set()
        verdicts = future.result().verdicts
        script.pay()
    return verdicts


@given(
    st.randoms(use_true_random=False),
    st.sampled_from(VERIFIERS),
    st.lists(st.sampled_from(ENDS), max_size=2),
    st.integers(1, 5),
)
def test_it_is_charged_what_was_taken_whatever_was_paid_before_its_end(
    random: Random, verifier: Verifier, ends: list[str], count: int
) -> None:
    script = Script(random, ends)

    verdicts = judged(script, verifier, *map(str, range(count)))

    assert isclose(script.taken, script.charged, abs_tol=1e-6)
    assert isclose(script.taken, sum(map(charge, verdicts)), abs_tol=1e-6)


@given(st.randoms(use_true_random=False), st.sampled_from(VERIFIERS))
def test_a_culprit_is_charged_for_what_its_control_took(
    random: Random, verifier: Verifier
) -> None:
    script = Script(random)

    verdicts = judged(script, verifier, "good", BAD)

    assert "it is well on others" in verdicts[1].reason
    assert isclose(script.taken, script.charged, abs_tol=1e-6)


class Lying(Worker):
    """Says that it took nothing, though the kernel has seen otherwise."""

    def call(
        self, request: bytes, _: object, look: Callable[[float, float], None]
    ) -> bytes | Failure:
        (_, contents, *_), *_ = pickle.loads(request)[3]  # noqa: S301
        self.used = True
        self.journal.begin()
        self.journal.costs[: len(contents)] = memoryview(bytes(8 * len(contents))).cast("d")
        for _ in contents:
            self.took += self.script.takes()
            self.least = self.took
            self.journal.note(1.0)
            for _ in range(2):  # At the second, what was written before the first is told.
                look(self.took, self.least)
            self.script.try_to_pay()
        costs = [0.0] * len(contents) if self.script.each else None
        return wire.pack(("ok", wire.pack(([], costs)), 0.0))


@pytest.mark.parametrize("each", [False, True], ids=["as a batch", "one by one"])
@given(st.randoms(use_true_random=False), st.integers(2, 5))
def test_a_worker_that_says_less_than_the_kernel_has_seen_is_charged_what_was_seen(
    each: bool,  # noqa: FBT001
    random: Random,
    count: int,
) -> None:
    script = Script(random)
    script.each = each
    cost = Cost(1.0 if each else 0.0)
    verifier = FunctionVerifier(float, name="lying", version="1", cost=cost)

    verdicts = judged(script, verifier, *map(str, range(count)), worker=Lying)

    assert isclose(script.taken, script.charged, abs_tol=1e-6)
    assert isclose(script.taken, sum(map(charge, verdicts)), abs_tol=1e-6)


class Boundless(Script):
    """Its workers say that they take nearly as much as can be said."""

    def takes(self) -> float:
        return 0.75 * LARGEST


def test_a_culprit_whose_attempts_took_more_than_can_be_counted_is_charged_the_most() -> None:
    (verdict,) = judged(Boundless(Random(0)), Classed(), BAD)  # noqa: S311

    assert ("engine", MOST_RESERVED) == (verdict.failed_at, charge(verdict))
