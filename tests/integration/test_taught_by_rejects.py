"""Rejects of the top tier teach what they earn, whichever of its verifiers rejects."""

from collections.abc import Callable, Sequence
from functools import partial
from math import nan
from pathlib import Path
from statistics import mean
from typing import Any

import pytest

import verifier_ladder as vl
from verifier_ladder.ledger import Ledger, open_ledger
from verifier_ladder.scheduler.policies import Thresholds
from verifier_ladder.tiers.world.case import WorldVerifier

STEPS, SAMPLES = 6, 100
CERTAIN = partial(Thresholds, thresholds={"simulation": -1e9})
"""A policy that asks the top tier about everybody."""


def of(name: str, says: Callable[[vl.Candidate], Any], tier: str, **more: Any) -> vl.Verifier:
    """A verifier in this process whose checks take no time to speak of."""
    seconds = 1e-4 if tier == "fast" else 1.0
    more = {"version": "1", "isolation": "inline", "cost": vl.Cost(seconds=seconds), **more}
    return vl.verifier(name=name, tier=tier, **more)(says)


def is_right(candidate: vl.Candidate) -> bool:
    """The truth: one program of ten is right."""
    return str(candidate.content).endswith("7")


def runs(candidate: vl.Candidate) -> float:
    del candidate
    return 1.0


def hidden_tests(says: Callable[[], vl.Verdict], **more: Any) -> vl.Verifier:
    def judge(candidate: vl.Candidate) -> vl.Verdict:
        return vl.Verdict.accept(1.0) if is_right(candidate) else says()

    return of("tests", judge, "simulation", **more)


def all_pass(candidate: vl.Candidate) -> vl.Verdict:
    del candidate
    return vl.Verdict.accept(1.0)


def nearly(candidate: vl.Candidate) -> float:
    del candidate
    return 0.9


def no() -> vl.Verdict:
    return vl.Verdict.reject("wrong")


def ladder(top: Sequence[vl.Verifier], rule: vl.RewardRule, **more: Any) -> vl.Ladder:
    return vl.Ladder("code", [of("runs", runs, "fast"), *top], audit=0.2, reward=rule, **more)


def climb(campaign: vl.Campaign, steps: range) -> None:
    for step in steps:
        campaign.score([f"{step} {place}" for place in range(SAMPLES)], step=step)
        assert campaign.drain(timeout=300)


def believed(of_one: vl.Ladder) -> float | None:
    """What a new program is believed to earn once many were tested."""
    with vl.Campaign.open("code", ladder=of_one, ledger="memory://") as campaign:
        climb(campaign, range(STEPS))
        (reward,) = campaign.score(["a new one"], deadline=0.0, evaluation=True)
        return reward.value


@pytest.mark.parametrize(
    ("rule", "says", "earned"),
    [
        (vl.RewardRule(), no, 0.1),
        (vl.RewardRule(), lambda: vl.Verdict.reject("wrong", score=0.0), 0.1),
        (vl.RewardRule(), lambda: vl.Verdict.reject("wrong", score=0.8), 0.1),
        (vl.RewardRule(reject=-1.0), no, -0.8),
        (vl.RewardRule(low=0.0, high=2.0, reject=0.5), no, 0.5),
        (vl.RewardRule(low=0.0, high=1.0, reject=-1.0), no, -0.8),
        (vl.RewardRule(partial_credit=True), lambda: vl.Verdict.reject("no", score=0.8), 0.82),
    ],
)
def test_a_new_candidate_is_believed_to_earn_what_others_did(
    rule: vl.RewardRule, says: Callable[[], vl.Verdict], earned: float
) -> None:
    assert believed(ladder([hidden_tests(says)], rule)) == pytest.approx(earned, abs=0.15)


def test_pass_or_fail_is_believed_between_what_rejects_and_passes_earn() -> None:
    rule, target = vl.RewardRule(reject=-1.0), vl.Target("pass", "", scale="binary")

    assert believed(ladder([hidden_tests(no)], rule, target=target)) == pytest.approx(
        -0.8, abs=0.15
    )


@pytest.mark.parametrize(("low", "high"), [(0.0, 1.0), (-2.0, -5.0)])
def test_accepted_scores_beyond_the_worse_end_are_believed_to_earn_that_end(
    low: float, high: float
) -> None:
    """Two of ten are rejected, two are far below the range, and six earn .8."""

    def judge(candidate: vl.Candidate) -> vl.Verdict:
        last = int(str(candidate.content)[-1])
        share = -3.0 if last < 4 else 0.8
        return no() if last < 2 else vl.Verdict.accept(low + share * (high - low))

    rule = vl.RewardRule(low=low, high=high, reject=-1.0)

    assert believed(ladder([of("score", judge, "simulation")], rule)) == pytest.approx(
        0.2 * -1.0 + 0.6 * 0.8, abs=0.15
    )


