"""Deadlines: a drawn answer that came in time weighs more until the reward has been read."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

import verifier_ladder as vl
from verifier_ladder.ledger import Ledger, open_ledger
from verifier_ladder.scheduler.policies import Thresholds
from verifier_ladder.scheduler.replay import replay
from verifier_ladder.scheduler.reviser import Reviser
from verifier_ladder.scheduler.watch import Watches
from verifier_ladder.tier import Tier

TEXTS = ["x" * (number % 40) + str(number) for number in range(60)]


@vl.verifier(tier="fast", version="1", isolation="inline", deviation=2.0, same_quantity=True)
def cheap(candidate: vl.Candidate) -> float:
    return float(len(candidate.content))


@vl.verifier(tier="high_fidelity", version="1", isolation="inline", cost=vl.Cost(seconds=20.0))
def dear(candidate: vl.Candidate) -> float:
    return len(candidate.content) + 3.0


@vl.verifier(tier="high_fidelity", version="1", isolation="inline", cost=vl.Cost(seconds=20.0))
def broken(candidate: vl.Candidate) -> float:
    raise RuntimeError(f"no luck with {candidate.content!r}")


class Laboratory(vl.Verifier):
    """The world, which answers when it is asked to."""

    name, version, tier, kind, waits = "laboratory", "1", "world", "text", True
    domain = "laboratories"

    def verify(self, candidates: Sequence[vl.Candidate]) -> list[vl.Verdict]:
        return [vl.Verdict.abstain("asked", evidence={"waiting": True}) for _ in candidates]


def ladder(top: vl.Verifier) -> vl.Ladder:
    """One that stops everything below the top, and draws every other sample for it."""
    policy = Thresholds(thresholds={Tier.parse(top.tier).label: 1e9})
    return vl.Ladder(
        "drawn", [cheap, top], policy=policy, audit=0.5,
        reward=vl.RewardRule(estimator="unbiased"), prior=(20.0, 10.0),
    )  # fmt: skip


def opened(ledger: Ledger) -> vl.Campaign:
    budget = {"world": "unlimited"}
    return vl.Campaign.open(
        "one", ladder=ladder(Laboratory()), ledger=ledger, workers=1, budget=budget
    )


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with open_ledger(tmp_path / "ledger.db") as store:
        yield store


@pytest.fixture
def late(monkeypatch: pytest.MonkeyPatch) -> Callable[[vl.Campaign], None]:
    """Lets the laboratory answer all cases but one until the deadline of a call comes."""

    def begin(campaign: vl.Campaign) -> None:
        def answer(*_: object) -> None:
            campaign.drain("300 s")
            _, *cases = campaign.cases()
            values = {case.check_key: len(str(case.candidate.content)) + 3.0 for case in cases}
            campaign.answer_all(values, source="laboratory")

        monkeypatch.setattr(Watches, "wait", answer)

    return begin


def test_what_came_in_time_weighs_more_than_it_does_in_the_end(
    ledger: Ledger, late: Callable[[vl.Campaign], None]
) -> None:
    with opened(ledger) as campaign:
        late(campaign)
        read = campaign.score(TEXTS, deadline="25 s")
        final = {r.position: r.reward for r in campaign.revisions()}
        (row,) = ledger.campaigns()
        report = replay(ledger, row)
        left = ledger.requests(campaign="one")

    drawn = [place for place, reward in enumerate(read) if reward.revision > 0]
    assert 15 < len(drawn) < 45
    moved = []
    for place in drawn:
        length = float(len(TEXTS[place]))
        # Unbiased: r = m + (y - m) / p, and y is length + 3. Until the deadline p is p * F.
        assert final[place].revision == read[place].revision + 1 == 3
        moved.append((read[place].value, final[place].value, length))
    assert all(
        abs(first - length) > abs(last - length) > 3.0 - 1e-9
        for first, last, length in moved if first is not None and last is not None
    )  # fmt: skip
    assert report.is_same, report.differences
    assert len(left) == 1


def test_where_all_came_in_time_nothing_weighs_more(ledger: Ledger) -> None:
    with vl.Campaign.open("one", ladder=ladder(dear), ledger=ledger, workers=1) as campaign:
        read = campaign.score(TEXTS, deadline="60 s")
        last = {r.position: r.reward for r in campaign.revisions()}

    assert {reward.revision for reward in last.values()} == {1}
    assert all(read[place].value == reward.value for place, reward in last.items())
    assert ledger.requests(campaign="one") == []


def test_what_hardly_came_in_time_is_told_once(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(Watches, "wait", lambda *_: None)
    with opened(ledger) as campaign:
        for step in range(3):
            campaign.score([f"{text}-{step}" for text in TEXTS], step=step, deadline="25 s")

    assert sum("had come by the deadline" in said for said in caplog.messages) == 1


def test_without_a_deadline_nothing_weighs_more(ledger: Ledger) -> None:
    with vl.Campaign.open("one", ladder=ladder(dear), ledger=ledger, workers=1) as campaign:
        campaign.score(TEXTS)
        campaign.drain("300 s")
        revisions = list(campaign.revisions())

    assert {revision.reward.revision for revision in revisions} == {1}


def test_a_draw_that_fails_is_no_answer_at_the_deadline(ledger: Ledger) -> None:
    with vl.Campaign.open("one", ladder=ladder(broken), ledger=ledger, workers=1) as campaign:
        read = campaign.score(TEXTS, deadline="0.5 s")
        first = [reward.value for reward in campaign.score(TEXTS, step=0)]

    assert [reward.value for reward in read] == first


def test_a_process_that_dies_before_it_settles_leaves_that_to_the_next(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch, late: Callable[[vl.Campaign], None]
) -> None:
    monkeypatch.setattr(Reviser, "settle", lambda *_: None)
    with opened(ledger) as campaign:
        late(campaign)
        read = campaign.score(TEXTS, deadline="25 s")
    assert len(ledger.requests(campaign="one")) > 1
    monkeypatch.undo()

    with opened(ledger) as campaign:
        campaign.drain("300 s")
        last = {r.position: r.reward.revision for r in campaign.revisions()}

    assert set(last.values()) == {3}
    assert set(last) == {place for place, reward in enumerate(read) if reward.revision}
    assert len(ledger.requests(campaign="one")) == 1


def test_a_call_that_is_interrupted_leaves_nothing_behind(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch, late: Callable[[vl.Campaign], None]
) -> None:
    with opened(ledger) as campaign:
        late(campaign)
        wait = Watches.wait

        def interrupted(*given: Any) -> None:
            wait(*given)
            raise KeyboardInterrupt

        monkeypatch.setattr(Watches, "wait", interrupted)
        with pytest.raises(KeyboardInterrupt):
            campaign.score(TEXTS, deadline="25 s")
        left = ledger.requests(campaign="one")
        revisions = {r.position: r.reward.revision for r in campaign.revisions()}

    assert len(left) == 1
    assert set(revisions.values()) == {3}
