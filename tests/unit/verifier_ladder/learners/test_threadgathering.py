"""Threads that ask one by one share calls, and none waits behind one that hangs."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any

import pytest

import verifier_ladder as vl
from verifier_ladder.learners.threadgathering import ThreadGatherer


class Scorer:
    """Scores texts as their lengths; the text `hang` is held until it is let."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []
        self.has_begun, self.let = Event(), Event()

    def __call__(self, samples: Sequence[Any], waited: float) -> list[vl.Reward]:
        assert waited >= 0.0
        self.batches.append(list(samples))
        if "hang" in samples:
            self.has_begun.set()
            self.let.wait(300)
        if "gone" in samples:
            raise vl.LedgerError("it is gone")
        return [vl.Reward(float(len(one))) for one in samples]


def ask(gatherer: ThreadGatherer, text: Any) -> float | None:
    return gatherer.ask(text).value


def test_a_lone_thread_waits_for_nobody() -> None:
    scorer = Scorer()
    gatherer = ThreadGatherer(scorer)

    assert [1.0, 2.0] == [ask(gatherer, "a"), ask(gatherer, "bb")]
    assert [["a"], ["bb"]] == scorer.batches


def test_every_thread_gets_its_own_answer_and_calls_are_shared() -> None:
    scorer = Scorer()
    gatherer = ThreadGatherer(scorer)
    texts = ["hang", *("a" * (i + 1) for i in range(31))]
    with ThreadPoolExecutor(32) as threads:
        first = threads.submit(ask, gatherer, texts[0])
        scorer.has_begun.wait(300)
        others = [threads.submit(ask, gatherer, text) for text in texts[1:]]
        told = [one.result(300) for one in others]
        scorer.let.set()

        assert 4.0 == first.result(300)
    assert [float(i + 1) for i in range(31)] == told
    assert sorted(texts) == sorted(text for batch in scorer.batches for text in batch)


def test_nobody_waits_behind_a_call_that_hangs() -> None:
    scorer = Scorer()
    gatherer = ThreadGatherer(scorer)
    with ThreadPoolExecutor(1) as threads:
        hangs = threads.submit(ask, gatherer, "hang")
        scorer.has_begun.wait(300)

        assert 2.0 == ask(gatherer, "bb")

        scorer.let.set()
        assert 4.0 == hangs.result(300)


def test_a_failure_reaches_who_asked_and_nobody_after() -> None:
    gatherer = ThreadGatherer(Scorer())

    with pytest.raises(vl.LedgerError, match="gone"):
        ask(gatherer, "gone")
    assert 1.0 == ask(gatherer, "a")
