"""Rewards read at a deadline are right in the mean, however the top tier's answers come about.

The truth is 0 or 10, the first tier can't tell which, and the top tier is drawn for every other
sample. So the error of a reward that goes with the truth shows at once where a drawn answer weighs
too much or too little: a factor that is wrong by a tenth is an error of half a point.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from math import sqrt
from pathlib import Path
from random import Random
from statistics import mean, stdev
from time import time
from typing import Any

import pytest

import verifier_ladder as vl
from verifier_ladder.function import FunctionVerifier
from verifier_ladder.ledger import Ledger, open_ledger
from verifier_ladder.scheduler.engines.home import agreed_seed
from verifier_ladder.scheduler.policies import Thresholds
from verifier_ladder.scheduler.replay import replay
from verifier_ladder.scheduler.watch import Watches

SIZE, STEPS = 100, 20
ALL, NONE = -1e9, 1e9
"""Thresholds that ask the top tier about all, and only about those that chance chooses."""
AFTER = 10_000
"""Steps from here on are those of samples that are cancelled."""


def cheap(candidate: vl.Candidate) -> float:
    return float(len(candidate.content))


def number(candidate: vl.Candidate) -> int:
    return int(str(candidate.content).rpartition("-")[2])


def truth(candidate: vl.Candidate) -> float:
    return 10.0 * (number(candidate) % 2)


def shaky(candidate: vl.Candidate) -> float:
    if number(candidate) % 10 in {3, 6}:
        raise RuntimeError("no luck")
    return truth(candidate)


def choosy(candidate: vl.Candidate) -> float | None:
    """Declines to judge a third."""
    return None if number(candidate) % 3 == 0 else truth(candidate)


def gate(_: vl.Candidate) -> bool:
    return True


CHEAP = FunctionVerifier(cheap, name="cheap", version="1", isolation="inline")


def dear(judge: Callable[..., Any] = truth, **options: Any) -> FunctionVerifier:
    options = {"isolation": "inline", "cost": vl.Cost(seconds=0.1), **options}
    return FunctionVerifier(judge, name="dear", version="1", tier="high_fidelity", **options)


def gated() -> FunctionVerifier:
    return FunctionVerifier(
        gate, name="gate", version="1", tier="high_fidelity", role="gate", isolation="inline"
    )


def ladder(
    *top: vl.Verifier, estimator: Any = "unbiased", threshold: float = NONE, **options: Any
) -> vl.Ladder:
    thresholds = {vl.Tier.parse(top[0].tier).label: threshold}
    return vl.Ladder(
        "drawn", [CHEAP, *top], policy=Thresholds(thresholds=thresholds), audit=0.5,
        reward=vl.RewardRule(estimator=estimator), prior=(5.0, 5.0), **options,
    )  # fmt: skip


class Course:
    """A campaign with draws that are always the same, and a clock that can be put forward."""

    def __init__(self, ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
        self.ledger, self._ahead, self._patch = ledger, 0.0, monkeypatch
        # The campaign opens the file once more, for itself.
        monkeypatch.setattr(type(ledger), "clock", lambda _: time() + self._ahead)

    def open(self, of: vl.Ladder) -> vl.Campaign:
        with self._patch.context() as patched:
            patched.setattr(os, "urandom", lambda size: bytes(range(size)))
            agreed_seed(self.ledger, "one", of)
        return vl.Campaign.open("one", ladder=of, ledger=self.ledger, run="r", workers=1)

    def rewards(self, campaign: vl.Campaign, steps: range = range(STEPS)) -> list[float]:
        """The rewards that calls with a deadline give, an hour apart."""
        found: list[float] = []
        for step in steps:
            self._ahead += 3600.0
            texts = [f"text-{place}" for place in range(step * SIZE, (step + 1) * SIZE)]
            read = campaign.score(texts, step=step, deadline="300 s")
            found += [reward.value for reward in read if reward.value is not None]
        return found

    def cancel(self, campaign: vl.Campaign, **call: Any) -> None:
        """Draw checks that nobody answers, and cancel them."""
        campaign.pause("high_fidelity")
        texts = [f"gone-{place}" for place in range(2 * SIZE)]
        campaign.score(texts, step=AFTER, **call)
        assert campaign.cancel(step=AFTER).samples > 80
        campaign.resume("high_fidelity")


@pytest.fixture
def course(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Course]:
    with open_ledger(tmp_path / "ledger.db") as store:
        yield Course(store, monkeypatch)


class Laboratory(vl.Verifier):
    """The world, which answers a case when the test says so."""

    name, version, tier, kind, waits = "laboratory", "1", "world", "text", True
    domain = "laboratories"

    def verify(self, candidates: Sequence[vl.Candidate]) -> list[vl.Verdict]:
        return [vl.Verdict.abstain("asked", evidence={"waiting": True}) for _ in candidates]


class Gatekeeper(Laboratory):
    """A second laboratory, asked first, which may reject."""

    name, role = "gatekeeper", "gate"


Serve = Callable[[list[vl.Case], list[vl.Case]], list[vl.Case]]
"""Which cases are answered before a call's deadline: of older ones, and of its own."""


