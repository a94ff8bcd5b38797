"""Numbers, compared exactly or within a tolerance."""

import math
import re
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifier_ladder.candidate import Candidate
from verifier_ladder.testing.answerkey import Judge, Twin
from verifier_ladder.testing.verifier import VerifierTestCase
from verifier_ladder.tiers.fast.numeric import Numeric, number
from verifier_ladder.verdict import Outcome


def last(text: str) -> float:
    return float(re.findall(r"-?[\d,]*\.?\d+(?:e-?\d+)?", text)[-1].replace(",", ""))


class TestNumeric(VerifierTestCase):
    strict = True
    twins: Mapping[str, Judge] = {
        "float of all": Twin(lambda text, task: float(text) == float(task["answer"])),
        "the last number": Twin(lambda text, task: last(text) == float(task["answer"])),
        "close by": Twin(lambda text, task: math.isclose(
            last(text), float(task["answer"]),
            rel_tol=task.get("relative", 1e-9), abs_tol=task.get("tolerance", 0),
        )),
    }  # fmt: skip
    mutated = ("verifier_ladder.tiers.fast.numeric",)
    mutants: Mapping[str, Any] = {"count": 100}  # All of them.

    @pytest.fixture
    def verifier(self) -> Numeric:
        return Numeric()


@given(st.decimals(allow_nan=False, allow_infinity=False, places=8))
def test_a_decimal_is_read_exactly(value: Decimal) -> None:
    assert Fraction(value) == number(str(value))
    assert Fraction(value) == number(f"{value:,}")


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_double_is_read_as_it_is_written(value: float) -> None:
    assert Fraction(repr(value)) == number(repr(value))


@pytest.mark.parametrize(
    "text", ["", ".", "-", "e5", "1e", "1,23", "1234,567", "1_0", "٣", "0x1", "nan", "1e5001"]
)
def test_anything_else_is_no_number(text: str) -> None:
    assert number(text) is None


def test_a_unit_may_be_written_in_each_declared_way() -> None:
    task = {"answer": 5, "unit": ["km", "kilometres"]}
    said = ["5 km", "5 kilometres", "km 5", "5 km.", "5 kms", "5 k m", "5"]

    verdicts = Numeric().judge([Candidate("text", text, task=task) for text in said])

    assert [Outcome.ACCEPT] * 4 + [Outcome.REJECT] * 3 == [v.outcome for v in verdicts]
