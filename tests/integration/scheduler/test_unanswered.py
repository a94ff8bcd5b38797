"""The alarm for samples that end without a reward: in the log, and in the summary."""

import logging
from pathlib import Path

import pytest

import verifier_ladder as vl
from verifier_ladder.alerts import AlertRules, load_rules
from verifier_ladder.learners.attachment import Attachment
from verifier_ladder.summary.reading import summarise


def masking(candidate: vl.Candidate) -> vl.Verdict | float:
    """Declines, fails, or judges, as the candidate says."""
    if "decline" in str(candidate.content):
        return vl.Verdict.abstain("declined")
    if "fail" in str(candidate.content):
        raise vl.VerifierError("the table is missing")
    return 1.0


VERIFIER = vl.verifier(name="masking", version="1", isolation="inline")(masking)
LADDER = vl.Ladder("l", [VERIFIER])


def told_of(
    caplog: pytest.LogCaptureFixture, texts: list[str], size: int, ladder: vl.Ladder = LADDER
) -> tuple[int, int]:
    """Alarms in the log and in the summary after calls of a size."""
    caplog.set_level(logging.WARNING, "verifier_ladder")
    caplog.clear()
    with vl.Campaign.open("masked", ladder=ladder) as campaign:
        for start in range(0, len(texts), size):
            campaign.score(texts[start : start + size], deadline=300)
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


TENTH = [f"decline {n}" if n % 10 == 0 else f"fine {n}" for n in range(100)]


def test_a_ladder_says_which_share_of_how_many_is_an_alarm(
    caplog: pytest.LogCaptureFixture,
) -> None:
    strict = vl.Ladder("l", [VERIFIER], alerts=AlertRules(unanswered=0.05, unanswered_samples=10))
    lenient = vl.Ladder("l", [VERIFIER], alerts=AlertRules(unanswered=1.0))

    assert told_of(caplog, TENTH, 10, strict)[0] == 10
    assert told_of(caplog, ["decline a"] * 100, 100, lenient)[0] == 0


def test_the_file_of_alerts_says_it_where_no_ladder_does(
    caplog: pytest.LogCaptureFixture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rules = tmp_path / "alerts.toml"
    rules.write_text("[alerts]\nunanswered = 0.05\n")
    monkeypatch.setenv("VLADDER_ALERTS", str(rules))

    assert told_of(caplog, TENTH, 100) == (1, 1)


@pytest.mark.parametrize(
    "setting", ["unanswered = 2", 'unanswered = "a"', "unanswered_samples = 0"]
)
def test_limits_that_make_no_sense_are_refused(setting: str, tmp_path: Path) -> None:
    (tmp_path / "alerts.toml").write_text(f"[alerts]\n{setting}\n")

    with pytest.raises(vl.ConfigError, match="unanswered"):
        load_rules(tmp_path / "alerts.toml")


def test_learners_metrics_count_these_alarms() -> None:
    with vl.Campaign.open("metered", ladder=LADDER) as campaign:
        attachment = Attachment(LADDER, campaign=campaign)
        before = attachment.alarms
        campaign.score(["decline a"] * 100, deadline=300)

        assert before == {"gaming_alarms": 0.0, "unanswered_alarms": 0.0}
        assert attachment.alarms == {"gaming_alarms": 0.0, "unanswered_alarms": 1.0}


def test_a_sample_that_nobody_pays_for_says_so() -> None:
    paid = vl.verifier(name="paid", tier="world", version="1", cost=vl.Cost(money=1.0))(masking)
    with vl.Campaign.open("unpaid", ladder=vl.Ladder("l", [paid])) as campaign:
        (reward,) = campaign.score(["fine"])
        told = reward.value, reward.pending, reward.reason

    assert told == (None, False, "no tier has been asked")


def test_a_gate_that_does_not_judge_spares_what_comes_after_it() -> None:
    """Its tier says nothing without it, so nobody pays for the rest."""
    asked: list[str] = []

    @vl.verifier(name="cheap", kind="text", version="1", isolation="inline")
    def cheap(candidate: vl.Candidate) -> float:
        return float(len(candidate.content))

    @vl.verifier(
        name="gate", kind="text", version="1", tier="simulation", role="gate", isolation="inline"
    )
    def gate(candidate: vl.Candidate) -> bool | None:
        return None if "odd" in str(candidate.content) else True

    @vl.verifier(name="dear", kind="text", version="1", tier="simulation", isolation="inline")
    def dear(candidate: vl.Candidate) -> float:
        asked.append(str(candidate.content))
        return 1.0

    ladder = vl.Ladder("gated", [cheap, gate, dear], policy="all_tiers")
    with vl.Campaign.open("gated", ladder=ladder, run="r", workers=1) as campaign:
        campaign.score([f"{kind} {n}" for n in range(3) for kind in ("odd", "even")])
        assert campaign.drain("300 s")

    assert sorted(asked) == ["even 0", "even 1", "even 2"]
