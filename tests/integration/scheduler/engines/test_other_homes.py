"""Homes of several machines take from one queue: what another one has done is noticed."""

from concurrent.futures import ThreadPoolExecutor
from threading import Event

import verifier_ladder as vl
from verifier_ladder.ledger import open_ledger
from verifier_ladder.ledger.records import Completion

AT_WORK, GO = Event(), Event()


@vl.verifier(tier="fast", kind="text", version="1", isolation="inline")
def other_homes_guess(_: vl.Candidate) -> float:
    return 0.0


@vl.verifier(
    tier="simulation", kind="text", version="1", isolation="inline", cost=vl.Cost(seconds=1)
)
def other_homes_measure(candidate: vl.Candidate) -> float:
    AT_WORK.set()
    assert GO.wait(300)
    return float(len(candidate.content))


def test_what_another_home_has_completed_revises_the_reward(postgresql: str) -> None:
    ladder = vl.Ladder("l", [other_homes_guess, other_homes_measure], policy="all_tiers")
    with (
        vl.Campaign.open("c", ladder=ladder, ledger=postgresql, workers=1) as campaign,
        open_ledger(postgresql) as elsewhere,
        ThreadPoolExecutor(1) as pool,
    ):
        waiting = pool.submit(campaign.score, ["a", "bb"], deadline=300)
        assert AT_WORK.wait(300)
        (claim,) = elsewhere.claim(
            verifier=other_homes_measure.digest, owner="elsewhere", lease=60.0, limit=1,
            now=elsewhere.clock(),
        )  # fmt: skip
        said = vl.Verdict(vl.Outcome.ACCEPT, 7.0)
        done = Completion(claim, said, claim.check.content_key)
        assert elsewhere.complete([done], now=elsewhere.clock())
        GO.set()

        rewards = waiting.result()

    assert [reward.pending for reward in rewards] == [False, False]
    assert 7.0 in [reward.value for reward in rewards]
