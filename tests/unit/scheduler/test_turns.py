"""Turns: what is learnt of candidates comes in the order in which they were taken up."""

from collections.abc import Callable
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verifier_ladder.scheduler.turns import Turns


@given(st.lists(st.booleans(), min_size=1, max_size=200), st.integers(1, 8))
def test_whoever_ends_first_all_are_learnt_in_the_order_of_their_first_verdict(
    rejects: list[bool], at_once: int
) -> None:
    turns: Turns[int] = Turns()
    for number, is_rejected in enumerate(rejects):
        turns.hear(number, number if is_rejected else None, is_open=not is_rejected)
    learnt = list(turns.due())
    rest = [number for number, is_rejected in enumerate(rejects) if not is_rejected]
    for start in range(0, len(rest), at_once):
        for number in reversed(rest[start : start + at_once]):
            turns.hear(number, number, is_open=False)
        learnt += turns.due()

    assert learnt == list(range(len(rejects)))
    assert list(turns.due()) == []


def test_who_is_heard_of_no_more_is_waited_for_until_as_many_have_overtaken_him() -> None:
    turns: Turns[int] = Turns()
    for number in range(4):
        turns.hear(number, None, is_open=True)
    turns.hear(9, 9, is_open=False)
    for number in (1, 2):
        turns.hear(number, number, is_open=False)
    assert list(turns.due()) == []
    turns.hear(3, 3, is_open=False)

    assert list(turns.due()) == [1, 2, 3, 9]


def test_who_is_rejected_at_once_overtakes_nobody() -> None:
    turns: Turns[int] = Turns()
    turns.hear(0, None, is_open=True)
    for number in range(1, 100):
        turns.hear(number, number, is_open=False)
    assert list(turns.due()) == []
    turns.hear(0, 0, is_open=False)

    assert list(turns.due()) == list(range(100))


def test_of_too_many_nobody_is_waited_for() -> None:
    turns: Turns[int] = Turns()
    turns.hear(0, None, is_open=True)
    for number in range(1, 5000):
        turns.hear(number, number, is_open=False)

    assert list(turns.due()) == list(range(1, 5000))


@pytest.mark.parametrize("ends", [Turns.end, partial(Turns.hear, lesson=None, is_open=False)])
def test_who_ends_without_a_judgement_teaches_nothing_and_keeps_nobody(
    ends: Callable[[Turns[str], int], None],
) -> None:
    turns: Turns[str] = Turns()
    turns.hear(0, None, is_open=True)
    turns.hear(1, "other", is_open=False)
    assert list(turns.due()) == []
    ends(turns, 0)

    assert list(turns.due()) == ["other"]


def test_what_is_said_later_changes_no_lesson() -> None:
    turns: Turns[str] = Turns()
    turns.hear(0, "rejected", is_open=True)
    turns.hear(0, None, is_open=False)

    assert list(turns.due()) == ["rejected"]


def test_only_the_end_of_somebody_who_was_to_be_spoken_of_changes_anything() -> None:
    turns: Turns[str] = Turns()
    turns.hear(0, None, is_open=True)
    turns.hear(1, "rejected", is_open=False)

    assert [turns.end(subject) for subject in (0, 0, 1, "unknown")] == [True, False, False, False]
    assert list(turns.due()) == ["rejected"]


def test_turns_count_those_that_wait_or_are_waited_for() -> None:
    turns: Turns[str] = Turns()
    turns.hear(0, None, is_open=True)
    turns.hear(1, "rejected", is_open=False)
    assert list(turns.due()) == []
    assert len(turns) == 2
    turns.end(0)

    assert list(turns.due()) == ["rejected"]
    assert len(turns) == 0
