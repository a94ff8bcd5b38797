"""Retrying from end to end: a dead check gets another chance, and rewards hear of its answer."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import verifier_ladder as vl
from verifier_ladder.analysis.totals import campaign_counts
from verifier_ladder.checkstory import story_of
from verifier_ladder.ledger.records import CheckState
from verifier_ladder.retrying import Retried, retry
from verifier_ladder.scheduler.policies.alltiers import AllTiers
from verifier_ladder.verdict import Outcome

_BROKEN = {"simulation": True}


@vl.verifier(name="quick-r", tier="fast", kind="text", version="1", isolation="inline")
def quick(candidate: vl.Candidate) -> float:
    return float(len(candidate.content))


@vl.verifier(name="slow-r", tier="simulation", kind="text", version="1", isolation="inline")
def slow(candidate: vl.Candidate) -> float:
    if _BROKEN["simulation"]:
        raise RuntimeError("the table is missing")
    return 10.0 * len(candidate.content)


@pytest.fixture(autouse=True)
def broken() -> Iterator[None]:
    _BROKEN["simulation"] = True
    yield
    _BROKEN["simulation"] = True


@pytest.fixture(params=[None, "ledger.db"], ids=["memory", "sqlite"])
def campaign(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[vl.Campaign]:
    ladder = vl.Ladder("r", [quick, slow], policy=AllTiers())
    ledger = request.param and tmp_path / request.param
    with vl.Campaign.open("again", ladder=ladder, ledger=ledger, run="r", workers=1) as opened:
        yield opened


def dead(campaign: vl.Campaign) -> list[str]:
    rows = campaign.ledger.checks(states=[CheckState.DEAD], campaign="again")
    return sorted(str(row.payload["content"]) for row in rows)


def test_the_story_of_a_dead_check_tells_what_failed(campaign: vl.Campaign) -> None:
    campaign.score(["ab"], deadline="300 s")
    (check,) = campaign.ledger.checks(states=[CheckState.DEAD])
    story = story_of(campaign.ledger, check)

    (attempt,) = story.attempts
    assert (1, Outcome.ABSTAIN, "verifier") == attempt[:3]
    assert "the table is missing" in attempt.reason
    assert attempt.recorded_at > 0
    assert ("verifier", 1) == (story.failed_at, story.as_json()["attempt"])


def test_rewards_that_told_of_a_failure_hear_of_the_answer(campaign: vl.Campaign) -> None:
    told = campaign.score(["ab", "abc", "ab"], deadline="300 s")
    assert {"verifier"} == {reward.failed_at for reward in told}
    before = campaign.cursor
    _BROKEN["simulation"] = False

    done = retry(campaign.ledger, campaign.ledger.checks(states=[CheckState.DEAD]))
    campaign.drain("300 s")

    revised = {r.position: r for r in campaign.revisions(after=before)}
    assert Retried(checks=2, samples=3) == done
    assert {0: 20.0, 1: 30.0, 2: 20.0} == {p: r.reward.value for p, r in revised.items()}
    assert {2} == {r.reward.revision for r in revised.values()}
    assert [reward.value for reward in told] == [revised[p].previous for p in range(3)]
    assert [] == dead(campaign)


def test_a_check_that_fails_once_more_can_be_retried_once_more(campaign: vl.Campaign) -> None:
    campaign.score(["ab"], deadline="300 s")
    for _ in range(2):
        retry(campaign.ledger, campaign.ledger.checks(states=[CheckState.DEAD]))
        campaign.drain("300 s")
    assert ["ab"] == dead(campaign)
    _BROKEN["simulation"] = False
    retry(campaign.ledger, campaign.ledger.checks())
    campaign.drain("300 s")

    (check,) = campaign.ledger.checks()
    assert [Outcome.ABSTAIN] * 3 + [Outcome.ACCEPT] == [
        attempt.outcome for attempt in story_of(campaign.ledger, check).attempts
    ]
    assert 20.0 == list(campaign.revisions())[-1].reward.value


def test_a_reward_that_comes_after_a_retry_had_not_been_waited_for() -> None:
    ladder = vl.Ladder("alone", [slow])
    with vl.Campaign.open("alone", ladder=ladder, ledger=None, run="r", workers=1) as campaign:
        campaign.score(["ab"], deadline="300 s")
        before = campaign_counts(campaign.ledger, "alone").rewards
        _BROKEN["simulation"] = False
        retry(campaign.ledger, campaign.ledger.checks())
        assert campaign.drain("300 s")
        after = campaign_counts(campaign.ledger, "alone").rewards

    assert (0, 0) == (before.known, before.waiting)
    assert (1, 0) == (after.known, after.waiting)


def test_what_is_done_is_not_retried(campaign: vl.Campaign) -> None:
    _BROKEN["simulation"] = False
    campaign.score(["ab"], deadline="300 s")
    assert Retried(0, 0) == retry(campaign.ledger, campaign.ledger.checks())


def test_the_campaign_can_be_replayed_after_a_retry(campaign: vl.Campaign) -> None:
    from verifier_ladder.scheduler.replay import replay

    campaign.score(["ab", "abc"], deadline="300 s")
    _BROKEN["simulation"] = False
    retry(campaign.ledger, campaign.ledger.checks(states=[CheckState.DEAD]))
    campaign.drain("300 s")
    (row,) = campaign.ledger.campaigns()
    assert replay(campaign.ledger, row).differences == []
