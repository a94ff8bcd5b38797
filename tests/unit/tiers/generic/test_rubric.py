"""Rubrics without their library; `tests/learners/rubric` has the library."""

import pytest

import verifier_ladder as vl
from verifier_ladder.tiers.generic.rubric import RubricVerifier


def test_without_the_library_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "verifiers.legacy", None)
    with pytest.raises(vl.ConfigError, match="pip install 'verifiers"):
        RubricVerifier(lambda: None, name="r", version="1").setup()


def test_columns_are_part_of_what_it_reads() -> None:
    made = RubricVerifier(lambda: None, name="r", version="1", columns=["tests", "answer"])
    assert made.task_fields == ("prompt", "answer", "info", "completion_messages", "tests")
