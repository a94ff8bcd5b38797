"""Verdicts as the index holds them."""

from dataclasses import fields

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifier_ladder.cost import Cost
from verifier_ladder.ledger.verdicts import (
    VERDICT_DEFAULTS,
    VERDICT_FIELDS,
    indexed_verdict,
    pack_verdict,
    plain_flags,
    unpack_verdict,
)
from verifier_ladder.verdict import Outcome, Verdict


def test_every_field_of_a_verdict_is_known() -> None:
    """The look-up fills the fields one by one: a field it did not know would be missing."""
    assert VERDICT_FIELDS == tuple(field.name for field in fields(Verdict))


def test_the_usual_values_are_those_of_the_class() -> None:
    usual = Verdict(Outcome.ACCEPT)
    assert {**VERDICT_DEFAULTS, "outcome": Outcome.ACCEPT} == {
        name: getattr(usual, name) for name in VERDICT_FIELDS
    }


@given(st.floats(allow_nan=False, allow_infinity=False), st.floats(0, 1e9))
def test_a_indexed_verdict_equals_the_one_it_was(score: float, seconds: float) -> None:
    verdict = Verdict(Outcome.ACCEPT, score, 0.5, "eV", cost=Cost(seconds))
    assert indexed_verdict(0, score, 0.5, "eV", seconds) == verdict
    assert unpack_verdict(pack_verdict(verdict)) == verdict


def columns(*verdicts: Verdict) -> dict[str, list[object]]:
    return {name: [getattr(v, name) for v in verdicts] for name in VERDICT_FIELDS}


def test_trivial_verdicts_are_all_plain() -> None:
    assert plain_flags(columns(Verdict.accept(0.5), Verdict.accept())) is None


@pytest.mark.parametrize(
    "verdict",
    [
        Verdict.reject("why"), Verdict.accept(1.0, feedback="do"), Verdict.accept(-0.0),
        Verdict.accept(1.0, evidence={"a": 1}),
        Verdict(Outcome.ACCEPT, 1.0, cost=Cost(1.0, money=2.0)),
        Verdict.abstain("", failed_at="tool"),
    ],
)  # fmt: skip
def test_what_the_columns_cannot_hold_needs_detail(verdict: Verdict) -> None:
    assert plain_flags(columns(Verdict.accept(0.5), verdict)) == [True, False]
