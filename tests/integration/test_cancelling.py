"""Cancelling from end to end: nobody waits any more, joiners take over, learners go away."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event, Thread
from time import monotonic, sleep
from typing import Any

import pytest

import verifier_ladder as vl
from verifier_ladder.ledger import Ledger, open_ledger
from verifier_ladder.ledger.records import CheckState
from verifier_ladder.retrying import retry
from verifier_ladder.scheduler.policies.alltiers import AllTiers
from verifier_ladder.scheduler.replay import replay
from verifier_ladder.scheduler.withdrawal import Withdrawn


@vl.verifier(name="quick-c", tier="fast", kind="text", version="1", isolation="inline")
def quick(candidate: vl.Candidate) -> float:
    return float(len(candidate.content))


class Oracle(vl.Verifier):
    """A world verifier that always waits."""

    name, version, tier, kind, waits = "oracle-c", "1", "world", "text", True

    def verify(self, candidates: Any) -> list[vl.Verdict]:
        return [vl.Verdict.abstain("asked", evidence={"waiting": True}) for _ in candidates]


@vl.verifier(name="later-c", tier="simulation", kind="text", version="1", isolation="inline")
def later(candidate: vl.Candidate) -> float:
    return 10.0 * len(candidate.content)


WORLD = vl.Ladder("world", [quick, Oracle()], policy=AllTiers(), budget={"world": "unlimited"})
LATER = vl.Ladder("later", [quick, later], policy=AllTiers())


def opened(ledger: Ledger, name: str = "c", run: str = "r", **more: Any) -> vl.Campaign:
    """A campaign whose simulations wait until they are let go on."""
    campaign = vl.Campaign.open(name, ladder=LATER, ledger=ledger, run=run, workers=1, **more)
    campaign.pause("simulation")
    return campaign


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with open_ledger(tmp_path / "ledger.db") as store:
        yield store


def states(ledger: Ledger) -> dict[str, CheckState]:
    return {str(row.payload["content"]): row.state for row in ledger.checks()}


def test_what_a_run_waited_for_is_cancelled(ledger: Ledger) -> None:
    with vl.Campaign.open("c", ladder=WORLD, ledger=ledger, run="r", workers=1) as campaign:
        first = campaign.score(["a", "bb", "a"], step=0)
        campaign.score(["ccc"], step=1)
        campaign.drain("300 s")
        before = campaign.cursor
        assert Withdrawn(samples=3, checks=2) == campaign.cancel(step=0)
        revisions = list(campaign.revisions(after=before))

    assert [True] * 3 == [reward.pending for reward in first]
    assert {0: (1.0, False), 1: (2.0, False), 2: (1.0, False)} == {
        r.position: (r.reward.value, r.reward.pending) for r in revisions
    }
    assert {"it was cancelled"} == {r.reward.reason for r in revisions}
    gone = CheckState.CANCELLED
    assert {"a": gone, "bb": gone, "ccc": CheckState.WAITING} == states(ledger)
    assert [1] == [request.step for request in ledger.requests()]
    assert replay(ledger, ledger.campaigns()[0]).differences == []


def test_samples_may_be_named(ledger: Ledger) -> None:
    with opened(ledger) as campaign:
        campaign.score(["a", "bb", "a"], step=0)
        assert Withdrawn(samples=2, checks=1) == campaign.cancel(positions=[0, 1])
        assert Withdrawn(samples=0, checks=0) == campaign.cancel(positions=[0, 1])
    assert {"a": CheckState.QUEUED, "bb": CheckState.CANCELLED} == states(ledger)


def test_a_run_that_only_its_samples_name_is_cancelled(ledger: Ledger) -> None:
    with opened(ledger) as campaign:
        campaign.score([vl.Sample(vl.Candidate("text", "a"), run="theirs", step=0, position=0)])

        done = campaign.cancel("theirs", step=0)

    assert 1 == done.samples
    assert {"a": CheckState.CANCELLED} == states(ledger)


@pytest.mark.parametrize(
    ("run", "chosen", "said"),
    [
        ("nope", {}, r"holds no run 'nope'; the newest are: r\. Name the run, and single samples"),
        ("r", {"step": 7}, "run 'r' holds no step 7"),
        (None, {"step": 0, "positions": [0, 5]}, "run 'r' holds no position 5 in step 0"),
    ],
)
def test_what_the_campaign_does_not_hold_is_refused(
    ledger: Ledger, run: str | None, chosen: dict[str, Any], said: str
) -> None:
    with opened(ledger) as campaign:
        campaign.score(["a", "bb"], step=0)
        with pytest.raises(vl.ConfigError, match=said):
            campaign.cancel(run, **chosen)
        assert 2 == len(ledger.requests())


def test_those_who_joined_take_over_and_pay(ledger: Ledger) -> None:
    with opened(ledger, "one") as one, opened(ledger, "two", "other") as two:
        for campaign in (one, two):
            campaign.score(["a"])
        assert Withdrawn(samples=1, checks=0) == one.cancel()
        (check,) = ledger.checks()
        assert ("two", "other", CheckState.QUEUED) == (check.campaign, check.run, check.state)
        two.resume("simulation")
        two.drain("300 s")
        assert [10.0] == [r.reward.value for r in two.revisions()]
        assert [1.0] == [r.reward.value for r in one.revisions()]
        spent = [line.name for line in two.spending("run") if line.settled]
        assert ["other"] == spent


def test_a_cancelled_check_that_is_wanted_again_is_asked_again(ledger: Ledger) -> None:
    with opened(ledger) as campaign:
        campaign.score(["a"], step=0)
        campaign.cancel()
        campaign.score(["a"], step=1)
        assert {"a": CheckState.QUEUED} == states(ledger)
        campaign.cancel()
        retry(ledger, ledger.checks())
        campaign.resume("simulation")
        campaign.drain("300 s")
        answered = [r for r in campaign.revisions() if r.reward.value == 10.0]
        assert [0, 1] == sorted(r.step for r in answered)


class Slow:
    """A simulation that goes on when it is told to."""

    def __init__(self) -> None:
        self.begun, self.going_on = Event(), Event()

        @vl.verifier(
            name="slow-c", tier="simulation", kind="text", version="1", isolation="inline"
        )
        def slow(candidate: vl.Candidate) -> float:
            self.begun.set()
            self.going_on.wait(300)
            return 10.0 * len(candidate.content)

        self.ladder = vl.Ladder("at work", [quick, slow], policy=AllTiers())


def test_a_caller_that_waits_is_woken(ledger: Ledger) -> None:
    slow = Slow()
    with vl.Campaign.open("w", ladder=slow.ladder, ledger=ledger, run="r", workers=1) as campaign:
        rewards: list[vl.Reward] = []
        waiting = Thread(target=lambda: rewards.extend(campaign.score(["a"], deadline="300 s")))
        waiting.start()
        slow.begun.wait(300)
        campaign.cancel()
        waiting.join(timeout=300)
        slow.going_on.set()
    assert [(1.0, False, "lease")] == [(r.value, r.pending, r.failed_at) for r in rewards]


def test_a_check_at_work_is_finished_or_abandoned(ledger: Ledger) -> None:
    slow = Slow()
    with vl.Campaign.open("w", ladder=slow.ladder, ledger=ledger, run="r", workers=1) as campaign:
        for text, at_work, expected in (("a", False, 0), ("bb", True, 1)):
            slow.begun.clear()
            slow.going_on.clear()
            campaign.score([text])
            slow.begun.wait(300)
            assert Withdrawn(1, expected) == campaign.cancel(at_work=at_work)
            slow.going_on.set()
            campaign.drain("300 s")
        again = campaign.score(["a"], deadline="300 s")[0]

    assert {"a": CheckState.DONE, "bb": CheckState.CANCELLED} == states(ledger)
    assert 10.0 == again.value


def test_a_campaign_may_cancel_what_waits_when_it_is_left(ledger: Ledger) -> None:
    with opened(ledger, on_leave="cancel") as campaign:
        campaign.score(["a"])
    with opened(ledger, run="later") as campaign:
        campaign.score(["bb"])
    assert {"a": CheckState.CANCELLED} == {
        text: state for text, state in states(ledger).items() if text == "a"
    }
    assert ["later"] == [request.run for request in ledger.requests()]


def test_a_word_that_says_nothing_is_refused(ledger: Ledger) -> None:
    with pytest.raises(vl.ConfigError, match="keep or cancel"):
        opened(ledger, on_leave="maybe")


LEARNER = """
import sys, runpy
module = runpy.run_path(sys.argv[1])
campaign = module["opened"](sys.argv[2], run="learner", on_leave="cancel")
campaign.score(["a"])
print("scored", flush=True)
sys.stdin.read()
"""


def test_a_learner_that_dies_wants_nothing_any_more(tmp_path: Path) -> None:
    path = tmp_path / "ledger.db"
    with open_ledger(path) as ledger, opened(ledger, run="home") as campaign:
        campaign.score(["bb"])
        learner = subprocess.Popen(
            [sys.executable, "-c", LEARNER, __file__, str(path)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert learner.stdout is not None
        assert "scored\n" == learner.stdout.readline()
        assert {"home", "learner"} == {request.run for request in ledger.requests()}
        learner.kill()
        learner.communicate()
        until(lambda: {"home"} == {request.run for request in ledger.requests()})
    assert CheckState.CANCELLED is states_of(path)["a"]


def states_of(path: Path) -> dict[str, CheckState]:
    with open_ledger(path) as ledger:
        return states(ledger)


def until(is_so: Callable[[], bool], seconds: float = 30.0) -> None:
    """Look again and again until it is so."""
    end = monotonic() + seconds
    while not is_so():
        assert monotonic() < end
        sleep(0.01)
