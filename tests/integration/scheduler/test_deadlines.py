"""Deadlines: a drawn answer that came in time weighs more until the reward has been read."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

import verifier_ladder as vl
from verifier_ladder.ledger import Ledger, open_ledger
from verifier_ladder.ledger.records import CheckState, Request
from verifier_ladder.scheduler.policies import Thresholds
from verifier_ladder.scheduler.replay import replay
from verifier_ladder.scheduler.reviser import Reviser
from verifier_ladder.scheduler.revisions import Revisions
from verifier_ladder.scheduler.watch import Watches

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


def ladder(top: vl.Verifier) -> vl.Ladder:
    """One that stops everything below the top, and draws every other sample for it."""
    return vl.Ladder(
        "drawn", [cheap, top], policy=Thresholds(thresholds={"high_fidelity": 1e9}), audit=0.5,
        reward=vl.RewardRule(estimator="unbiased"), prior=(20.0, 10.0),
    )  # fmt: skip


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with open_ledger(tmp_path / "ledger.db") as store:
        yield store


def test_what_came_in_time_weighs_more_than_it_does_in_the_end(ledger: Ledger) -> None:
    with vl.Campaign.open("one", ladder=ladder(dear), ledger=ledger, workers=1) as campaign:
        read = campaign.score(TEXTS, deadline="25 s")
        final = {r.position: r.reward for r in campaign.revisions()}
        counts = ledger.counts("one")
        (row,) = ledger.campaigns()
        report = replay(ledger, row)

    drawn = [place for place, reward in enumerate(read) if reward.revision > 0]
    assert 15 < len(drawn) < 45
    moved = []
    for place in drawn:
        length = float(len(TEXTS[place]))
        # Unbiased: r = m + (y - m) / p, and y is length + 3. Until the deadline p is p * F.
        assert final[place].revision == read[place].revision + 1
        moved.append((read[place].value, final[place].value, length))
    assert all(
        abs(first - length) > abs(last - length) > 3.0 - 1e-9
        for first, last, length in moved if first is not None and last is not None
    )  # fmt: skip
    assert report.is_same, report.differences
    assert counts[2] == {CheckState.DONE: len(drawn)}
    assert ledger.requests(campaign="one") == []


def test_without_a_deadline_nothing_weighs_more(ledger: Ledger) -> None:
    with vl.Campaign.open("one", ladder=ladder(dear), ledger=ledger, workers=1) as campaign:
        campaign.score(TEXTS)
        campaign.drain("30 s")
        revisions = list(campaign.revisions())

    assert {revision.reward.revision for revision in revisions} == {1}


def test_a_draw_that_fails_is_no_answer_at_the_deadline(ledger: Ledger) -> None:
    with vl.Campaign.open("one", ladder=ladder(broken), ledger=ledger, workers=1) as campaign:
        read = campaign.score(TEXTS, deadline="0.5 s")
        first = [reward.value for reward in campaign.score(TEXTS, step=0)]

    assert [reward.value for reward in read] == first


def test_a_process_that_dies_before_it_settles_leaves_that_to_the_next(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Reviser, "settle", lambda *_: None)
    with vl.Campaign.open("one", ladder=ladder(dear), ledger=ledger, workers=1) as campaign:
        read = campaign.score(TEXTS, deadline="25 s")
    assert ledger.requests(campaign="one")
    monkeypatch.undo()

    with vl.Campaign.open("one", ladder=ladder(dear), ledger=ledger, workers=1) as campaign:
        campaign.drain("30 s")
        last = {r.position: r.reward.revision for r in campaign.revisions()}

    assert set(last.values()) == {2}
    assert set(last) == {place for place, reward in enumerate(read) if reward.revision}
    assert ledger.requests(campaign="one") == []


def test_a_call_that_is_interrupted_leaves_nothing_behind(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    wait = Watches.wait

    def interrupted(*given: Any) -> None:
        wait(*given)
        raise KeyboardInterrupt

    monkeypatch.setattr(Watches, "wait", interrupted)
    with vl.Campaign.open("one", ladder=ladder(dear), ledger=ledger, workers=1) as campaign:
        with pytest.raises(KeyboardInterrupt):
            campaign.score(TEXTS, deadline="25 s")
        left = ledger.requests(campaign="one")
        revisions = {r.position: r.reward.revision for r in campaign.revisions()}

    assert left == []
    assert set(revisions.values()) == {2}


def test_who_reads_just_as_the_answer_comes_leaves_nothing_behind(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The caller is gone after its answers were told to it, and before that was noted."""
    write = Revisions.write

    def told(self: Revisions, places: Sequence[int]) -> list[Request]:
        made = write(self, places)
        if self.early:
            watches = self._desk.watches
            watches.close([request[2:5] for request in self.requests])
        return made

    monkeypatch.setattr(Revisions, "write", told)
    with vl.Campaign.open("one", ladder=ladder(dear), ledger=ledger, workers=1) as campaign:
        campaign.score(TEXTS, deadline="25 s")
        campaign.drain("30 s")
        left = ledger.requests(campaign="one")

    assert left == []