TOPS: dict[str, Callable[[], Sequence[vl.Verifier]]] = {
    "a gate": lambda: [
        hidden_tests(no, role="gate"),
        of("style", all_pass, "simulation"),
    ],
    "gates alone": lambda: [hidden_tests(no, role="gate")],
    "the first of two": lambda: [hidden_tests(no), of("style", all_pass, "simulation")],
    "the last of two": lambda: [of("style", all_pass, "simulation"), hidden_tests(no)],
}


@pytest.mark.parametrize("top", TOPS)
def test_whichever_verifier_of_the_top_tier_rejects(top: str) -> None:
    assert believed(ladder(TOPS[top](), vl.RewardRule())) == pytest.approx(0.1, abs=0.15)


def test_a_reject_by_a_gate_earns_and_teaches_no_partial_credit() -> None:
    """The scoring verifier, which is asked first, has said .9 of all."""
    scored = of("score", nearly, "simulation")
    rule = vl.RewardRule(partial_credit=True)

    assert believed(ladder([scored, hidden_tests(no, role="gate")], rule)) == pytest.approx(
        0.1, abs=0.15
    )


def lessons(ledger: Ledger) -> list[tuple[str, bool]]:
    """Check key of each lesson, and whether it was a reject, in the order they were learnt."""
    entries = ledger.entries(kind="belief", campaign="code")
    told = [ledger.read(entry).facts["lessons"] for entry in entries]
    return [
        (key, n in each.get("rejected", ())) for each in told for n, key in enumerate(each["keys"])
    ]


def test_rejects_by_a_gate_are_learnt_in_their_turn_not_before_all_others() -> None:
    """They are told first; a run of them would look like drift."""
    top = TOPS["a gate"]()
    with open_ledger(":memory:") as ledger:
        of_one = ladder(top, vl.RewardRule(), policy=CERTAIN())
        with vl.Campaign.open("code", ladder=of_one, ledger=ledger, workers=1) as campaign:
            climb(campaign, range(1))
        rejected = [is_rejected for _, is_rejected in lessons(ledger)]

    passed = [place for place, is_rejected in enumerate(rejected) if not is_rejected]
    assert len(rejected) == SAMPLES
    assert passed[0] < SAMPLES / 2
    assert mean(passed) < SAMPLES * 3 / 4


def test_a_candidate_is_learnt_once_whatever_else_is_said_of_it() -> None:
    gate, score = TOPS["a gate"]()
    with open_ledger(":memory:") as ledger:
        of_one = ladder([gate, score], vl.RewardRule())
        with vl.Campaign.open("code", ladder=of_one, ledger=ledger) as campaign:
            climb(campaign, range(1))
            before = lessons(ledger)
            rows = [{"content": f"0 {n}", "style": True} for n in range(SAMPLES)]
            campaign.import_verdicts(rows, source="another laboratory")
        told = lessons(ledger)

    assert len(before) > SAMPLES / 20
    assert len(told) <= SAMPLES
    assert len(told) == len({key for key, _ in told})


@pytest.mark.parametrize("reads", [(), ("question",)])
def test_candidates_that_share_a_check_are_each_learnt(reads: tuple[str, ...]) -> None:
    """Short answers to many questions: the gate reads the question, the style check does not."""

    def answers(candidate: vl.Candidate) -> vl.Verdict:
        is_right = candidate.task is not None and candidate.task["question"] % 4 == 0
        return vl.Verdict.accept() if is_right else no()

    tests = of("tests", answers, "simulation", role="gate", task_fields=("question",))
    style = of("style", all_pass, "simulation", task_fields=reads)
    code = ladder([tests, style], vl.RewardRule(), policy=CERTAIN())
    with (
        open_ledger(":memory:") as ledger,
        vl.Campaign.open("code", ladder=code, ledger=ledger) as campaign,
    ):
        for step in range(4):
            campaign.score(
                [vl.Candidate("text", f"{n % 5}", task={"question": n + 20 * step})
                 for n in range(20)], step=step,
            )  # fmt: skip
            assert campaign.drain(timeout=300)
        lessons = [
            ledger.read(entry).facts["lessons"]
            for entry in ledger.entries(kind="belief", campaign="code")
        ]

    assert [80, 60] == [
        sum(len(each["keys"]) for each in lessons),
        sum(len(each.get("rejected", [])) for each in lessons),
    ]


