"""Gates: how sure it is that what a gate rejects is bad."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import exp, lgamma, log, log1p
from typing import Any

from verifier_ladder.errors import ConfigError

_HALVINGS = 60
"""Bisections of [0, 1]; more would not change a float."""
_NEGLIGIBLE = 1e-17
_BETTER = 0.25
"""A proven gate is expected to be so much better than it must: then it is proven soonest."""


@dataclass(slots=True)
class GateAudit:
    """What the top tier said of candidates that one gate had rejected and a draw had chosen.

    Every reject must have had the same chance to be drawn, whatever its score: the ladder's
    audit floor.

    Example:
        >>> gate = GateAudit(audited=400, good=0)
        >>> round(gate.upper(), 4), gate.is_proven()
        (0.0075, True)
    """

    audited: int = 0
    """Rejects that the top tier has judged."""
    good: int = 0
    """How many of them it found good."""

    def __post_init__(self) -> None:
        """Refuse counts that can't be.

        Raises:
            ConfigError: If more were good than were audited, or a count is negative.
        """
        if not 0 <= self.good <= self.audited:
            raise ConfigError(f"{self.good} good ones among {self.audited} audited can't be")

    def add(self, *, is_good: bool) -> None:
        """Take the top tier's answer about one more reject."""
        self.audited += 1
        self.good += is_good

    def upper(self, confidence: float = 0.95) -> float:
        """Upper bound of P(good | rejected), one-sided and exact.

        It is the share at which so few good ones, or fewer, would be seen with a probability of
        only 1 − confidence (Clopper & Pearson, *Biometrika* 26, 1934). 1 without audits.

        Raises:
            ConfigError: If the confidence is not between 0 and 1.
        """
        _check("confidence", confidence)
        if self.good == self.audited:
            return 1.0
        low, high = self.good / self.audited, 1.0
        for _ in range(_HALVINGS):
            middle = 0.5 * (low + high)
            if _at_most(self.good, self.audited, middle) > 1.0 - confidence:
                low = middle
            else:
                high = middle
        return high

    def is_proven(self, epsilon: float = 0.01, confidence: float = 0.95) -> bool:
        """Whether at most the share `epsilon` of what the gate rejects is good.

        Asked after every audit, `upper` would sooner or later err: a gate at exactly 1 % passes
        an upper bound of 1 % at some time in 5000 audits with a probability of 23 %. This is a
        sequential test instead (Wald, *Ann. Math. Stat.* 16, 1945), of `epsilon` against a
        quarter of it: a worse gate is ever taken for proven with a probability of at most
        1 − confidence, however often one asks. By default it takes 397 audits without a good one,
        and 185 more for each good one.

        Raises:
            ConfigError: If epsilon or the confidence is not between 0 and 1.
        """
        _check("epsilon", epsilon)
        _check("confidence", confidence)
        better = _BETTER * epsilon
        bad = (self.audited - self.good) * (log1p(-better) - log1p(-epsilon))
        return bad + self.good * log(_BETTER) >= -log1p(-confidence)

    def snapshot(self) -> dict[str, int]:
        """The counts, as JSON."""
        return {"audited": self.audited, "good": self.good}

    @classmethod
    def restore(cls, snapshot: Mapping[str, Any]) -> GateAudit:
        """Make it again from a snapshot."""
        return cls(int(snapshot["audited"]), int(snapshot["good"]))


def _check(name: str, share: float) -> None:
    if not 0.0 < share < 1.0:
        raise ConfigError(f"{name} must be between 0 and 1, not {share}")


def _at_most(count: int, size: int, share: float) -> float:
    """P(X ≤ count) for X ~ Binomial(size, share), where share > count / size.

    There the terms fall from `count` downwards, so the sum ends as soon as they don't matter.
    """
    if share >= 1.0:
        return 0.0
    choices = lgamma(size + 1) - lgamma(count + 1) - lgamma(size - count + 1)
    term = total = exp(choices + count * log(share) + (size - count) * log1p(-share))
    odds = (1.0 - share) / share
    for k in range(count, 0, -1):
        term *= k / (size - k + 1) * odds
        total += term
        if term < _NEGLIGIBLE * total:
            break
    return total
