"""Campaigns from end to end: scoring, climbing, failing, resuming."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from functools import partial
from pathlib import Path

import pytest

import verifier_ladder as vl
from verifier_ladder.ledger.records import CheckState
from verifier_ladder.resource import Resource
from verifier_ladder.scheduler.policies import Thresholds
from verifier_ladder.tier import Tier

pytestmark = pytest.mark.usefixtures("forked_workers")


def length(candidate: vl.Candidate) -> float:
    """The length of the text."""
    return float(len(candidate.content))


def hostile(candidate: vl.Candidate) -> object:
    """Do whatever the text says."""
    match str(candidate.content).split()[0]:
        case "exit":
            os._exit(0)
        case "hang":
            time.sleep(60)
        case "raise":
            raise RuntimeError("no such luck")
        case "nan":
            return float("nan")
        case "wrong":
            return {"score": 1}
        case "print":
            sys.stdout.write("x" * 1_000_000)
    return float(len(candidate.content))


def costly(candidate: vl.Candidate) -> float:
    """The length and a half."""
    return len(candidate.content) + 0.5


def fast() -> vl.Verifier:
    """A fast verifier that runs in this process."""
    return vl.verifier(tier="fast", version="1", isolation="inline")(length)


def slow(cost: vl.Cost | None = None) -> vl.Verifier:
    """A simulation-tier verifier that runs in a worker."""
    return vl.verifier(tier="simulation", version="1", cost=cost)(costly)


class Oracle(vl.Verifier):
    """A world verifier that always waits."""

    name, version, tier, kind = "oracle", "1", "world", "text"
    waits = True

    def verify(self, candidates: object) -> list[vl.Verdict]:
        """Wait for everything."""
        waiting = vl.Verdict.abstain("waiting for the oracle", evidence={"waiting": True})
        return [waiting for _ in candidates]  # type: ignore[attr-defined]


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    """Where a ledger may lie."""
    return tmp_path / "ledger.db"


def test_one_tier_gives_the_verifiers_own_number_in_order() -> None:
    """Rewards come back in the order asked, unchanged, whatever repeats."""
    with vl.Campaign.open("c", ladder=vl.Ladder("l", [fast()])) as campaign:
        rewards = campaign.score(["abc", "a", "abc"])

    assert [reward.value for reward in rewards] == [3.0, 1.0, 3.0]
    assert rewards[0].components == {"length": 3.0}


def test_hostile_candidates_cost_only_themselves(ledger: Path) -> None:
    """Each kind of misbehaviour is rejected, or names its boundary, and spares the others."""
    bad = ["exit now", "hang now", "raise now", "nan now", "wrong now"]
    texts = ["fine", *bad, "print now", "ok"]
    verifier = vl.verifier(name="hostile", version="1", timeout=0.5)(hostile)

    with vl.Campaign.open("c", ladder=vl.Ladder("l", [verifier]), ledger=ledger) as campaign:
        campaign.score(["first"], deadline=300)  # There is one now to compare others with.
        rewards = dict(zip(texts, campaign.score(texts), strict=True))

    assert {text: rewards[text].value for text in ("fine", "print now", "ok")} == {
        "fine": 4.0, "print now": 9.0, "ok": 2.0,
    }  # fmt: skip
    assert {text: (rewards[text].value, rewards[text].failed_at) for text in bad} == {
        "exit now": (0.0, None), "hang now": (0.0, None), "nan now": (0.0, None),
        "wrong now": (0.0, None), "raise now": (None, "verifier"),
    }  # fmt: skip


def test_an_outage_is_not_cached_and_an_answer_is(ledger: Path, tmp_path: Path) -> None:
    """A verifier that failed is asked again; one that answered is not."""
    calls = tmp_path / "calls"
    down = tmp_path / "down"
    down.touch()

    def flaky(_: vl.Candidate) -> float:
        with calls.open("a") as log:
            log.write("x")
        if down.exists():
            raise vl.ToolError("the tool is down")
        return 1.0

    verifier = vl.verifier(name="flaky", version="1", isolation="inline")(flaky)
    with vl.Campaign.open("c", ladder=vl.Ladder("l", [verifier]), ledger=ledger) as campaign:
        first = campaign.score(["a"])[0]
        down.unlink()
        second = campaign.score(["a"])[0]
        third = campaign.score(["a"])[0]

    assert (first.value, first.failed_at) == (None, "tool")
    assert (second.value, third.value) == (1.0, 1.0)
    assert calls.read_text() == "xx"


def test_higher_tiers_revise_the_first_answer(ledger: Path) -> None:
    """Without a deadline the fast number comes at once, and the revision later."""
    ladder = vl.Ladder("l", [fast(), slow()])
    with vl.Campaign.open("c", ladder=ladder, ledger=ledger) as campaign:
        first = campaign.score(["abc", "abc"])
        assert campaign.drain(300)
        revisions = list(campaign.revisions())
        again = campaign.score(["abc"])[0]

    assert [(reward.value, reward.pending) for reward in first] == [(3.0, True), (3.0, True)]
    assert [(r.position, r.previous, r.reward.value, r.reward.revision) for r in revisions] == [
        (0, 3.0, 3.5, 1), (1, 3.0, 3.5, 1),
    ]  # fmt: skip
    assert (again.value, again.tier, again.pending) == (3.5, Tier.SIMULATION, False)


def test_a_deadline_waits_for_the_higher_tier(ledger: Path) -> None:
    """With time to spare, the higher tier's number is what comes back."""
    ladder = vl.Ladder("l", [fast(), slow()])
    with vl.Campaign.open("c", ladder=ladder, ledger=ledger) as campaign:
        reward = campaign.score(["abc"], deadline="300 s")[0]

    assert (reward.value, reward.pending, reward.revision) == (3.5, False, 1)


