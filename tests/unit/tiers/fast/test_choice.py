"""One choice out of several."""

import re
from collections.abc import Mapping
from typing import Any

import pytest

from verifier_ladder.candidate import Candidate
from verifier_ladder.testing.answerkey import Judge, Twin
from verifier_ladder.testing.verifier import VerifierTestCase
from verifier_ladder.tiers.fast.choice import Choice
from verifier_ladder.verdict import Outcome

CITIES = {"A": "Oslo", "B": "Rome", "C": "Lima", "D": "Bonn"}


class TestChoice(VerifierTestCase):
    strict = True
    twins: Mapping[str, Judge] = {
        "the first capital letter": Twin(
            lambda text, task: re.findall(r"\b[A-D]\b", text)[0] == task["answer"]
        ),
        "the last capital letter": Twin(
            lambda text, task: re.findall(r"\b[A-D]\b", text)[-1] == task["answer"]
        ),
        "the label somewhere": Twin(lambda text, task: task["answer"] in text),
    }
    mutated = ("verifier_ladder.tiers.fast.choice",)
    mutants: Mapping[str, Any] = {"count": 100}  # All of them.

    @pytest.fixture
    def verifier(self) -> Choice:
        return Choice()


@pytest.mark.parametrize(
    ("said", "outcome"),
    [
        ("B. A simple reason is that I know it", Outcome.ACCEPT),
        ("B - Rome", Outcome.ACCEPT),
        ("(B)Rome", Outcome.ACCEPT),
        ("**B**.", Outcome.ACCEPT),
        ("**Answer:** B", Outcome.ACCEPT),
        ("B. It is in A", Outcome.REJECT),
        ("B C", Outcome.REJECT),
        ("B, as Lima is no city of Italy", Outcome.REJECT),
        ("Banana", Outcome.REJECT),
        ("(B Rome", Outcome.REJECT),
        ("(A) is wrong", Outcome.REJECT),
    ],
)
def test_a_remark_may_neither_doubt_nor_name_another(said: str, outcome: Outcome) -> None:
    candidate = Candidate("text", said, task={"answer": "B", "choices": CITIES})

    assert outcome is Choice().judge([candidate])[0].outcome


def test_small_letters_may_be_labels() -> None:
    task = {"answer": "b", "choices": ["a", "b", "c"]}
    said = {"b. It is a city": Outcome.ACCEPT, "b c": Outcome.REJECT, "b, see c": Outcome.REJECT}

    verdicts = Choice().judge([Candidate("text", text, task=task) for text in said])

    assert list(said.values()) == [verdict.outcome for verdict in verdicts]
