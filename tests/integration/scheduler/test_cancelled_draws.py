"""Rewards stay right in the mean when draws are cancelled: those that are left speak for them.

The truth is 0 or 10, the first tier can't tell which, and the top tier is drawn for every other
sample. So a weight that is wrong by a tenth is an error of half a point.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from itertools import permutations, product
from math import sqrt
from pathlib import Path
from random import Random
from statistics import mean, stdev

import numpy as np
import pytest

import verifier_ladder as vl
from verifier_ladder.ledger import Ledger, open_ledger
from verifier_ladder.ledger.records import CheckState
from verifier_ladder.retrying import retry
from verifier_ladder.reward import Estimation
from verifier_ladder.runs.reading import read_run
from verifier_ladder.scheduler.engines.home import agreed_seed
from verifier_ladder.scheduler.estimator import Estimator
from verifier_ladder.scheduler.policies import Thresholds
from verifier_ladder.scheduler.replay import replay

SIZE = 2000


@vl.verifier(name="cheap", version="1", tier="fast", kind="text", isolation="inline")
def cheap(candidate: vl.Candidate) -> float:
    return float(len(candidate.content))


def truth(position: int) -> float:
    return 10.0 * (position % 2)


class Laboratory(vl.Verifier):
    """The world, which answers a case when the test says so."""

    name, version, tier, kind, waits = "laboratory", "1", "world", "text", True
    domain = "laboratories"

    def __init__(self, replicates: int) -> None:
        super().__init__(replicates=replicates)
        self.replicates = replicates

    def verify(self, candidates: Sequence[vl.Candidate]) -> list[vl.Verdict]:
        return [vl.Verdict.abstain("asked", evidence={"waiting": True}) for _ in candidates]


@vl.verifier(name="middle", version="1", tier="simulation", kind="text", isolation="inline")
def middle(candidate: vl.Candidate) -> float:
    """It is 3 too high."""
    return 3.0 + truth(int(str(candidate.content).rpartition("-")[2]))


@vl.verifier(name="upper", version="1", tier="high_fidelity", kind="text", isolation="inline")
def upper(candidate: vl.Candidate) -> float:
    """It is 2 too low."""
    return truth(int(str(candidate.content).rpartition("-")[2])) - 2.0


Chosen = Callable[[int], bool]
"""Which positions."""


class Course:
    """A campaign with draws that are always the same, whose drawn samples are answered by hand."""

    def __init__(self, ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
        self.ledger, self._patch = ledger, monkeypatch
        self._chance = Random(3)  # noqa: S311 - no secret
        self.replicates = 1
        self.estimator: Estimation = "unbiased"
        self.is_certain = False
        """Whether all are asked about, instead of every other one by chance."""
        self.between: list[vl.Verifier] = []
        """Verifiers of middle tiers, which are asked about all."""

    def open(self) -> vl.Campaign:
        of = vl.Ladder(
            "drawn", [cheap, *self.between, Laboratory(self.replicates)],
            policy=Thresholds(
                thresholds={
                    "simulation": -1e9, "high_fidelity": -1e9,
                    "world": -1e9 if self.is_certain else 1e9,
                }
            ),
            audit=0.5, prior=(5.0, 5.0),
            reward=vl.RewardRule(estimator=self.estimator), budget={"world": "unlimited"},
        )  # fmt: skip
        with self._patch.context() as patched:
            patched.setattr(os, "urandom", lambda size: bytes(range(size)))
            agreed_seed(self.ledger, "one", of)
        return vl.Campaign.open("one", ladder=of, ledger=self.ledger, run="r", workers=1)

    def ask(self, campaign: vl.Campaign, size: int = SIZE) -> None:
        self.ask_early(campaign, size)
        campaign.drain("300 s")

    def ask_early(self, campaign: vl.Campaign, size: int = SIZE) -> None:
        """Ask, and wait for nothing above the first tier."""
        campaign.score([f"text-{position:04}" for position in range(size)], step=0)

    def answer(self, campaign: vl.Campaign, chosen: Chosen = lambda _: True) -> None:
        """Answer the open cases of some positions; of each, one replicate."""
        values = {}
        for case in campaign.cases():
            position = int(str(case.candidate.content).rpartition("-")[2])
            if chosen(position):
                values[case.check_key] = truth(position)
        campaign.answer_all(values, source="laboratory")
        campaign.drain("300 s")

    def answer_all(self, campaign: vl.Campaign) -> None:
        while campaign.cases():
            self.answer(campaign)

    def answer_all_of(self, campaign: vl.Campaign) -> None:
        """Answer all, once the tiers below have answered."""
        campaign.drain("300 s")
        self.answer_all(campaign)

    def waiting(self) -> list[int]:
        return sorted(request.position for request in self.ledger.requests())

    def cancel(self, campaign: vl.Campaign, share: float = 1 / 3) -> list[int]:
        """Cancel a random share of the samples that wait; gives their positions."""
        waiting = self.waiting()
        gone = self._chance.sample(waiting, round(share * len(waiting)))
        assert campaign.cancel(step=0, positions=gone).samples == len(gone)
        return gone

    def rewards(self, step: int = 0) -> list[float]:
        rows = self.ledger.recorded("one", "r", step)
        return [rows[position].reward.value or 0.0 for position in sorted(rows)]

    def assert_right_in_the_mean(self) -> None:
        rewards = self.rewards()
        assert len(rewards) >= 1900
        assert self.waiting() == []
        plain = [reward - truth(position) for position, reward in enumerate(rewards)]
        # Errors towards the middle are too small a weight of what was drawn, others too large.
        weights = [error if truth(p) else -error for p, error in enumerate(plain)]
        for errors in (plain, weights):
            assert abs(mean(errors)) < 2.0 * stdev(errors) / sqrt(len(errors))
        self.assert_replays()

    def assert_replays(self) -> None:
        assert replay(self.ledger, self.ledger.campaigns()[0]).differences == []


@pytest.fixture
def course(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Course]:
    with open_ledger(tmp_path / "ledger.db") as store:
        yield Course(store, monkeypatch)


def test_before_the_first_answer(course: Course) -> None:
    with course.open() as campaign:
        course.ask(campaign)
        course.cancel(campaign)
        course.answer_all(campaign)
    course.assert_right_in_the_mean()


@pytest.mark.slow
def test_in_the_midst_of_answers_of_which_the_good_come_first(course: Course) -> None:
    """Three in four samples have told one of two replicates when some are cancelled, or both."""
    course.replicates = 2
    with course.open() as campaign:
        course.ask(campaign)
        course.answer(campaign, lambda position: position % 4 != 0)
        course.answer(campaign, lambda position: position % 4 == 1)
        course.cancel(campaign)
    with course.open() as campaign:  # What others speak for is not forgotten meanwhile.
        course.cancel(campaign, 0.2)
        course.answer_all(campaign)
    course.assert_right_in_the_mean()


@pytest.mark.parametrize("replicates", [1, 2])
def test_what_was_asked_for_certain_speaks_for_what_is_cancelled(
    course: Course, replicates: int
) -> None:
    course.is_certain, course.replicates = True, replicates
    with course.open() as campaign:
        course.ask(campaign)
        course.answer(campaign, lambda position: position % 5 == 0)
        course.cancel(campaign)
    with course.open() as campaign:
        course.answer_all(campaign)
    course.assert_right_in_the_mean()


def test_an_answer_that_was_due_for_certain_is_told_as_it_is(course: Course) -> None:
    course.is_certain = True
    with course.open() as campaign:
        course.ask(campaign, 40)
        before = course.rewards()
        course.answer(campaign, lambda position: position % 4 == 0)
        gone = course.cancel(campaign)
        course.answer_all(campaign)
    told = course.rewards()
    left = [p for p in range(40) if p % 4 and p not in gone]
    weight = (len(left) + len(gone)) / len(left)
    expected = [
        before[p]
        if p in gone
        else before[p] + (weight if p in left else 1.0) * (truth(p) - before[p])
        for p in range(40)
    ]
    assert told == pytest.approx(expected)
    samples = read_run(course.ledger, "r").samples
    assert [samples[p].worth for p in left] == [truth(p) for p in left]
    assert [sample.weight for sample in samples] == [None if p in gone else 1.0 for p in range(40)]
    assert not any(sample.is_drawn for sample in samples)
    course.assert_replays()


@pytest.mark.parametrize("is_certain", [False, True])
def test_what_is_taken_back_is_not_counted_twice(course: Course, *, is_certain: bool) -> None:
    course.is_certain = is_certain
    with course.open() as campaign:
        course.ask(campaign, 40)
        before, drawn = course.rewards(), course.waiting()
        gone = course.cancel(campaign)
        retry(course.ledger, course.ledger.checks(states=[CheckState.CANCELLED]))
        campaign.drain("300 s")
        course.answer_all(campaign)
    after = course.rewards()
    left = sorted({*drawn} - {*gone})
    weight = (1.0 if is_certain else 2.0) * len(drawn) / len(left)
    expected = [before[p] + weight * (truth(p) - before[p]) for p in left]
    assert [after[p] for p in left] == pytest.approx(expected)
    assert [after[p] for p in gone] == [before[p] for p in gone]
    samples = read_run(course.ledger, "r").samples
    assert [samples[p].worth for p in drawn] == [truth(p) for p in drawn]
    if is_certain:
        assert {(samples[p].propensity, samples[p].weight) for p in drawn} == {(1.0, 1.0)}
    course.assert_replays()


def test_where_none_is_left_the_belief_stays_until_they_are_taken_back(course: Course) -> None:
    with course.open() as campaign:
        course.ask(campaign, 40)
        drawn = course.waiting()
        before = course.rewards()
        campaign.cancel(step=0)
        assert course.rewards() == before
        retry(course.ledger, course.ledger.checks(states=[CheckState.CANCELLED]))
        campaign.drain("300 s")
        course.answer_all(campaign)
    after = course.rewards()
    expected = [b + 2.0 * (truth(p) - b) if p in drawn else b for p, b in enumerate(before)]
    assert after == pytest.approx(expected)
    course.assert_replays()


@pytest.mark.parametrize("is_certain", [True, False])
def test_who_is_taken_back_after_several_cancellations_gets_what_is_left_of_its_weight(
    course: Course, *, is_certain: bool
) -> None:
    course.is_certain = is_certain
    with course.open() as campaign:
        course.ask(campaign, 40)
        before, drawn = course.rewards(), course.waiting()
        first = course.cancel(campaign, 0.5)
        *second, answered = course.waiting()
        course.answer(campaign, lambda position: position == answered)
        assert campaign.cancel(step=0).samples == len(second)
        retry(course.ledger, course.ledger.checks(states=[CheckState.CANCELLED]))
    with course.open() as campaign:
        campaign.cancel(step=0, positions=first)
        course.answer_all_of(campaign)
    weight = (1.0 if is_certain else 2.0) * len(drawn) / (len(second) + 1)
    weights = dict.fromkeys([answered, *second], weight)
    expected = [b + weights.get(p, 0.0) * (truth(p) - b) for p, b in enumerate(before)]
    assert course.rewards() == pytest.approx(expected)
    course.assert_replays()


@pytest.mark.parametrize(
    ("estimator", "tier"),
    [
        pytest.param(estimator, tier, marks=() if tier == "world" else pytest.mark.slow)
        for estimator, tier in product(["unbiased", "auto"], ["simulation", "world"])
    ],
)
def test_weights_are_right_in_the_mean_of_all_ways_to_cancel_and_take_back(
    course: Course, estimator: Estimation, tier: str
) -> None:
    """Each step of three goes one way.

    Two are cancelled one after the other, and taken back. At the top, one of those that wait is
    answered. One of the others is cancelled, and taken back.
    """
    course.is_certain, course.estimator = True, estimator
    course.between = [middle] if tier == "simulation" else []
    fewest = 1 if tier == "world" else 0
    ways = list(product(permutations(range(3), 2), range(fewest, 3)))
    with course.open() as campaign:
        if course.between:
            campaign.pause("simulation")
        for step in range(len(ways)):
            campaign.score([f"text-{3 * step + place:04}" for place in range(3)], step=step)
        if not course.between:
            campaign.drain("300 s")
        before = [course.rewards(step) for step in range(len(ways))]
        for step, (two, _) in enumerate(ways):
            for place in two:
                campaign.cancel(step=step, positions=[place])
        retry(course.ledger, course.ledger.checks(states=[CheckState.CANCELLED]))
        campaign.drain("300 s")
        course.answer(campaign, lambda number: number % 3 == 0)
        for step, (_, third) in enumerate(ways):
            campaign.cancel(step=step, positions=[third])
        retry(course.ledger, course.ledger.checks(states=[CheckState.CANCELLED]))
        if course.between:
            campaign.resume("simulation")
        course.answer_all_of(campaign)
    truths = [[truth(3 * step + place) for place in range(3)] for step in range(len(ways))]
    told = np.array([course.rewards(step) for step in range(len(ways))])
    weights = (told - before) / (np.array(truths) - before)
    assert weights.mean(axis=0) == pytest.approx([1.0] * 3)
    course.assert_replays()


@pytest.mark.parametrize("between", [[middle], [middle, upper]], ids=["3 tiers", "4 tiers"])
def test_rewards_are_right_in_the_mean_of_all_ways_through_the_tiers(
    course: Course, between: list[vl.Verifier]
) -> None:
    """Each step of six goes one way.

    Four are cancelled while they wait for the first middle tier, one of the two that are left
    while it waits for the next tier. All are taken back. Then one of those two is cancelled once
    more, maybe when the world has given one of two answers, and taken back.
    """
    course.is_certain, course.between, course.replicates = True, between, 2
    second = "high_fidelity" if upper in between else "world"
    ways = list(product([(0, 1), (2, 3), (4, 5)], range(2), range(2)))
    steps = range(len(ways))

    def cancel(
        campaign: vl.Campaign, chosen: Callable[[tuple[int, int], int, int], list[int]]
    ) -> None:
        for step, way in enumerate(ways):
            campaign.cancel(step=step, positions=chosen(*way))

    with course.open() as campaign:
        campaign.pause("simulation")
        for step in steps:
            campaign.score([f"text-{6 * step + place:04}" for place in range(6)], step=step)
        cancel(campaign, lambda kept, *_: [n for n in range(6) if n not in kept])
    with course.open() as campaign:
        if second != "world":
            campaign.pause(second)
        campaign.resume("simulation")
        campaign.drain("300 s")
        cancel(campaign, lambda kept, one, _: [kept[one]])
        retry(course.ledger, course.ledger.checks(states=[CheckState.CANCELLED]))
        campaign.drain("300 s")
    with course.open() as campaign:
        if second != "world":
            campaign.resume(second)
            campaign.drain("300 s")
        course.answer(campaign, lambda number: number % 3 == 0)
        cancel(campaign, lambda kept, _, other: [kept[other]])
        retry(course.ledger, course.ledger.checks(states=[CheckState.CANCELLED]))
        course.answer_all_of(campaign)
    told = np.array([course.rewards(step) for step in steps])
    assert told.mean(axis=0) == pytest.approx([truth(place) for place in range(6)])
    course.assert_replays()


def test_a_reward_that_corrects_nothing_is_weighed_by_nothing(course: Course) -> None:
    course.estimator = "plugin"
    with course.open() as campaign:
        course.ask(campaign, 40)
        drawn = course.waiting()
        course.cancel(campaign)
        retry(course.ledger, course.ledger.checks(states=[CheckState.CANCELLED]))
        campaign.drain("300 s")
        course.answer_all(campaign)
    after = course.rewards()
    assert [after[position] for position in drawn] == [truth(position) for position in drawn]


@pytest.mark.parametrize("is_certain", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_what_waits_for_a_middle_tier_is_spoken_for(course: Course, *, is_certain: bool) -> None:
    """Some are cancelled before that tier answers, after a restart, and before the top does."""
    course.between, course.is_certain = [middle], is_certain
    with course.open() as campaign:
        campaign.pause("simulation")
        course.ask_early(campaign)
        course.cancel(campaign)
    with course.open() as campaign:
        course.cancel(campaign, 0.2)
        campaign.resume("simulation")
        campaign.drain("300 s")
        course.cancel(campaign, 0.2)
        course.answer_all(campaign)
    course.assert_right_in_the_mean()


def test_who_waits_for_a_middle_tier_moves_as_far_as_it_speaks_for(course: Course) -> None:
    course.between, course.is_certain = [middle], True
    with course.open() as campaign:
        campaign.pause("simulation")
        course.ask_early(campaign, 40)
        (before,) = {*course.rewards()}
        gone = course.cancel(campaign, 0.5)
        assert {before} == {*course.rewards()}
        retry(course.ledger, course.ledger.checks(states=[CheckState.CANCELLED]))
        campaign.resume("simulation")
        campaign.drain("300 s")
        known = [3.0 + truth(p) for p in range(40)]
        assert [sample.worth for sample in read_run(course.ledger, "r").samples] == known
        expected = [before + 2.0 * (p not in gone) * (known[p] - before) for p in range(40)]
        assert course.rewards() == pytest.approx(expected)
        course.answer_all(campaign)
    told = course.rewards()
    expected = [before + 2.0 * (p not in gone) * (truth(p) - before) for p in range(40)]
    assert told == pytest.approx(expected)
    samples = read_run(course.ledger, "r").samples
    assert [sample.worth for sample in samples] == [truth(p) for p in range(40)]
    course.assert_replays()


@pytest.mark.parametrize("tier", ["simulation", "world"])
def test_what_was_taken_back_counts_for_nobody_when_it_is_cancelled_again(
    course: Course, tier: str
) -> None:
    course.between, course.is_certain = [middle], True
    with course.open() as campaign:
        campaign.pause("simulation")
        course.ask_early(campaign, 40)
        (before,) = {*course.rewards()}
        gone = course.cancel(campaign, 0.5)
        retry(course.ledger, course.ledger.checks(states=[CheckState.CANCELLED]))
        if tier == "world":
            campaign.resume("simulation")
            campaign.drain("300 s")
        campaign.cancel(step=0, positions=gone)
        campaign.resume("simulation")
        course.answer_all_of(campaign)
    expected = [before + 2.0 * (p not in gone) * (truth(p) - before) for p in range(40)]
    assert course.rewards() == pytest.approx(expected)
    course.assert_replays()


def test_audits_of_what_speaks_for_others_tell_what_was_believed_of_itself(course: Course) -> None:
    course.between = [middle]
    with course.open() as campaign:
        campaign.pause("simulation")
        course.ask_early(campaign, 40)
        gone = course.cancel(campaign, 0.5)
        campaign.resume("simulation")
        campaign.drain("300 s")
        believed = {s.position: s.worth for s in read_run(course.ledger, "r").samples}
        course.answer_all_of(campaign)
    audits = read_run(course.ledger, "r").audits
    drawn = [audit.sample.position for audit in audits]
    assert drawn
    assert not {*drawn} & {*gone}
    assert [audit.draw.estimate for audit in audits] == pytest.approx([believed[p] for p in drawn])
    assert [audit.truth for audit in audits] == [truth(position) for position in drawn]


@pytest.mark.parametrize("estimator", ["plugin", "auto"])
def test_no_reward_moves_further_than_its_estimator_lets_it(
    course: Course, estimator: Estimation
) -> None:
    course.between, course.is_certain, course.estimator = [middle], True, estimator
    with course.open() as campaign:
        campaign.pause("simulation")
        course.ask_early(campaign, 40)
        (before,) = {*course.rewards()}
        *gone, last = course.waiting()
        for position in gone:
            campaign.cancel(step=0, positions=[position])
    with course.open() as campaign:  # How far it moves is not forgotten meanwhile.
        campaign.resume("simulation")
        course.answer_all_of(campaign)
    most = Estimator(estimator).factors(0.2, 40)
    expected = before + float(most) * (truth(last) - before)
    assert course.rewards() == pytest.approx([*[before] * 39, expected])


def test_few_that_are_left_weigh_five_times_as_much_at_most(course: Course) -> None:
    with course.open() as campaign:
        course.ask(campaign, 40)
        before = course.rewards()
        *gone, last = course.waiting()
        assert len(gone) > 10
        for position in gone:
            campaign.cancel(step=0, positions=[position])
        course.answer_all(campaign)
    rewards = course.rewards()
    assert rewards[last] == pytest.approx(before[last] + 10.0 * (truth(last) - before[last]))


@pytest.mark.parametrize("tier", ["simulation", "world"])
def test_what_a_cancellation_writes_does_not_grow_with_the_number_that_waits(
    course: Course, tier: str
) -> None:
    course.is_certain = True
    course.between = [middle] if tier == "simulation" else []
    sizes = []
    with course.open() as campaign:
        if course.between:
            campaign.pause("simulation")
        for step, size in enumerate([20, 200]):
            campaign.score([f"text-{step}-{place:04}" for place in range(size)], step=step)
            if not course.between:
                campaign.drain("300 s")
            campaign.cancel(step=step, positions=[10])
            *_, last = course.ledger.entries(kind="revision")
            sizes.append(len(last.body))
    few, many = sizes
    assert many < 1.05 * few


def test_a_run_tells_what_its_candidates_are_worth(course: Course) -> None:
    with course.open() as campaign:
        course.ask(campaign, 40)
        drawn = course.waiting()
        gone = course.cancel(campaign)
        course.answer_all(campaign)
    samples = read_run(course.ledger, "r").samples
    left = [samples[position] for position in drawn if position not in gone]
    assert [sample.worth for sample in left] == [truth(sample.position) for sample in left]
    assert {len(drawn) / len(left) / 0.5} == {sample.weight for sample in left}