def test_a_ladder_without_a_fast_tier_waits_for_its_first_answer() -> None:
    """No deadline is given, and still the reward is a number: nothing cheaper could answer."""
    with vl.Campaign.open("c", ladder=vl.Ladder("l", [slow()])) as campaign:
        assert campaign.score(["abc"])[0].value == 3.5


def test_a_spent_budget_parks_checks_and_a_larger_one_frees_them(ledger: Path) -> None:
    """The best candidate is paid for first; the rest waits for money and is never lost."""
    ladder = vl.Ladder("l", [fast(), slow(cost=vl.Cost(seconds=10.0))], policy=Thresholds())
    open_with = partial(vl.Campaign.open, "c", ladder=ladder, ledger=ledger)
    with open_with(budget={"simulation": 15}) as campaign:
        campaign.score(["a", "abc", "ab"])
        campaign.drain(300)
        campaign.ledger.set_caps("c", {(int(Tier.SIMULATION), Resource.CPU_SECONDS): 0.0})
        parked = campaign.status().tiers[1]
    with open_with(budget={"simulation": None}) as campaign:
        assert campaign.drain(300)
        done = campaign.status().tiers[1]

    assert parked.done + parked.parked == 3
    assert done.done == 3


def test_a_world_case_stays_open_until_it_is_answered(ledger: Path) -> None:
    """The case survives a restart, and its answer revises the reward."""
    ladder = vl.Ladder("l", [fast(), Oracle()], budget={"world": "unlimited"})
    with vl.Campaign.open("c", ladder=ladder, ledger=ledger) as campaign:
        first = campaign.score(["abc"], deadline=300)[0]
    with vl.Campaign.open("c", ladder=ladder, ledger=ledger) as campaign:
        case = campaign.cases()[0]
        assert campaign.answer(case.check_key, 7.0, source="desk", event="1")
        assert not campaign.answer(case.check_key, 7.0, source="desk", event="1")
        with pytest.raises(vl.ConfigError, match="answered before"):
            campaign.answer(case.check_key, 8.0, source="desk", event="1")
        revision = list(campaign.revisions())[-1]

    assert (first.value, first.pending) == (3.0, True)
    assert case.candidate.content == "abc"
    assert (revision.reward.value, revision.previous) == (7.0, 3.0)


