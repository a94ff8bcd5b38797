"""Where the answer stands in an output."""

from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifier_ladder.errors import CandidateError, ConfigError
from verifier_ladder.tiers.fast.extraction import (
    DOCUMENT,
    LONGEST,
    SHORT,
    agreed,
    answers,
    bare,
    blocks,
    checked_marks,
)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("4", ["4"]),
        ("I add.\n\n4\n\n", ["4"]),
        ("<answer>4</answer>", ["4"]),
        ("<ANSWER>\n4\n</ANSWER>", ["4"]),
        ("<answer>4", ["4"]),
        ("<answer>The answer is 4</answer>", ["4"]),
        ("<answer>\\boxed{4}</answer>", ["4"]),
        ("\\boxed{\\frac{1}{2}} is it", ["\\frac{1}{2}"]),
        ("\\boxed{a\\}b}", ["a\\}b"]),
        ("\\boxed{4}", ["4"]),
        ("\\boxed{4", ["4"]),
        ("$-\\boxed{4}$", ["-4"]),
        ("\\(x = \u2212 \\boxed{4}\\)", ["\u22124"]),
        ("$2\\boxed{4}$", ["2{4}"]),
        ("$\\boxed{4}\\%$.", ["{4}\\%"]),
        ("\\boxed{-{4}+1}", ["-{4}+1"]),
        (f"\\boxed{{{'a' * 5000}}}", ["a" * 5000]),
        ("Answer:\n4", ["4"]),
        ("**Answer:** 4", ["4"]),
        ("The answer is: 4", ["4"]),
        ("#### Steps\nI add.\nThe answer is 4", ["4"]),
        ("Two.\n#### 4", ["4"]),
        ("\\boxed{3}\n<answer>4</answer>", ["4"]),
        ("<answer>4</answer>\nThe answer is 5", ["4", "5"]),
        ("<answer>4</answer> <answer>5</answer>", ["4", "5"]),
        ("<answer>4</answer> <answer>4</answer>", ["4"]),
        ("The answer is 3</think>4", ["4"]),
        ("The orchard is 4", ["The orchard is 4"]),
    ],
)
def test_short_answers_are_found(text: str, found: list[str]) -> None:
    assert found == answers(text, SHORT, "")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("[1]", ["[1]"]),
        ("```json\n[1]\n```", ["[1]"]),
        ("```\n[1]\n```", ["[1]"]),
        ("   ~~~\n[1]\n~~~~", ["[1]"]),
        ("````json\n```\n````", ["```"]),
        ("```json\n[1]", ["[1]"]),
        ("```python\n1\n```\n```json\n[1]\n```", ["[1]"]),
        ("```\n0\n```\n```json\n[1]\n```", ["[1]"]),
        ("```python\n1\n```", ["```python\n1\n```"]),
        ("<answer>```json\n[1]\n```</answer>", ["[1]"]),
        ("```json\n[1]\n```\nand\n```json\n[2]\n```", ["[1]", "[2]"]),
        ("a\t\n\t\n", ["a\t\n\t"]),
    ],
)
def test_documents_are_found(text: str, found: list[str]) -> None:
    assert found == answers(text, DOCUMENT, "", languages=("json",))


@pytest.mark.parametrize(
    "text",
    ["", " \n", "<answer> </answer>", "<think>4", "4</think>", "\\boxed{4} or 5",
     "x" * (LONGEST + 1),
     "<answer>4</answer>, maybe 5", "\\boxed{4} and 5", "$\\boxed{4}$. Or 5",
     "The answer is 4\nor 5", "$\\boxed 4 + 1$",
     b"\xff", "".join(f"<answer>{n}</answer>" for n in range(40))],
)  # fmt: skip
def test_no_answer_or_a_hedge_is_rejected_with_what_to_do(text: str | bytes) -> None:
    with pytest.raises(CandidateError) as caught:
        answers(text, SHORT, "Do this.")
    assert caught.value.feedback


@pytest.mark.parametrize(
    ("text", "plain"),
    [("**4**", "4"), ("$4$", "4"), ("`a`", "a"), ("\\text{a b}", "a b"), ("** 4 **", "4"),
     ("**", "**"), ("**a** b **c**", "**a** b **c**"), ("$4", "$4"), ("**`4`**", "4")],
)  # fmt: skip
def test_type_is_taken_off_where_it_is_around_all(text: str, plain: str) -> None:
    assert plain == bare(text)


def test_answers_that_differ_are_a_hedge() -> None:
    assert agreed([4, 4], "") == 4
    with pytest.raises(CandidateError, match="2 different answers"):
        agreed([4, 5], "")


@pytest.mark.parametrize("marks", [[], "tag", ["tags"]])
def test_marks_that_do_not_exist_are_refused(marks: list[str]) -> None:
    with pytest.raises(ConfigError, match="strongest first"):
        checked_marks(marks)


@given(st.text(), st.permutations((*SHORT, "block", "whole")))
def test_any_text_has_an_answer_or_none(text: str, marks: list[str]) -> None:
    try:
        found = answers(text, marks, "")
    except CandidateError:
        return
    assert all(part in text for part in found)
    assert len(set(found)) == len(found) > 0


@pytest.mark.parametrize("letter", "~`")
def test_a_fence_without_end_is_read_at_once(letter: str) -> None:
    begun = process_time()

    assert [] == list(blocks(letter * 20_000))
    assert process_time() - begun < 0.5
