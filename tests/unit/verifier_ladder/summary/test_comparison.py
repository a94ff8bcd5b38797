"""Tiers compared, and candidates that fool the cheap one."""

from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifier_ladder.summary.comparison import Ranked, agreements, gaps
from verifier_ladder.summary.ranks import correlation
from verifier_ladder.summary.subject import Subject
from verifier_ladder.tier import Tier
from verifier_ladder.verdict import Verdict

NUMBERS = st.floats(-1e3, 1e3)
TIERS = [Tier.FAST, Tier.HIGH_FIDELITY]
SAME = {0: "kcal/mol", 2: "kcal/mol"}


class Two(NamedTuple):
    """What both sides say of one candidate."""

    low: float
    high: float
    spread: float | None


def subject(name: int, low: float, high: float, spread: float | None = 1.0) -> Subject:
    made = Subject(bytes([name]))
    made.hear(1, 0, Verdict.accept(low, uncertainty=spread), is_primary=True)
    made.hear(2, 2, Verdict.accept(high, uncertainty=spread), is_primary=True)
    return made


@given(st.lists(st.tuples(NUMBERS, NUMBERS), min_size=3, max_size=30))
def test_the_correlation_is_pearsons(pairs: list[tuple[float, float]]) -> None:
    xs, ys = zip(*pairs, strict=True)

    found = correlation(xs, ys)

    if np.std(xs) > 1e-3 and np.std(ys) > 1e-3:
        assert found == pytest.approx(np.corrcoef(xs, ys)[0, 1], abs=1e-6)


def test_two_points_have_no_correlation() -> None:
    assert correlation([1.0, 2.0], [3.0, 4.0]) is None


def test_no_spread_has_no_correlation() -> None:
    assert correlation([1.0, 1.0, 1.0], [1.0, 2.0, 3.0]) is None


def test_scores_in_one_unit_have_an_error_and_a_bias() -> None:
    (found,) = agreements([subject(1, -5.0, -4.0), subject(2, -3.0, -5.0)], TIERS, SAME)

    assert (found.count, found.error, found.bias) == (2, 1.5, 0.5)
    assert found.points == ((-5.0, -4.0), (-3.0, -5.0))


def test_scores_in_different_units_have_neither() -> None:
    (found,) = agreements([subject(1, 1.0, 2.0)], TIERS, {0: "", 2: "kcal/mol"})

    assert (found.error, found.bias) == (None, None)


def test_nobody_scored_twice_is_no_agreement() -> None:
    assert agreements([Subject(b"x")], TIERS, SAME) == ()


def test_two_deviations_too_good_is_suspicious() -> None:
    fooled = subject(1, -10.0, -4.0)

    (gap,) = gaps([fooled, subject(2, -5.0, -5.0)], TIERS, SAME, sign=-1.0)

    assert gap.subject is fooled
    assert gap.text.endswith("4.2 deviations too good")


def test_too_bad_by_the_cheap_tier_is_not_suspicious() -> None:
    assert gaps([subject(1, -4.0, -10.0)], TIERS, SAME, sign=-1.0) == []


def test_without_uncertainties_nothing_is_called_suspicious() -> None:
    assert gaps([subject(1, -10.0, -4.0, None)], TIERS, SAME, sign=-1.0) == []


def test_with_one_uncertainty_unknown_ranks_are_compared() -> None:
    def made(name: int, low: float, high: float) -> Subject:
        found = subject(name, low, high, None)
        found.hear(2, 2, Verdict.accept(high, uncertainty=0.1), is_primary=True)
        return found

    others = [made(n, -float(n), -float(n)) for n in range(1, 12)]
    fooled = made(12, -20.0, -1.5)

    assert gaps([fooled], TIERS, SAME, sign=-1.0) == []
    (gap,) = gaps([*others, fooled], TIERS, SAME, sign=-1.0)
    assert (gap.subject, gap.text[:12]) == (fooled, "rank 1 of 12")


@pytest.mark.parametrize("unit", ["", "kcal/mol"])
def test_where_less_is_better_the_ranks_are_turned(unit: str) -> None:
    others = [subject(n, float(n), float(n), None) for n in range(1, 12)]
    fooled = subject(20, 0.0, 100.0, None)

    found = gaps([*others, fooled], TIERS, {0: "", 2: unit}, sign=-1.0)

    assert [fooled] == [gap.subject for gap in found]
    assert found[0].text == "rank 1 of 12 by the fast tier, rank 12 by the high_fidelity tier"


def test_a_cheap_quantity_may_fall_where_the_dear_one_rises() -> None:
    others = [subject(n, -float(n), float(n), None) for n in range(1, 20)]
    fooled = subject(30, -18.5, 0.5, None)

    found = gaps([*others, fooled], TIERS, {0: "eV", 2: "kcal/mol"}, sign=1.0)

    assert [fooled] == [gap.subject for gap in found]


def test_different_units_are_compared_by_rank() -> None:
    others = [subject(n, float(n), float(n)) for n in range(1, 8)]
    fooled = subject(9, 100.0, -100.0)

    (gap,) = gaps([*others, fooled], TIERS, {}, sign=1.0)

    assert gap.subject is fooled
    assert gap.text == "rank 1 of 8 by the fast tier, rank 8 by the high_fidelity tier"


def test_of_the_too_good_the_worst_by_what_they_state_come_first() -> None:
    """Ranks would put them the other way round: they tell nothing of how far."""
    pairs = [Two(float(n), float(n), 1.0) for n in range(20)]
    pairs += [Two(15.2, 0.5, 5.0), Two(9.5, 6.5, 0.5)]
    ranked = Ranked(pairs, ("kcal/mol", "kcal/mol"), 1.0)

    assert [round(at.deviations or 0.0, 2) for at in ranked.too_good()] == [6.0, 2.94]
