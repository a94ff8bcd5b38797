"""Candidates."""

from typing import Any

import pytest

from verifier_ladder.candidate import Candidate, Sample
from verifier_ladder.errors import ConfigError


@pytest.mark.parametrize("content", [None, 3, ["CCO"], bytearray(b"CCO")])
def test_content_that_no_verifier_could_read_is_refused(content: Any) -> None:
    with pytest.raises(ConfigError, match="text or bytes"):
        Candidate("molecule", content)


@pytest.mark.parametrize("kind", ["", "a\0b", None, 5])
def test_a_kind_must_be_a_name(kind: Any) -> None:
    with pytest.raises(ConfigError, match="must be a name"):
        Candidate(kind, "CCO")


@pytest.mark.parametrize("task", ["4", ["4"], 4])
def test_a_task_must_hold_fields_by_name(task: Any) -> None:
    with pytest.raises(ConfigError, match="fields by name"):
        Candidate("text", "4", task)


@pytest.mark.parametrize("content", ["", b"", "\0", "\ud800", "x" * 100_000])
def test_whatever_a_model_writes_is_a_candidate(content: str | bytes) -> None:
    assert Candidate("text", content).content == content


def test_a_sample_leaves_its_place_to_the_campaign() -> None:
    sample = Sample(Candidate("text", "a"))

    assert ("", -1, -1) == (sample.run, sample.step, sample.position)
