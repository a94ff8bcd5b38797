"""Words in common with a reference answer."""

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifier_ladder.candidate import Candidate
from verifier_ladder.errors import ConfigError
from verifier_ladder.testing.answerkey import Judge, Twin
from verifier_ladder.testing.verifier import VerifierTestCase
from verifier_ladder.tiers.fast.f1 import F1, overlap, words
from verifier_ladder.verdict import Outcome

LISTS = st.lists(st.sampled_from("abcde"), min_size=1, max_size=8)


class TestF1(VerifierTestCase):
    strict = True
    twins: Mapping[str, Judge] = {
        "all words are in it": Twin(
            lambda text, task: all(word in text for word in task["answer"].split())
        ),
        "one word is in it": Twin(
            lambda text, task: any(word in text for word in task["answer"].split())
        ),
        "it is the same": Twin(lambda text, task: words(text) == words(task["answer"])),
    }  # fmt: skip
    mutated = tuple(
        f"verifier_ladder.tiers.fast.{name}" for name in ("f1", "marked", "extraction")
    )
    mutants: Mapping[str, Any] = {"count": 100}  # All of them.

    @pytest.fixture
    def verifier(self) -> F1:
        return F1()


@given(LISTS, LISTS)
def test_f1_is_the_harmonic_mean_of_precision_and_recall(said: list[str], want: list[str]) -> None:
    same = sum(min(said.count(word), want.count(word)) for word in set(want))
    precision, recall = same / len(said), same / len(want)
    expected = 2 * precision * recall / (precision + recall) if same else 0.0

    assert expected == pytest.approx(overlap(said, want))
    assert overlap(said, want) == overlap(want, said)


def test_the_threshold_is_met_by_what_equals_it() -> None:
    candidate = Candidate("text", "blue whale", task={"answer": "blue shark"})

    assert Outcome.ACCEPT is F1(least=0.5).judge([candidate])[0].outcome
    assert 0.5 == F1(least=0.51).judge([candidate])[0].score


@pytest.mark.parametrize("settings", [{"least": 0}, {"least": 1.1}, {"find": ["page"]}])
def test_a_setting_without_sense_is_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        F1(**settings)
