"""Controls: harmless candidates, tried in the place of one that failed.

A verifier that fails on one candidate and is well on another in the same place, with the same
task, has been brought down by what the candidate says. Nothing else has changed.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Any, Generic, TypeVar

from verifier_ladder.scheduler.engines.blame import FINAL, Answers, Compared
from verifier_ladder.scheduler.engines.job import Job, suspects
from verifier_ladder.scheduler.engines.watch import Failure
from verifier_ladder.verdict import Verdict

T = TypeVar("T")
_KEPT = 256
_LARGEST = 65_536
"""Characters or bytes of the content that is remembered."""


class Passed:
    """Remembers, for each verifier of a pool, a candidate that it has judged well."""

    def __init__(self) -> None:
        """Start with none."""
        self._lock = Lock()
        self._known: OrderedDict[int, Any] = OrderedDict()

    def note(self, token: int, subject: Any) -> None:
        """Remember the last one."""
        with self._lock:
            self._known[token] = subject
            self._known.move_to_end(token)
            if len(self._known) > _KEPT:
                self._known.popitem(last=False)

    def get(self, token: int) -> Any:
        """The one that is remembered; None if there is none."""
        return self._known.get(token)


class Controls(Generic[T]):
    """Tries the controls of one job: the declared one, or else a candidate that has passed."""

    def __init__(
        self, job: Job[T], known: Callable[[], Any],
        attempt: Callable[[Job[T], bool], Answers[T]],
    ) -> None:  # fmt: skip
        """Try nothing yet.

        Args:
            job: The job whose candidates may fail.
            known: Gives a candidate that has passed, if one is known.
            attempt: Runs a job of one candidate, in a fresh worker if the flag is set.
        """
        self._job, self._known, self._attempt = job, known, attempt
        self._found: dict[Hashable, bool] = {}

    def exists(self, failure: Failure) -> bool:
        """Whether there is one that a candidate which failed so may be compared with."""
        return self._control(failure) is not None

    def compare(self, failure: Failure) -> Compared:
        """Whether it is judged in the place of the candidate that failed."""
        control = self._control(failure)
        if control is None:
            return Compared(passes=None)
        is_fresh = failure.cause != "raised"
        name = (is_fresh, control.alike)
        if name in self._found:
            return Compared(self._found[name])
        said = self._attempt(control, is_fresh)
        seconds = said.seconds + (said.failure.seconds if said.failure else 0.0)
        if (stopped := _stopped(control, said)) is not None:
            return Compared(None, seconds, stopped)
        is_answered = said.failure is None and control.is_answer(said.items[0])
        self._found[name] = is_answered
        return Compared(is_answered, seconds)

    def _control(self, failure: Failure) -> Job[T] | None:
        if failure.position is None:
            return None
        declared = self._job.control(failure.position)
        if declared is not None or not self._job.is_of_content(failure):
            return declared
        known = self._known()
        return None if known is None else self._job.control(failure.position, known)


def _stopped(control: Job[Any], said: Answers[Any]) -> Failure | None:
    """What kept a control from being judged, where that says nothing of the verifier.

    The end of what is reserved, or of those who wait; a machine or a service in trouble.
    """
    if said.failure is not None:
        is_other = said.failure.cause in FINAL or control.excuse(said.failure)
        return said.failure if is_other else None
    item = said.items[0]
    if not isinstance(item, Verdict) or item.failed_at is None or suspects([(0, item)]):
        return None
    return Failure("raised", item.reason, said=item)


def is_small(subject: Any) -> bool:
    """Whether a candidate, or the content of one, may be remembered."""
    content = subject if isinstance(subject, str | bytes) else subject.content
    return len(content) <= _LARGEST
