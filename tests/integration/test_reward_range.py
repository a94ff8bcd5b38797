"""A reward outside the range of its own function is told once, with what bounds it."""

import logging
from typing import Any

import pytest

import verifier_ladder as vl
from verifier_ladder.reward import Estimation
from verifier_ladder.scheduler.policies import Thresholds

TEXTS = [f"answer {number}" for number in range(80)]


def ladder(estimator: Estimation = "unbiased", scale: float = 1.0, **rule: Any) -> vl.Ladder:
    """What is believed is half of what is true; one in four is drawn."""

    def cheap(_: vl.Candidate) -> float:
        return 0.5 * scale

    def tests(candidate: vl.Candidate) -> float:
        return scale * (int(str(candidate.content).split()[1]) % 2)

    return vl.Ladder(
        "graded",
        [
            vl.verifier(name="cheap", version="1", isolation="inline")(cheap),
            vl.verifier(name="tests", version="1", tier="high_fidelity", isolation="inline")(
                tests
            ),
        ],
        policy=Thresholds(thresholds={"high_fidelity": 1e9}),
        audit=0.25,
        reward=vl.RewardRule(estimator=estimator, **rule),
    )


def told(of: vl.Ladder, caplog: pytest.LogCaptureFixture) -> tuple[list[str], list[float]]:
    """What the log says while a learner trains, and the rewards that it was given."""
    with (
        caplog.at_level(logging.WARNING, "verifier_ladder"),
        vl.Campaign.open("c", ladder=of, run="r", workers=1) as campaign,
    ):
        values = [reward.value for reward in campaign.score(TEXTS)]
        campaign.drain("300 s")
        values += [revision.reward.value for revision in campaign.revisions()]
        values += [revision.reward.value for revision in campaign.revisions()]
    said = [record.getMessage() for record in caplog.records]
    return [text for text in said if "the range of" in text], [v for v in values if v is not None]


@pytest.mark.parametrize("rule", [{}, {"low": 0.0, "high": 1.0}, {"reject": -0.25}])
def test_a_reward_outside_the_range_is_told_once(
    rule: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    said, values = told(ladder(**rule), caplog)

    assert max(values) == pytest.approx(2.5)
    (text,) = said
    assert "graded" in text
    low = rule.get("reject", 0.0)
    assert f"outside {low:.3g} to 1" in text
    assert f"clip=({low:.3g}, 1)" in text
    assert "--clip" in text
    assert 'estimator="plugin"' in text


def test_the_range_of_a_function_with_large_numbers_is_learnt(
    caplog: pytest.LogCaptureFixture,
) -> None:
    said, values = told(ladder(scale=10.0), caplog)

    assert max(values) == pytest.approx(25.0)
    assert len(said) == 1
    assert "answers have earned so far" in said[0]


def test_rewards_within_the_range_are_not_told(caplog: pytest.LogCaptureFixture) -> None:
    said, values = told(ladder("plugin"), caplog)

    assert {0.0, 0.5, 1.0} == set(values)
    assert said == []
