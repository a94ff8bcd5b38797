"""Blame: which candidate brought a worker down, so that the others still get their verdicts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Generic, NamedTuple, Protocol, TypeVar

from verifier_ladder.scheduler.engines.watch import Failure

T = TypeVar("T")
FINAL = {"start", "load", "stuck", "budget", "refused", "abandoned"}
"""Causes that are nobody's in the batch: all that are open share them."""


class Answers(NamedTuple, Generic[T]):
    """What a worker answered for a group, in the group's order, until it was done or failed."""

    items: list[T]
    """Of the whole group; of the first of it if the worker failed."""
    seconds: float
    """What these took."""
    suspects: dict[int, Failure] = {}  # noqa: RUF012 - never changed
    """Places in the group whose answer says that judging failed there; the worker lives."""
    failure: Failure | None = None
    """What brought the worker down before it came to the rest."""

    @property
    def sound(self) -> dict[int, T]:
        """The answers that stand, by place."""
        return {n: item for n, item in enumerate(self.items) if n not in self.suspects}


class Compared(NamedTuple):
    """How a control went."""

    passes: bool | None
    """Whether it was judged; None if there is none, or nobody knows."""
    seconds: float = 0.0
    """What that took, if it was tried for this."""
    stopped: Failure | None = None
    """What kept it from being judged and is no verifier's doing, such as the end of the budget."""


class Control(Protocol):
    """**Protocol:** tells whether the verifier is well on a candidate that is harmless."""

    def exists(self, failure: Failure) -> bool:
        """Whether there is one that a candidate which failed so may be compared with."""
        ...

    def compare(self, failure: Failure) -> Compared:
        """Whether it is judged in the place of the candidate that failed."""
        ...


class _NoControl:
    """There is none."""

    def exists(self, failure: Failure) -> bool:
        """There is none."""
        del failure
        return False

    def compare(self, failure: Failure) -> Compared:
        """It can't be judged."""
        del failure
        return Compared(passes=None)


