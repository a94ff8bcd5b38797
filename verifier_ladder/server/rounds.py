"""Rounds: samples that come one by one share a step with the others of their group."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from time import monotonic
from typing import NamedTuple

from verifier_ladder.candidate import Sample
from verifier_ladder.errors import ConfigError

_MOST_SAMPLES = 4096
_LONGEST = 60.0
"""Seconds for which a round takes new groups."""
_PATIENCE = 3600.0
"""Seconds after which a group is over whose samples never came."""


class _Group(NamedTuple):
    """A group of which samples are still to come."""

    step: int
    left: int
    since: float


class Rounds:
    """Gives samples of learners that tell no step a step, so that groups can be compared.

    A group's first sample takes the step of the round under way, and so do the others of the
    group, however late they come. After as many as a group has, the same name is another group,
    with a step of its own. A round ends after a minute or a few thousand samples, so that steps
    stay small; the groups that it began go on in its step.

    Example:
        >>> from itertools import count
        >>> from verifier_ladder.candidate import Candidate
        >>> rounds = Rounds(count().__next__, group_size=2)
        >>> sample = Sample(Candidate("text", "4"), group="2 + 2 =")
        >>> [rounds.place(sample).step for _ in range(4)]
        [0, 0, 1, 1]
    """

    def __init__(self, take_step: Callable[[], int], *, group_size: int) -> None:
        """Begin with no groups.

        Args:
            take_step: Takes the next free step.
            group_size: How many samples a group has.

        Raises:
            ConfigError: If a group would have none.
        """
        if group_size < 1:
            raise ConfigError(f"a group has 1 sample or more, not {group_size}")
        self._take_step, self._size = take_step, group_size
        self._groups: dict[str, _Group] = {}
        """Those that are not complete."""
        self._begun: set[str] = set()
        """Groups that the round under way has begun."""
        self._step, self._since, self._loose = -1, 0.0, 0

    def place(self, sample: Sample) -> Sample:
        """The sample with its step, and the size of its group."""
        now = monotonic()
        if not sample.group:
            self._loose += 1
            return replace(sample, step=self._round("", now))
        group = self._groups.pop(sample.group, None)
        if group is None or now - group.since > _PATIENCE:
            group = _Group(self._round(sample.group, now), self._size, now)
            self._begun.add(sample.group)
        if group.left > 1:
            self._groups[sample.group] = group._replace(left=group.left - 1)
        return replace(sample, step=group.step, group_size=self._size)

    def _round(self, group: str, now: float) -> int:
        """The step of the round under way, or of a new one."""
        held = len(self._begun) * self._size + self._loose
        is_over = held >= _MOST_SAMPLES or now - self._since > _LONGEST
        if self._step < 0 or is_over or group in self._begun:
            self._step, self._since, self._loose = self._take_step(), now, 0
            self._begun.clear()
            self._forget(now)
        return self._step

    def _forget(self, now: float) -> None:
        """Drop groups that will not be complete any more."""
        for name in [n for n, group in self._groups.items() if now - group.since > _PATIENCE]:
            del self._groups[name]