class Queue:
    """Answers some cases of each call, and then lets its deadline come."""

    def __init__(self, course: Course, monkeypatch: pytest.MonkeyPatch) -> None:
        self._course, self._patch = course, monkeypatch
        self._chance = Random(7)  # noqa: S311 - no secret
        self.shares: list[float] = []
        """Of each call, the share of its draws that were answered in time."""

    def rewards(
        self, size: int, calls: Sequence[Serve], threshold: float = NONE
    ) -> list[list[float]]:
        """The rewards of each call, read at its deadline."""
        of = ladder(Laboratory(), threshold=threshold, budget={"world": "unlimited"})
        found: list[list[float]] = []
        with self._course.open(of) as campaign:
            for step, serve in enumerate(calls):
                texts = [f"text-{place}" for place in range(step * size, (step + 1) * size)]
                self._patch.setattr(
                    Watches, "wait", lambda *_, t=texts, s=serve: self._serve(campaign, t, s)
                )
                read = campaign.score(texts, step=step, deadline="300 s")
                found.append([reward.value or 0.0 for reward in read])
        return found

    def _serve(self, campaign: vl.Campaign, texts: list[str], serve: Serve) -> None:
        campaign.drain("300 s")
        cases = sorted(campaign.cases(), key=lambda case: number(case.candidate))
        own = [case for case in cases if case.candidate.content in texts]
        older = [case for case in cases if case.candidate.content not in texts]
        self._chance.shuffle(own)
        served = serve(older, own)
        self.shares.append(sum(case in own for case in served) / len(own) if own else 1.0)
        campaign.answer_all(
            {case.check_key: truth(case.candidate) for case in served}, source="laboratory"
        )


def nobody(*_: list[vl.Case]) -> list[vl.Case]:
    return []


def oldest(count: int) -> Serve:
    return lambda older, own: [*older, *own][:count]


def by_chance(chance: Random) -> Serve:
    return lambda older, own: [*older, *(case for case in own if chance.random() < 0.5)]


def assert_right_in_the_mean(rewards: list[float], truths: Sequence[float] | None = None) -> None:
    truths = truths or [10.0 * (place % 2) for place in range(len(rewards))]
    assert len(rewards) >= 1900
    # Errors towards the middle are too small a weight of what was drawn, others too large a one.
    weights = [
        (reward - y) * (1.0 if y else -1.0) for reward, y in zip(rewards, truths, strict=True)
    ]
    plain = [reward - y for reward, y in zip(rewards, truths, strict=True)]
    for errors in (weights, plain):
        assert abs(mean(errors)) < 2.0 * stdev(errors) / sqrt(len(errors))


def test_one_check_is_right_in_the_mean(course: Course) -> None:
    with course.open(ladder(dear())) as campaign:
        assert_right_in_the_mean(course.rewards(campaign))


def test_replicates_are_right_in_the_mean(course: Course) -> None:
    with course.open(ladder(dear(replicates=2, isolation="process"))) as campaign:
        assert_right_in_the_mean(course.rewards(campaign))
    assert replay(course.ledger, course.ledger.campaigns()[0]).differences == []


def test_gates_and_replicates_of_one_tier_are_one_answer(course: Course) -> None:
    top = gated(), dear(replicates=3, isolation="process")
    with course.open(ladder(*top)) as campaign:
        assert_right_in_the_mean(course.rewards(campaign))


