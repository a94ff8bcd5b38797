"""Grouping: what a campaign does with the samples of groups, whenever these are judged."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from verifier_ladder.scheduler.arrivals import Arrivals
from verifier_ladder.scheduler.desk import Desk
from verifier_ladder.scheduler.gathering import Gathered, Gatherings
from verifier_ladder.scheduler.standing import Standing
from verifier_ladder.scheduler.withdrawal import Wanted

if TYPE_CHECKING:
    from verifier_ladder.scheduler.scorer import Batch


class Grouping(ABC):
    """Gathers the groups of one campaign. Subclasses say when and how they are judged.

    **Threads.** Any number of threads may bring samples at once.
    """

    decides_later: ClassVar[bool]
    """Whether samples are decided once they are recorded."""

    def __init__(self, desk: Desk) -> None:
        """Work at a campaign's desk."""
        self._desk = desk
        self._gatherings = Gatherings(desk)

    def restore(self) -> None:  # noqa: B027 - groups that are judged first leave nothing
        """Decide what an earlier process has recorded and not decided."""

    @abstractmethod
    def judge(
        self,
        batch: Batch,
        standings: Sequence[Standing],
        until: float | None,
        arrivals: Arrivals,
    ) -> Gathered:
        """Gather the samples of a call, and have those groups judged that are judged now.

        Args:
            batch: The call's samples.
            standings: What is known of each by itself.
            until: Monotonic time of the deadline. Groups whose members have not all come are
                judged shortly before it, if there are two or more; without a deadline not at all.
            arrivals: Where to note what the ledger does not hold yet.
        """

    def recording(self, told: Gathered) -> None:  # noqa: B027 - as above
        """Hear that a call is about to be recorded."""

    def recorded(
        self, batch: Batch, told: Gathered, fresh: Sequence[int], until: float | None
    ) -> None:
        """Hear that a call is recorded, and take further whoever it was the rest for.

        Args:
            batch: The call's samples.
            told: What was known of them.
            fresh: Places of those that were not recorded before.
            until: Monotonic time of the call's deadline.
        """
        answers = {place: self._answers(told.standings[place]) for place in fresh}
        self._gatherings.note(batch, told, answers)
        self._go_on(batch, told, until, is_new=bool(fresh))

    @abstractmethod
    def _answers(self, standing: Standing) -> frozenset[bytes]:
        """Keys of a candidate's checks in its group that have an answer."""

    @abstractmethod
    def _go_on(self, batch: Batch, told: Gathered, until: float | None, *, is_new: bool) -> None:
        """Take the groups of a recorded call further; `is_new` if some of it was not recorded."""

    def waiting(self, run: str | None, step: int | None) -> set[int]:
        """Positions of the samples of a step that wait here for the rest of their groups."""
        return self._gatherings.waiting(run, step)

    def withdraw(self, wanted: Wanted) -> int:
        """Let cancelled samples leave the groups that they wait for; counts them."""
        return self._gatherings.withdraw(wanted)
