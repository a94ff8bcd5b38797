"""Answers are delivered as they are made: what comes later can neither hold them back nor cost
them a second run."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import verifier_ladder as vl
from verifier_ladder.candidate import Candidate
from verifier_ladder.cost import Cost
from verifier_ladder.function import FunctionVerifier
from verifier_ladder.metering import seconds_of
from verifier_ladder.scheduler.engines import progress
from verifier_ladder.scheduler.engines.pool import WorkerPool
from verifier_ladder.verdict import Verdict

pytestmark = pytest.mark.usefixtures("forked_workers")

Until = Callable[[Callable[[], object]], None]
DEEDS: dict[str, Callable[[], Any]] = {
    "sleep": lambda: time.sleep(60),
    "lock": lambda: re.match(r"(a+)+$", "a" * 64 + "b"),
    "stop": lambda: os.kill(os.getpid(), signal.SIGSTOP),
    "die": lambda: os._exit(0),
    "crash": lambda: os.kill(os.getpid(), signal.SIGSEGV),
    "leave": sys.exit,
    "throw": lambda: 1 / 0,
}
FATAL = ("die", "crash", "leave", "throw")


def tell(content: str) -> Verdict | float | bool:
    """Every sort of answer."""
    if content in DEEDS:
        DEEDS[content]()
    if content.startswith("v"):
        return Verdict.accept(float(len(content)), evidence={"of": content})
    return content == "true" if content in ("true", "false") else float(len(content))


class Diary:
    """Writes down each candidate that is looked at."""

    def __init__(self, path: Path) -> None:
        self.path = str(path)

    def __call__(self, candidate: Candidate) -> Any:
        content = str(candidate.content)
        with Path(self.path).open("a") as file:
            file.write(f"{content}\n")
        return tell(content)

    def read(self) -> Counter[str]:
        path = Path(self.path)
        return Counter(path.read_text().splitlines() if path.exists() else [])


class Yielding(vl.Verifier):
    """A class that yields its answers."""

    name, version, timeout = "yielding", "1", 30.0

    def __init__(self, diary: Diary) -> None:
        self.diary = diary
        super().__init__()

    def verify(self, candidates: Sequence[Candidate]) -> Iterator[Any]:
        for candidate in candidates:
            yield self.diary(candidate)


class Burning(vl.AsyncVerifier):
    """Calls that are all at work at once; each ends, after some work, when a file is there."""

    name, version, timeout, concurrency = "burning", "1", 300.0, 8
    cost = Cost(seconds=1e-3)

    def __init__(self, folder: Path) -> None:
        self.folder = str(folder)
        super().__init__()

    async def verify_one(self, candidate: Candidate) -> float:
        while not Path(self.folder, str(candidate.content)).exists():  # noqa: ASYNC110, ASYNC240
            await asyncio.sleep(0.01)
        burn = time.thread_time() + BURNT
        while time.thread_time() < burn:
            pass
        Path(self.folder, f"{candidate.content!s} done").touch()  # noqa: ASYNC240
        return 1.0


BURNT = 0.1
"""Cpu-seconds that each of them burns."""


def function(diary: Diary, **options: Any) -> vl.Verifier:
    options = {"timeout": 30.0} | options
    return FunctionVerifier(diary, name="diary", version="1", **options)


def yielding(diary: Diary) -> vl.Verifier:
    return Yielding(diary)


MAKERS = pytest.mark.parametrize("make", [function, yielding])


@pytest.fixture
def diary(tmp_path: Path) -> Diary:
    return Diary(tmp_path / "diary")


def texts(contents: Sequence[str]) -> list[Candidate]:
    return [Candidate("text", content) for content in contents]


@MAKERS
@pytest.mark.parametrize("deed", ["sleep", "lock", "stop"])
def test_what_was_answered_before_a_hang_is_there_at_once(
    pool: WorkerPool, until: Until, diary: Diary, make: Callable[[Diary], vl.Verifier], deed: str
) -> None:
    future = pool.verify(make(diary), texts(["a", "true", "verdict", deed, "late"]))
    until(lambda: len(future.answered) == 3)
    settled = future.abandon()

    assert [1.0, 1.0, 7.0] == [settled[place].score for place in range(3)]
    assert {"of": "verdict"} == settled[2].evidence
    assert {"abandoned"} == {v.evidence["cause"] for v in future.result().verdicts[3:]}
    assert {"a": 1, "true": 1, "verdict": 1, deed: 1} == diary.read()


@MAKERS
@given(st.lists(st.sampled_from(["a", "bb", "true", "false", "v1", "v22", *FATAL]), max_size=9))
@settings(max_examples=4)
def test_whatever_happens_to_others_a_candidate_is_looked_at_once(
    pool: WorkerPool,
    tmp_path_factory: pytest.TempPathFactory,
    make: Callable[[Diary], vl.Verifier],
    batch: list[str],
) -> None:
    diary = Diary(tmp_path_factory.mktemp("diary") / "diary")

    verdicts = pool.verify(make(diary), texts(batch)).result().verdicts

    said = {c: tell(c) for c in batch if c not in FATAL}
    scores = {c: v.score if isinstance(v, Verdict) else float(v) for c, v in said.items()}
    expected = [scores.get(content) for content in batch]
    assert expected == [verdict.score for verdict in verdicts]
    wanted = Counter(content for content in batch if content not in FATAL)
    looked = Counter({c: n for c, n in diary.read().items() if c not in FATAL})
    # One that has passed stands in for a control: where another brings workers down, or raises.
    assert (looked - wanted).total() <= 2 * bool(set(batch) & set(FATAL))
    assert not wanted - looked


def test_a_crash_costs_no_innocent_a_second_run_but_the_control_and_every_answer_has_its_own_cost(
    pool: WorkerPool, diary: Diary
) -> None:
    def burn(candidate: Candidate) -> Any:
        end = time.process_time() + 0.05 * (candidate.content == "dear")
        while time.process_time() < end:
            pass
        return diary(candidate)

    verifier = FunctionVerifier(burn, name="burn", version="1", cost=Cost(seconds=1.0))

    answer = pool.verify(verifier, texts(["cheap", "dear", "die", "late"])).result()

    costs = [verdict.cost.seconds if verdict.cost else 0.0 for verdict in answer.verdicts]
    assert {"cheap": 2, "dear": 1, "die": 3, "late": 1} == diary.read()  # cheap is the control
    assert costs[0] < 0.025
    assert costs[1] >= 0.05
    assert answer.seconds >= sum(costs)


class Miscounting(vl.Verifier):
    """Leaves one out when there are several."""

    name, version = "miscounting", "1"

    def verify(self, candidates: Sequence[Candidate]) -> Iterator[float]:
        for candidate in candidates:
            if len(candidates) == 1 or candidate.content != "bb":
                yield float(len(candidate.content))


def test_answers_that_may_belong_to_others_are_taken_back(pool: WorkerPool) -> None:
    verdicts = pool.verify(Miscounting(), texts(["a", "bb", "ccc"])).result().verdicts

    assert [1.0, 2.0, 3.0] == [verdict.score for verdict in verdicts]


def test_a_deadline_gets_what_was_answered_before_a_hang(diary: Diary) -> None:
    ladder = vl.Ladder("l", [function(diary)])
    with vl.Campaign.open("c", ladder=ladder, workers=1) as campaign:
        campaign.score(["warm up"])

        rewards = campaign.score(["a", "bb", "sleep", "dddd"], deadline=1.0)
        again = campaign.score(["a", "bb"])

    assert [1.0, 2.0, None, None] == [reward.value for reward in rewards]
    assert [1.0, 2.0] == [reward.value for reward in again]
    assert 1 == diary.read()["a"]


def cheap(_: Candidate) -> float:
    return 0.5


def test_a_hang_on_a_higher_tier_does_not_hold_back_its_batch(diary: Diary, until: Until) -> None:
    def third_hangs(candidate: Candidate) -> Any:
        score = diary(candidate)
        return tell("sleep") if sum(diary.read().values()) == 3 else score

    first = FunctionVerifier(cheap, name="cheap", version="1", isolation="inline")
    costly = FunctionVerifier(third_hangs, name="third", version="1", tier="simulation")
    ladder = vl.Ladder("l", [first, costly], policy="all_tiers")
    with vl.Campaign.open("c", ladder=ladder, workers=1) as campaign:
        campaign.score(["a", "a" * 2, "a" * 3])
        until(lambda: len(list(campaign.revisions())) == 2 and len(diary.read()) == 3)
        values = {revision.reward.value for revision in campaign.revisions()}

    assert values < {1.0, 2.0, 3.0}
    assert [1, 1, 1] == list(diary.read().values())


def test_calls_at_work_at_once_are_charged_what_they_took_when_they_are_told(
    pool: WorkerPool, until: Until, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    numbers = iter("012")

    def late(pid: int) -> float:
        """What it took by now, though the lane comes back to it after another call has ended."""
        took = seconds_of(pid)
        if number := next(numbers, None):
            (tmp_path / number).touch()
            until((tmp_path / f"{number} done").exists)
        return took

    monkeypatch.setattr(progress, "seconds_of", late)
    future = pool.verify(Burning(tmp_path), texts("0123"))
    for number in range(3):
        until(partial(future.answered.__contains__, number))
    paid = seconds(future.pay(lambda known: {n: known[n] for n in range(3)}).values())
    (tmp_path / "3").touch()
    said = future.result()

    assert sum(paid) >= 3 * BURNT
    assert min(paid) > 0
    assert paid == seconds(said.verdicts)[:3]
    assert pytest.approx(said.seconds) == sum(seconds(said.verdicts))


class Waiting(vl.Verifier):
    """Dies at its first candidate, once; then waits for a file at all but that."""

    name, version, timeout = "waiting", "1", 300.0

    def __init__(self, folder: Path) -> None:
        self.folder = str(folder)
        super().__init__()

    def verify(self, candidates: Sequence[Candidate]) -> list[float]:
        died, done = Path(self.folder, "died"), Path(self.folder, "done")
        if not died.exists():
            died.touch()
            burn = time.process_time() + BURNT
            while time.process_time() < burn:
                pass
            DEEDS["crash"]()
        while candidates[0].content != "0" and not done.exists():
            time.sleep(0.01)
        return [1.0] * len(candidates)


def test_an_answer_that_is_told_early_is_charged_what_its_failed_attempt_took(
    pool: WorkerPool, until: Until, tmp_path: Path
) -> None:
    future = pool.verify(Waiting(tmp_path), texts("0123"))
    until(lambda: 0 in future.answered)
    paid = seconds(future.pay(lambda known: {0: known[0]}).values())
    (tmp_path / "done").touch()
    said = future.result()

    assert paid[0] >= BURNT
    assert paid == seconds(said.verdicts)[:1]
    assert pytest.approx(said.seconds) == sum(seconds(said.verdicts))


def seconds(verdicts: Iterable[Verdict]) -> list[float]:
    return [verdict.cost.seconds for verdict in verdicts if verdict.cost is not None]
