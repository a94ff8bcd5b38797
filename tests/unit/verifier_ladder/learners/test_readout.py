"""What a learner is told for a reward."""

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifier_ladder import ConfigError, Reward, TurnVerdict
from verifier_ladder.learners.readout import Readout, extras_of

finite = st.floats(allow_nan=False, allow_infinity=False)


@given(finite)
def test_a_known_reward_is_told_unchanged(value: float) -> None:
    assert value == Readout().value(Reward(value))


@given(finite, finite, finite)
def test_a_range_holds_every_known_reward(value: float, one: float, other: float) -> None:
    low, high = sorted((one, other))
    if low == high:
        return
    told = Readout(clip=(low, high)).value(Reward(value))

    assert sorted((low, value, high))[1] == told


def test_an_unknown_reward_stays_unknown_or_gets_its_number() -> None:
    assert Readout().value(Reward(None)) is None
    assert -9.0 == Readout(on_abstain=-9.0, clip=(0.0, 1.0)).value(Reward(None))


@pytest.mark.parametrize("clip", [(1.0, 0.0), (0.0, 0.0), (0.0,), (math.nan, 1.0), (0, math.inf)])
def test_a_range_that_is_none_is_refused(clip: Any) -> None:
    with pytest.raises(ConfigError, match="clip"):
        Readout(clip=clip)


@pytest.mark.parametrize("number", [None, math.nan, math.inf, "0"])
def test_a_learner_without_a_mask_needs_a_number(number: Any) -> None:
    with pytest.raises(ConfigError, match=r"SkyRL.*on_abstain"):
        Readout.complete("SkyRL", number)


def test_tokens_of_steps_are_told_where_they_are_known() -> None:
    told = Reward(1.0, turns=(TurnVerdict(0, 0.5, span=(0, 3)), TurnVerdict(1, 1.0)))
    turns = json.loads(extras_of(told, [(0, 2), None])["turns"])

    assert [[0, 2], None] == [turn.get("tokens") for turn in turns]
    assert [[0, 3], None] == [turn.get("span") for turn in turns]
