"""The alarm for samples that end without a reward: in the log, and in the summary."""

import logging

import pytest

import verifier_ladder as vl
from verifier_ladder.summary.reading import summarise


def masking(candidate: vl.Candidate) -> vl.Verdict | float:
    """Declines, fails, or judges, as the candidate says."""
    if "decline" in str(candidate.content):
        return vl.Verdict.abstain("declined")
    if "fail" in str(candidate.content):
        raise vl.VerifierError("the table is missing")
    return 1.0


LADDER = vl.Ladder("l", [vl.verifier(name="masking", version="1", isolation="inline")(masking)])


def told_of(caplog: pytest.LogCaptureFixture, texts: list[str], size: int) -> tuple[int, int]:
    """Alarms in the log and in the summary after calls of a size."""
    caplog.set_level(logging.WARNING, "verifier_ladder")
    with vl.Campaign.open("masked", ladder=LADDER) as campaign:
        for start in range(0, len(texts), size):
            campaign.score(texts[start : start + size], deadline=60)
        summary = summarise(campaign.ledger, "masked")
    logged = [r for r in caplog.records if "have no reward" in r.message]
    return len(logged), sum("have no reward" in alarm for alarm in summary.alarms)


@pytest.mark.parametrize("size", [1, 7, 100])
@pytest.mark.parametrize("how", ["decline", "fail"])
def test_a_large_share_without_a_reward_is_an_alarm(
    how: str, size: int, caplog: pytest.LogCaptureFixture
) -> None:
    texts = [f"{how} {n}" if n % 3 == 0 else f"fine {n}" for n in range(100)]

    logged, shown = told_of(caplog, texts, size)

    assert logged >= 1
    assert shown == 1


def test_a_small_share_and_few_samples_are_no_alarm(caplog: pytest.LogCaptureFixture) -> None:
    texts = [f"decline {n}" if n % 10 == 0 else f"fine {n}" for n in range(100)]

    assert told_of(caplog, texts, 100) == (0, 0)
    assert told_of(caplog, ["decline a"] * 5, 5) == (0, 0)
