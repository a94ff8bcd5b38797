"""Answers in a model's output."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifier_ladder.errors import CandidateError
from verifier_ladder.tiers.fast.answer import answers

MARKS = ["<answer>", "</answer>", "\\boxed{", "}", "```", "`", "SMILES: ", "answer: ", "**", "\n"]


@pytest.mark.parametrize(
    "text",
    [
        "CCO",
        "  CCO\n",
        "CCO.",  # The full stop ends a sentence.
        "<answer>CCO</answer>",
        "<ANSWER> CCO </ANSWER>",
        "<answer>\nCCO\n</answer> is ethanol.",
        "<answer>CCO",  # The sampler stopped at the closing tag.
        "<answer>`CCO`</answer>",
        "<answer>**CCO**</answer>",
        "<answer>SMILES: CCO</answer>",
        "<answer>CCO (ethanol)</answer>",
        "<answer>CCO</answer> and again <answer>CCO</answer>",
        r"The answer is \boxed{CCO}.",
        r"\boxed{\text{CCO}}",
        r"<answer>\boxed{CCO}</answer>",
        "```\nCCO\n```",
        "Here it is:\n```smiles\nCCO\n```\nIt mixes with water.",
        "SMILES: CCO",
        "It mixes with water.\nSMILES: CCO\nIt burns, too.",
        "**SMILES:** `CCO` (ethanol)",
        "**SMILES**: CCO",
        "The SMILES string is: CCO",
        "Answer: CCO",
        "I choose ethanol.\nCCO",
        "I choose `CCO` because it mixes with water.",
        "<think>SMILES: CCN? No: <answer>CCN</answer></think>CCO",
        "I thought of `CCN`, and of SMILES: CCC. <answer>CCO</answer>",
    ],
)
def test_an_answer_is_found_in_the_way_it_is_marked(text: str) -> None:
    assert ["CCO"] == answers(text)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "the output is empty"),
        (" \n\t ", "the output is empty"),
        ("<think>CCO</think>", "the output is empty"),
        ("I have no idea.", "no answer was found"),
        ("<answer> </answer>", "the answer is empty"),
        ("<answer>CCO or CCN</answer>", "3 words long"),
        ("SMILES: CCO, CCN", "2 words long"),
        ("<answer>...</answer>", "the answer is empty"),
    ],
)
def test_an_output_without_one_answer_is_refused_with_the_reason(
    text: str, complaint: str
) -> None:
    with pytest.raises(CandidateError, match=complaint):
        answers(text)


def test_every_answer_of_a_hedge_is_found() -> None:
    assert ["CCO", "CCN"] == answers("<answer>CCO</answer> or <answer>CCN</answer>")


def test_a_refusal_says_how_to_write_the_answer() -> None:
    with pytest.raises(CandidateError, match="between <answer> and </answer>"):
        answers("I have no idea.")


@given(st.one_of(st.text(), st.lists(st.sampled_from(MARKS) | st.text(max_size=5)).map("".join)))
def test_any_text_gives_words_or_a_candidate_error(text: str) -> None:
    try:
        found = answers(text)
    except CandidateError:
        return

    assert found
    assert all(word and word == word.strip() for word in found)
    assert len(found) == len(set(found))


@pytest.mark.parametrize(
    "piece",
    ["<answer>", "```", "```\n", "`", "\\boxed{", "smiles:", "smiles: ", "answer", "(", "\n"],
)
def test_two_hundred_thousand_characters_of_marks_do_not_hang(piece: str) -> None:
    """The time limit of the test run is the judge: a quadratic expression takes minutes."""
    with pytest.raises(CandidateError):
        answers(piece * (200_000 // len(piece)) + " no answer here")