class Case(Generic[T]):
    """Gets an answer for every candidate of a batch, with as few workers lost as possible.

    What a worker had answered before it failed stands; the case is about the rest. A failure with
    a suspect (the position the worker had noted) tries the suspect alone and the others together.
    Without one, or when a suspect has proved innocent and the marks are not
    exact, the group is halved. A candidate that fails alone in a fresh worker is the culprit;
    when a control is there, it must fail in two, while the control passes. One that is answered
    with an error, by a worker that lives, is asked about once more, alone, before the control is.
    Where the control is stopped before it is judged, nothing is known: what has stopped it, and
    not the candidate's failure, is the answer.
    """

    def __init__(
        self,
        count: int,
        attempt: Callable[[Sequence[int], bool], Answers[T]],
        convict: Callable[[int, Failure, bool | None], T],
        *,
        give_up: Callable[[int, Failure], T],
        control: Control | None = None,
        excuse: Callable[[Failure], bool] = lambda _: False,
        exact: bool = False,
        tell: Callable[[Mapping[int, T]], object] = lambda _: None,
        wasted: dict[int, float] | None = None,
    ) -> None:
        """Open the case.

        Args:
            count: Candidates in the batch.
            attempt: Tries these positions; in a fresh worker if the flag is set.
            convict: Makes the answer of a culprit, whose failure tells what all its attempts
                took, and its control; the flag says whether that has passed, None that there
                was none.
            give_up: Makes the answer of a candidate whose worker failed through no fault of its.
            control: Tells whether the verifier is well on harmless candidates.
            excuse: Tells whether a failure can't be the fault of any candidate, such as a core
                that the machine did not give.
            exact: Whether the marked position is surely the one that was being judged.
            tell: Hears each answer as soon as it is settled.
            wasted: Where to note what failed attempts took.
        """
        self._attempt, self._convict, self._give_up = attempt, convict, give_up
        self._control, self._excuse = control or _NoControl(), excuse
        self._trusted, self._exact = True, exact
        self._tell = tell
        self._answers: dict[int, T] = {}
        self._count = count
        self._failures: dict[int, int] = {}
        self._fresh: dict[int, int] = {}
        self._unharmed: set[int] = set()
        self._culprits: list[int] = []
        self._abandoned: list[int] = []
        self._unclear = 0.0
        self._final: Failure | None = None
        self.seconds = 0.0
        """What all attempts took."""
        self.wasted: dict[int, float] = {} if wasted is None else wasted
        """What failed attempts took and no culprit's answer has in it, by the position that is
        charged with it."""

    def settle(self) -> list[T]:
        """Answer for every position."""
        groups: list[list[int]] = [list(range(self._count))] if self._count else []
        while groups and self._final is None:
            group = groups.pop()
            failed = len(group) == 1 and self._failures.get(group[0], 0) > 0
            fresh = failed and group[0] not in self._unharmed
            said = self._attempt(group, fresh)
            self.seconds += said.seconds
            groups += self._record(group, said, fresh=fresh)
            if said.failure is None:
                continue
            self.seconds += said.failure.seconds
            if said.failure.cause in FINAL:
                self._unclear += said.failure.seconds
                self._final = said.failure
            else:
                groups += self._blame(group, len(said.items), said.failure, fresh=fresh)
        if self._final is not None:
            self._abandon(self._final)
        self._share_out()
        return [self._answers[position] for position in range(self._count)]

    def _record(self, group: list[int], said: Answers[T], *, fresh: bool) -> list[list[int]]:
        again: list[list[int]] = []
        self._settle({group[place]: item for place, item in said.sound.items()})
        for place, failure in said.suspects.items():
            position = group[place]
            again += self._alone(position, failure._replace(position=position), fresh=fresh)
        if len(group) == 1 and fresh and said.sound and not self._exact:
            self._trusted = False  # the mark was wrong: the verifier does not work one by one
        return again

    def _blame(
        self, group: list[int], answered: int, failure: Failure, *, fresh: bool
    ) -> list[list[int]]:
        """Say what to try after a failure at what was not answered."""
        rest = group[answered:]
        if not rest:
            self._unclear += failure.seconds
            return []
        if len(rest) == 1:
            return self._alone(rest[0], failure, fresh=fresh)
        return self._narrow(rest, failure, is_sure=self._exact or answered > 0)

    def _narrow(self, group: list[int], failure: Failure, *, is_sure: bool) -> list[list[int]]:
        suspect = failure.position if self._trusted else None
        if suspect in group:
            self._charge(suspect, failure)
            if self._exact and self._excuse(failure):
                self._settle({suspect: self._give_up(suspect, failure)})
                return [[position for position in group if position != suspect]]
            self._failures[suspect] = self._failures.get(suspect, 0) + 1
            others = [p for p in group if p != suspect]
            # Where the mark is sure, the others go first, for somebody may be waiting for them.
            return [[suspect], others] if is_sure else [others, [suspect]]
        self._unclear += failure.seconds
        middle = len(group) // 2
        halves = [group[middle:], group[:middle]]
        for half in halves:
            if len(half) == 1:
                self._failures[half[0]] = self._failures.get(half[0], 0) + 1
        return halves

    def _alone(self, position: int, failure: Failure, *, fresh: bool) -> list[list[int]]:
        """A candidate failed alone: try it again in a fresh worker, or settle it."""
        self._charge(position, failure)
        self._failures[position] = self._failures.get(position, 0) + 1
        self._fresh[position] = self._fresh.get(position, 0) + fresh
        if self._excuse(failure):
            self._settle({position: self._give_up(position, failure)})
            return []
        if self._final is not None:
            return []
        failure = failure._replace(position=position)
        has_control = self._control.exists(failure)
        if failure.cause == "raised":
            self._unharmed.add(position)
            is_enough = self._failures[position] > 1 or not has_control
        else:
            self._unharmed.discard(position)
            is_enough = self._fresh[position] >= 1 + has_control
        if not is_enough:
            return [[position]]
        control = self._control.compare(failure)
        self.seconds += control.seconds
        if control.stopped is not None:
            self._leave(position, control.stopped, control.seconds)
            return []
        whole = failure._replace(seconds=self.wasted.pop(position) + control.seconds)
        self._settle({position: self._convict(position, whole, control.passes)})
        self._culprits.append(position)
        return []

    def _leave(self, position: int, stopped: Failure, seconds: float) -> None:
        """Leave a candidate that nothing could be compared with: who is to blame is not known."""
        self.wasted[position] += seconds
        if stopped.cause in FINAL:
            self._final = stopped
        else:
            self._settle({position: self._give_up(position, stopped)})

    def _charge(self, position: int, failure: Failure) -> None:
        self.wasted[position] = self.wasted.get(position, 0.0) + failure.seconds

    def _share_out(self) -> None:
        """Charge what groups wasted before the culprits were known.

        If there are none, those without an answer pay; if all have one, all do.
        """
        payers = self._culprits or self._abandoned or range(self._count)
        for position in payers if self._unclear else ():
            share = self._unclear / len(payers)
            self.wasted[position] = self.wasted.get(position, 0.0) + share

    def _abandon(self, failure: Failure) -> None:
        self._abandoned = [p for p in range(self._count) if p not in self._answers]
        self._settle({p: self._give_up(p, failure) for p in self._abandoned})

    def _settle(self, answers: Mapping[int, T]) -> None:
        self._answers.update(answers)
        self._tell(answers)
