"""Turns: what is learnt of candidates comes in the order in which they were taken up."""

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from verifier_ladder.scheduler.standing import Standing
from verifier_ladder.scheduler.turns import Turns


def standings(count: int) -> list[Standing]:
    return [Standing("text", bytes([number]) * 32, f"{number}") for number in range(count)]


@given(st.lists(st.booleans(), min_size=1, max_size=40), st.randoms(use_true_random=False))
def test_whoever_ends_first_all_are_learnt_in_the_order_of_their_first_verdict(
    rejects: list[bool], chance: Random
) -> None:
    turns: Turns[int] = Turns()
    given_ = standings(len(rejects))
    for number, (one, is_rejected) in enumerate(zip(given_, rejects, strict=True)):
        turns.hear(one, number if is_rejected else None, is_open=not is_rejected)
    learnt = list(turns.due())
    rest = [number for number, is_rejected in enumerate(rejects) if not is_rejected]
    chance.shuffle(rest)
    for number in rest:
        turns.hear(given_[number], number, is_open=False)
        learnt += turns.due()

    assert learnt == list(range(len(rejects)))
    assert list(turns.due()) == []


def test_who_is_heard_of_no_more_does_not_keep_the_others_for_ever() -> None:
    turns: Turns[int] = Turns()
    first, *others = standings(100)
    turns.hear(first, None, is_open=True)
    for number, one in enumerate(others):
        turns.hear(one, number, is_open=False)

    assert list(turns.due()) == list(range(99))


def test_who_ends_without_a_judgement_teaches_nothing_and_keeps_nobody() -> None:
    turns: Turns[str] = Turns()
    first, other = standings(2)
    turns.hear(first, None, is_open=True)
    turns.hear(other, "other", is_open=False)
    assert list(turns.due()) == []
    turns.hear(first, None, is_open=False)

    assert list(turns.due()) == ["other"]


def test_what_is_said_later_changes_no_lesson() -> None:
    turns: Turns[str] = Turns()
    (one,) = standings(1)
    turns.hear(one, "rejected", is_open=True)
    turns.hear(one, None, is_open=False)

    assert list(turns.due()) == ["rejected"]
