"""Expert cases."""

from typing import Any

import pytest

from verifier_ladder.candidate import Candidate
from verifier_ladder.errors import ConfigError, VerifierError
from verifier_ladder.tiers.world.case import is_waiting
from verifier_ladder.tiers.world.expert import ExpertCase

ETHANOL = Candidate("molecule", "CCO")


def test_every_candidate_waits_for_the_expert() -> None:
    assert is_waiting(ExpertCase().judge([ETHANOL])[0])


def test_the_question_says_what_may_be_answered() -> None:
    expert = ExpertCase(ask="How easy is it to make?", low=1, high=5, unit="points")

    assert "How easy is it to make? 'CCO' (a number from 1 to 5 points)" == expert.question(
        ETHANOL
    )


def test_a_score_outside_the_scale_is_refused() -> None:
    with pytest.raises(VerifierError, match="between 1 and 5"):
        ExpertCase(low=1, high=5).answered(ETHANOL, 6)


@pytest.mark.parametrize("settings", [{"ask": " "}, {"low": 3, "high": 3}])
def test_a_question_without_sense_is_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        ExpertCase(**settings)


def test_whole_numbers_and_decimals_are_the_same_settings() -> None:
    assert ExpertCase(low=1, high=5).digest == ExpertCase(low=1.0, high=5.0).digest