def test_the_results_of_a_plate_are_taken_at_once(ledger: Path) -> None:
    """One delivery answers many cases, and counts once."""
    ladder = vl.Ladder("l", [fast(), Oracle()], budget={"world": "unlimited"})
    with vl.Campaign.open("c", ladder=ladder, ledger=ledger) as campaign:
        campaign.score(["abc", "de", "f"], deadline=300, step=0)
        values = {case.check_key: 7.0 for case in campaign.cases()}
        taken = [campaign.answer_all(values, source="lab", event="plate 1") for _ in range(2)]
        rows = campaign.ledger.recorded("c", campaign.run.name, 0)
        left = campaign.cases()
        with pytest.raises(vl.ConfigError, match="no open case has the key 0000"):
            campaign.answer_all({bytes(32): 1.0}, source="lab")

    assert taken == [3, 0]
    assert [row.reward.value for row in rows.values()] == [7.0, 7.0, 7.0]
    assert left == []


def test_a_dead_check_leaves_the_belief_and_says_where_it_failed(ledger: Path) -> None:
    """A higher tier that fails for good does not take the reward away."""
    broken = vl.verifier(name="broken", version="1", tier="simulation")(hostile)
    with vl.Campaign.open("c", ladder=vl.Ladder("l", [fast(), broken]), ledger=ledger) as campaign:
        reward = campaign.score(["raise now"], deadline=300)[0]
        dead = campaign.ledger.checks(states=[CheckState.DEAD])

    assert (reward.value, reward.failed_at, reward.pending) == (9.0, "verifier", False)
    assert "no such luck" in reward.reason
    assert len(dead) == 1


def test_the_same_sample_id_is_answered_from_the_ledger(ledger: Path) -> None:
    """Submitting an id again records nothing and gives the latest reward."""
    ladder = vl.Ladder("l", [fast(), slow()])
    samples = [vl.Sample(vl.Candidate("text", "abc"), run="r", step=4, position=2)]
    with vl.Campaign.open("c", ladder=ladder, ledger=ledger) as campaign:
        campaign.score(samples, deadline=300)
        before = campaign.cursor
        again = campaign.score(samples)[0]

        assert (again.value, again.revision) == (3.5, 1)
        assert campaign.cursor == before


def test_an_id_can_not_be_used_for_another_candidate() -> None:
    """The error names the sample."""
    with vl.Campaign.open("c", ladder=vl.Ladder("l", [fast()])) as campaign:
        campaign.score([vl.Sample(vl.Candidate("text", "a"), run="r", step=0, position=0)])
        with pytest.raises(vl.ConfigError, match="step 0 of run r, sample 0 was recorded"):
            campaign.score([vl.Sample(vl.Candidate("text", "b"), run="r", step=0, position=0)])


def test_a_killed_campaign_is_resumed(ledger: Path) -> None:
    """Checks that were queued when the process died are run when the campaign opens again."""
    ladder = vl.Ladder("l", [fast(), slow()], policy=Thresholds())
    open_with = partial(vl.Campaign.open, "c", ladder=ladder, ledger=ledger)
    with open_with(budget={"simulation": 0}) as campaign:
        campaign.score(["abc"])
    with open_with(budget={"simulation": 60}) as campaign:
        assert campaign.drain(300)
        assert [r.reward.value for r in campaign.revisions()] == [3.5]


