"""Async verifiers: one event loop for a process's whole life, and each candidate for itself."""

import asyncio
import os
import pickle
from collections.abc import Iterator

import pytest

import verifier_ladder as vl
from verifier_ladder.asynchronous import AsyncVerifier, answers, patience, start, wait_for
from verifier_ladder.errors import ConfigError


class PanicError(BaseException):
    """What libraries in other languages raise."""


class Judge(AsyncVerifier):
    """Does what a candidate's text says."""

    name, version, tier, kind, timeout = "judge", "1", "simulation", "text", 300.0

    def __init__(self, concurrency: int = 32) -> None:
        self.concurrency = concurrency
        super().__init__()
        self.loops: list[asyncio.AbstractEventLoop] = []

    async def verify_one(self, candidate: vl.Candidate) -> float | bool:
        self.loops.append(asyncio.get_running_loop())
        said = str(candidate.content)
        if said == "wait":
            await asyncio.Event().wait()
        if said == "cancel":
            raise asyncio.CancelledError
        if said == "panic":
            raise PanicError
        if said == "nest":
            return bool(Judge().judge(texts("1")))
        if said == "raise":
            raise RuntimeError("no luck")
        return float(said)


def texts(*contents: str) -> list[vl.Candidate]:
    return [vl.Candidate("text", content) for content in contents]


def test_all_batches_of_a_process_share_one_event_loop() -> None:
    judge = Judge()

    assert [1.0, 2.0] == [verdict.score for verdict in judge.judge(texts("1", "2"))]
    assert [3.0] == [verdict.score for verdict in judge.judge(texts("3"))]
    assert len(set(judge.loops)) == 1


def test_an_event_loop_that_runs_already_is_no_obstacle() -> None:
    async def notebook() -> list[vl.Verdict]:
        return Judge().judge(texts("1"))

    assert [1.0] == [verdict.score for verdict in asyncio.run(notebook())]


@pytest.mark.parametrize("bad", ["raise", "cancel", "panic"])
def test_a_call_that_fails_costs_only_its_own_candidate(bad: str) -> None:
    first, second, third = Judge().judge(texts("1", bad, "3"))

    assert (1.0, 3.0) == (first.score, third.score)
    assert ("verifier", None) == (second.failed_at, second.score)


def test_a_verifier_that_would_wait_for_itself_is_told_so() -> None:
    first, second = Judge().judge(texts("nest", "2"))

    assert "await its verify_one" in first.reason
    assert "to_thread" in first.reason
    assert (None, 2.0) == (first.score, second.score)


def test_an_async_verifier_asks_others() -> None:
    """As the error for one that would wait for itself says: three ways, each for its kind."""

    async def half(candidate: vl.Candidate) -> float:
        return len(candidate.content) / 2

    other = vl.verifier(name="half", version="1")(half)
    wrapped = vl.wrap(lambda completions: [float(len(c)) for c in completions], name="whole")

    async def all_(candidate: vl.Candidate) -> float:
        (whole,) = await asyncio.to_thread(wrapped.judge, [candidate])
        (again,) = await asyncio.to_thread(other.judge, [candidate])
        judged = await Judge().verify_one(vl.Candidate("text", "3"))
        return float(await other(candidate)) + sum(v.score or 0.0 for v in (again, whole)) + judged

    verdicts = vl.verifier(name="all", version="1")(all_).judge(texts("ab", "abcd"))
    assert [7.0, 11.0] == [verdict.score for verdict in verdicts]


def test_silence_costs_only_its_own_candidate() -> None:
    judge = Judge()
    judge.timeout = 0.05

    first, second = judge.judge(texts("wait", "2"))

    assert ("tool", "no answer in 0.05 s") == (first.failed_at, first.reason)
    assert 2.0 == second.score


def test_what_has_answered_is_given_while_others_wait() -> None:
    given = iter(Judge().stream(texts("1", "wait")))

    assert 1.0 == next(given)
    given.close()  # type: ignore[attr-defined]


def test_calls_that_nobody_listens_to_are_cancelled() -> None:
    ended = asyncio.Event()

    async def ask(candidate: vl.Candidate) -> float:
        if candidate.content == "1":
            return 1.0
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return 0.0

    given: Iterator[object] = answers(ask, texts("1", "2"), 300.0, 2)
    next(given)
    given.close()  # type: ignore[attr-defined]

    assert wait_for(asyncio.wait_for(ended.wait(), 300.0))


def test_no_more_are_asked_about_at_once_than_allowed() -> None:
    running, most, two = [], [], asyncio.Barrier(2)

    async def ask(_: vl.Candidate) -> float:
        running.append(1)
        most.append(len(running))
        await two.wait()
        running.pop()
        return 1.0

    assert [1.0] * 8 == list(answers(ask, texts(*"12345678"), 300.0, 2))
    assert 2 == max(most)


def test_an_exit_in_one_call_ends_no_other() -> None:
    async def leave() -> None:
        raise SystemExit(3)

    with pytest.raises(SystemExit):
        wait_for(leave())
    assert [1.0] == [verdict.score for verdict in Judge().judge(texts("1"))]


def test_a_forked_child_has_a_loop_of_its_own() -> None:
    Judge().judge(texts("1"))
    child = os.fork()
    if not child:
        told = start(asyncio.sleep(0, 7)).result(300.0)
        os._exit(told)

    assert 7 == os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_it_travels_to_workers() -> None:
    judge = pickle.loads(pickle.dumps(Judge(concurrency=3)))  # noqa: S301 - our own

    assert (3, [1.0]) == (judge.concurrency, [v.score for v in judge.judge(texts("1"))])


def test_a_campaign_waits_as_long_as_its_calls_may_take() -> None:
    assert [11.0, 11.0, 21.0] == [patience(count, 10.0, 32) for count in (0, 32, 33)]
    assert patience(2, 10.0, 1) == Judge.patience(Judge(1), 2) - 2 * 290.0
    assert not Judge().answers_together


@pytest.mark.parametrize("concurrency", [0, 1.5, "3"])
def test_how_many_at_once_is_a_whole_number(concurrency: int) -> None:
    with pytest.raises(ConfigError, match="concurrency"):
        Judge(concurrency)


def test_one_without_the_method_says_what_is_missing() -> None:
    class Empty(AsyncVerifier):
        name, version = "empty", "1"

    (verdict,) = Empty().judge(texts("1"))

    assert "Empty has no verify_one method" in verdict.reason
