"""Watches: how a caller with a deadline hears of revisions while it waits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from threading import Condition

from verifier_ladder.reward import Reward

SampleKey = tuple[str, int, int]
IdleTest = Callable[[], bool]


class Watches:
    """The latest reward of samples that somebody waits for; several callers may want the same."""

    def __init__(self) -> None:
        """Watch nothing yet."""
        self._changed = Condition()
        self._open: dict[SampleKey, Reward] = {}
        self._wanted: Counter[SampleKey] = Counter()
        """How many callers want each sample."""
        self._left: list[set[SampleKey]] = []
        """For each caller that waits, those of its samples that are still pending."""

    def want(self, keys: Sequence[SampleKey]) -> None:
        """Say beforehand which samples will be waited for; `close` them once as often."""
        with self._changed:
            self._wanted.update(keys)

    def open(
        self, run: str, step: int, positions: Sequence[int], rewards: Sequence[Reward]
    ) -> None:
        """Note first rewards, before a higher tier can revise them."""
        if not self._wanted:
            return
        with self._changed:
            for position, reward in zip(positions, rewards, strict=True):
                key = (run, step, position)
                self._open.pop(key, None)  # Of an entry that could not be written.
                if key in self._wanted and reward.pending:
                    self._open[key] = reward

    @property
    def is_quiet(self) -> bool:
        """Whether nobody waits for any sample."""
        return not self._wanted

    def is_wanted(self, key: SampleKey) -> bool:
        """Whether somebody waits for a sample's reward."""
        return key in self._wanted

    def revise(self, key: SampleKey, reward: Reward) -> None:
        """Note a revision."""
        if not self._wanted:
            return
        with self._changed:
            if key not in self._wanted:
                return
            self._open[key] = reward
            if reward.pending:
                return
            waiting = [left for left in self._left if key in left]
            for left in waiting:
                left.discard(key)
            if not all(waiting):
                self._changed.notify_all()

    def nudge(self) -> None:
        """Wake who waits, because nothing more will happen by itself."""
        with self._changed:
            self._changed.notify_all()

    def wait(self, keys: Sequence[SampleKey], timeout: float | None, idle: IdleTest) -> None:
        """Wait until none of the samples is pending, or until `idle` says that all is quiet."""
        with self._changed:
            left = {key for key in keys if key in self._open and self._open[key].pending}
            self._left.append(left)
            try:
                self._changed.wait_for(lambda: idle() or not left, timeout)
            finally:
                self._left = [other for other in self._left if other is not left]

    def close(self, keys: Sequence[SampleKey]) -> dict[SampleKey, Reward]:
        """Stop watching; gives the latest reward of those that were pending."""
        with self._changed:
            latest = {key: self._open[key] for key in keys if key in self._open}
            for key in keys:
                self._wanted[key] -= 1
                if self._wanted[key] <= 0:
                    del self._wanted[key]
                    self._open.pop(key, None)
            return latest
