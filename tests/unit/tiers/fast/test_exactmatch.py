"""Texts that are the same, up to what is declared."""

from collections.abc import Mapping
from typing import Any

import pytest

from verifier_ladder.candidate import Candidate
from verifier_ladder.errors import ConfigError
from verifier_ladder.testing.answerkey import Judge, Twin
from verifier_ladder.testing.verifier import VerifierTestCase
from verifier_ladder.tiers.fast.exactmatch import ExactMatch
from verifier_ladder.verdict import Outcome


class TestExactMatch(VerifierTestCase):
    strict = True
    twins: Mapping[str, Judge] = {
        "the whole output": Twin(lambda text, task: text.strip() == task["answer"]),
        "somewhere in the output": Twin(lambda text, task: task["answer"] in text),
        "small letters of the last line": Twin(
            lambda text, task: text.splitlines()[-1].lower() == task["answer"].lower()
        ),
    }
    mutated = tuple(
        f"verifier_ladder.tiers.fast.{name}" for name in ("exactmatch", "marked", "extraction")
    )
    mutants: Mapping[str, Any] = {"count": 100}  # All of them.

    @pytest.fixture
    def verifier(self) -> ExactMatch:
        return ExactMatch()


@pytest.mark.parametrize(
    ("normalise", "said", "outcome"),
    [
        ([], "The  Cat", Outcome.REJECT),
        (["space"], "The  Cat", Outcome.ACCEPT),
        (["space"], "the Cat", Outcome.REJECT),
        (["case"], "the cat", Outcome.ACCEPT),
        (["case", "articles"], "cat", Outcome.ACCEPT),
        (["punctuation"], "The Cat.", Outcome.ACCEPT),
        (["unicode"], "\uff34he Cat", Outcome.ACCEPT),
    ],
)  # fmt: skip
def test_rules_of_the_ladder_hold_for_tasks_that_name_none(
    normalise: list[Any], said: str, outcome: Outcome
) -> None:
    candidate = Candidate("text", said, task={"answer": "The Cat"})

    assert outcome is ExactMatch(normalise=normalise).judge([candidate])[0].outcome


@pytest.mark.parametrize("settings", [{"find": ["page"]}, {"normalise": ["stem"]},
                                      {"normalise": "case"}])  # fmt: skip
def test_a_setting_without_sense_is_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        ExactMatch(**settings)
