"""Cases that expire: their samples are told at once, and keep what the other tiers said."""

from contextlib import ExitStack
from pathlib import Path

import verifier_ladder as vl
from verifier_ladder.ledger.records import CheckState
from verifier_ladder.tiers.world.case import WorldVerifier


@vl.verifier(name="guess-expired", kind="text", version="1", isolation="inline")
def guess(candidate: vl.Candidate) -> float:
    return float(len(candidate.content))


class Silent(WorldVerifier):
    """A world that never answers."""

    name, version, kind, isolation, patience = "silent", "1", "text", "inline", 1.0


def test_a_sample_hears_that_its_case_has_expired(tmp_path: Path) -> None:
    ladder = vl.Ladder("expired", [guess, Silent()], budget={"world": "unlimited"}, audit=1.0)
    with ExitStack() as stack:
        campaigns = [
            stack.enter_context(
                vl.Campaign.open("expired", ladder=ladder, ledger=place, workers=1)
            )
            for place in ("memory://", tmp_path / "l.db")
        ]
        pending = [campaign.score(["four"])[0].pending for campaign in campaigns]
        told = [next(campaign.revisions(wait=300.0)).reward for campaign in campaigns]

    assert [True, True] == pending
    assert [(4.0, False, "tool")] * 2 == [(r.value, r.pending, r.failed_at) for r in told]


def test_an_answer_that_comes_after_its_case_has_expired_is_paid_all_the_same(
    tmp_path: Path,
) -> None:
    ladder = vl.Ladder("late", [guess, Silent()], budget={"world": "unlimited"}, audit=1.0)
    with vl.Campaign.open("late", ladder=ladder, ledger=tmp_path / "l.db", workers=1) as campaign:
        campaign.score(["four"])
        expired = next(campaign.revisions(wait=300.0))
        (check,) = campaign.ledger.checks(states=[CheckState.EXPIRED])

        assert campaign.answer(check.check_key, 9, source="somebody slow")

        (told,) = campaign.revisions(after=expired.cursor)
    assert (9.0, None) == (told.reward.value, told.reward.failed_at)
