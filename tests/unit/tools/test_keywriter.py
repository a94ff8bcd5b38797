"""Makers of answer keys add to them, and half of a key is not decided by hand."""

import json
from pathlib import Path

import keywriter
import pytest
from keywriter import NO, YES, Key

from verifier_ladder.testing.answerkey import AnswerKey

BY_HAND = {
    "by hand", "convention", "hostile", "hostile input", "known hack", "mutant of the verifier",
}  # fmt: skip


def test_a_maker_adds_what_a_key_lacks_and_keeps_what_it_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def pets(key: Key) -> None:
        key.pair("cat", "rock", None, "a pet", "a zoo")

    monkeypatch.setattr(keywriter, "FOLDER", tmp_path)
    path = tmp_path / "pets.jsonl"
    maker = Key()
    maker.add("rock", None, NO, "a pet; one edit away", "a zoo")
    held = '{"candidate":"dog", "outcome":"accept", "why":"a pet", "source":"by hand"}\n'
    path.write_text(held + json.dumps(maker.rows[0]) + "\n", "utf-8")

    for _ in range(2):
        keywriter.write({"pets": pets}, [])

        key = AnswerKey.load(path)
        assert ["dog", "rock", "cat"] == [case.candidate for case in key.cases]
        assert key.data.startswith(held.encode())
        assert [YES, NO, YES] == [case.outcome for case in key.cases]


@pytest.mark.parametrize("name", AnswerKey.known())
def test_half_of_a_key_comes_from_suites_and_generators(name: str) -> None:
    cases = AnswerKey.named(name).without_hostile().cases

    share = sum(case.source not in BY_HAND for case in cases) / len(cases)

    assert share >= 0.5
