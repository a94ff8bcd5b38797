"""Ranges: rewards outside the range of their own function are told in the log, once."""

from __future__ import annotations

import logging
from collections.abc import Iterable

from verifier_ladder.ladder import Ladder
from verifier_ladder.reward import Reward
from verifier_ladder.text import printable

_LOG = logging.getLogger("verifier_ladder")


class RangeWatch:
    """Says what a reward means that no answer of the top tier could earn by itself.

    The range is 0 to 1 where the reward rule or the target declares it, and else what the top
    tier's answers have earned so far, with 0 to 1 and what a reject earns as the least.

    Example:
        >>> import verifier_ladder as vl
        >>> @vl.verifier(tier="fast", kind="text", version="1")
        ... def length(candidate):
        ...     return 0.5
        >>> RangeWatch(vl.Ladder("l", [length])).look([vl.Reward(0.5)])
    """

    def __init__(self, ladder: Ladder) -> None:
        """Take the range that is declared."""
        rule, top = ladder.reward, ladder.rungs[-1].primaries
        self._name, self._rule, self._sign = ladder.name, rule, ladder.target.sign
        self._top = "+".join(verifier.name for verifier in top)
        self._low, self._high = min(0.0, rule.reject), max(1.0, rule.reject)
        is_shaped = rule.low is not None and rule.clip
        self._is_declared = is_shaped or ladder.target.scale == "binary"
        # What several verifiers or several scores earn together is told nowhere by itself.
        is_made = len(top) > 1 or bool(rule.weights)
        self._is_over = (
            len(ladder.rungs) == 1
            or (rule.low is not None and not rule.clip)
            or (is_made and not self._is_declared)
        )

    def look(self, rewards: Iterable[Reward]) -> None:
        """Take rewards as they are given out."""
        if self._is_over:
            return
        for reward in rewards:
            said = reward.components.get(self._top)
            if reward.value is None or said is None:
                continue
            if not self._is_declared:
                earned = self._rule.scale(said, sign=self._sign)
                self._low, self._high = min(self._low, earned), max(self._high, earned)
            if not self._low <= reward.value <= self._high:
                self._is_over = True
                self._tell(reward.value)
                return

    def _tell(self, value: float) -> None:
        known = "the range of its function"
        if not self._is_declared:
            known += " as its answers have earned so far"
        _LOG.warning(
            "a reward of %s is %.3g, outside %.3g to %.3g, %s. It is no "
            "mistake: the sample was drawn for %s at random and speaks also for those that were "
            "not, so rewards are right in the mean. To bound what a learner is told, set "
            "clip=(%.3g, %.3g) of its reward function (`--clip %.3g %.3g` of a server), or "
            'vl.RewardRule(estimator="plugin") of the ladder; both let the error of beliefs into '
            "the mean. This is told once",
            printable(self._name), value, self._low, self._high, known,
            printable(self._top),
            self._low, self._high, self._low, self._high,
        )  # fmt: skip
