"""Boxes: what stands around one inside its formula belongs to the answer."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifier_ladder.candidate import Candidate
from verifier_ladder.tiers.fast.mathboxes import boxed
from verifier_ladder.tiers.fast.mathematics import Mathematics
from verifier_ladder.tiers.fast.mathtokens import LONGEST, UnreadableError

VERIFIER = Mathematics()


def outcome(content: str, answer: str) -> str:
    return VERIFIER.judge([Candidate("mathematics", content, {"answer": answer})])[0].outcome


@pytest.mark.parametrize(
    ("text", "answers"),
    [
        ("It is \\boxed{5}!", ["5"]),
        ("(that is \\boxed{5} in all)", ["5"]),
        ("$x = 2 \\boxed{5}$", ["2 {5}"]),
        ("$x = \\boxed{5}, y = 6 - \\boxed{7}$", ["5", "6 - {7}"]),
        ("$x = 6 \\text{ so } \\boxed{5}\\text{ cm}$", ["{5}\\text{ cm}"]),
        ("$(\\boxed{1}, \\boxed{2})$", ["({1}, {2})"]),
        ("$\\boxed{1} + \\boxed{2}$", ["1", "2", "{1} + {2}"]),
        ("\\boxed{1}\\boxed{2}", ["1", "2"]),
        ("$-\\boxed 5$", ["-{5}"]),
        ("$\\text{-}\\boxed{5}$", ["-{5}"]),
        ("$\\boxed{5}\\text{\\%}$", ["{5}\\%"]),
        ("$\\boxed{5}\\text{, }\\text{so } x$", ["5"]),
        ("no box", []),
    ],
)
def test_a_box_is_read_with_what_belongs_to_it(text: str, answers: list[str]) -> None:
    assert answers == boxed(text).answers


@pytest.mark.parametrize(
    ("text", "answers", "ends"),
    [
        ("\\boxed{5} km/h, or so", ["{5}\\text{ km/h}"], ", or so"),
        ("$x = \\boxed{5}.$ miles per hour it is", ["{5}\\text{ miles per hour}"], " it is"),
        ("**\\boxed{5}** million", ["{5}\\text{ million}"], ""),
        ("\\(\\boxed{5}\\) %.", ["{5}\\%"], "."),
        ("\\boxed{5} in all", ["5"], " in all"),
        ("\\boxed{3:4} m", ["3:4"], " m"),
        ("\\boxed{x} m", ["x"], " m"),
        ("$\\boxed{5}, y = 3$ cm", ["5"], ", y = 3$ cm"),
    ],
)
def test_a_measure_in_plain_text_belongs_to_a_box_if_asked_for(
    text: str, answers: list[str], ends: str
) -> None:
    found = boxed(text, measured=True)

    assert (answers, ends) == (found.answers, text[found.end :])


@pytest.mark.parametrize("text", ["\\boxed 42 $5", "$\\boxed 41 + 0$", "\\boxed{42} \\boxed 41"])
def test_a_box_without_braces_must_end_its_formula(text: str) -> None:
    with pytest.raises(UnreadableError, match="not clear"):
        boxed(text)


@pytest.mark.parametrize("formula", ["$%s$", "\\(%s\\)", "\\[%s\\]", "$$%s$$"])
@given(st.integers(2, 99), st.integers(2, 9))
def test_a_sign_a_factor_and_a_sum_count_in_every_formula(
    formula: str, number: int, other: int
) -> None:
    for around, value in (
        ("-\\boxed{%d}", -number), (f"{other}\\boxed{{%d}}", other * number),
        (f"\\boxed{{%d}} + {other}", number + other), ("\\boxed{%d}^2", number**2),
    ):  # fmt: skip
        content = formula % (around % number)

        assert ["accept", "reject"] == [outcome(content, f"{n}") for n in (value, number)]


@pytest.mark.parametrize("count", [1, 2 * LONGEST])
def test_a_factor_counts_however_far_it_is_away(count: int) -> None:
    assert "reject" == outcome(f"$2{' ' * count}\\boxed{{5}}$", "5")
    assert "accept" == outcome(f"$2,{' x' * count} = \\boxed{{5}}$", "5")
