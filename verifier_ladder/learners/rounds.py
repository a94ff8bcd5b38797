"""Rounds: samples that come one by one share a step with the others of their group."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from threading import Lock
from time import monotonic
from typing import NamedTuple, Protocol

from verifier_ladder.candidate import UNKNOWN_SIZE, Sample
from verifier_ladder.errors import ConfigError

_LOG = logging.getLogger("verifier_ladder")
_MOST_SAMPLES = 4096
_LONGEST = 60.0
"""Seconds for which a round takes new groups."""
_PATIENCE = 3600.0
"""Seconds after which a group is over whose samples never came."""
_LATE = 600.0
"""Seconds after which an incomplete group is told of: its samples may be elsewhere."""
_Key = tuple[str, str, str, int]
"""What makes a group: run, group, version of the learner, size."""


class TakeStep(Protocol):
    """Takes the next free step of a run, or of its evaluation."""

    def __call__(self, *, evaluation: bool) -> int:
        """Take it."""


class Grouping:
    """Places samples of learners that tell no step, so that groups can be compared.

    Where the size of a group is known, its samples share a step, however they come. Where it is
    not, a sample that comes alone is compared with nobody; samples of one call are taken for
    whole groups.

    Example:
        >>> from verifier_ladder.candidate import Candidate
        >>> grouping = Grouping(lambda evaluation: 7)
        >>> sample = Sample(Candidate("text", "4"), group="2 + 2 =")
        >>> [placed.group_size for placed in grouping.place([sample])]
        [-1]
        >>> [placed.step for placed in grouping.place([sample], group_size=2)]
        [7]
    """

    def __init__(self, take_step: TakeStep, *, group_size: int | None = None) -> None:
        """Begin with no groups.

        Args:
            take_step: Takes the next free step.
            group_size: How many samples a group has; None where nobody knows.

        Raises:
            ConfigError: If a group would have none.
        """
        if group_size is not None and group_size < 1:
            raise ConfigError(f"a group has 1 sample or more, not {group_size}")
        self._size, self._lock = group_size, Lock()
        self._rounds = {
            evaluation: Rounds(partial(take_step, evaluation=evaluation))
            for evaluation in (False, True)
        }

    def place(self, samples: Sequence[Sample], *, group_size: int | None = None) -> list[Sample]:
        """Samples with their steps and the sizes of their groups, as far as these are known.

        Args:
            samples: What came in one call.
            group_size: How many samples a group has, as the learner tells; what the user said
                goes before.
        """
        size, is_alone = self._size or group_size, len(samples) == 1
        with self._lock:
            return [
                sample if sample.step >= 0
                else self._rounds[sample.evaluation].place(sample, size) if size
                else replace(sample, group_size=UNKNOWN_SIZE) if is_alone
                else sample
                for sample in samples
            ]  # fmt: skip


class _Group(NamedTuple):
    """A group of which samples are still to come."""

    step: int
    left: int
    since: float


class Rounds:
    """Gives samples of learners that tell no step a step.

    A group's first sample takes the step of the round under way, and so do the others of the
    group, however late they come. After as many as a group has, the same name is another group,
    with a step of its own. A round ends after a minute or a few thousand samples, so that steps
    stay small; the groups that it began go on in its step.

    Example:
        >>> from itertools import count
        >>> from verifier_ladder.candidate import Candidate
        >>> rounds = Rounds(count().__next__)
        >>> sample = Sample(Candidate("text", "4"), group="2 + 2 =")
        >>> [rounds.place(sample, 2).step for _ in range(4)]
        [0, 0, 1, 1]
    """

    def __init__(self, take_step: Callable[[], int]) -> None:
        """Begin with no groups.

        Args:
            take_step: Takes the next free step.
        """
        self._take_step = take_step
        self._groups: dict[_Key, _Group] = {}
        """Those that are not complete."""
        self._begun: set[str] = set()
        """Names of the groups that the round under way has begun."""
        self._step, self._since, self._held = -1, 0.0, 0
        self._has_told = False

    def place(self, sample: Sample, size: int) -> Sample:
        """The sample with its step, and the size of its group.

        Args:
            sample: The sample.
            size: How many samples its group has.
        """
        now = monotonic()
        if not sample.group:
            step = self._round("", 1, now)
            return replace(sample, step=step, group_size=UNKNOWN_SIZE)
        key = (sample.run, sample.group, sample.learner_version, size)
        group = self._groups.get(key)
        if group is None or now - group.since > _PATIENCE:
            group = _Group(self._round(sample.group, size, now), size, now)
            self._begun.add(sample.group)
        self._groups.pop(key, None)
        if group.left > 1:
            self._groups[key] = group._replace(left=group.left - 1)
        return replace(sample, step=group.step, group_size=size)

    def _round(self, name: str, size: int, now: float) -> int:
        """The step of the round under way, or of a new one, for so many samples more."""
        is_over = self._held >= _MOST_SAMPLES or now - self._since > _LONGEST
        if self._step < 0 or is_over or name in self._begun:
            self._step, self._since, self._held = self._take_step(), now, 0
            self._begun.clear()
            self._forget(now)
        self._held += size
        return self._step

    def _forget(self, now: float) -> None:
        """Drop groups that will not be complete any more, and tell once that there are such."""
        late = [k for k, group in self._groups.items() if now - group.since > _LATE]
        if late and not self._has_told:
            self._has_told = True
            (*_, size), left = late[0], self._groups[late[0]].left
            _LOG.warning(
                "of %d samples of a prompt %d have come here in %.0f minutes (%d such groups): no "
                "advantage is told of them. Where other processes score the rest, one process or "
                "one server for all joins them (`vladder serve --group-size %d`)",
                size, size - left, _LATE / 60, len(late), size,
            )  # fmt: skip
        for key in [k for k, group in self._groups.items() if now - group.since > _PATIENCE]:
            del self._groups[key]
