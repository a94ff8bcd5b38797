"""Unanswered: whether too large a share of a campaign's samples ends without a reward.

A candidate that makes a verifier decline or fail has no reward, so a learner leaves it out; a
policy can learn that. So abstentions count whatever their reason, and are told when they are many.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from threading import Lock

from verifier_ladder.alerts.rules import AlertRules, rules_as_set
from verifier_ladder.reward import Reward
from verifier_ladder.text import printable

_DEFAULT = AlertRules()
_LOG = logging.getLogger("verifier_ladder")


def unanswered_alarm(unknown: int, ended: int, rules: AlertRules | None = None) -> str | None:
    """The alarm as a sentence for people; None if there is no reason for one.

    Args:
        unknown: Samples that have no reward and wait for none.
        ended: These, and all that have a reward.
        rules: Which share of how many is an alarm.

    Example:
        >>> unanswered_alarm(2, 100)
        >>> unanswered_alarm(60, 100)
        '60 % of 100 samples have no reward and wait for none: a policy can learn to get none'
    """
    rules = rules or _DEFAULT
    if ended < rules.unanswered_samples or unknown <= rules.unanswered * ended:
        return None
    return (
        f"{unknown / ended:.0%} of {ended} samples have no reward and wait for none: "
        "a policy can learn to get none"
    ).replace("%", " %", 1)


class UnansweredWatch:
    """Tells this process's log of such shares, among the samples that it has scored.

    Samples are counted until there are enough of them; then the count begins anew, so each
    warning is about others than the last one.

    **Threads.** Any number may call.
    """

    def __init__(self, campaign: str, rules: AlertRules | None) -> None:
        """Begin with what comes from now on, by a ladder's rules or else those that are set."""
        self.told = 0
        """How many times it has told so."""
        self._campaign = campaign
        self._rules = rules or rules_as_set() or _DEFAULT
        self._ended = self._unknown = 0
        self._reason = ""
        self._lock = Lock()

    def look(self, rewards: Sequence[Reward]) -> None:
        """Take the rewards of one call; those that are still awaited are left out."""
        unknown = [r for r in rewards if r.value is None and not r.pending]
        with self._lock:
            self._ended += len(unknown) + sum(r.value is not None for r in rewards)
            self._unknown += len(unknown)
            self._reason = unknown[-1].reason if unknown else self._reason
            if self._ended < self._rules.unanswered_samples:
                return
            alarm = unanswered_alarm(self._unknown, self._ended, self._rules)
            self._ended = self._unknown = 0
            self.told += alarm is not None
        if alarm is not None:
            _LOG.warning(
                "ALARM in campaign %s: %s. The last reason: %s. `vladder campaign show %s` "
                "tells more",
                self._campaign, alarm, printable(self._reason, 300), self._campaign,
            )  # fmt: skip
