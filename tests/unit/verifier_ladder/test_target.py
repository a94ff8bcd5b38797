"""Targets."""

from typing import Any

import pytest

from verifier_ladder.errors import ConfigError
from verifier_ladder.target import Target


@pytest.mark.parametrize(("direction", "sign"), [("maximise", 1.0), ("minimise", -1.0)])
def test_the_sign_tells_what_is_better(direction: Any, sign: float) -> None:
    assert sign == Target(direction=direction).sign


@pytest.mark.parametrize("words", [{"direction": "up"}, {"scale": "log"}, {"direction": None}])
def test_a_word_without_a_meaning_is_refused(words: Any) -> None:
    with pytest.raises(ConfigError, match="write '"):
        Target(**words)


def test_a_target_survives_its_json() -> None:
    target = Target("hydration free energy", "kcal/mol", "minimise", "real")

    assert target == Target(**target.as_json())
