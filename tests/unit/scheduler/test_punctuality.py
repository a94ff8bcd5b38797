"""Punctuality: until a deadline an answer that came in time speaks for those that did not."""

from collections.abc import Sequence
from random import Random
from statistics import mean

import pytest

from verifier_ladder.ledger.records import Request
from verifier_ladder.scheduler.draws import Draw
from verifier_ladder.scheduler.estimator import Estimator
from verifier_ladder.scheduler.punctuality import (
    FEWEST,
    LEAST,
    InTime,
    Punctuality,
    weighed_draw,
)
from verifier_ladder.scheduler.watch import SampleKey

ONE, GATE, SCORER = 1, 2, 3
"""Places of checks."""
DRAW = Draw(0.5, 0.1, 0.25, 2.0)
UNBIASED = Estimator("unbiased")


def request(sample: SampleKey) -> Request:
    return Request(b"key", "c", *sample, b"content", {})


def call(ours: Punctuality, step: int, there: list[bool], seconds: float = 10.0) -> InTime:
    """One call, of which those draws are answered in time."""
    samples = [("run", step, position) for position in range(len(there))]
    ours.expect((sample, ONE) for sample in samples)
    ours.come(request(sample) for sample, came in zip(samples, there, strict=True) if came)
    return ours.read(samples, seconds)


def test_a_call_with_many_draws_speaks_for_itself() -> None:
    ours = Punctuality()
    for step in range(100):
        call(ours, step, [False] * 40)

    read = call(ours, 100, [True] * 10 + [False] * 10)

    assert read.shares == [0.5] * 10
    assert [found.position for found in read.requests] == list(range(10))
    assert call(ours, 101, [True] * FEWEST).least == 1.0


def test_a_call_with_few_draws_is_seen_together_with_those_before_it() -> None:
    ours = Punctuality()
    for step in range(FEWEST):
        call(ours, step, [step % 4 == 0])

    assert call(ours, 99, [True]).shares == pytest.approx([0.25])


def test_an_answer_that_speaks_for_cancelled_draws_counts_for_them_too() -> None:
    ours = Punctuality()
    samples = [("run", 0, position) for position in range(100)]
    ours.expect((sample, ONE) for sample in samples)
    ours.come(map(request, samples[:40]))
    ours.forget(samples[40:60])
    ours.speak(dict.fromkeys(samples[60:], 2 / 3))
    ours.come(map(request, samples[60:80]))

    # Forty that could not be cancelled, and half of the forty that are left of sixty.
    assert ours.read(samples, 10.0).least == pytest.approx(0.7)


def test_calls_with_another_deadline_say_nothing_about_it() -> None:
    ours = Punctuality()
    for step in range(FEWEST):
        call(ours, step, [False], seconds=0.0)
        call(ours, 100 + step, [False], seconds=1.0)

    assert call(ours, 99, [True], seconds=1000.0).shares == [1.0]


def test_nothing_is_said_of_what_was_not_drawn_or_was_cancelled() -> None:
    ours = Punctuality()
    ours.come([request(("run", 0, 7))])
    ours.expect([(("run", 0, 8), ONE), (("run", 0, 9), ONE)])
    ours.come([request(("run", 0, 8))])
    ours.forget([("run", 0, 9), ("run", 0, 10)])

    read = ours.read([("run", 0, place) for place in range(20)], 10.0)

    assert read.shares == [1.0]
    assert [found.position for found in read.requests] == [8]


def test_an_answer_after_the_deadline_is_none_in_time() -> None:
    ours = Punctuality()
    assert call(ours, 0, [False]).least == 0.0

    ours.come([request(("run", 0, 0))])

    assert ours.read([("run", 0, 0)], 10.0).requests == []


