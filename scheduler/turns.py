"""Turns: candidates that several verifiers of one tier judge, in the order they were taken up.

A reject by the first of them is told before the others have said anything of the rest. Learnt as
it comes, it would look like a run of rejects, which beliefs follow and the alarm takes for drift.
So whoever is judged waits for those that were taken up earlier.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

from verifier_ladder.scheduler.standing import Standing

T = TypeVar("T")
_MOST_WAITING = 64
"""How many that are judged wait for one that is not: nobody may ever answer about that."""
_MOST_OPEN = 4096


@dataclass(slots=True)
class _Turn(Generic[T]):
    standing: Standing
    is_open: bool = True
    lesson: T | None = None


class Turns(Generic[T]):
    """Gives out lessons in the order in which their candidates were taken up.

    Not thread-safe by itself: it is used under the desk's lock.
    """

    def __init__(self) -> None:
        """Nothing has been taken up."""
        self._turns: dict[int, _Turn[T]] = {}

    def hear(self, standing: Standing, lesson: T | None, *, is_open: bool) -> None:
        """Hear that a verifier has spoken of a candidate.

        Args:
            standing: The candidate.
            lesson: What is to be learnt; None if it is nothing, or nothing more.
            is_open: Whether others are still to speak of it.
        """
        turn = self._turns.setdefault(id(standing), _Turn(standing))
        turn.is_open = is_open
        turn.lesson = lesson if turn.lesson is None else turn.lesson

    def due(self) -> Iterator[T]:
        """What is learnt now; each once."""
        waiting = sum(turn.lesson is not None for turn in self._turns.values())
        for key, turn in list(self._turns.items()):
            is_crowded = waiting > _MOST_WAITING or len(self._turns) > _MOST_OPEN
            if turn.is_open and turn.lesson is None and not is_crowded:
                return
            del self._turns[key]
            if turn.lesson is not None:
                waiting -= 1
                yield turn.lesson