def test_an_import_of_what_is_known_teaches_nothing_again() -> None:
    gate, score = TOPS["a gate"]()
    with open_ledger(":memory:") as ledger:
        of_one = ladder([gate, score], vl.RewardRule(), policy=CERTAIN())
        with vl.Campaign.open("code", ladder=of_one, ledger=ledger) as campaign:
            climb(campaign, range(1))
            before = lessons(ledger)
            rows = [{"content": f"0 {n}", gate.name: n % 10 == 7} for n in range(SAMPLES)]
            report = campaign.import_verdicts(rows, source="the same")
        assert report.taught == 0
        assert lessons(ledger) == before


class Person(WorldVerifier):
    name = "person"
    version = "1"
    kind = "text"


def person_behind_a_gate() -> vl.Ladder:
    def judge(candidate: vl.Candidate) -> vl.Verdict:
        return vl.Verdict.accept() if is_right(candidate) else no()

    gate = of("tests", judge, "world", role="gate")
    policy = Thresholds(thresholds={"world": -1e9})
    return ladder([gate, Person()], vl.RewardRule(), policy=policy, budget={"world": "unlimited"})


def answer(campaign: vl.Campaign, but: int = 0) -> None:
    """Have a person answer all open cases but the first so many."""
    campaign.answer_all(
        {case.check_key: 0.9 for case in campaign.cases()[but:]}, source="a person"
    )
    assert campaign.drain(timeout=300)


def test_what_waits_for_its_turn_when_a_campaign_is_closed_is_learnt_when_it_is_opened(
    tmp_path: Path,
) -> None:
    where: dict[str, Any] = {"ladder": person_behind_a_gate(), "ledger": tmp_path / "ledger.db"}
    with vl.Campaign.open("code", **where) as campaign:
        climb(campaign, range(1))
    with vl.Campaign.open("code", **where) as campaign:
        answer(campaign)
    with open_ledger(tmp_path / "ledger.db") as ledger:
        told = lessons(ledger)

    assert len(told) == len({key for key, _ in told}) == SAMPLES
    assert sum(is_rejected for _, is_rejected in told) == SAMPLES * 9 / 10


@pytest.mark.parametrize("is_cancelled", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_a_restart_changes_nobodys_turn(tmp_path: Path, *, is_cancelled: bool) -> None:
    """The last are answered first, after a restart or without."""

    def taught(name: str, *, restarts: bool) -> list[tuple[str, bool]]:
        where: dict[str, Any] = {
            "ladder": person_behind_a_gate(), "ledger": tmp_path / name, "run": "r", "workers": 1,
        }  # fmt: skip
        campaign = vl.Campaign.open("code", **where)
        climb(campaign, range(1))
        if is_cancelled:
            campaign.cancel(step=0, positions=[7])
        for left in (7, 0):
            if restarts:
                campaign.close()
                campaign = vl.Campaign.open("code", **where)
            answer(campaign, but=left)
        campaign.close()
        with open_ledger(tmp_path / name) as ledger:
            return lessons(ledger)

    assert taught("again.db", restarts=True) == taught("at-once.db", restarts=False)


@pytest.mark.parametrize("is_cancelled", [True, False])
def test_one_that_is_never_judged_keeps_nobody_from_being_learnt(*, is_cancelled: bool) -> None:
    with (
        open_ledger(":memory:") as ledger,
        vl.Campaign.open("code", ladder=person_behind_a_gate(), ledger=ledger) as campaign,
    ):
        climb(campaign, range(1))
        if is_cancelled:
            (position,) = (int(str(c.candidate.content)[2:]) for c in campaign.cases()[:1])
            campaign.cancel(step=0, positions=[position])
        answer(campaign, but=0 if is_cancelled else 1)
        assert SAMPLES - 1 == len(lessons(ledger))


class Watched(Thresholds):
    """A policy that keeps the value which a search has to beat."""

    best = nan

    def decide(self, situation: vl.Situation) -> vl.Decisions:
        type(self).best = situation.best
        return super().decide(situation)


def test_a_search_does_not_count_rejects_among_the_best() -> None:
    """Errors are minimised and a reject earns 0, more than any honest answer."""

    def error(candidate: vl.Candidate) -> vl.Verdict:
        number = int(str(candidate.content).split()[1])
        return no() if number % 5 == 0 else vl.Verdict.accept(1.0 + number / SAMPLES)

    of_one = vl.Ladder(
        "errors", [of("runs", runs, "fast"), of("error", error, "simulation")], audit=0.5,
        target=vl.Target("error", "", direction="minimise"), policy=Watched(),
    )  # fmt: skip
    with vl.Campaign.open("code", ladder=of_one, ledger="memory://") as campaign:
        climb(campaign, range(2))
    assert Watched.best > 1.0
