"""Cases that expire: their samples are told at once, and keep what the other tiers said."""

from pathlib import Path
from time import monotonic, sleep

import pytest

import verifier_ladder as vl
from verifier_ladder.scheduler.engines import dispatcher
from verifier_ladder.tiers.world.case import WorldVerifier


@vl.verifier(name="guess-expired", kind="text", version="1", isolation="inline")
def guess(candidate: vl.Candidate) -> float:
    return float(len(candidate.content))


class Silent(WorldVerifier):
    """A world that never answers."""

    name, version, kind, isolation, patience = "silent", "1", "text", "inline", 0.001


@pytest.mark.parametrize("place", ["memory://", "l.db"])
def test_a_sample_hears_that_its_case_has_expired(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dispatcher, "_REAP", 0.05)
    ladder = vl.Ladder("expired", [guess, Silent()], budget={"world": "unlimited"}, audit=1.0)
    where = place if place == "memory://" else tmp_path / place
    ends = monotonic() + 60

    with vl.Campaign.open("expired", ladder=ladder, ledger=where, workers=1) as campaign:
        campaign.score(["four"])
        while not (revisions := list(campaign.revisions())):
            assert monotonic() < ends
            sleep(0.01)

    reward = revisions[0].reward
    assert (reward.value, reward.pending, reward.failed_at) == (4.0, False, "tool")