@pytest.mark.slow
def test_a_queue_that_starts_late_and_clears_makes_no_reward_too_large(
    course: Course, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody answers at first; then some seventy in a call do, the oldest first."""
    queue = Queue(course, monkeypatch)
    calls = queue.rewards(SIZE, [*[nobody] * 4, *[oldest(70)] * 34])

    assert queue.shares[:8] == [0.0] * 8
    assert queue.shares[-1] == 1.0
    assert any(0.0 < share < 1.0 for share in queue.shares)
    # Without an answer rewards are the belief, which only knows lengths; with one, it weighs 5/p
    # at most.
    assert all(len(set(call)) <= 2 for call in calls[:8])
    assert all(abs(reward - 5.0) < 5.0 / 0.5 * 6.0 for call in calls for reward in call)
    claimed = [step for step, share in enumerate(queue.shares) if share >= 0.2]
    assert_right_in_the_mean(
        [reward for step in claimed for reward in calls[step]],
        [0.0, 10.0] * (SIZE // 2) * len(claimed),
    )


@pytest.mark.slow
def test_small_calls_are_right_in_the_mean(
    course: Course, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With two draws each, and half of the answers in time."""
    serve = by_chance(Random(5))  # noqa: S311 - no secret
    calls = Queue(course, monkeypatch).rewards(4, [*[nobody] * 8, *[serve] * 500])

    assert_right_in_the_mean([reward for call in calls[16:] for reward in call])


def test_what_was_asked_for_certain_is_told_as_it_is(
    course: Course, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full queue answers those first that are worth most, so they don't speak for others."""
    serve = by_chance(Random(5))  # noqa: S311 - no secret
    (call,) = Queue(course, monkeypatch).rewards(SIZE, [serve], threshold=ALL)

    in_time = [reward == 10.0 * (place % 2) for place, reward in enumerate(call)]
    believed = {reward for reward, came in zip(call, in_time, strict=True) if not came}
    assert 30 < sum(in_time) < 70
    assert believed == {6.0, 7.0}  # It only knows lengths.


@pytest.mark.parametrize("call", [{}, {"deadline": 0}, {"deadline": "0.1 s"}], ids=str)
def test_cancelled_draws_leave_nothing_behind(course: Course, call: dict[str, Any]) -> None:
    with course.open(ladder(dear())) as campaign:
        course.cancel(campaign, **call)
        assert_right_in_the_mean(course.rewards(campaign))


def test_checks_that_fail_for_good_are_made_up_for(course: Course) -> None:
    with course.open(ladder(dear(shaky))) as campaign:
        assert_right_in_the_mean(course.rewards(campaign))


def test_what_the_top_tier_declines_to_judge_is_heard(course: Course) -> None:
    """Nothing was late: the answers speak for no more than they do in the end."""
    with course.open(ladder(dear(choosy))) as campaign:
        read = course.rewards(campaign, range(2))
        campaign.drain("300 s")
        told = {(r.step, r.position): r.reward.value for r in campaign.revisions()}

    assert len(told) > SIZE / 2
    assert [read[step * SIZE + position] for step, position in told] == list(told.values())


@pytest.mark.slow
def test_restarts_forget_nothing_of_it(course: Course) -> None:
    of = ladder(gated(), dear(replicates=2, isolation="process"))
    rewards: list[float] = []
    for first in range(0, STEPS, 5):
        with course.open(of) as campaign:
            campaign.pause("high_fidelity")
            campaign.score([f"open-{first}-{place}" for place in range(20)], step=AFTER + first)
        with course.open(of) as campaign:
            campaign.resume("high_fidelity")
            campaign.drain("300 s")
            rewards += course.rewards(campaign, range(first, first + 5))
    assert_right_in_the_mean(rewards)


def test_by_default_replicates_and_cancels_change_no_reward(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[list[float]] = []
    for place, (top, are_cancelled) in enumerate(
        [
            (dear(), False),
            (dear(), True),
            (dear(replicates=2, isolation="process"), False),
        ]
    ):
        with open_ledger(tmp_path / f"{place}.db") as store:
            course = Course(store, monkeypatch)
            with course.open(ladder(top, estimator="auto")) as campaign:
                if are_cancelled:
                    course.cancel(campaign)
                found.append(course.rewards(campaign, range(4)))
    plain, after_cancels, replicated = found
    # Beliefs may learn in another order.
    assert after_cancels == pytest.approx(plain, abs=0.25)
    assert replicated == pytest.approx(plain, abs=0.25)


@pytest.mark.slow
def test_rejects_that_come_first_are_right_in_the_mean(
    course: Course, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A gate answers all in time, and rejects a third; half of the rest is scored in time."""
    chance = Random(5)  # noqa: S311 - no secret
    of = ladder(Gatekeeper(), Laboratory(), budget={"world": "unlimited"})
    rewards: list[float] = []

    def passes(case: vl.Case) -> bool:
        return number(case.candidate) % 3 > 0

    def answer(campaign: vl.Campaign, step: int) -> None:
        campaign.drain("300 s")
        asked = [c for c in campaign.cases() if number(c.candidate) // SIZE == step]
        gate = {
            c.check_key: vl.Verdict.accept() if passes(c) else vl.Verdict.reject("bad")
            for c in asked
        }
        campaign.answer_all(gate, source="gatekeeper")
        campaign.drain("300 s")
        passed = [
            c for c in campaign.cases()
            if number(c.candidate) // SIZE == step and c.check_key not in gate
        ]  # fmt: skip
        campaign.answer_all(
            {c.check_key: 10.0 for c in passed if chance.random() < 0.5}, source="laboratory"
        )
        campaign.drain("300 s")

    with course.open(of) as campaign:
        for step in range(STEPS):
            monkeypatch.setattr(Watches, "wait", lambda *_, s=step: answer(campaign, s))
            texts = [f"text-{place}" for place in range(step * SIZE, (step + 1) * SIZE)]
            read = campaign.score(texts, step=step, deadline="300 s")
            rewards += [reward.value or 0.0 for reward in read]

    truths = [10.0 * (place % 3 > 0) for place in range(len(rewards))]
    assert_right_in_the_mean(rewards, truths)
    assert replay(course.ledger, course.ledger.campaigns()[0]).differences == []
