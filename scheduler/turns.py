"""Turns: candidates that several verifiers of one tier judge, in the order they were taken up.

A reject by the first of them is told before the others have said anything of the rest. Learnt as
it comes, it would look like a run of rejects, which beliefs follow and the alarm takes for drift.
So whoever is judged waits for those that were taken up earlier.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")
_MOST = 4096


@dataclass(slots=True)
class _Turn(Generic[T]):
    is_open: bool
    was_open: bool
    """Whether others had still to speak when the first had spoken."""
    lesson: T | None = None


class Turns(Generic[T]):
    """Gives out lessons in the order in which their candidates were taken up.

    Of somebody nobody may ever speak again, so none is waited for when more have overtaken him
    than are waited for. Who is rejected at once has overtaken nobody.

    Not thread-safe by itself: it is used under the desk's lock.
    """

    def __init__(self) -> None:
        """Nothing has been taken up."""
        self._turns: dict[Hashable, _Turn[T]] = {}

    def hear(self, subject: Hashable, lesson: T | None, *, is_open: bool) -> None:
        """Hear that a verifier has spoken of a candidate.

        Args:
            subject: The candidate.
            lesson: What is to be learnt; None if it is nothing, or nothing more.
            is_open: Whether others are still to speak of it.
        """
        turn = self._turns.setdefault(subject, _Turn(is_open, is_open and lesson is None))
        turn.is_open = is_open
        turn.lesson = lesson if turn.lesson is None else turn.lesson

    def __len__(self) -> int:
        """Count those that wait or are waited for."""
        return len(self._turns)

    def end(self, subject: Hashable) -> bool:
        """Hear that nobody will speak of a candidate any more; whether anybody was to."""
        turn = self._turns.get(subject)
        if turn is None or not turn.is_open:
            return False
        turn.is_open = False
        return True

    def due(self) -> Iterator[T]:
        """What is learnt now; each once."""
        turns = self._turns
        waited = sum(turn.is_open and turn.lesson is None for turn in turns.values())
        passed = sum(turn.was_open and turn.lesson is not None for turn in turns.values())
        for subject, turn in list(turns.items()):
            is_waited = turn.is_open and turn.lesson is None
            if is_waited and passed <= waited and len(turns) <= _MOST:
                return
            del turns[subject]
            waited -= is_waited
            if turn.lesson is not None:
                passed -= turn.was_open
                yield turn.lesson
