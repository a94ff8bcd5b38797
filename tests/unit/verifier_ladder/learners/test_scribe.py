"""What adapters keep of a learner's samples."""

import tracemalloc
from typing import Any

import pytest

import verifier_ladder as vl
from verifier_ladder.learners import scribe as scribe_module
from verifier_ladder.learners.scribe import Scribe
from verifier_ladder.transcript import Transcript

CALLS: Any = [
    {"role": "assistant", "content": "2+2"},
    {"role": "tool", "content": "4"},
    {"role": "assistant", "content": "It is 4."},
]


def scribe(kind: str = "text") -> Scribe:
    judge = vl.verifier(name="judge", kind=kind, isolation="inline")(lambda _: 1.0)
    return Scribe(vl.Ladder("l", [judge]))


def sample(content: str = "4", position: int = 0, **more: Any) -> vl.Sample:
    return vl.Sample(vl.Candidate("text", content, **more), step=3, position=position, group="a")


def test_a_prompt_is_kept_once() -> None:
    writer = scribe()
    columns = {"prompt": ["2 + 2 ="] * 2, "capability": ["reasoning"] * 2, "domain": [None] * 2}

    (told,) = writer.transcripts([sample(), sample("5", 1)], ["4", "5"], columns)

    assert ("a", "2 + 2 =", ("reasoning",), "") == (
        told.group, told.prompt, told.capability, told.domain
    )  # fmt: skip
    assert [] == writer.transcripts([sample()], ["4"], columns)


def test_text_that_is_the_candidate_is_not_kept_again() -> None:
    assert [] == scribe().transcripts([sample()], ["4"], {})
    assert [] == scribe().transcripts([sample()], [[{"role": "assistant", "content": "4"}]], {})


def test_a_spelling_is_kept_where_candidates_have_a_canonical_form() -> None:
    pytest.importorskip("rdkit")
    molecule = vl.Sample(vl.Candidate("molecule", "OCC"), position=0)

    assert [Transcript(position=0, completion="OCC")] == (
        scribe("molecule").transcripts([molecule], ["OCC"], {})
    )


def test_a_chat_of_several_messages_is_kept_with_its_turns() -> None:
    turns = (vl.Turn("2+2", "4"), vl.Turn("It is 4."))

    (told,) = scribe().transcripts([sample("It is 4.", turns=turns)], [CALLS], {})

    assert (3, 0, CALLS, turns) == (told.step, told.position, told.completion, told.turns)


@pytest.mark.parametrize("columns", [{"prompt": None}, {"prompt": ["x", "y"]}, {"capability": []}])
def test_columns_of_another_length_are_left_alone(columns: dict[str, Any]) -> None:
    assert [] == scribe().transcripts([sample()], ["4"], columns)


def of_group(name: str, run: str = "") -> vl.Sample:
    return vl.Sample(vl.Candidate("text", "4"), run=run, step=0, position=0, group=name)


def test_groups_are_remembered_within_bytes_and_the_oldest_are_forgotten(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(scribe_module, "MOST_REMEMBERED", 100_000, raising=False)
    writer = scribe()
    asked = {"prompt": ["2 + 2 ="]}

    def is_told(name: str, run: str = "") -> bool:
        return bool(writer.transcripts([of_group(name)], ["4"], asked, run))

    tracemalloc.start()
    try:
        assert all(is_told(f"{number} {'x' * 1000}", f"{number % 7}") for number in range(5000))
        held = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()

    assert held < 1_000_000
    assert not is_told(f"{4999} {'x' * 1000}", f"{4999 % 7}")
    assert is_told(f"{0} {'x' * 1000}", "0")


def test_a_prompt_is_kept_once_for_each_run_and_again_if_it_was_not_kept() -> None:
    writer, asked = scribe(), {"prompt": ["2 + 2 ="]}

    (one,) = writer.transcripts([of_group("a")], ["4"], asked, "one")
    assert 1 == len(writer.transcripts([of_group("a")], ["4"], asked, "two"))
    assert [] == writer.transcripts([of_group("a")], ["4"], asked, "one")

    writer.forget([one], "one")

    assert [one] == writer.transcripts([of_group("a")], ["4"], asked, "one")
    assert [] == writer.transcripts([of_group("a")], ["4"], asked, "two")