def test_a_campaign_refuses_another_ladder_under_its_name(ledger: Path) -> None:
    """Its rewards would not be comparable; the message says what changed."""
    with vl.Campaign.open("c", ladder=vl.Ladder("l", [fast()]), ledger=ledger):
        pass
    with pytest.raises(vl.ConfigError, match="another ladder"):
        vl.Campaign.open("c", ladder=vl.Ladder("l", [fast(), slow()]), ledger=ledger)


def test_changed_source_under_an_old_version_is_told_in_the_log(
    ledger: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Old verdicts would answer for the new code."""

    def one(_: vl.Candidate) -> float:
        return 1.0

    def two(_: vl.Candidate) -> float:
        return 2.0

    def ladder(function: object) -> vl.Ladder:
        made = vl.verifier(name="same", version="1", isolation="inline")(function)  # type: ignore[arg-type]
        return vl.Ladder("l", [made])

    with vl.Campaign.open("c", ladder=ladder(one), ledger=ledger):
        pass
    assert not caplog.records
    vl.Campaign.open("c", ladder=ladder(two), ledger=ledger).close()

    (told,) = caplog.records
    assert ("verifier_ladder", "WARNING") == (told.name, told.levelname)
    assert all(part in told.message for part in ("verifier same", "test_campaign.py:", "Raise"))


def test_ascore_leaves_the_event_loop_free() -> None:
    """Two calls run at once, and both get their rewards in order."""

    async def both(campaign: vl.Campaign) -> list[list[vl.Reward]]:
        calls = campaign.ascore(["a", "bc"]), campaign.ascore(["def"])
        return list(await asyncio.gather(*calls))

    with vl.Campaign.open("c", ladder=vl.Ladder("l", [fast()])) as campaign:
        first, second = asyncio.run(both(campaign))

    assert [r.value for r in first] == [1.0, 2.0]
    assert [r.value for r in second] == [3.0]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("abc", "takes a list"),
        ([3], "candidate 0 is a int"),
        (["a", None], "candidate 1 is a NoneType"),
        ([vl.Candidate("molecule", "C")], "is a molecule, and the ladder is about text"),
    ],
)
def test_what_is_not_a_candidate_is_refused_by_place(given: object, message: str) -> None:
    """The error names the element; nothing is recorded."""
    with vl.Campaign.open("c", ladder=vl.Ladder("l", [fast()])) as campaign:
        with pytest.raises(vl.ConfigError, match=message):
            campaign.score(given)  # type: ignore[arg-type]
        assert campaign.score(["ok"])[0].value == 2.0


def test_an_empty_call_gives_an_empty_list() -> None:
    """Nothing in, nothing out, nothing recorded."""
    with vl.Campaign.open("c", ladder=vl.Ladder("l", [fast()])) as campaign:
        assert campaign.score([]) == []


def test_a_closed_campaign_says_so() -> None:
    """The message says what to do."""
    campaign = vl.Campaign.open("c", ladder=vl.Ladder("l", [fast()]))
    campaign.close()
    with pytest.raises(vl.ConfigError, match="open it again"):
        campaign.score(["a"])


def test_a_budget_for_a_tier_that_the_ladder_lacks_is_refused() -> None:
    """A budget that would never be used is a mistake."""
    with pytest.raises(vl.ConfigError, match="high_fidelity"):
        vl.Campaign.open("c", ladder=vl.Ladder("l", [fast()]), budget={"high_fidelity": "1 h"})


def test_an_answer_revises_every_open_campaign_that_asked(ledger: Path) -> None:
    """Two campaigns wait for one case; one of them is told, and both are revised."""
    ladder = vl.Ladder("l", [fast(), Oracle()], budget={"world": "unlimited"})
    open_with = partial(vl.Campaign.open, ladder=ladder, ledger=ledger)
    with open_with("one") as one, open_with("two") as two:
        one.score(["abc"], deadline=300)
        two.score(["abc"], deadline=300)

        one.answer(one.cases()[0].check_key, 7.0, source="desk")

        assert [revision.reward.value for revision in two.revisions()] == [7.0]
