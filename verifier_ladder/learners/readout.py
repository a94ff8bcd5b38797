"""Readouts: the number that a learner is told for a reward."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite, nan
from typing import Any

from verifier_ladder.errors import ConfigError, VerifierError
from verifier_ladder.reward import Reward
from verifier_ladder.verdict import mean_of


def process_of(reward: Reward) -> float | None:
    """The mean of a reward's turns, in the verifier's unit; None where none has a number."""
    known = [turn.score for turn in reward.turns if turn.score is not None]
    return mean_of(known) if known else None


def extras_of(reward: Reward, tokens: Sequence[tuple[int, int] | None] = ()) -> dict[str, Any]:
    """What a reward tells beside its number, under the same flat keys for every sample.

    For libraries that log a row of texts and numbers for each sample: `process` is NaN where no
    turn has a number, `turns` and `scores` are JSON.

    Args:
        reward: The reward.
        tokens: The tokens of each of its turns, where they are known.

    Example:
        >>> extras_of(Reward(1.0, feedback="shorter", scores={"style": 0.5}))["scores"]
        '{"style": 0.5}'
    """
    process, turns = process_of(reward), [turn.as_json() for turn in reward.turns]
    for told, span in zip(turns, tokens, strict=False):
        told.update({} if span is None else {"tokens": list(span)})
    return {
        "feedback": reward.feedback, "process": nan if process is None else process,
        "turns": json.dumps(turns),
        "scores": json.dumps(dict(reward.scores)),
    }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Readout:
    """Turns a reward into what a learner takes: a number, or None where nothing is known.

    Example:
        >>> Readout(clip=(0.0, 1.0)).value(Reward(3.5))
        1.0
        >>> Readout(on_abstain=-1.0).value(Reward(None))
        -1.0
    """

    on_abstain: float | None = None
    """What stands for an unknown reward; None leaves it unknown."""
    clip: tuple[float, float] | None = None
    """Least and largest number of a known reward; None lets every number pass. Unbiased rewards
    leave the range of the reward rule, and what is clipped is no longer unbiased."""

    def __post_init__(self) -> None:
        """Refuse numbers that a learner could not train on.

        Raises:
            ConfigError: If one is not finite, or the range is none.
        """
        if self.on_abstain is not None and not _is_finite(self.on_abstain):
            raise ConfigError(
                f"on_abstain={self.on_abstain!r} must be finite; None leaves the reward unknown"
            )
        if self.clip is None:
            return
        ends: tuple[object, ...] = tuple(self.clip)
        if len(ends) != 2 or not all(map(_is_finite, ends)):  # noqa: PLR2004 - two ends
            raise ConfigError(f"clip={self.clip!r} must be two numbers, such as (-5.0, 5.0)")
        if self.clip[0] >= self.clip[1]:
            raise ConfigError(f"clip={self.clip!r} must go from a smaller to a larger number")

    @classmethod
    def complete(
        cls, learner: str, on_abstain: float, clip: tuple[float, float] | None = None
    ) -> Readout:
        """A readout for a learner that has no way to leave a sample out.

        Raises:
            ConfigError: If `on_abstain` is no number, or `clip` no range.
        """
        given: object = on_abstain
        if not _is_finite(given):
            raise ConfigError(
                f"{learner} can't leave a sample out, so say with on_abstain=… which number "
                f"stands for an unknown reward; {given!r} is none"
            )
        return cls(on_abstain, clip)

    def number(self, reward: Reward, name: str) -> float:
        """The number, for learners that have no None.

        Args:
            reward: The reward.
            name: What scored, for the error.

        Raises:
            VerifierError: If the reward is unknown and nothing stands for it.
        """
        value = self.value(reward)
        if value is None:
            raise VerifierError(
                f"{name}: nothing is known of a sample ({reward.reason or 'no verdict'}); say "
                "with on_abstain=… which number stands for that, if one must"
            )
        return value

    def value(self, reward: Reward) -> float | None:
        """The number, or None if the reward is unknown and nothing stands for it."""
        if reward.value is None:
            return self.on_abstain
        if self.clip is None:
            return reward.value
        low, high = self.clip
        return min(high, max(low, reward.value))


def _is_finite(number: object) -> bool:
    return isinstance(number, (int, float)) and isfinite(number)
