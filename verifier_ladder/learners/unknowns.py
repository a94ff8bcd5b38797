"""Unknowns: why completions have no reward, told in the log once for each cause."""

from __future__ import annotations

import logging
import re
from collections import Counter
from collections.abc import Sequence
from threading import Lock

from verifier_ladder.candidate import Sample
from verifier_ladder.reward import Reward
from verifier_ladder.text import printable

_LOG = logging.getLogger("verifier_ladder")
_DETAIL = re.compile(r"'[^']*'|\"[^\"]*\"|\d+(\.\d+)?")
"""What differs between completions that have no reward for the same cause."""
_MOST_CAUSES = 50
_LONGEST = 300
_TIMEOUT = ("ran longer than", "no answer in")
_DEADLINE = "not reached within the deadline"


class UnknownLog:
    """Says why rewards are None: a learner only sees that they are.

    A considered abstention is no failure and is not told. Each cause is told when it comes up
    first, and again when there are ten times as many.

    Example:
        >>> log = UnknownLog("exact")
        >>> log.look([], [])
    """

    def __init__(self, name: str) -> None:
        """Tell of a reward function of this name."""
        self._name = name
        self._counts: Counter[str] = Counter()
        self._told_limits: set[str] = set()
        self._lock = Lock()

    def look(self, samples: Sequence[Sample], rewards: Sequence[Reward]) -> None:
        """Take the rewards of one call.

        Args:
            samples: What was scored; none where it could not be read.
            rewards: One for each.
        """
        unknown = [place for place, reward in enumerate(rewards) if reward.value is None]
        if not unknown:
            return
        with self._lock:
            self._tell_causes(samples, rewards, unknown)
            self._tell_limit(rewards, unknown)

    def _tell_causes(
        self, samples: Sequence[Sample], rewards: Sequence[Reward], unknown: Sequence[int]
    ) -> None:
        causes: dict[str, list[int]] = {}
        for place in unknown:
            if rewards[place].failed_at is not None:
                causes.setdefault(_cause(rewards[place].reason), []).append(place)
        for cause, places in causes.items():
            before = self._counts[cause]
            if not before and len(self._counts) > _MOST_CAUSES:
                del self._counts[cause]
                continue
            self._counts[cause] = after = before + len(places)
            if not before or len(str(before)) < len(str(after)):
                self._tell(rewards, places, samples[places[0]].step if samples else -1)

    def _tell(self, rewards: Sequence[Reward], places: Sequence[int], step: int) -> None:
        """Say what one cause has cost so far, and where it came up."""
        reason = rewards[places[0]].reason
        in_step = f" in step {step}" if step >= 0 else ""
        where = f"completion {places[0] + 1} of the call{in_step}"
        _LOG.warning(
            "%d of %d completions of %s have no reward (%d so far), first %s: %s", len(places),
            len(rewards), self._name, self._counts[_cause(reason)], where,
            printable(reason, _LONGEST),
        )  # fmt: skip

    def _tell_limit(self, rewards: Sequence[Reward], unknown: Sequence[int]) -> None:
        """Name the setting by which most of a call is unknown, once for each."""
        late = Counter(_limit(rewards[place]) for place in unknown)
        for setting, advice in _ADVICE.items():
            count = late[setting]
            if 2 * count > len(rewards) and setting not in self._told_limits:
                self._told_limits.add(setting)
                _LOG.warning(
                    "most of a call is unknown for its time limit: %d of %d completions of %s; %s",
                    count, len(rewards), self._name, advice,
                )  # fmt: skip


_ADVICE = {
    "timeout": "raise timeout= of the verifier (vl.wrap(…, timeout=…)). Without one, a completion "
    "may take a sixth of deadline=, and a call for many (batch=True, or a verify that returns a "
    "list) all of it",
    "deadline": "raise deadline= of the reward function, or make its verifiers faster",
}


def _cause(reason: str) -> str:
    """A reason without what differs between completions."""
    return _DETAIL.sub("…", reason)


def _limit(reward: Reward) -> str:
    """The setting by which a reward is unknown; "" for none."""
    if reward.reason.startswith(_DEADLINE) or reward.pending:
        return "deadline"
    is_slow = reward.failed_at is not None and any(words in reward.reason for words in _TIMEOUT)
    return "timeout" if is_slow else ""