@pytest.mark.parametrize("draws", [1, 3, 20])
@pytest.mark.parametrize("chance", [0.4, 0.7])
def test_factors_make_up_for_what_did_not_come(draws: int, chance: float) -> None:
    ours, numbers = Punctuality(), Random(3)  # noqa: S311 - no secret
    weights: list[float] = []
    for step in range(4000 // draws):
        there = [numbers.random() < chance for _ in range(draws)]
        read = call(ours, step, there)
        if read.least:
            weight = weighed_draw(DRAW, read.least, UNBIASED, 128).factor * DRAW.propensity
            weights += [weight] * len(read.requests) + [0.0] * (draws - len(read.requests))

    assert mean(weights) == pytest.approx(1.0, abs=0.05)


def test_no_answer_weighs_more_than_at_the_least_share() -> None:
    drawn = [weighed_draw(DRAW, share, UNBIASED, 128) for share in (1.0, 0.5, LEAST, 0.01)]

    assert [one.factor for one in drawn] == pytest.approx([2.0, 4.0, 10.0, 10.0])
    assert [one.propensity * one.factor for one in drawn] == pytest.approx([1.0, 1.0, 1.0, 0.05])


@pytest.mark.parametrize("estimator", [Estimator("plugin"), Estimator("clipped", limit=1.5)])
def test_where_few_answers_weigh_no_more_than_many_nobody_is_weighed_down(
    estimator: Estimator,
) -> None:
    draw = DRAW._replace(factor=float(estimator.factors(0.5, 128)))

    assert draw.factor == weighed_draw(draw, 1.0, estimator, 128, least=0.01).factor


def behind_a_gate(ours: Punctuality, gate: Sequence[bool | None], scored: int) -> InTime:
    """One call with a gate before a scorer, which has answered some of those that passed.

    Args:
        ours: Who counts.
        gate: Whether each passed; None of whom the gate has not answered.
        scored: How many the scorer has answered.
    """
    samples = [("run", 0, position) for position in range(len(gate))]
    ours.expect((sample, GATE) for sample in samples)
    passed = [sample for sample, said in zip(samples, gate, strict=True) if said]
    ours.expect((sample, SCORER) for sample in passed)
    rejected = [sample for sample, said in zip(samples, gate, strict=True) if said is False]
    ours.come(map(request, [*rejected, *passed[:scored]]))
    return ours.read(samples, 10.0)


def total(read: InTime, draw: Draw = DRAW) -> list[float]:
    """For how many draws each answer in time speaks."""
    return [
        weighed_draw(draw, share, UNBIASED, 128, read.least).factor * draw.propensity
        for share in read.shares
    ]


def test_rejects_that_come_sooner_speak_for_no_more_than_they_are() -> None:
    read = behind_a_gate(Punctuality(), [False] * 10 + [True] * 30, scored=15)

    assert read.shares == [1.0] * 10 + [0.5] * 15
    assert total(read) == pytest.approx([1.0] * 10 + [2.0] * 15)


def test_each_check_speaks_for_those_that_were_asked_it_and_wait() -> None:
    read = behind_a_gate(Punctuality(), [False] * 10 + [True] * 30 + [None] * 40, scored=15)

    assert total(read) == pytest.approx([2.0] * 10 + [4.0] * 15)
    assert sum(total(read)) == pytest.approx(80)


def test_without_those_that_take_longest_rejects_are_corrected_no_better() -> None:
    few = behind_a_gate(Punctuality(), [False] * 10 + [True] * 30, scored=3)
    none = behind_a_gate(Punctuality(), [False] * 10 + [True] * 30, scored=0)

    assert total(few) == pytest.approx([0.5] * 10 + [5.0] * 3)
    assert total(none) == pytest.approx([0.0] * 10)


def test_an_answer_that_takes_several_checks_of_all_counts_once() -> None:
    ours = Punctuality()
    samples = [("run", 0, position) for position in range(40)]
    for place, asked in enumerate((samples, samples[:30], samples[:20])):
        ours.expect((sample, place) for sample in asked)
    ours.come(map(request, samples[:10]))

    assert ours.read(samples, 10.0).shares == pytest.approx([0.25] * 10)
