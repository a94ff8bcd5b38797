"""Punctuality: until a deadline an answer that came in time weighs more."""

import random
from statistics import mean

import pytest

from verifier_ladder.cost import Cost
from verifier_ladder.function import FunctionVerifier
from verifier_ladder.ladder import Ladder
from verifier_ladder.ledger.records import Request
from verifier_ladder.scheduler.draws import Draw
from verifier_ladder.scheduler.estimator import Estimator
from verifier_ladder.scheduler.punctuality import Drawn, Punctuality, answered, early_draw

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


def ask(
    ours: Punctuality, key: bytes = b"", left: float | None = None, now: float = 0.0
) -> tuple[float, float]:
    """Draw a sample whose reward is read after some seconds; its terms until then."""
    until = None if left is None else now + left
    (terms,) = ours.ask([Drawn(key, DRAW, until, 128)], now)
    propensity, factor = terms.get("early", (DRAW.propensity, DRAW.factor))
    return propensity, factor


def end(ours: Punctuality, key: bytes, now: float) -> None:
    ours.learn(ours.end(key, now))


def test_with_all_the_time_in_the_world_nothing_changes() -> None:
    propensity, factor = ask(made(), left=float("inf"))

    assert propensity == pytest.approx(0.5)
    assert factor == pytest.approx(2.0)


def test_the_less_time_is_left_the_more_an_answer_weighs() -> None:
    found = [ask(made(), left=left) for left in (100.0, 10.0, 5.0)]

    assert [p for p, _ in found] == sorted((p for p, _ in found), reverse=True)
    assert [f for _, f in found] == sorted(f for _, f in found)
    assert all(p * f == pytest.approx(1.0) for p, f in found)


def test_what_was_seen_counts_and_so_does_what_is_still_out() -> None:
    quick, stuck = made(), made()
    for number in range(20):
        for each in (quick, stuck):
            ask(each, bytes([number]))
        end(quick, bytes([number]), 1.0)
    for number in range(10):
        end(stuck, bytes([number]), 1.0)

    assert ask(quick, b"new", 2.0, now=50.0)[0] > 0.45
    assert 0.2 < ask(stuck, b"new", 2.0, now=50.0)[0] < 0.3


def test_checks_that_fail_for_good_never_answer() -> None:
    failing = made()
    for number in range(50):
        failing.learn(1.0 if number % 2 else None)

    assert ask(failing, left=1e9)[0] == pytest.approx(0.25, abs=0.02)


def test_an_answer_that_is_out_is_one_however_often_it_is_drawn() -> None:
    ours = made()
    for now in (0.0, 1.0, 2.0):
        ask(ours, b"one", now=now)

    assert ours.end(b"one", 5.0) == 5.0
    assert ours.end(b"one", 6.0) is None
    assert not ours.is_out(b"one")


def test_who_joins_an_answer_counts_on_what_is_left_of_it() -> None:
    """Answers take 10 or 1000 seconds: one that is out for 20 won't come soon."""
    ours = made()
    for number in range(400):
        ours.learn(10.0 if number % 2 else 1000.0)
    ask(ours, b"out", now=0.0)

    assert ask(ours, b"new", 50.0, now=20.0)[0] == pytest.approx(0.25, abs=0.02)
    assert ask(ours, b"out", 50.0, now=20.0)[0] < 0.01
    assert ask(ours, b"out", 5000.0, now=20.0)[0] == pytest.approx(0.5, abs=0.02)


@pytest.mark.parametrize("limit", [5.0, 20.0])
def test_cancelling_the_slow_ones_makes_nobody_quicker(limit: float) -> None:
    """A learner that cancels at its deadline what has not come hears of the quick ones only."""
    ours, numbers = made(), random.Random(4)  # noqa: S311 - no secret
    expected: list[float] = []
    in_time: list[bool] = []
    for number in range(3000):
        now, key = number * 1000.0, number.to_bytes(4)
        expected.append(ask(ours, key, limit, now)[0] / DRAW.propensity)
        seconds = numbers.expovariate(0.1)
        in_time.append(seconds <= limit)
        if in_time[-1]:
            end(ours, key, now + seconds)
        else:
            ours.learn_unheard(ours.end(key, now + limit) or 0.0)

    assert mean(expected[500:]) == pytest.approx(mean(in_time[500:]), abs=0.03)


def test_a_restart_takes_up_what_was_learnt_and_what_is_out() -> None:
    before, after = made(), made()
    (state,) = before.ask([Drawn(b"key", DRAW, None, 128)], 5.0)
    before.learn(3.0)
    before.learn_unheard(7.0)
    after.restore(before.snapshot())
    after.take_up([request(**state), request(), request(**answered({**state, "answer": "ff"}))])

    assert after.is_out(b"key")
    assert not after.is_out(b"\xff")
    assert ask(before, b"new", 4.0, now=30.0) == ask(after, b"new", 4.0, now=30.0)


def test_a_draw_counts_otherwise_only_where_that_was_fixed() -> None:
    assert early_draw(request(early=[0.25, 4.0]), DRAW) == Draw(0.25, 0.1, 0.25, 4.0)
    assert early_draw(request(), DRAW) is DRAW
    assert early_draw(request(early=[0.25, 4.0]), None) is None


def test_terms_are_fixed_where_somebody_waits() -> None:
    ours = made()

    (first, second) = ours.ask([Drawn(b"1", DRAW, None, 9), Drawn(b"2", DRAW, 17.0, 9)], 7.0)
    assert first == {"asked_at": 7.0, "answer": b"1".hex()}
    propensity, factor = second["early"]
    assert propensity < 0.5
    assert factor == pytest.approx(1.0 / propensity)


def test_many_draws_of_one_call_read_what_is_out_once() -> None:
    ours = made()
    looked = 0

    class Out(dict[bytes, float]):
        def values(self):  # type: ignore[no-untyped-def]  # noqa: ANN202
            nonlocal looked
            looked += 1
            return super().values()

    ours._out = Out()
    ours.ask([Drawn(bytes([number]), DRAW, 60.0, 9) for number in range(200)], 0.0)

    assert looked == 1
