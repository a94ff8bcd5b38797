"""Punctuality: until a deadline an answer that came in time weighs more."""

import pytest

from verifier_ladder.cost import Cost
from verifier_ladder.function import FunctionVerifier
from verifier_ladder.ladder import Ladder
from verifier_ladder.ledger.records import Request
from verifier_ladder.scheduler.draws import Draw
from verifier_ladder.scheduler.estimator import Estimator
from verifier_ladder.scheduler.punctuality import Punctuality, early_draw

LADDER = Ladder(
    "two",
    [
        FunctionVerifier(len, name="cheap", version="1", tier="fast"),
        FunctionVerifier(
            len, name="dear", version="1", tier="world", cost=Cost(seconds=10.0)
        ),
    ],
)  # fmt: skip
DRAW = Draw(0.5, 0.1, 0.25, 2.0)


def made() -> Punctuality:
    return Punctuality(LADDER, Estimator("unbiased"))


def request(**state: object) -> Request:
    return Request(b"key", "c", "run", 0, 0, b"content", state)


def test_with_all_the_time_in_the_world_nothing_changes() -> None:
    propensity, factor = made().early(DRAW, float("inf"), 128, now=0.0)

    assert propensity == pytest.approx(0.5)
    assert factor == pytest.approx(2.0)


def test_the_less_time_is_left_the_more_an_answer_weighs() -> None:
    found = [made().early(DRAW, left, 128, now=0.0) for left in (100.0, 10.0, 5.0)]

    assert [p for p, _ in found] == sorted((p for p, _ in found), reverse=True)
    assert [f for _, f in found] == sorted(f for _, f in found)
    assert all(p * f == pytest.approx(1.0) for p, f in found)


def test_what_was_seen_counts_and_so_does_what_is_still_out() -> None:
    quick, stuck = made(), made()
    for number in range(20):
        key = bytes([number])
        for each in (quick, stuck):
            each.asked(key, 0.0)
        quick.ended(key, 1.0)
    for number in range(10):
        stuck.ended(bytes([number]), 1.0)

    assert quick.early(DRAW, 2.0, 128, now=50.0)[0] > 0.45
    assert 0.2 < stuck.early(DRAW, 2.0, 128, now=50.0)[0] < 0.3


def test_checks_that_fail_for_good_never_answer() -> None:
    failing = made()
    for number in range(50):
        failing.ended(bytes([number]), 1.0 if number % 2 else None)

    assert failing.early(DRAW, 1e9, 128, now=0.0)[0] == pytest.approx(0.25, abs=0.02)


def test_a_restart_takes_up_what_was_learnt_and_what_is_out() -> None:
    before, after = made(), made()
    before.asked(b"key", 5.0)
    before.ended(b"other", 3.0)
    after.restore(before.snapshot())
    after.take_up([request(asked_at=5.0), request()])

    assert before.early(DRAW, 4.0, 128, now=30.0) == after.early(DRAW, 4.0, 128, now=30.0)


def test_a_draw_counts_otherwise_only_where_that_was_fixed() -> None:
    assert early_draw(request(early=[0.25, 4.0]), DRAW) == Draw(0.25, 0.1, 0.25, 4.0)
    assert early_draw(request(), DRAW) is DRAW
    assert early_draw(request(early=[0.25, 4.0]), None) is None


def test_terms_are_fixed_where_somebody_waits() -> None:
    ours = made()

    assert ours.ask(b"one", DRAW, 7.0, until=None, size=128) == {"asked_at": 7.0}
    terms = ours.ask(b"two", DRAW, 7.0, until=17.0, size=128)
    propensity, factor = terms["early"]
    assert propensity < 0.5
    assert factor == pytest.approx(1.0 / propensity)
